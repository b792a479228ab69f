//! The first process: encodes, sends, and asks the second one what arrived.

use std::process::Command;
use std::time::{Duration, Instant};

use arrow_frames::{DataFrame, Encoder, write_frames};

use super::peer::Peer;
use super::protocol::{Arrived, Copies, Run, Verdict};
use super::report::{Contents, FramesTimes, PeerTimes, Report};
use super::second_process::{CONNECT_TIMEOUT, SecondProcess};
use super::socket::{self, Link, Socket};
use crate::args::{ExchangeArgs, Transport, encoder};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::{output, progress};

/// Rounds, of which the best counts: the first ones also warm caches and page tables up.
const ROUNDS: usize = 5;

/// A dataframe of more bytes than this is sent once: its times are too long to vary much,
/// and the user should not wait for them several times.
const ONE_ROUND_BYTES: u64 = 1 << 30;

/// Runs `exchange`.
pub fn run(args: &ExchangeArgs) -> Outcome {
    if input::is_pipe(&args.file) {
        return Err(Failure::usage("-", "two processes cannot both read stdin: name a file"));
    }
    let df = Input::open(&args.file, None)?.dataframe()?;
    let failed = |error: std::io::Error| Failure::new(args.transport.description(), error);
    let report = match args.transport {
        #[cfg(unix)]
        Transport::Uds => exchange(args, &df, socket::UdsLink::new().map_err(failed)?),
        Transport::Tcp => exchange(args, &df, socket::TcpLink::new().map_err(failed)?),
    }?;
    if args.json {
        output::print_json(&report.to_json())?;
    } else {
        output::print(&report.to_text())?;
    }
    match report.difference {
        None => Ok(()),
        Some(difference) => Err(Failure::of_file(
            &args.file,
            format_args!("the second process rebuilt another dataframe: {difference}"),
        )),
    }
}

fn exchange(args: &ExchangeArgs, df: &DataFrame, link: impl Link) -> Outcome<Report> {
    // The second process reads the file while this one warms up.
    let mut second = SecondProcess::start(receiver_command(args)?, link, CONNECT_TIMEOUT)?;
    let mut encoder = encoder(args.target, args.compress).with_writable(args.writable);
    let frames = encoder.encode(df).map_err(|error| Failure::of_file(&args.file, error))?;
    let contents = Contents::new(&frames).map_err(|error| Failure::of_file(&args.file, error))?;
    let encode_copies = Copies::of_report(encoder.copies());
    drop(frames);
    let mut peer = Peer::new(df, args.compress);
    second.parse(|line| line.get("ready").map(drop))?;

    let rounds = if contents.num_bytes() > ONE_ROUND_BYTES { 1 } else { ROUNDS };
    let bar = progress::steps("exchanging", 2 * rounds);
    let mut report = Report::new(args, contents, rounds, encode_copies);
    for _ in 0..rounds {
        let (times, verdict) = send_frames(&mut second, &mut encoder, df)?;
        report.add_frames(times, verdict);
        bar.inc(1);
        if let Ok(sent) = &peer {
            match send_peer(&mut second, sent) {
                Ok((times, verdict)) => report.add_peer(times, verdict),
                Err(failure) => {
                    // Where the next run would start in the socket is lost.
                    peer = Err(failure.line());
                    break;
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    match peer {
        Ok(_) => second.finish()?,
        Err(why) => report.set_peer_failure(why),
    }
    Ok(report)
}

/// The command but for what tells it how to connect.
fn receiver_command(args: &ExchangeArgs) -> Outcome<Command> {
    let failed = |error: std::io::Error| Failure::new("the second process", error);
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("exchange-receiver").arg("--file").arg(&args.file);
    if args.writable {
        command.arg("--writable");
    }
    Ok(command)
}

fn send_frames<S: Socket>(
    second: &mut SecondProcess<S>,
    encoder: &mut Encoder,
    df: &DataFrame,
) -> Outcome<(FramesTimes, Verdict)> {
    let failed = |error: arrow_frames::Error| Failure::new("encode", error);
    let start = Instant::now();
    let frames = encoder.encode(df).map_err(failed)?;
    let encode = start.elapsed();
    // Only now does the second process start its clock.
    start_run(second, Run::Frames)?;
    let sending = Instant::now();
    write_frames(&mut second.socket, &frames).map_err(|error| second.write_failed(error))?;
    let send = sending.elapsed();
    let (arrived, total) = arrived(second, start)?;
    let verdict = second.parse(Verdict::of_json)?;
    let Arrived { receive, decode } = arrived;
    Ok((FramesTimes { encode, send, receive, decode, total }, verdict))
}

fn send_peer<S: Socket>(second: &mut SecondProcess<S>, peer: &Peer) -> Outcome<(PeerTimes, Verdict)> {
    start_run(second, Run::Peer)?;
    let start = Instant::now();
    peer.write(&mut second.socket).map_err(|error| second.write_failed(error))?;
    let write = start.elapsed();
    let (arrived, total) = arrived(second, start)?;
    let verdict = second.parse(Verdict::of_json)?;
    Ok((PeerTimes { write, read: arrived.receive, total }, verdict))
}

fn start_run<S: Socket>(second: &mut SecondProcess<S>, run: Run) -> Outcome {
    second.socket.write_all(&[run.byte()]).map_err(|error| second.write_failed(error))
}

/// Waits until the dataframe is rebuilt on the other side; also returns the time from
/// start to end.
fn arrived<S: Socket>(second: &mut SecondProcess<S>, start: Instant) -> Outcome<(Arrived, Duration)> {
    let reply = second.reply()?;
    let total = start.elapsed();
    let arrived = Arrived::of_json(&reply);
    let arrived = arrived.ok_or_else(|| Failure::new("the second process", "its times make no sense"))?;
    Ok((arrived, total))
}
