//! A service over TCP: it receives dataframes as Arrow IPC streams, and answers each with a
//! stream of the same dataframe and a column `row` that numbers its rows.
//!
//! ```sh
//! cargo run --features tokio --example tcp_service 127.0.0.1:8080
//! ```
//!
//! A connection may send any number of streams, one after another. What is refused is answered
//! with a line of text, `error: …`, and the end of the connection: a stream never starts with
//! a letter.
//!
//! Clients that send or read too slowly, or nothing at all, lose their connection; a last argument
//! says after how many seconds, and [`paced`] what too slow is.

mod paced;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::UInt64Array;
use arrow::datatypes::{DataType, Field, Schema};
use arrow_frames::{
    AsyncStreamSource, Batch, Column, DataFrame, Decoder, Frames, Limits, ReceiveMemory, Target, to_buffers,
    write_frames_async,
};
use paced::Paced;
use tokio::io::{AsyncWriteExt, copy, sink};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};

/// What the service takes at the most: this many connections, idle ones included (others wait in
/// the system's queue), each with a dataframe of this many bytes and rows (a row of booleans is
/// one bit, and its number 64).
const CONNECTIONS: usize = 16;
const BYTES: u64 = 256 << 20;
const METADATA: u64 = 16 << 20;
const ROWS: usize = 32 << 20;
/// How many seconds the service waits for a client that does nothing.
const PATIENCE: &str = "15";
/// How long exchanges that have begun may take once the service is told to stop.
const FAREWELL: Duration = Duration::from_secs(120);

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: tcp_service ADDRESS [SECONDS]")?;
    let patience = arguments.next().as_deref().unwrap_or(PATIENCE).parse()?;
    let patience = Duration::try_from_secs_f64(patience)?;
    let stop = told_to_stop()?;
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    serve(listener, patience, stop).await;
    Ok(())
}

/// Serves until `stop` is ready, and then until the exchanges that have begun are complete.
async fn serve(listener: TcpListener, patience: Duration, stop: impl Future<Output = ()>) {
    let memory = ReceiveMemory::recycled(BYTES as usize);
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let (stopping, stopped) = watch::channel(());
    tokio::pin!(stop);
    loop {
        // With all slots taken, further clients wait in the system's queue.
        let next = async { (slots.clone().acquire_owned().await, listener.accept().await) };
        let next = tokio::select! { next = next => next, () = &mut stop => break };
        let (Ok(slot), Ok((socket, client))) = next else {
            sleep(Duration::from_millis(100)).await; // Most likely too many files are open: that passes.
            continue;
        };
        let mut socket = Paced::new(socket, patience, slot);
        let (memory, mut stopped) = (memory.clone(), stopped.clone());
        tokio::spawn(async move {
            if let Err(error) = converse(&mut socket, &memory, patience, &mut stopped).await {
                eprintln!("{client}: {error}");
            }
        });
    }
    drop((listener, stopping)); // Idle connections end with `stopping`.
    let _ = timeout(FAREWELL, slots.acquire_many(CONNECTIONS as u32)).await;
}

/// Answers one stream after another.
async fn converse(
    socket: &mut Paced,
    memory: &ReceiveMemory,
    patience: Duration,
    stop: &mut watch::Receiver<()>,
) -> Result<()> {
    socket.socket.set_nodelay(true)?;
    loop {
        // Not `readable`, which may be left over from what was read before.
        let mut first = [0];
        let begun = tokio::select! {
            biased;
            _ = stop.changed() => return Ok(()),
            begun = timeout(patience, socket.socket.peek(&mut first)) => begun??,
        };
        if begun == 0 {
            return Ok(()); // The client has no more streams.
        }
        if let Err(error) = exchange(socket, memory).await {
            let _ = timeout(patience, refuse(socket, &*error)).await;
            return Err(error);
        }
    }
}

/// Reads a stream and answers it.
async fn exchange(socket: &mut Paced, memory: &ReceiveMemory) -> Result<()> {
    let limits = Limits {
        max_metadata_bytes: METADATA,
        max_stream_bytes: BYTES,
        max_expanded_bytes: BYTES,
        max_expansion: 0,
        ..Limits::default()
    };
    let source = AsyncStreamSource::new(&mut *socket).with_limits(limits.clone());
    let frames = source.with_memory(memory.clone()).read_all().await?;
    // This looks at every value: other connections go on meanwhile.
    let answer = block_in_place(|| answer(frames, limits))?;
    write_frames_async(socket, &answer).await?;
    Ok(())
}

/// The dataframe with numbered rows. Its other columns stay where they were received.
fn answer(frames: Frames, limits: Limits) -> Result<Frames> {
    let mut decoder = Decoder::new().with_limits(limits);
    let df = decoder.decode(frames)?;
    if !decoder.is_finished() {
        return Err("the stream ends without its end marker".into());
    }
    if df.num_rows() > ROWS {
        return Err(format!("{} rows are more than {ROWS}", df.num_rows()).into());
    }
    let mut numbers = 0..;
    let numbered = |batch: &Batch| {
        let rows = UInt64Array::from_iter_values(numbers.by_ref().take(batch.num_rows()));
        let columns = batch.columns().iter().cloned().chain([Column::Native(Arc::new(rows))]);
        Batch::try_new(columns.collect(), batch.num_rows())
    };
    let batches = df.batches().iter().map(numbered).collect::<arrow_frames::Result<_>>()?;
    let row = Arc::new(Field::new("row", DataType::UInt64, false));
    let fields: Vec<_> = df.schema().fields().iter().cloned().chain([row]).collect();
    let schema = Schema::new_with_metadata(fields, df.schema().metadata().clone());
    Ok(to_buffers(&DataFrame::try_new(schema.into(), batches)?, Target::Arrow)?)
}

/// Tells the client why. Then what it still sends is passed over: if the connection were closed
/// on it, it would see that and not the answer.
async fn refuse(socket: &mut Paced, error: &(dyn Error + Send + Sync)) -> io::Result<()> {
    socket.write_all(format!("error: {error}\n").as_bytes()).await?;
    socket.shutdown().await?;
    copy(socket, &mut sink()).await?;
    Ok(())
}

/// Ready on ctrl-c or SIGTERM, which from here on no longer end the process.
#[cfg(unix)]
fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
    })
}

/// Ready on ctrl-c.
#[cfg(not(unix))]
fn told_to_stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async { tokio::signal::ctrl_c().await.unwrap_or_default() })
}
