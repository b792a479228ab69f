//! The opcodes that name, call and build: where it is decided what is allowed.

use super::super::allow::{self, Name};
use super::super::fault::PickleFault;
use super::super::graph::{Id, Kind, NONE_ID, Node};
use super::super::opcode::*;
use super::super::scan;
use super::Machine;
use crate::error::Result;

/// A refused name is shown up to this many characters: twice the longest allowed one.
const SHOWN: usize = 100;

impl Machine<'_> {
    pub(super) fn global(&mut self) -> Result<()> {
        let name = self.pop(STACK_GLOBAL)?;
        let module = self.pop(STACK_GLOBAL)?;
        let (Some(module), Some(name)) = (self.text_of(module), self.text_of(name)) else {
            let found = [module, name].map(|id| self.graph.kind(id)).into_iter().find(|k| *k != Kind::Text);
            let found = found.unwrap_or(Kind::Text).text();
            return self.refuse(PickleFault::Operand { opcode: STACK_GLOBAL, found });
        };
        match allow::lookup(module, name) {
            Some(place) => self.push_node(Node::new(Kind::Global, place as u64)),
            None => {
                let [module, name] = [module, name].map(|text| text.chars().take(SHOWN).collect());
                self.refuse(PickleFault::Name { module, name })
            }
        }
    }

    fn text_of(&self, id: Id) -> Option<&str> {
        let node = self.graph.node(id);
        let opcode = self.bytes.get(node.payload()).copied().filter(|_| node.kind() == Kind::Text)?;
        let argument = scan::argument(self.bytes, node.payload(), scan::shape(opcode)?).ok()?;
        std::str::from_utf8(self.bytes.get(argument)?).ok()
    }

    pub(super) fn call(&mut self, opcode: u8, kind: Kind) -> Result<()> {
        let Some(height) = self.stack.len().checked_sub(2).filter(|height| *height >= self.base) else {
            return self.refuse(PickleFault::Underflow { opcode });
        };
        let (callee, arguments) = match self.stack.get(height..) {
            Some([callee, arguments]) => (self.graph.node(*callee), *arguments),
            _ => return self.refuse(PickleFault::Underflow { opcode }),
        };
        let found = self.graph.kind(arguments);
        if !matches!(found, Kind::Tuple | Kind::EmptyTuple) {
            return self.refuse(PickleFault::Operand { opcode, found: found.text() });
        }
        if callee.kind() != Kind::Global {
            return self.refuse(PickleFault::Operand { opcode, found: callee.kind().text() });
        }
        let Some((name, allowed)) = allow::at(callee.payload()) else {
            return self.refuse(PickleFault::Operand { opcode, found: callee.kind().text() });
        };
        let is_allowed = match kind {
            Kind::New => allowed.role.may_be_made(),
            _ => allowed.role.may_be_called(),
        };
        if !is_allowed {
            return self.refuse(PickleFault::Call { name: name.text() });
        }
        match name {
            Name::GetAttr => {
                self.stack.truncate(height);
                self.attribute(arguments)
            }
            // Its items are set later, as those of a dict are.
            Name::OrderedDict if found == Kind::EmptyTuple => {
                self.stack.truncate(height);
                self.container(Kind::Dict, 0)
            }
            Name::OrderedDict => self.refuse(PickleFault::Call { name: name.text() }),
            _ => self.container(kind, 2),
        }
    }

    /// The one attribute that may be taken: `ZoneInfo._unpickle`.
    fn attribute(&mut self, arguments: Id) -> Result<()> {
        let mut children = self.graph.children(arguments);
        let (of, attribute, more) = (children.next(), children.next(), children.next());
        let of = of.map(|of| self.graph.node(of)).filter(|of| of.kind() == Kind::Global);
        let of = of.and_then(|of| allow::at(of.payload()));
        let attribute = attribute.and_then(|attribute| self.text_of(attribute));
        if let (Some((Name::ZoneInfo, zone)), Some("_unpickle"), None) = (of, attribute, more)
            && let Some(place) = allow::lookup(zone.module, "ZoneInfo._unpickle")
        {
            return self.push_node(Node::new(Kind::Global, place as u64));
        }
        self.refuse(PickleFault::Call { name: Name::GetAttr.text() })
    }

    pub(super) fn build(&mut self) -> Result<()> {
        let Some(height) = self.stack.len().checked_sub(1).filter(|height| *height > self.base) else {
            return self.refuse(PickleFault::Underflow { opcode: BUILD });
        };
        let object = height.checked_sub(1).and_then(|below| self.stack.get(below)).copied();
        let node = self.graph.node(object.unwrap_or(NONE_ID));
        if !matches!(node.kind(), Kind::Call | Kind::New) {
            return self.refuse(PickleFault::Operand { opcode: BUILD, found: node.kind().text() });
        }
        let children = object.map_or(0, |object| self.graph.children(object).len());
        if children != 2 {
            return self.refuse(PickleFault::Changed { opcode: BUILD });
        }
        self.adopt(BUILD, node.payload(), height)
    }
}
