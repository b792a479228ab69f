//! The second process: reads the file by itself, receives, rebuilds and compares.

use std::io::{self, Read};
use std::time::Instant;

use arrow_frames::{DataFrame, Decoder, ReceiveMemory, StreamSource};
use serde_json::Value;

use super::compare::{Scope, difference};
use super::protocol::{self, Arrived, Copies, Run, Verdict};
use super::socket::Socket;
use super::{peer, socket};
use crate::args::ReceiverArgs;
use crate::failure::{Failure, Outcome};
use crate::guard;
use crate::input::Input;

/// Bytes of received memory that are kept between runs.
const RECYCLED: usize = 4 << 30;

/// Runs the hidden subcommand `exchange-receiver`.
pub fn receive(args: &ReceiverArgs) -> Outcome {
    let failed = |error: io::Error| Failure::new("the socket of the first process", error);
    if let Some(address) = args.tcp {
        return serve(socket::connect_tcp(address).map_err(failed)?, args);
    }
    #[cfg(unix)]
    if args.uds {
        return serve(socket::inherited_uds().map_err(failed)?, args);
    }
    Err(Failure::new("exchange-receiver", "no socket of this system was named"))
}

/// Answers one run after another until the sender closes the socket.
fn serve<S: Socket>(mut socket: S, args: &ReceiverArgs) -> Outcome {
    let failed = |error: io::Error| Failure::new("the socket of the first process", error);
    let mut replies = socket.second().map_err(failed)?;
    let expected = Input::open(&args.file, None)?.dataframe()?;
    // What travels for pandas is compared as what it was pickled from.
    let expected = Decoder::new().resolve(expected).map_err(|error| Failure::of_file(&args.file, error))?;
    let mut say = |line: &Value| protocol::write_line(&mut replies, line).map_err(failed);
    say(&protocol::ready())?;

    // A service that receives again and again uses its memory again.
    let memory = ReceiveMemory::recycled(RECYCLED);
    let mut byte = [0];
    while socket.read(&mut byte).map_err(failed)? > 0 {
        let [name] = byte;
        let Some(run) = Run::of_byte(name) else {
            return Err(Failure::new("exchange-receiver", format_args!("there is no run {name}")));
        };
        match rebuild(run, &mut socket, args.writable, &memory) {
            Ok(rebuilt) => {
                say(&rebuilt.arrived.to_json())?;
                say(&rebuilt.verdict(&expected).to_json())?;
            }
            Err(why) => {
                say(&protocol::error(&why))?;
                // The sender reads the line when it has sent all; where in the stream the
                // next run starts is lost.
                io::copy(&mut socket, &mut io::sink()).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// What a run brought.
struct Rebuilt {
    df: DataFrame,
    arrived: Arrived,
    copies: Vec<Copies>,
    scope: Scope,
}

fn rebuild(
    run: Run,
    socket: &mut impl Read,
    writable: bool,
    memory: &ReceiveMemory,
) -> Result<Rebuilt, String> {
    match run {
        Run::Frames => rebuild_frames(socket, writable, memory).map_err(|error| error.to_string()),
        Run::Peer => {
            let start = Instant::now();
            let df = peer::read(socket)?;
            let arrived = Arrived { receive: start.elapsed(), decode: Default::default() };
            Ok(Rebuilt { df, arrived, copies: Vec::new(), scope: Scope::WithoutMessages })
        }
    }
}

fn rebuild_frames(
    socket: &mut impl Read,
    writable: bool,
    memory: &ReceiveMemory,
) -> arrow_frames::Result<Rebuilt> {
    let start = Instant::now();
    let mut source = StreamSource::new(socket).with_memory(memory.clone()).with_writable(writable);
    let frames = source.read_all()?;
    let received = Instant::now();
    let mut decoder = Decoder::new().with_writable(writable);
    let df = decoder.decode(frames)?;
    let df = decoder.resolve(df)?;
    let arrived = Arrived { receive: received - start, decode: received.elapsed() };
    if !decoder.is_finished() {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Rebuilt { df, arrived, copies: Copies::of_report(decoder.copies()), scope: Scope::All })
}

impl Rebuilt {
    fn verdict(self, expected: &DataFrame) -> Verdict {
        // Comparing is arrow's work, on whatever types the file has.
        let compared = guard::guarded(|| difference(expected, &self.df, self.scope));
        let difference = match compared {
            Ok(difference) => difference.map(|difference| difference.to_string()),
            Err(panic) => Some(format!("it cannot be compared: {panic}")),
        };
        Verdict { difference, copies: self.copies }
    }
}
