//! Changes JSON in its text: keys may be repeated, and numbers be what no parser makes of them.

use std::ops::Range;

use crate::rng::Rng;

/// Arrays inside arrays are looked into so deep.
const DEPTH: usize = 32;

/// Numbers as text: edges of integer types, and what is no integer.
const NUMBERS: [&str; 25] = [
    "-1",
    "0",
    "1",
    "2",
    "7",
    "8",
    "63",
    "64",
    "65",
    "128",
    "255",
    "256",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "-0.0",
    "1e3",
    "1e400",
];

/// What takes the place of a value: other types.
const VALUES: [&str; 10] = ["null", "true", "false", "[]", "{}", "\"\"", "\"1\"", "[[]]", "[null]", "[0,0]"];

/// Texts that notes have.
const TEXTS: [&str; 18] = [
    "version",
    "body_length",
    "codec",
    "opaque",
    "writable",
    "device",
    "column",
    "frames",
    "type_name",
    "vendor_name",
    "field",
    "pandas",
    "python",
    "category",
    "object",
    "lz4",
    "zstd",
    "datetime64[us, Europe/Paris]",
];

/// A value: where it lies, and where the key lies if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub key: Option<Range<usize>>,
    pub value: Range<usize>,
    /// The place of what it is in, in the list of items.
    pub parent: usize,
}

impl Item {
    fn whole(&self) -> Range<usize> {
        self.key.as_ref().map_or(self.value.start, |key| key.start)..self.value.end
    }
}

/// The values in a text, each behind what it is in; none if it is no JSON.
pub fn items(text: &[u8]) -> Vec<Item> {
    let mut scan = Scan { text, at: 0, items: Vec::new() };
    match scan.value(None, 0, 0) {
        Some(()) => scan.items,
        None => Vec::new(),
    }
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    items: Vec<Item>,
}

impl Scan<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(self.text[self.at])
    }

    /// The end of a text in quotes that starts here.
    fn text(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.text.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(start..self.at)
    }

    fn value(&mut self, key: Option<Range<usize>>, parent: usize, depth: usize) -> Option<()> {
        let first = self.peek()?;
        let (start, index) = (self.at, self.items.len());
        self.items.push(Item { key, value: start..start, parent });
        match first {
            _ if depth > DEPTH => return None,
            b'"' => {
                self.text()?;
            }
            b'[' | b'{' => {
                self.at += 1;
                loop {
                    match self.peek()? {
                        b']' | b'}' => break,
                        b',' => self.at += 1,
                        _ => {}
                    }
                    if matches!(self.peek()?, b']' | b'}') {
                        break;
                    }
                    let mut key = None;
                    if first == b'{' {
                        key = Some((self.peek()? == b'"').then(|| self.text())??);
                        (self.peek()? == b':').then_some(())?;
                        self.at += 1;
                    }
                    self.value(key, index, depth + 1)?;
                }
                self.at += 1;
            }
            _ => {
                let is_end = |byte: &u8| b",]}".contains(byte) || byte.is_ascii_whitespace();
                while self.text.get(self.at).is_some_and(|byte| !is_end(byte)) {
                    self.at += 1;
                }
                (self.at > start).then_some(())?;
            }
        }
        self.items[index].value.end = self.at;
        Some(())
    }
}

/// Another text, which is mostly JSON too; nothing if this one is none.
pub fn changed(text: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let items = items(text);
    let item = items.get(rng.below(items.len()))?;
    let value = &text[item.value.clone()];
    let splice = |range: Range<usize>, with: &[u8]| [&text[..range.start], with, &text[range.end..]].concat();
    let siblings: Vec<&Item> =
        items.iter().skip(1).filter(|other| other.parent == item.parent && **other != items[0]).collect();
    let is_inner = *item != items[0];
    let other = &items[rng.below(items.len())];
    Some(match rng.below(12) {
        0..4 => {
            // Numbers are what is checked most.
            let numbers: Vec<&Item> =
                items.iter().filter(|item| number(&text[item.value.clone()]).is_some()).collect();
            let place = numbers.get(rng.below(numbers.len()))?.value.clone();
            let another = &text[numbers[rng.below(numbers.len())].value.clone()];
            let old = number(&text[place.clone()])?;
            let near = [1, -1, 8, -8, 64, -64][rng.below(6)];
            let new = match rng.below(4) {
                0 => old.saturating_add(near).to_string().into_bytes(),
                1 => another.to_vec(),
                2 => old.saturating_mul([2, -1][rng.below(2)]).to_string().into_bytes(),
                _ => NUMBERS[rng.below(NUMBERS.len())].into(),
            };
            splice(place, &new)
        }
        4 if is_inner => {
            // With the comma in front of it, or behind it.
            let mut range = item.whole();
            if text[..range.start].ends_with(b",") {
                range.start -= 1;
            } else if text[range.end..].starts_with(b",") {
                range.end += 1;
            }
            splice(range, b"")
        }
        5 if is_inner => {
            let whole = item.whole();
            let again = [b",", &text[whole.clone()]].concat();
            splice(whole.end..whole.end, &again)
        }
        6 => splice(item.value.clone(), &text[other.value.clone()]),
        7 => match rng.below(4) {
            0 => splice(item.value.clone(), &[b"\"", value, b"\""].concat()),
            1 => splice(item.value.clone(), &[b"[", value, b"]"].concat()),
            _ => splice(item.value.clone(), VALUES[rng.below(VALUES.len())].as_bytes()),
        },
        8 if is_inner => {
            // Up to the end of what it is in.
            let end = siblings.last()?.value.end;
            splice(item.value.end..end, b"")
        }
        9 if siblings.len() > 1 => {
            let sibling = siblings[rng.below(siblings.len())];
            let (first, last) =
                if item.value.start < sibling.value.start { (item, sibling) } else { (sibling, item) };
            let (first, last) = (first.value.clone(), last.value.clone());
            if first.end > last.start {
                return None;
            }
            let between = &text[first.end..last.start];
            splice(first.start..last.end, &[&text[last.clone()], between, &text[first]].concat())
        }
        10 => {
            let key = item.key.clone()?;
            splice(key, format!("\"{}\"", TEXTS[rng.below(TEXTS.len())]).as_bytes())
        }
        _ => {
            let texts: Vec<&Item> = items.iter().filter(|item| text[item.value.start] == b'"').collect();
            let place = texts.get(rng.below(texts.len()))?.value.clone();
            let inner = place.start + 1..place.end - 1;
            match rng.below(3) {
                0 => splice(inner, TEXTS[rng.below(TEXTS.len())].as_bytes()),
                1 if !inner.is_empty() => {
                    let at = inner.start + rng.below(inner.len());
                    splice(at..at + 1, &[b"A=[]/0\\\xffz,"[rng.below(10)]])
                }
                _ => {
                    let end = inner.start + rng.below(inner.len() + 1);
                    splice(end..inner.end, b"")
                }
            }
        }
    })
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
