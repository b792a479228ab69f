//! The few entries of a JSON object that are ours, whatever else it holds.
//!
//! A tree of all of it would take many times the memory of the text, which may come from anyone.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The values of these keys, as text, in the order of the keys; the last one of a key counts.
/// `None` if the text is no JSON object.
pub(crate) fn entries<'j, const N: usize>(
    json: &'j str,
    keys: [&str; N],
) -> Option<[Option<&'j RawValue>; N]> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let found = deserializer.deserialize_map(Entries { keys, found: [None; N] }).ok()?;
    deserializer.end().ok()?;
    Some(found)
}

/// A value as a type, if it is one.
pub(crate) fn parse<'j, T: serde::Deserialize<'j>>(value: Option<&'j RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

struct Entries<'j, 'k, const N: usize> {
    keys: [&'k str; N],
    found: [Option<&'j RawValue>; N],
}

impl<'j, const N: usize> Visitor<'j> for Entries<'j, '_, N> {
    type Value = [Option<&'j RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'j>>(mut self, mut map: M) -> Result<Self::Value, M::Error> {
        while let Some(key) = map.next_key::<Cow<'j, str>>()? {
            let place = self.keys.iter().position(|ours| *ours == key);
            match place.and_then(|place| self.found.get_mut(place)) {
                Some(slot) => *slot = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(self.found)
    }
}
