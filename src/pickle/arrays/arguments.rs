//! The arguments of a call, each of the kind that is expected, or an error that names it.

use arrow_buffer::Buffer;

use super::super::allow::Name;
use super::super::fault::{PickleFault, refuse};
use super::super::graph::{Children, Id};
use super::super::view::{Value, View};
use crate::error::Result;

/// What a call was given. A state counts as one more argument, behind the others.
#[derive(Debug, Clone, Copy)]
pub(in crate::pickle) struct Arguments<'p> {
    pub(in crate::pickle) view: View<'p>,
    /// The call.
    pub(in crate::pickle) call: Id,
    pub(in crate::pickle) name: Name,
    /// How many there are, the state not counted.
    pub(in crate::pickle) count: usize,
}

impl<'p> Arguments<'p> {
    pub(in crate::pickle) fn of(view: View<'p>, call: Id) -> Option<Self> {
        let name = view.callee(call)?;
        Some(Arguments { view, call, name, count: view.arguments(call).len() })
    }

    /// Refuses another number of arguments, and a state.
    pub(in crate::pickle) fn exactly(self, count: usize) -> Result<Self> {
        if self.view.state(self.call).is_some() {
            return self.refuse(self.count, "a state that it does not take");
        }
        if self.count != count {
            return self
                .refuse(self.count.min(count), if self.count < count { "missing" } else { "too many" });
        }
        Ok(self)
    }

    /// Refuses another number of arguments; there must be a state, which is returned.
    pub(in crate::pickle) fn with_state(self, count: usize) -> Result<Id> {
        if self.count != count {
            return self
                .refuse(self.count.min(count), if self.count < count { "missing" } else { "too many" });
        }
        match self.view.state(self.call) {
            Some(state) => Ok(state),
            None => self.refuse(count, "missing: there is no state"),
        }
    }

    pub(in crate::pickle) fn get(self, index: usize) -> Result<Id> {
        match self.view.arguments(self.call).nth(index) {
            Some(id) => Ok(id),
            None => self.refuse(index, "missing"),
        }
    }

    pub(in crate::pickle) fn value(self, index: usize) -> Result<Value<'p>> {
        Ok(self.view.value(self.get(index)?))
    }

    pub(in crate::pickle) fn text(self, index: usize) -> Result<&'p str> {
        match self.value(index)? {
            Value::Text(text) => Ok(text),
            _ => self.wrong(index),
        }
    }

    pub(in crate::pickle) fn int(self, index: usize) -> Result<i64> {
        match self.value(index)? {
            Value::Int(number) => Ok(number),
            _ => self.wrong(index),
        }
    }

    /// A number that counts something.
    pub(in crate::pickle) fn count(self, index: usize) -> Result<usize> {
        match usize::try_from(self.int(index)?) {
            Ok(count) => Ok(count),
            Err(_) => self.wrong(index),
        }
    }

    pub(in crate::pickle) fn bool(self, index: usize) -> Result<bool> {
        match self.value(index)? {
            Value::Bool(bool) => Ok(bool),
            _ => self.wrong(index),
        }
    }

    pub(in crate::pickle) fn none(self, index: usize) -> Result<()> {
        match self.value(index)? {
            Value::None => Ok(()),
            _ => self.wrong(index),
        }
    }

    pub(in crate::pickle) fn buffer(self, index: usize) -> Result<Buffer> {
        match self.value(index)? {
            Value::Bytes(buffer) => Ok(buffer),
            _ => self.wrong(index),
        }
    }

    pub(in crate::pickle) fn list(self, index: usize) -> Result<Children<'p>> {
        let id = self.get(index)?;
        match self.view.value(id) {
            Value::List => Ok(self.view.graph.children(id)),
            _ => self.wrong(index),
        }
    }

    /// The arguments of an argument that must be a call of this name.
    pub(in crate::pickle) fn call(self, index: usize, name: Name) -> Result<Arguments<'p>> {
        match Arguments::of(self.view, self.get(index)?) {
            Some(inner) if inner.name == name => Ok(inner),
            _ => self.wrong(index),
        }
    }

    /// The error that an argument is not what the function takes.
    pub(in crate::pickle) fn wrong<T>(self, index: usize) -> Result<T> {
        let found = match self.view.arguments(self.call).nth(index).or(self.view.state(self.call)) {
            Some(id) => self.view.shown(id),
            None => "missing".to_owned(),
        };
        self.refuse(index, &found)
    }

    pub(in crate::pickle) fn refuse<T>(self, argument: usize, found: &str) -> Result<T> {
        let found = found.to_owned();
        refuse(self.position(), PickleFault::Argument { call: self.name.text(), argument, found })
    }

    /// Where the call is.
    pub(in crate::pickle) fn position(self) -> u64 {
        self.view.position(self.call)
    }
}
