//! What an exchange found, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use arrow_frames::{Column, DataFrame, Frames, Layout, Result, from_buffers};
use comfy_table::{Cell, Table};
use serde_json::{Value, json};

use super::protocol::{Copies, Verdict};
use crate::args::ExchangeArgs;
use crate::text::{count, counted, duration, number, one_line, shortened, table};

/// Times of one round.
#[derive(Debug, Clone, Copy)]
pub struct FramesTimes {
    pub encode: Duration,
    pub send: Duration,
    pub receive: Duration,
    pub decode: Duration,
    /// From the start of encoding until the other side has decoded.
    pub total: Duration,
}

/// Times of one round of arrow-ipc, which encodes as it sends and decodes as it receives.
#[derive(Debug, Clone, Copy)]
pub struct PeerTimes {
    pub write: Duration,
    pub read: Duration,
    pub total: Duration,
}

/// What is sent.
pub struct Contents {
    rows: usize,
    batches: usize,
    header_bytes: u64,
    columns: Vec<ColumnContents>,
}

struct ColumnContents {
    name: String,
    data_type: String,
    is_opaque: bool,
    frames: usize,
    bytes: u64,
}

/// What an exchange found.
pub struct Report {
    file: String,
    transport: &'static str,
    transport_name: &'static str,
    target: &'static str,
    codec: Option<&'static str>,
    contents: Contents,
    rounds: usize,
    frames: Option<FramesTimes>,
    peer: Option<PeerTimes>,
    peer_failure: Option<String>,
    peer_difference: Option<String>,
    encode_copies: Vec<Copies>,
    decode_copies: Vec<Copies>,
    /// What the second process rebuilt otherwise, if anything.
    pub difference: Option<String>,
}

impl Contents {
    /// What frames hold of each column.
    pub fn new(frames: &Frames) -> Result<Contents> {
        let df = &from_buffers(frames.clone())?;
        let layout = Layout::of_frames(frames);
        if let Some(error) = layout.error {
            return Err(error);
        }
        let mut columns: Vec<_> = (0..df.num_columns()).map(|index| ColumnContents::new(df, index)).collect();
        for buffer in layout.messages.iter().flat_map(|message| &message.buffers) {
            if let Some(column) = columns.get_mut(buffer.column)
                && buffer.length > 0
            {
                column.frames += 1;
                column.bytes += buffer.length;
            }
        }
        let (rows, batches) = (df.num_rows(), df.batches().len());
        Ok(Contents { rows, batches, header_bytes: frames.header().len() as u64, columns })
    }

    /// Bytes of the header and of all frames.
    pub fn num_bytes(&self) -> u64 {
        self.header_bytes + self.frame_bytes()
    }

    fn frame_bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.bytes).sum()
    }

    fn num_frames(&self) -> usize {
        self.columns.iter().map(|column| column.frames).sum()
    }
}

impl ColumnContents {
    fn new(df: &DataFrame, index: usize) -> ColumnContents {
        let field = df.schema().field(index);
        let first = df.column(index).and_then(|mut pieces| pieces.next());
        let (data_type, is_opaque) = match first {
            Some(Column::Opaque(opaque)) => (opaque.type_name().to_owned(), true),
            _ => (field.data_type().to_string(), false),
        };
        ColumnContents { name: field.name().clone(), data_type, is_opaque, frames: 0, bytes: 0 }
    }

    fn kind(&self) -> &'static str {
        if self.is_opaque { "opaque" } else { "native" }
    }
}

impl Report {
    pub fn new(args: &ExchangeArgs, contents: Contents, rounds: usize, encode_copies: Vec<Copies>) -> Report {
        Report {
            file: args.file.display().to_string(),
            transport: args.transport.description(),
            transport_name: args.transport.name(),
            target: args.target.name(),
            codec: args.compress.map(|codec| codec.name()),
            contents,
            rounds,
            frames: None,
            peer: None,
            peer_failure: None,
            peer_difference: None,
            encode_copies,
            decode_copies: Vec::new(),
            difference: None,
        }
    }

    /// Adds a round; the fastest from end to end is kept.
    pub fn add_frames(&mut self, times: FramesTimes, verdict: Verdict) {
        if self.frames.is_none_or(|best| times.total < best.total) {
            self.frames = Some(times);
        }
        self.decode_copies = verdict.copies;
        self.difference = self.difference.take().or(verdict.difference);
    }

    /// Adds a round of arrow-ipc.
    pub fn add_peer(&mut self, times: PeerTimes, verdict: Verdict) {
        if self.peer.is_none_or(|best| times.total < best.total) {
            self.peer = Some(times);
        }
        self.peer_difference = self.peer_difference.take().or(verdict.difference);
    }

    /// Says why arrow-ipc could not do the job.
    pub fn set_peer_failure(&mut self, why: String) {
        self.peer = None;
        self.peer_failure = Some(why);
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let Contents { rows, batches, columns, .. } = &self.contents;
        let shape = format!("{} rows × {}", count(*rows), counted(columns.len(), "column", "columns"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}: {shape} in {}, over {}{}{}",
            one_line(&self.file),
            counted(*batches, "batch", "batches"),
            self.transport,
            if self.target.ends_with("pandas") { ", for pandas" } else { "" },
            self.codec.map(|codec| format!(", compressed with {codec}")).unwrap_or_default(),
        );
        let _ = writeln!(out, "{}", self.columns_table());
        let _ = writeln!(out, "{}", self.times_table());
        let _ = writeln!(out, "{}", self.remarks());
        let verdict = match &self.difference {
            None => format!("equal: the second process rebuilt {shape} value for value"),
            Some(difference) => format!("not equal: {}", one_line(difference)),
        };
        let _ = writeln!(out, "{verdict}");
        out
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let encode = by_column(&self.encode_copies);
        let decode = by_column(&self.decode_copies);
        let columns = self.contents.columns.iter().enumerate().map(|(index, column)| {
            json!({
                "name": column.name,
                "type": column.data_type,
                "kind": column.kind(),
                "frames": column.frames,
                "bytes": column.bytes,
                "copied": { "encode": copied(&encode, index), "decode": copied(&decode, index) },
            })
        });
        let frames = self.frames.map(|times| {
            json!({
                "encode_ns": nanos(times.encode),
                "send_ns": nanos(times.send),
                "receive_ns": nanos(times.receive),
                "decode_ns": nanos(times.decode),
                "total_ns": nanos(times.total),
            })
        });
        let peer = self.peer.map(|times| {
            json!({
                "write_ns": nanos(times.write),
                "read_ns": nanos(times.read),
                "total_ns": nanos(times.total),
                "equal": self.peer_difference.is_none(),
                "difference": self.peer_difference,
            })
        });
        let peer = peer.or(self.peer_failure.as_ref().map(|why| json!({ "error": why })));
        json!({
            "file": self.file,
            "transport": self.transport_name,
            "target": self.target,
            "compression": self.codec,
            "rounds": self.rounds,
            "rows": self.contents.rows,
            "batches": self.contents.batches,
            "header_bytes": self.contents.header_bytes,
            "frames": self.contents.num_frames(),
            "frame_bytes": self.contents.frame_bytes(),
            "copied_bytes": { "encode": sum(&self.encode_copies), "decode": sum(&self.decode_copies) },
            "columns": columns.collect::<Vec<_>>(),
            "arrow_frames": frames,
            "arrow_ipc": peer,
            "equal": self.difference.is_none(),
            "difference": self.difference,
        })
    }

    fn columns_table(&self) -> Table {
        let mut table = table(["column", "type", "travels", "frames", "bytes", "copied"], &[3, 4, 5]);
        let copies = [by_column(&self.encode_copies), by_column(&self.decode_copies)];
        for (index, column) in self.contents.columns.iter().enumerate().take(MOST_ROWS) {
            let copied = copies.iter().flat_map(|copies| copies.get(&index)).flatten();
            table.add_row([
                Cell::new(shortened(&column.name, NAME_WIDTH)),
                Cell::new(shortened(&column.data_type, TYPE_WIDTH)),
                Cell::new(column.kind()),
                number(count(column.frames)),
                number(count(column.bytes)),
                number(count(copied.map(|copied| copied.bytes).sum::<u64>())),
            ]);
        }
        if let Some(more @ 1..) = self.contents.columns.len().checked_sub(MOST_ROWS) {
            table.add_row([format!("… {} more", count(more)), "--json has all".to_owned()]);
        }
        table.add_row([
            Cell::new("total"),
            Cell::new(format!("header: {} bytes", count(self.contents.header_bytes))),
            Cell::new(""),
            number(count(self.contents.num_frames())),
            number(count(self.contents.frame_bytes())),
            number(count(sum(&self.encode_copies) + sum(&self.decode_copies))),
        ]);
        table
    }

    /// What arrow-ipc does at once has one time.
    fn times_table(&self) -> Table {
        let mut table = table(["best time", "arrow-frames", "arrow-ipc"], &[0, 1, 2]);
        let mut row = |name: &str, frames: Option<Duration>, peer: Option<Duration>| {
            let cell = |time: Option<Duration>| number(time.map_or_else(|| "·".to_owned(), duration));
            table.add_row([Cell::new(name), cell(frames), cell(peer)]);
        };
        let (frames, peer) = (self.frames, self.peer);
        row("encode", frames.map(|times| times.encode), None);
        row("send", frames.map(|times| times.send), None);
        row("encode + send", frames.map(|times| times.encode + times.send), peer.map(|times| times.write));
        row("receive", frames.map(|times| times.receive), None);
        row("decode", frames.map(|times| times.decode), None);
        row(
            "receive + decode",
            frames.map(|times| times.receive + times.decode),
            peer.map(|times| times.read),
        );
        row("end to end", frames.map(|times| times.total), peer.map(|times| times.total));
        table
    }

    /// What the times are, and how the peer fared.
    fn remarks(&self) -> String {
        let mut out = match self.rounds {
            1 => "one round".to_owned(),
            rounds => format!("best of {rounds} rounds each, in turn"),
        };
        if let (Some(frames), Some(peer)) = (self.frames, self.peer) {
            let ratio = frames.total.as_secs_f64() / peer.total.as_secs_f64();
            let _ = write!(out, "; from end to end {ratio:.2} × the time of arrow-ipc");
            out.push_str(", which encodes as it sends and decodes as it receives");
        }
        if let Some(why) = &self.peer_failure {
            let _ = write!(out, "; arrow-ipc could not do it: {}", one_line(why));
        }
        if let Some(difference) = &self.peer_difference {
            let _ = write!(out, "; arrow-ipc rebuilt another dataframe: {}", one_line(difference));
        }
        out
    }
}

/// Wider names and types are cut: the table should fit a terminal.
const NAME_WIDTH: usize = 40;
const TYPE_WIDTH: usize = 60;

/// Rows that a person still reads.
const MOST_ROWS: usize = 1000;

fn sum(copies: &[Copies]) -> u64 {
    copies.iter().map(|copied| copied.bytes).sum()
}

fn by_column(copies: &[Copies]) -> BTreeMap<usize, Vec<&Copies>> {
    let mut columns: BTreeMap<usize, Vec<&Copies>> = BTreeMap::new();
    for copied in copies {
        columns.entry(copied.column).or_default().push(copied);
    }
    columns
}

/// The copies of one column.
fn copied(copies: &BTreeMap<usize, Vec<&Copies>>, column: usize) -> Vec<Value> {
    let of_column = copies.get(&column).into_iter().flatten();
    of_column.map(|copied| json!({ "reason": copied.reason, "bytes": copied.bytes })).collect()
}
