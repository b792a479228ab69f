//! The same dataframe on other ways: pandas' own pickle, a relay that re-writes the stream,
//! and readers that do not know of opaque columns.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_frames::{Compression, ErrorKind, Frames, from_buffers};
use serde_json::Value;

use super::case::{VERSIONS, stream};
use super::talk::{self, Pandas};
use super::{Error, frames};

/// What came of the other ways.
pub struct Peers {
    /// For each version that pickles, what each version loads.
    pub pickles: Vec<Vec<String>>,
    pub relays: Vec<Relay>,
    pub readers: Vec<Reader>,
}

/// A way to relay, and what readers say then.
pub struct Relay {
    pub way: String,
    /// The codecs of the streams that were sent so.
    pub sent: Vec<String>,
    /// What is wrong: a reader that is content, or names another column.
    problems: Vec<String>,
}

/// A reader without help.
pub struct Reader {
    pub name: String,
    pub native: usize,
    pub opaque: usize,
    problems: Vec<String>,
}

/// Sends the dataframe on all the other ways.
pub fn compare(pandas: &[Pandas], folder: &Path) -> Result<Peers, Error> {
    let sent = [
        ("sent", frames::plain()),
        ("sent-lz4", frames::plain().with_compression(Compression::Lz4)),
        ("sent-zstd", frames::plain().with_compression(Compression::Zstd(1))),
    ];
    for version in VERSIONS {
        fs::create_dir_all(folder.join(version))?;
    }
    for (name, mut encoder) in sent {
        let frames = encoder.encode(&frames::sample()?)?;
        write(folder, &format!("{name}.arrows"), &stream(&frames)?)?;
        let file: Vec<u8> = frames.file_form()?.segments()?.flatten().copied().collect();
        write(folder, &format!("{name}.arrow"), &file)?;
    }
    let plain = stream(&frames::plain().encode(&frames::sample()?)?)?;
    write(folder, "later.arrows", &of_later_version(plain)?)?;
    let readers = readers(pandas, &folder.join(VERSIONS[0]))?;
    Ok(Peers { pickles: pickles(pandas, folder)?, relays: relays(pandas, folder)?, readers })
}

/// Writes a file to each version's folder.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    VERSIONS.iter().try_for_each(|version| Ok(fs::write(folder.join(version).join(name), bytes)?))
}

/// A stream whose notes have a version that nobody knows.
fn of_later_version(mut stream: Vec<u8>) -> Result<Vec<u8>, Error> {
    let (now, later) = (br#"{"version":1,"#, br#"{"version":2,"#);
    let starts = stream.windows(now.len()).enumerate().filter(|(_, bytes)| bytes == now);
    let starts: Vec<usize> = starts.map(|(start, _)| start).collect();
    if starts.is_empty() {
        return Err("the stream has no note".into());
    }
    starts.iter().for_each(|start| stream[*start..][..later.len()].copy_from_slice(later));
    Ok(stream)
}

impl Peers {
    /// Whatever is not as it must be.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for relay in &self.relays {
            problems.extend(relay.problems.iter().map(|problem| format!("relayed {}: {problem}", relay.way)));
        }
        for reader in &self.readers {
            problems.extend(reader.problems.iter().map(|problem| format!("{}: {problem}", reader.name)));
        }
        for (version, loaded) in VERSIONS.iter().zip(&self.pickles) {
            let own = VERSIONS.iter().zip(loaded).find(|(loading, _)| *loading == version);
            if own.is_none_or(|(_, outcome)| outcome != "equal") {
                problems.push(format!("pandas {version} does not load its own pickle"));
            }
        }
        problems
    }
}

fn pickles(pandas: &[Pandas], folder: &Path) -> Result<Vec<Vec<String>>, Error> {
    let stream = folder.join(VERSIONS[0]).join("sent.arrows");
    let files: Vec<PathBuf> =
        VERSIONS.iter().map(|version| folder.join(version).join("own.pickle")).collect();
    let script = PathBuf::from("pandas_pickle.py");
    talk::at_once(pandas, |number| {
        vec![script.clone(), "dump".into(), stream.clone(), files[number].clone()]
    })?;
    let loaded = talk::at_once(pandas, |_| {
        [&[script.clone(), "load".into(), stream.clone()][..], &files[..]].concat()
    })?;
    let outcome = |loading: &Vec<Value>, number: usize| {
        loading.get(number).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Ok((0..files.len())
        .map(|number| loaded.iter().map(|loading| outcome(loading, number)).collect())
        .collect())
}

fn relays(pandas: &[Pandas], folder: &Path) -> Result<Vec<Relay>, Error> {
    let answers =
        talk::at_once(pandas, |number| vec!["pandas_relay.py".into(), folder.join(VERSIONS[number])])?;
    let mut relays: Vec<Relay> = Vec::new();
    for (version, lines) in VERSIONS.iter().zip(&answers) {
        for line in lines {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let (way, sent) = (text("way"), text("sent"));
            let place = relays.iter().position(|relay| relay.way == way).unwrap_or_else(|| {
                relays.push(Relay { way, sent: Vec::new(), problems: Vec::new() });
                relays.len() - 1
            });
            let codec = sent.strip_prefix("sent-").unwrap_or("plain").to_owned();
            if !relays[place].sent.contains(&codec) {
                relays[place].sent.push(codec);
            }
            let bytes = fs::read(folder.join(version).join(text("file")))?;
            match lost(bytes) {
                Ok(column) => {
                    let said = text("consume");
                    let why = match sent.as_str() {
                        "later" => "has an unknown version",
                        _ => "was lost: the stream was re-written",
                    };
                    let (start, end) = ("ValueError: the payload of column ", format!(" {why}"));
                    let is_expected = match column {
                        Some(column) => said == format!("{start}'{column}'{end}"),
                        None => said.starts_with(start) && said.ends_with(&end),
                    };
                    if !is_expected {
                        let problem = format!("consume.py with pandas {version} of {sent}: {said}");
                        relays[place].problems.push(problem);
                    }
                }
                Err(problem) => relays[place].problems.push(format!("{sent} by {version}: {problem}")),
            }
        }
    }
    if relays.is_empty() {
        return Err("nothing was relayed".into());
    }
    Ok(relays)
}

/// The column whose payload is lost to us; none where its note no longer says where any buffer lies.
fn lost(bytes: Vec<u8>) -> Result<Option<String>, String> {
    match Frames::from_stream(bytes).and_then(from_buffers) {
        Ok(_) => Err("it was decoded".to_owned()),
        Err(error) => match error.kind() {
            ErrorKind::PayloadLost { column } => Ok(Some(column.clone())),
            ErrorKind::BufferMoved { .. } => Ok(None),
            _ => Err(error.to_string()),
        },
    }
}

fn readers(pandas: &[Pandas], folder: &Path) -> Result<Vec<Reader>, Error> {
    let expected: BTreeMap<String, Option<Vec<Value>>> = frames::native_values()?;
    let sent = ["sent.arrows", "sent.arrow"].map(|name| folder.join(name));
    let [stream, file] = sent;
    let lines = talk::with_last(pandas, &["pandas_readers.py".into(), stream, file])?;
    let readers = lines.iter().map(|line| {
        let name = line["reader"].as_str().unwrap_or_default().to_owned();
        let (mut native, mut opaque, mut problems) = (0, 0, Vec::new());
        for (column, values) in &expected {
            let found = line["values"][column].as_array().cloned().unwrap_or_default();
            match values {
                Some(values) if *values == found => native += 1,
                None if !found.is_empty() && found.iter().all(Value::is_null) => opaque += 1,
                _ => problems.push(format!("column {column} is {found:?}")),
            }
        }
        Reader { name, native, opaque, problems }
    });
    Ok(readers.collect())
}
