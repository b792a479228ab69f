//! The tables of `docs/PANDAS.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::case::{Case, Sent, VERSIONS};
use super::peers::Peers;
use super::talk::Seen;

/// What is not as it must be, a line each.
pub fn problems(cases: &[Case], seen: &[Seen]) -> Vec<String> {
    let mut all = Vec::new();
    for (version, seen) in VERSIONS.iter().zip(seen) {
        for (case, stream) in cases.iter().zip(&seen.streams) {
            for problem in strings(&stream["problems"]) {
                all.push(format!(
                    "pandas {version}: {}: {}: {}: {problem}",
                    case.section, case.row, case.detail
                ));
            }
        }
    }
    all
}

/// The whole page.
pub fn markdown(cases: &[Case], seen: &[Seen], peers: &Peers) -> String {
    let mut page = String::from(include_str!("preface.md"));
    page.push_str("\n## Versions\n\n");
    for seen in seen {
        line(&mut page, &format!("- {}", seen.versions));
    }
    let read = cases.iter().filter(|case| matches!(case.sent, Sent::Stream(_))).count();
    let right =
        |seen: &Seen| seen.streams.iter().filter(|stream| strings(&stream["problems"]).is_empty()).count();
    let right: Vec<String> = seen.iter().map(|seen| format!("{}", right(seen))).collect();
    line(&mut page, "");
    line(
        &mut page,
        &format!(
            "{read} streams and {} pickled indexes and arrays, each read twice; as they must be: {} (pandas {}).",
            cases.len() - read,
            right.join(", "),
            VERSIONS.join(", ")
        ),
    );
    for section in unique(cases.iter().map(|case| case.section)) {
        line(&mut page, &format!("\n## {section}\n"));
        line(&mut page, &format!("| column | pandas {} | streams |", VERSIONS.join(" | ")));
        line(&mut page, "|---|---|---|---|--:|");
        let of_section = || cases.iter().enumerate().filter(|(_, case)| case.section == section);
        for name in unique(of_section().map(|(_, case)| case.row.as_str())) {
            let numbers = of_section().filter(|(_, case)| case.row == name).map(|(number, _)| number);
            let row = Row { cases: numbers.collect() };
            let cells = seen.iter().enumerate().map(|(version, seen)| row.cell(cases, seen, version));
            let cells = cells.collect::<Vec<_>>().join(" | ");
            line(&mut page, &format!("| {name} | {cells} | {} |", row.cases.len()));
        }
    }
    pickles(&mut page, cases, seen, peers);
    others(&mut page, peers);
    page
}

/// As many dtypes as a cell names.
const FEW: usize = 4;

/// Some cases that are one row of a table.
struct Row {
    cases: Vec<usize>,
}

impl Row {
    fn cell(&self, cases: &[Case], seen: &Seen, version: usize) -> String {
        let streams = || self.cases.iter().map(|number| (&cases[*number], &seen.streams[*number]));
        let mut parts = Vec::new();
        let of = |key: &'static str| unique(streams().flat_map(move |(_, stream)| strings(&stream[key])));
        let (dtypes, categories, indexes) = (of("dtypes"), of("categories"), of("indexes"));
        if !indexes.is_empty() {
            parts.push(indexes.join(", "));
        } else if dtypes.len() > FEW {
            parts.push(format!("{} dtypes, as of one batch", dtypes.len()));
        } else if !dtypes.is_empty() {
            let of =
                if categories.is_empty() { String::new() } else { format!(" of {}", categories.join(", ")) };
            parts.push(format!("{}{of}", dtypes.join(", ")));
        }
        parts.extend(self.memory(cases, seen));
        let refused =
            unique(streams().filter(|(_, stream)| !stream["error"].is_null()).map(|(case, stream)| {
                // What is said further names a path, or a value.
                let expected = case.truth.refused[version].as_deref();
                let said = stream["error"].as_str().unwrap_or_default();
                format!(
                    "`{}`",
                    expected
                        .unwrap_or(said)
                        .trim_end_matches([':', ' '])
                        .trim_end_matches(" on <module 'pandas.arrays' from")
                )
            }));
        if !refused.is_empty() {
            let some = if parts.is_empty() { "" } else { "some values: " };
            parts.push(format!("{some}{}", refused.join(", ")));
        }
        let wrong = streams().filter(|(_, stream)| !strings(&stream["problems"]).is_empty()).count();
        if wrong > 0 {
            parts.push(format!("**{wrong} of {} are not as they must be**", self.cases.len()));
        }
        if parts.is_empty() { "as sent".to_owned() } else { parts.join("; ") }
    }

    /// Which parts of the arrays lie in the received memory.
    fn memory(&self, cases: &[Case], seen: &Seen) -> Option<String> {
        // By part: whether it is shared where nothing is missing, and where something is.
        let mut parts: BTreeMap<String, [Vec<bool>; 2]> = BTreeMap::new();
        for number in &self.cases {
            let has_nulls = cases[*number].truth.columns.iter().any(|column| column.has_nulls);
            for (part, is_shared) in seen.streams[*number]["memory"].as_object().into_iter().flatten() {
                parts.entry(part.clone()).or_default()[usize::from(has_nulls)].extend(is_shared.as_bool());
            }
        }
        let state = |[without, with]: &[Vec<bool>; 2]| {
            let (mut all, mut none) = (true, true);
            without.iter().chain(with).for_each(|is_shared| {
                all &= is_shared;
                none &= !is_shared;
            });
            match (all, none) {
                (true, _) => "shared",
                (_, true) => "copied",
                _ if without.iter().all(|is_shared| *is_shared) && !with.contains(&true) => {
                    "shared unless something is missing"
                }
                _ => "shared or copied",
            }
        };
        let states: Vec<(&str, &str)> =
            parts.iter().map(|(part, seen)| (part.as_str(), state(seen))).collect();
        let (_, first) = states.first()?;
        if states.iter().all(|(_, state)| state == first) {
            return Some((*first).to_owned());
        }
        Some(states.iter().map(|(part, state)| format!("{part} {state}")).collect::<Vec<_>>().join(", "))
    }
}

fn pickles(page: &mut String, cases: &[Case], seen: &[Seen], peers: &Peers) {
    line(page, "\n## pandas' own pickle\n");
    line(
        page,
        "The dataframe of \"several batches\" as `DataFrame.to_pickle` writes it, and what loads it; below, the",
    );
    line(page, "same stream of this crate.\n");
    line(page, &format!("| written by | pandas {} |", VERSIONS.join(" | ")));
    line(page, "|---|---|---|---|");
    for (version, loaded) in VERSIONS.iter().zip(&peers.pickles) {
        let shown =
            |outcome: &String| if outcome == "equal" { outcome.clone() } else { format!("`{outcome}`") };
        let cells: Vec<String> = loaded.iter().map(shown).collect();
        line(page, &format!("| pandas {version} | {} |", cells.join(" | ")));
    }
    let is_same = |case: &Case| case.section == super::frames::SECTION && case.row == super::frames::SEVERAL;
    let cells = seen.iter().map(|seen| {
        let streams = cases.iter().zip(&seen.streams).filter(|(case, _)| is_same(case));
        let wrong = streams.filter(|(_, stream)| !strings(&stream["problems"]).is_empty()).count();
        if wrong == 0 { "equal" } else { "**not equal**" }
    });
    line(page, &format!("| arrow-frames | {} |", cells.collect::<Vec<_>>().join(" | ")));
}

fn others(page: &mut String, peers: &Peers) {
    line(page, "\n## Relayed by a program that re-writes the stream\n");
    line(
        page,
        "pyarrow of each version above reads the same dataframe and writes it again. `from_buffers` says",
    );
    line(
        page,
        "`PayloadLost`, and `examples/consume.py` raises `ValueError`, both naming the same column.\n",
    );
    line(page, "| what pyarrow does | streams sent |");
    line(page, "|---|---|");
    for relay in &peers.relays {
        line(page, &format!("| {} | {} |", relay.way, relay.sent.join(", ")));
    }

    line(page, "\n## Read without pandas\n");
    line(
        page,
        "The same dataframe as a stream and as a file, opened by readers that know nothing of opaque columns.\n",
    );
    line(page, "| reader | native columns equal | opaque columns that are nulls |");
    line(page, "|---|--:|--:|");
    for reader in &peers.readers {
        line(page, &format!("| {} | {} | {} |", reader.name, reader.native, reader.opaque));
    }
}

fn strings(list: &Value) -> Vec<String> {
    let strings = list.as_array().into_iter().flatten();
    strings.filter_map(|value| value.as_str()).map(str::to_owned).collect()
}

fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

fn line(page: &mut String, text: &str) {
    writeln!(page, "{text}").expect("a String takes everything");
}
