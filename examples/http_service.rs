//! A service over HTTP: `GET /flights` answers with a dataframe as an Arrow IPC stream, and
//! `POST /` takes such a stream, checks every value of it, and sends it back for readers that
//! check nothing.
//!
//! ```sh
//! cargo run --features tokio --example http_service 127.0.0.1:8080 testdata/flights.parquet
//! curl --silent http://127.0.0.1:8080/flights > flights.arrows
//! curl --fail-with-body --data-binary @flights.arrows http://127.0.0.1:8080/ > checked.arrows
//! ```
//!
//! Clients that send or read too slowly, or nothing at all, lose their connection; a last argument
//! says after how many seconds, and [`paced`] what too slow is.

mod paced;

use std::convert::Infallible;
use std::error::Error;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatchReader;
use arrow_frames::{
    AsyncStreamSource, DataFrame, Decoder, ErrorKind, Limits, Part, ReceiveMemory, Target, to_buffers,
};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::Listener;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use paced::Paced;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tokio::io::{AsyncRead, copy, sink};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};
use tokio_util::io::StreamReader;

/// What the service holds at the most: this many connections, idle ones included (others wait in
/// the system's queue), and of what they sent, this many streams of this many bytes each.
const CONNECTIONS: usize = 512;
const STREAMS: usize = 16;
const BYTES: u64 = 256 << 20;
/// A schema of a hundred thousand columns has less; what is made of it takes several times as much.
const METADATA: u64 = 16 << 20;
/// How many seconds the service waits for a client that does nothing.
const PATIENCE: &str = "15";
/// How long requests that have begun may take once the service is told to stop.
const FAREWELL: Duration = Duration::from_secs(120);

struct Service {
    /// The dataframe's columns as pieces of a stream, which all responses share.
    flights: Vec<Bytes>,
    memory: ReceiveMemory,
    slots: Arc<Semaphore>,
    patience: Duration,
}

/// The open connections, whose number is bounded.
struct Connections {
    listener: TcpListener,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl Listener for Connections {
    type Io = Paced;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Paced, SocketAddr) {
        let place = self.places.clone().acquire_owned().await.expect("nobody closes it");
        let (socket, client) = Listener::accept(&mut self.listener).await;
        (Paced::new(socket, self.patience, place), client)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: http_service ADDRESS PARQUET-FILE [SECONDS]".into());
    };
    let patience = arguments.next().as_deref().unwrap_or(PATIENCE).parse()?;
    let patience = Duration::try_from_secs_f64(patience)?;
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?;
    let batches = file.with_batch_size(1 << 16).build()?;
    let df = DataFrame::try_from_batches(batches.schema(), batches.collect::<Result<_, _>>()?)?;
    let service = Arc::new(Service {
        flights: to_buffers(&df, Target::Arrow)?.into_chunks()?,
        memory: ReceiveMemory::recycled(BYTES as usize),
        slots: Arc::new(Semaphore::new(STREAMS)),
        patience,
    });
    let routes = Router::new().route("/flights", get(flights)).route("/", post(check)).with_state(service);

    let stop = told_to_stop()?.shared();
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    let connections = Connections { listener, places: Arc::new(Semaphore::new(CONNECTIONS)), patience };
    tokio::select! {
        ended = axum::serve(connections, routes).with_graceful_shutdown(stop.clone()).into_future() => ended?,
        () = stop.then(|()| sleep(FAREWELL)) => {}
    }
    Ok(())
}

async fn flights(State(service): State<Arc<Service>>) -> Response {
    response(service.flights.clone(), None)
}

async fn check(State(service): State<Arc<Service>>, body: Body) -> Response {
    let slot = service.slots.clone().acquire_owned().await.ok(); // Until there is one, the client waits.
    let mut body = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
    let received = receive(&mut body, &service.memory).await;
    // A client that is still sending does not listen yet: what is left is passed over, for a while.
    let _ = timeout(service.patience, copy(&mut body, &mut sink())).await;
    let error = match received {
        Ok(chunks) => return response(chunks, slot),
        Err(error) => error,
    };
    let status = match error.kind() {
        // What is no stream at all looks like one with metadata beyond all bounds.
        ErrorKind::Limit { limit: "max_metadata_bytes", .. } => StatusCode::BAD_REQUEST,
        ErrorKind::Limit { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::Memory { .. } => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Io(_) => StatusCode::REQUEST_TIMEOUT,
        _ => StatusCode::BAD_REQUEST,
    };
    (status, format!("{error}\n")).into_response()
}

/// Receives a stream and checks it.
async fn receive(
    body: &mut (impl AsyncRead + Unpin),
    memory: &ReceiveMemory,
) -> arrow_frames::Result<Vec<Bytes>> {
    let limits = Limits {
        max_metadata_bytes: METADATA,
        max_stream_bytes: BYTES,
        max_expanded_bytes: BYTES,
        max_expansion: 0,
        ..Limits::default()
    };
    let source = AsyncStreamSource::new(body).with_limits(limits.clone());
    let frames = source.with_memory(memory.clone()).read_all().await?;
    let mut decoder = Decoder::new().with_limits(limits);
    // This looks at every value: other connections go on meanwhile.
    block_in_place(|| decoder.decode(frames.clone()))?;
    if !decoder.is_finished() {
        let position = frames.num_bytes() as u64;
        return Err(ErrorKind::Truncated { part: Part::End, position, needed: 8, available: 0 }.into());
    }
    frames.into_chunks()
}

/// A response of chunks that lie where they are, never joined. It keeps its slot until it is sent.
fn response(chunks: Vec<Bytes>, slot: Option<OwnedSemaphorePermit>) -> Response {
    let length: usize = chunks.iter().map(Bytes::len).sum();
    let kind = "application/vnd.apache.arrow.stream".to_owned();
    let chunks = stream::iter(chunks).map(move |chunk| {
        let _kept = &slot;
        Ok::<_, Infallible>(chunk)
    });
    ([(CONTENT_TYPE, kind), (CONTENT_LENGTH, length.to_string())], Body::from_stream(chunks)).into_response()
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
