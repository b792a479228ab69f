//! The table of what came of each file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use comfy_table::{Table, presets};

use super::corpus::{Case, Form, Group};
use super::expected::Expected;
use super::peers::Verdict;
use crate::table;

/// What came of a case.
pub struct Row {
    /// The file's path in the folder.
    pub path: String,
    /// What the file is there for.
    pub group: Group,
    /// How it was decoded.
    pub form: Form,
    /// What must come of it.
    pub expected: Expected,
    /// What was read; or the kind of the error.
    pub outcome: Result<String, String>,
    /// The error's text.
    pub detail: String,
    /// What is wrong with it, apart from the outcome.
    pub faults: Vec<String>,
    /// Where it was written again, if others are asked about that.
    pub rewritten: Option<PathBuf>,
    /// What arrow-rs says of that.
    pub arrow: Verdict,
    /// What pyarrow says of that.
    pub pyarrow: Verdict,
    /// How long it took.
    pub millis: Option<u64>,
    /// How much memory it took.
    pub kib: Option<u64>,
}

impl Row {
    /// A case with this outcome.
    pub fn new(case: &Case, outcome: Result<String, String>, detail: String) -> Self {
        Row {
            path: case.path.clone(),
            group: case.group,
            form: case.form,
            expected: case.expected,
            outcome,
            detail,
            faults: Vec::new(),
            rewritten: None,
            arrow: Verdict::Unasked,
            pyarrow: Verdict::Unasked,
            millis: None,
            kib: None,
        }
    }

    /// Whether it is what was expected.
    pub fn is_right(&self) -> bool {
        let is_expected = match (self.expected, &self.outcome) {
            (Expected::Truth | Expected::TruthButNames(_) | Expected::Data, Ok(_)) => true,
            (Expected::Refused(kind, _), Err(found)) => kind == found,
            // The name of a kind: a signal or a panic has none.
            (Expected::Malformed, Err(found)) => found.chars().next().is_some_and(|c| c.is_ascii_uppercase()),
            _ => false,
        };
        let differs = |verdict: &Verdict| matches!(verdict, Verdict::Differs(_));
        is_expected && self.faults.is_empty() && !differs(&self.arrow) && !differs(&self.pyarrow)
    }

    /// The folder that it is counted under.
    fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// All that is wrong with it.
    fn faults(&self) -> String {
        let mut faults = self.faults.clone();
        for (peer, verdict) in [("arrow-rs", &self.arrow), ("pyarrow", &self.pyarrow)] {
            if let Verdict::Differs(why) = verdict {
                faults.push(format!("{peer} reads it differently: {why}"));
            }
        }
        match &self.outcome {
            Ok(read) => faults.insert(0, format!("read ({read})")),
            Err(kind) => faults.insert(0, format!("{kind}: {}", self.detail)),
        }
        faults.join("; ")
    }
}

/// Prints the table, what is not as expected, and the worst time and memory.
pub fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(HEADER);
    for counts in counts(rows) {
        table.add_row(counts);
    }
    table::align_right(&mut table, 1..HEADER.len());
    println!("{table}");
    for row in rows.iter().filter(|row| !row.is_right()) {
        println!("MISSED {} as a {}: {}", row.path, row.form.name(), row.faults());
    }
    let most = |number: fn(&Row) -> Option<u64>| rows.iter().filter_map(number).max().unwrap_or_default();
    println!("malformed files: at most {} ms and {} KiB", most(|row| row.millis), most(|row| row.kib));
}

/// The table as a document. It has nothing that differs from run to run.
pub fn markdown(rows: &[Row], pyarrow: Option<&str>) -> String {
    let mut out = String::from(INTRODUCTION);
    match pyarrow {
        Some(version) => {
            out.push_str(&format!("The last run asked arrow-rs 60.1 and pyarrow {version}.\n\n"))
        }
        None => out.push_str("The last run asked arrow-rs 60.1 only.\n\n"),
    }
    push_line(&mut out, HEADER.map(str::to_owned));
    push_line(&mut out, HEADER.map(|name| if name == HEADER[0] { "---" } else { "--:" }.to_owned()));
    for counts in counts(rows) {
        push_line(&mut out, counts);
    }

    out.push_str("\n## Refused, or read with an exception\n\n");
    push_line(&mut out, ["files", "forms", "outcome", "why"].map(str::to_owned));
    push_line(&mut out, ["---"; 4].map(str::to_owned));
    for (key, forms) in exceptions(rows) {
        let [files, outcome, why] = key;
        push_line(&mut out, [files, forms, outcome, why]);
    }

    out.push_str("\n## Malformed files\n\nEach is refused, in every form that it is decoded in, with the error named. A form that is\n`read` is sound by itself: only the file's footer is not.\n\n");
    push_line(&mut out, ["file", "error by form"].map(str::to_owned));
    push_line(&mut out, ["---"; 2].map(str::to_owned));
    let mut malformed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.group == Group::Crasher) {
        malformed.entry(&row.path).or_default().push(format!("{}: {}", row.form.name(), shown(row)));
    }
    for (path, forms) in malformed {
        push_line(&mut out, [format!("`{path}`"), forms.join(", ")]);
    }
    out
}

const HEADER: [&str; 8] =
    ["folder", "cases", "as expected", "equal to the JSON", "read", "refused", "arrow-rs", "pyarrow"];

const INTRODUCTION: &str = "\
# Conformance

What `cargo xtask conformance DIR` found over a folder of Arrow IPC files that other
implementations wrote: Apache Arrow's integration files by version (`golden`, with the truth
beside each as JSON), files that fill its gaps (`generated`), files from other projects
(`extra`), and malformed ones, most of them found by fuzzing (`crashers`). The paths are
relative to `DIR/arrow`; the files are not part of this repository.

A case is a file in one form: a stream in one buffer, a stream from a reader, an IPC file,
or the stream inside a malformed file.
Every array that is read passes arrow-rs's full validation, is written again and read as the
same. The last two columns count the files whose rewritten stream a peer reads as equal to
the original; it is not asked about originals that it cannot read itself. Malformed files
are decoded in a process of their own: an error in less than a second and in less than
64 MiB beyond the file's own size, anything else fails the run.

";

/// A line per folder: its name, then numbers.
fn counts(rows: &[Row]) -> Vec<[String; 8]> {
    let mut folders: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        folders.entry(row.folder()).or_default().push(row);
    }
    let line = |name: &str, rows: &[&Row]| {
        let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count().to_string();
        let peer = |verdict: fn(&Row) -> &Verdict| {
            let same = rows.iter().filter(|row| *verdict(row) == Verdict::Same).count();
            let asked = rows.iter().filter(|row| *verdict(row) != Verdict::Unasked).count();
            let unable = rows.iter().filter(|row| *verdict(row) == Verdict::Unable).count();
            match (asked, unable) {
                (0, _) => "–".to_owned(),
                (_, 0) => same.to_string(),
                _ => format!("{same} ({unable} unable)"),
            }
        };
        let is_truth = |row: &Row| {
            matches!(row.expected, Expected::Truth | Expected::TruthButNames(_)) && row.is_right()
        };
        [
            name.to_owned(),
            rows.len().to_string(),
            count(&Row::is_right),
            count(&is_truth),
            count(&|row| row.outcome.is_ok()),
            count(&|row| row.outcome.is_err()),
            peer(|row| &row.arrow),
            peer(|row| &row.pyarrow),
        ]
    };
    let mut lines: Vec<_> = folders.iter().map(|(name, rows)| line(name, rows)).collect();
    lines.push(line("all", &rows.iter().collect::<Vec<_>>()));
    lines
}

/// Files that are refused or excepted, and what a peer cannot read: file, outcome and reason,
/// with the forms it is so for. Those of a folder that are all refused alike are one.
fn exceptions(rows: &[Row]) -> Vec<([String; 3], String)> {
    let mut found: Vec<([String; 3], Vec<&str>)> = Vec::new();
    for row in rows.iter().filter(|row| row.group != Group::Crasher) {
        let (file, why) = match (row.expected, &row.arrow, &row.pyarrow) {
            _ if !row.is_right() => (row.path.clone(), row.faults()),
            (Expected::Refused("BigEndian", why), ..) => (format!("{}/*", row.folder()), why.to_owned()),
            (Expected::Refused(_, why) | Expected::TruthButNames(why), ..) => {
                (row.path.clone(), why.to_owned())
            }
            (_, Verdict::Unable, Verdict::Unable) => {
                (row.path.clone(), "neither arrow-rs nor pyarrow reads the original".to_owned())
            }
            (_, Verdict::Unable, _) => (row.path.clone(), "arrow-rs cannot read the original".to_owned()),
            (_, _, Verdict::Unable) => (row.path.clone(), "pyarrow cannot read the original".to_owned()),
            _ => continue,
        };
        let key = [format!("`{file}`"), shown(row), why];
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, forms)) if forms.contains(&row.form.name()) => {}
            Some((_, forms)) => forms.push(row.form.name()),
            None => found.push((key, vec![row.form.name()])),
        }
    }
    found.into_iter().map(|(key, forms)| (key, forms.join(", "))).collect()
}

fn shown(row: &Row) -> String {
    match &row.outcome {
        Ok(_) if row.is_right() => "read".to_owned(),
        Ok(_) => "**read**".to_owned(),
        Err(kind) if row.is_right() => format!("`{kind}`"),
        Err(kind) => format!("**{kind}**"),
    }
}

/// A line of a table.
pub fn push_line<const N: usize>(out: &mut String, cells: [String; N]) {
    let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    out.push_str(&format!("| {} |\n", cells.join(" | ")));
}
