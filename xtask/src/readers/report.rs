//! The tables of type × reader.

use std::collections::{BTreeMap, BTreeSet};

use super::ask::Verdict;

/// A table: rows by readers, and in each cell a verdict per way.
pub struct Table {
    /// The readers, with their versions.
    pub readers: Vec<String>,
    /// The rows, in order.
    pub rows: Vec<String>,
    /// What came of each way, by row and reader.
    pub cells: BTreeMap<(usize, usize), Vec<(Way, Verdict)>>,
}

/// What was read, and in which form it was written again, if it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// The name of an [`inputs::Way`](super::inputs::Way).
    pub input: &'static str,
    /// The name that the script has for it.
    pub again: Option<String>,
}

/// Beyond so many reasons that only differ in their numbers and names, they are told as one.
const REASONS: usize = 8;

impl Table {
    /// Adds a verdict.
    pub fn add(&mut self, row: &str, reader: usize, way: Way, verdict: Verdict) {
        let number = self.rows.iter().position(|other| other == row).unwrap_or_else(|| {
            self.rows.push(row.to_owned());
            self.rows.len() - 1
        });
        self.cells.entry((number, reader)).or_default().push((way, verdict));
    }

    /// The table in Markdown, with what its cells refer to.
    pub fn markdown(&self) -> String {
        let (never, mut notes) = (self.never(), Notes::of(self));
        let mut out = line(std::iter::once("").chain(self.readers.iter().map(String::as_str)));
        out.push_str(&line(std::iter::repeat_n("---", self.readers.len() + 1)));
        for (row, name) in self.rows.iter().enumerate() {
            let cells = (0..self.readers.len()).map(|reader| {
                let said = self.cells.get(&(row, reader)).map_or(&[][..], Vec::as_slice);
                let is_told = |way: &Way| never.contains_key(&(reader, way.clone()));
                let said: Vec<_> = said.iter().filter(|(way, _)| !is_told(way)).collect();
                cell(reader, &said, &mut notes)
            });
            // A type's name is one word.
            let name = if name.contains(' ') { name.clone() } else { quoted(name) };
            let cells: Vec<String> = std::iter::once(name).chain(cells).collect();
            out.push_str(&line(cells.iter().map(String::as_str)));
        }
        out.push('\n');
        let mut told: Vec<(usize, &str, Vec<String>)> = Vec::new();
        for ((reader, way), words) in &never {
            match told.iter_mut().find(|(other, reason, _)| other == reader && reason == words) {
                Some((_, _, ways)) => ways.push(way.name()),
                None => told.push((*reader, words, vec![way.name()])),
            }
        }
        for (reader, words, ways) in told {
            out.push_str(&format!(
                "{}, {}: cannot, {}\n\n",
                self.readers[reader],
                ways.join(", "),
                quoted(words)
            ));
        }
        out + &notes.markdown(&self.readers)
    }

    /// The ways in which a reader can do nothing at all, for one reason.
    fn never(&self) -> BTreeMap<(usize, Way), String> {
        let mut reasons: BTreeMap<(usize, Way), BTreeSet<Option<String>>> = BTreeMap::new();
        for ((_, reader), said) in &self.cells {
            for (way, verdict) in said {
                let reason = match verdict {
                    Verdict::Cannot(words) => Some(without_numbers(&short(words))),
                    _ => None,
                };
                reasons.entry((*reader, way.clone())).or_default().insert(reason);
            }
        }
        let one = |reasons: BTreeSet<Option<String>>| {
            if reasons.len() == 1 { reasons.into_iter().next()? } else { None }
        };
        reasons.into_iter().filter_map(|(key, reasons)| Some((key, one(reasons)?))).collect()
    }
}

impl Way {
    /// What a cell calls it.
    pub fn name(&self) -> String {
        match &self.again {
            None => self.input.to_owned(),
            Some(again) if self.input == MAIN => again.clone(),
            Some(again) => format!("{} as {again}", self.input),
        }
    }
}

/// The input that the others of its row are variants of.
const MAIN: &str = "stream";

/// The first verdict, and those that are not like it with the ways that they are of.
fn cell(reader: usize, said: &[&(Way, Verdict)], notes: &mut Notes) -> String {
    let mut groups: Vec<(String, Vec<usize>, Vec<&Way>)> = Vec::new();
    for (way, verdict) in said {
        let (text, note) = match verdict {
            Verdict::Equal(None) => ("equal".to_owned(), None),
            Verdict::Equal(Some(but)) => (format!("equal, {but}"), None),
            Verdict::Cannot(words) => ("cannot".to_owned(), Some(words)),
            Verdict::PayloadLost => ("refused: payload lost".to_owned(), None),
            Verdict::Wrong(what) => ("wrong".to_owned(), Some(what)),
            Verdict::Fault(what) => ("**FAULT**".to_owned(), Some(what)),
        };
        let index = groups.iter().position(|(other, ..)| *other == text).unwrap_or_else(|| {
            groups.push((text, vec![], vec![]));
            groups.len() - 1
        });
        let (text, numbers, ways) = &mut groups[index];
        ways.push(way);
        // One example of what is wrong is enough.
        if let Some(words) = note.filter(|_| text != "wrong" || numbers.is_empty()) {
            let number = notes.number(reader, words);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
    }
    let all: Vec<&Way> = said.iter().map(|(way, _)| way).collect();
    let mut texts = groups.iter().enumerate().map(|(index, (text, numbers, ways))| {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let ways = if index == 0 { String::new() } else { format!("{}: ", names(ways, &all)) };
        let numbers = if numbers.is_empty() { String::new() } else { format!(" ({})", numbers.join(", ")) };
        format!("{ways}{text}{numbers}")
    });
    let first = texts.next().unwrap_or_else(|| "–".to_owned());
    texts.fold(first, |cell, text| format!("{cell}; {text}"))
}

/// What to call some of all ways: an input alone if every way of it is among them.
fn names(ways: &[&Way], all: &[&Way]) -> String {
    let mut names = Vec::new();
    for way in ways {
        let is_whole = way.input != MAIN
            && all.iter().filter(|other| other.input == way.input).all(|w| ways.contains(w));
        let name = if is_whole { way.input.to_owned() } else { way.name() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// What is said below the table, each once.
struct Notes {
    /// In how many words a reader says what is the same but for numbers and names.
    variants: BTreeMap<(usize, String), BTreeSet<String>>,
    /// The words, and who says them.
    said: Vec<(String, BTreeSet<usize>)>,
}

impl Notes {
    fn of(table: &Table) -> Self {
        let mut variants: BTreeMap<(usize, String), BTreeSet<String>> = BTreeMap::new();
        for ((_, reader), said) in &table.cells {
            for (_, verdict) in said {
                if let Verdict::Cannot(words) | Verdict::Wrong(words) | Verdict::Fault(words) = verdict {
                    let words = short(words);
                    variants.entry((*reader, without_numbers(&words))).or_default().insert(words);
                }
            }
        }
        Notes { variants, said: Vec::new() }
    }

    fn number(&mut self, reader: usize, words: &str) -> usize {
        let mut words = short(words);
        let alike = without_numbers(&words);
        if self.variants.get(&(reader, alike.clone())).is_some_and(|variants| variants.len() > REASONS) {
            words = alike;
        }
        let index = self.said.iter().position(|(other, _)| *other == words).unwrap_or_else(|| {
            self.said.push((words, BTreeSet::new()));
            self.said.len() - 1
        });
        self.said[index].1.insert(reader);
        index + 1
    }

    fn markdown(&self, readers: &[String]) -> String {
        let line = |(index, (words, by)): (usize, &(String, BTreeSet<usize>))| {
            let by: Vec<&str> = by.iter().map(|&reader| readers[reader].as_str()).collect();
            format!("{}. {}: {}\n", index + 1, by.join(", "), quoted(words))
        };
        self.said.iter().enumerate().map(line).collect()
    }
}

/// The first line, as far as it is worth reading.
fn short(words: &str) -> String {
    const MOST: usize = 180;
    let first = words.lines().next().unwrap_or_default().trim();
    // A number of tokio's, which is another one each time.
    let first = match first.split_once("Id(") {
        Some((before, after)) => {
            format!("{before}Id({}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => first.to_owned(),
    };
    match first.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &first[..end]),
        None => first,
    }
}

/// The same words for the same reason: with `…` for numbers, and for what stands in quotes.
fn without_numbers(words: &str) -> String {
    let mut out = String::new();
    for (index, part) in words.split('"').enumerate() {
        if index % 2 == 1 {
            out.push_str("\"…\"");
            continue;
        }
        let mut before = ' ';
        for c in part.chars() {
            // A digit in a name, as in `utf8`, is no number.
            match c.is_ascii_digit() && !before.is_alphabetic() {
                true if before == '…' => continue,
                true => before = '…',
                false => before = c,
            }
            out.push(before);
        }
    }
    out
}

/// As code, whatever backticks are in it.
fn quoted(words: &str) -> String {
    if words.contains('`') { format!("`` {words} ``") } else { format!("`{words}`") }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(said: &[(Way, Verdict)]) -> String {
        let mut table = Table { readers: vec!["A 1".into()], rows: vec![], cells: BTreeMap::new() };
        for (way, verdict) in said {
            table.add("int8", 0, way.clone(), verdict.clone());
        }
        // A row that can everything, so that no way is impossible.
        let ways: BTreeSet<Way> = said.iter().map(|(way, _)| way.clone()).collect();
        ways.into_iter().for_each(|way| table.add("int16", 0, way, Verdict::Equal(None)));
        table.markdown()
    }

    fn way(input: &'static str) -> Way {
        Way { input, again: None }
    }

    fn again(input: &'static str, again: &str) -> Way {
        Way { input, again: Some(again.to_owned()) }
    }

    #[test]
    fn a_cell_says_what_is_not_like_the_first() {
        let equal = || Verdict::Equal(None);
        let cannot = |words: &str| Verdict::Cannot(words.to_owned());
        assert!(table(&[(way("stream"), equal()), (way("file"), equal())]).contains("| `int8` | equal |\n"));
        let said =
            [(way("stream"), equal()), (way("lz4"), cannot("no 12")), (way("zstd"), cannot("no \"x\""))];
        let text = table(&said);
        assert!(text.contains("| `int8` | equal; lz4, zstd: cannot (1, 2) |\n"), "{text}");
        assert!(text.contains("1. A 1: `no 12`\n2. A 1: `no \"x\"`\n"), "{text}");

        let written = [
            (again("stream", "stream"), cannot("no")),
            (again("stream", "file"), equal()),
            (again("no rows", "stream"), equal()),
            (again("no rows", "file"), equal()),
            (again("replaced", "stream"), equal()),
            (again("replaced", "lz4"), cannot("no")),
        ];
        let text = table(&written);
        assert!(
            text.contains("| `int8` | cannot (1); file, no rows, replaced as stream: equal |\n"),
            "{text}"
        );
    }

    #[test]
    fn many_reasons_of_one_kind_are_one() {
        let way = |input| (way(input), Verdict::Cannot(format!("utf8: 12 bytes of \"{input}\"")));
        let text = table(&["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(way));
        assert!(text.contains("1. A 1: `utf8: … bytes of \"…\"`\n"), "{text}");
        assert!(!text.contains("\n2. "), "{text}");
    }

    #[test]
    fn what_a_reader_never_can_is_said_once() {
        let mut table = Table { readers: vec!["A 1".into()], rows: vec![], cells: BTreeMap::new() };
        for (row, words) in [("int8", "at 12"), ("int16", "at 34")] {
            table.add(row, 0, way("stream"), Verdict::Equal(None));
            table.add(row, 0, way("file"), Verdict::Cannot(words.to_owned()));
        }
        let text = table.markdown();
        assert!(
            text.contains("| `int8` | equal |\n") && text.contains("\nA 1, file: cannot, `at …`\n"),
            "{text}"
        );
    }

    #[test]
    fn words_are_shortened() {
        assert_eq!(
            short("Panic: JoinError::Panic(Id(146), \"x\")\nat line 3"),
            "Panic: JoinError::Panic(Id(), \"x\")"
        );
        assert_eq!(short(&"ä".repeat(300)).chars().count(), 181);
        assert_eq!(quoted("an `Err` value"), "`` an `Err` value ``");
    }
}
