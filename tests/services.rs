//! The services in `examples/`, as processes: dataframes both ways, many clients, clients that
//! fail, clients that ask for too much, and an end in good order.
#![cfg(target_os = "linux")] // They are told to stop by a signal, and their memory is read in /proc.

mod common;
#[path = "services/service.rs"]
mod service;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, BooleanArray, Int64Array, RecordBatch, RecordBatchReader, StringArray, UInt64Array,
};
use arrow_frames::{DataFrame, Frames, StreamSource, Target, from_buffers, write_stream};
use common::{assert_same, same};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use service::{Response, Service, request, response, wait_until};

/// How many clients both services serve at once.
const SLOTS: usize = 16;

/// 60,000 rows of real data, 6 MB as a stream.
static FLIGHTS: LazyLock<DataFrame> = LazyLock::new(|| {
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(flights_file()).unwrap()).unwrap();
    let batches = file.with_batch_size(1 << 16).build().unwrap();
    let schema = batches.schema();
    DataFrame::try_from_batches(schema, batches.collect::<Result<_, _>>().unwrap()).unwrap()
});

fn flights_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/flights.parquet")
}

/// Some rows of the flights, of another number for each client.
fn some_flights(client: usize) -> DataFrame {
    let batch = FLIGHTS.clone().into_record_batch().unwrap();
    batch.slice(client * 1_000, 1_000 + client).into()
}

fn stream(df: &DataFrame) -> Vec<u8> {
    let mut stream = Vec::new();
    write_stream(&mut stream, df, Target::Arrow).unwrap();
    stream
}

fn decoded(stream: Vec<u8>) -> DataFrame {
    from_buffers(Frames::from_stream(stream).unwrap()).unwrap()
}

/// Services with more patience than a busy machine needs.
fn tcp_service() -> Service {
    Service::start("tcp_service", &["120".as_ref()])
}

fn http_service() -> Service {
    Service::start("http_service", &[&flights_file(), "120".as_ref()])
}

/// Services that wait this long for a client that does nothing.
const PATIENCE: Duration = Duration::from_secs(2);

fn impatient_tcp_service() -> Service {
    Service::start("tcp_service", &["2".as_ref()])
}

fn impatient_http_service() -> Service {
    Service::start("http_service", &[&flights_file(), "2".as_ref()])
}

/// Sends a dataframe over a connection of the TCP service, and checks the answer.
fn exchange(socket: &mut TcpStream, df: &DataFrame) {
    write_stream(socket, df, Target::Arrow).unwrap();
    check_answer(socket, df);
}

/// Checks what the TCP service answers to a dataframe.
fn check_answer(socket: &mut TcpStream, df: &DataFrame) {
    let answer = from_buffers(StreamSource::new(socket).read_all().unwrap()).unwrap();
    let columns: Vec<usize> = (0..df.num_columns()).collect();
    assert_same(&answer.project(&columns).unwrap(), df, &|| "the answer".into());
    assert_eq!(answer.num_columns(), df.num_columns() + 1);
    assert_eq!(answer.schema().fields().last().unwrap().name(), "row");
    let mut rows = 0..;
    for column in answer.column(df.num_columns()).unwrap() {
        let numbers = column.as_native().unwrap().as_any().downcast_ref::<UInt64Array>().unwrap();
        assert!(numbers.values().iter().copied().eq(rows.by_ref().take(column.len())));
    }
    assert_eq!(rows.start, df.num_rows() as u64);
}

/// What the TCP service says to bytes that it refuses; `last` if nothing follows them.
fn refusal(service: &Service, bytes: &[u8], last: bool) -> String {
    let mut socket = service.connect();
    socket.write_all(bytes).unwrap();
    if last {
        socket.shutdown(Shutdown::Write).unwrap();
    }
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("error: ") && answer.ends_with('\n') && answer.lines().count() == 1,
        "{answer}"
    );
    answer
}

fn post(service: &Service, body: &[u8]) -> Response {
    request(service, "POST /", body)
}

/// Sends a dataframe to the HTTP service, and checks what comes back.
fn post_and_check(service: &Service, df: &DataFrame) {
    let response = post(service, &stream(df));
    assert_eq!(response.status(), "200", "{:?}", response.body);
    assert_same(&decoded(response.body), df, &|| "the response".into());
}

// ---- Both ways

#[test]
fn tcp_answers_dataframes() {
    let service = tcp_service();
    let mut socket = service.connect();
    for df in [&*FLIGHTS, &some_flights(3), &FLIGHTS] {
        exchange(&mut socket, df);
    }
    // Several streams before the first answer is read.
    let small: Vec<_> = (0..10).map(some_flights).collect();
    let sent: Vec<u8> = small.iter().flat_map(stream).collect();
    thread::scope(|scope| {
        let mut writer = socket.try_clone().unwrap();
        scope.spawn(move || writer.write_all(&sent).unwrap());
        small.iter().for_each(|df| check_answer(&mut socket, df));
    });
    // The end of one connection is nobody's fault.
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    assert_eq!(service.stop(), "");
}

#[test]
fn tcp_passes_opaque_columns_on() {
    let service = tcp_service();
    let mut socket = service.connect();
    let df = some_flights(1);
    write_stream(&mut socket, &df, Target::Pandas).unwrap();
    let answer = from_buffers(StreamSource::new(&mut socket).read_all().unwrap()).unwrap();
    let batch = answer.into_record_batch().unwrap();
    for (field, column) in df.schema().fields().iter().zip(df.clone().into_record_batch().unwrap().columns())
    {
        assert_eq!(batch.column_by_name(field.name()).unwrap(), column, "{field}");
    }
    assert_eq!(service.stop(), "");
}

#[test]
fn http_serves_and_takes_dataframes() {
    let service = http_service();
    let response = request(&service, "GET /flights", b"");
    assert_eq!(response.status(), "200");
    assert_eq!(response.header("content-type"), Some("application/vnd.apache.arrow.stream"));
    assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
    assert_same(&decoded(response.body), &FLIGHTS, &|| "the response".into());
    post_and_check(&service, &FLIGHTS);
    assert_eq!(service.stop(), "");
}

#[test]
fn pyarrow_reads_and_sends_over_http() {
    let Some(interpreter) = std::env::var_os("ARROW_FRAMES_PYTHON") else {
        panic!("ARROW_FRAMES_PYTHON names no Python with pyarrow: run `cargo xtask test`, which does");
    };
    let service = http_service();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/http_client.py");
    let url = format!("http://{}", service.address);
    let mut client = Command::new(interpreter);
    client.arg(script).arg(url).arg(flights_file()).env("no_proxy", "*");
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    service.stop();
}

// ---- Many clients

/// Twenty clients, more than there are slots, who all start at once.
fn twenty_at_once(client: impl Fn(usize) + Sync) {
    let start = Barrier::new(20);
    thread::scope(|scope| {
        for number in 0..20 {
            let (start, client) = (&start, &client);
            scope.spawn(move || {
                start.wait();
                client(number);
            });
        }
    });
}

#[test]
fn tcp_answers_twenty_clients_each_its_own() {
    let service = tcp_service();
    twenty_at_once(|client| {
        let mut socket = service.connect();
        exchange(&mut socket, &some_flights(client));
        exchange(&mut socket, &some_flights(19 - client));
    });
    assert_eq!(service.stop(), "");
}

#[test]
fn http_answers_twenty_clients_each_its_own() {
    let service = http_service();
    twenty_at_once(|client| post_and_check(&service, &some_flights(client)));
    assert_eq!(service.stop(), "");
}

#[test]
fn tcp_serves_so_many_and_then_those_who_wait() {
    let service = tcp_service();
    let mut served: Vec<_> = (0..SLOTS).map(|_| service.connect()).collect();
    served.iter_mut().for_each(|socket| exchange(socket, &some_flights(0)));
    let mut waits = service.connect();
    write_stream(&mut waits, &some_flights(1), Target::Arrow).unwrap();
    waits.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let error = waits.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "nobody answers yet");
    served.iter_mut().for_each(|socket| exchange(socket, &some_flights(2)));
    served.pop();
    waits.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    check_answer(&mut waits, &some_flights(1));
    assert_eq!(service.stop(), "");
}

#[test]
fn tcp_loses_only_the_connection_of_a_client_that_goes_away() {
    let service = tcp_service();
    let sent = stream(&FLIGHTS);
    let mut stays = service.connect();
    for client in 0..2 * SLOTS {
        let mut goes = service.connect();
        let address = goes.local_addr().unwrap().to_string();
        if client % 2 == 0 {
            // In the middle of what it sends.
            goes.write_all(&sent[..sent.len() / 2]).unwrap();
        } else {
            // In the middle of its answer.
            goes.write_all(&sent).unwrap();
            goes.read_exact(&mut [0; 1_000]).unwrap();
        }
        exchange(&mut stays, &some_flights(client));
        drop(goes);
        service.has_logged(&address);
    }
    exchange(&mut stays, &FLIGHTS);
    let log = service.stop();
    assert_eq!(log.lines().count(), 2 * SLOTS, "{log}");
    assert_eq!(log.matches("input ends early").count(), SLOTS, "{log}");
}

#[test]
fn http_loses_only_the_request_of_a_client_that_goes_away() {
    let service = http_service();
    let sent = stream(&FLIGHTS);
    for client in 0..2 * SLOTS {
        let mut goes = service.connect();
        let length = sent.len();
        write!(goes, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n").unwrap();
        if client % 2 == 0 {
            goes.write_all(&sent[..length / 2]).unwrap();
        } else {
            goes.write_all(&sent).unwrap();
            goes.read_exact(&mut [0; 1_000]).unwrap();
        }
        post_and_check(&service, &some_flights(client));
    }
    post_and_check(&service, &FLIGHTS);
    service.stop();
}

// ---- Clients that keep the service waiting

/// A stream whose answer is more than the system holds for a client that does not read.
fn large() -> Vec<u8> {
    let numbers: Int64Array = (0..1_500_000).collect();
    stream(&RecordBatch::try_from_iter([("n", Arc::new(numbers) as _)]).unwrap().into())
}

/// Waits until the service has let all of these go, which takes its patience and not much more.
fn are_let_go(sockets: Vec<TcpStream>, since: Instant) {
    for mut socket in sockets {
        // Reset, if the service has not read all that was sent.
        let _ = socket.read_to_end(&mut Vec::new());
    }
    let waited = since.elapsed();
    assert!(waited >= PATIENCE.mul_f64(0.9), "after {waited:?}");
    assert!(waited < 10 * PATIENCE, "after {waited:?}");
}

/// Sends a byte now and then, as long as the service takes it.
fn dribble(mut socket: &TcpStream, bytes: &[u8]) {
    for byte in bytes {
        thread::sleep(PATIENCE / 20);
        if socket.write_all(&[*byte]).is_err() {
            return;
        }
    }
    panic!("the service took {} bytes one by one", bytes.len());
}

/// Sends at twice the rate that the services ask for, for longer than their patience.
fn send_slowly(mut socket: &TcpStream, bytes: &[u8]) {
    const PIECE: usize = 32 << 10;
    assert!(bytes.len() > 10 * PIECE, "{}", bytes.len());
    let start = Instant::now();
    for piece in bytes.chunks(PIECE) {
        socket.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(250));
    }
    assert!(start.elapsed() > PATIENCE);
}

#[test]
fn tcp_lets_go_of_clients_that_do_nothing() {
    let service = impatient_tcp_service();
    let sent = large();
    for begun in [0, 1, sent.len() / 2] {
        let start = Instant::now();
        let silent: Vec<_> = (0..SLOTS)
            .map(|_| {
                let mut socket = service.connect();
                socket.write_all(&sent[..begun]).unwrap();
                socket
            })
            .collect();
        // The next one waits until they are gone.
        exchange(&mut service.connect(), &some_flights(1));
        are_let_go(silent, start);
    }
    let log = service.stop();
    assert_eq!(log.lines().count(), 3 * SLOTS, "{log}");
    assert_eq!(log.matches("the client is too slow").count(), 2 * SLOTS, "{log}");
}

#[test]
fn tcp_lets_go_of_clients_that_never_read() {
    let service = impatient_tcp_service();
    let sent = large();
    let deaf: Vec<_> = (0..SLOTS)
        .map(|_| {
            let mut socket = service.connect();
            socket.write_all(&sent).unwrap();
            socket
        })
        .collect();
    let start = Instant::now();
    exchange(&mut service.connect(), &some_flights(1));
    assert!(start.elapsed() < 10 * PATIENCE, "after {:?}", start.elapsed());
    for socket in &deaf {
        service.has_logged(&format!("{}: the client is too slow", socket.local_addr().unwrap()));
    }
    service.stop();
}

#[test]
fn tcp_serves_slow_clients_and_lets_go_of_those_that_dribble() {
    let service = impatient_tcp_service();
    let df = FLIGHTS.clone().into_record_batch().unwrap().slice(0, 5_000).into();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut socket = service.connect();
            send_slowly(&socket, &stream(&df));
            check_answer(&mut socket, &df);
        });
        scope.spawn(|| {
            let (socket, start) = (service.connect(), Instant::now());
            dribble(&socket, &stream(&df)[..1_000]);
            are_let_go(vec![socket], start);
        });
    });
    let log = service.stop();
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn http_lets_go_of_clients_that_do_nothing() {
    let service = impatient_http_service();
    let post = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n";
    for begun in ["", "POST / HT", "POST / HTTP/1.1\r\nHost: te", post] {
        let start = Instant::now();
        let silent: Vec<_> = (0..2 * SLOTS)
            .map(|_| {
                let mut socket = service.connect();
                socket.write_all(begun.as_bytes()).unwrap();
                socket
            })
            .collect();
        post_and_check(&service, &some_flights(1));
        are_let_go(silent, start);
    }
    // Between two requests.
    let (mut idle, start) = (service.connect(), Instant::now());
    write!(idle, "HEAD /flights HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    are_let_go(vec![idle], start);
    service.stop();
}

#[test]
fn http_tells_those_that_are_too_slow() {
    let service = impatient_http_service();
    let mut socket = service.connect();
    write!(socket, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n\0").unwrap();
    assert_eq!(response(socket).status(), "408");
    service.stop();
}

#[test]
fn http_lets_go_of_clients_that_never_read() {
    let service = impatient_http_service();
    let sent = large();
    for (request, body, whole) in [("POST /", &sent[..], sent.len()), ("GET /flights", b"", 6_000_000)] {
        let deaf: Vec<_> = (0..SLOTS)
            .map(|_| {
                let mut socket = service.connect();
                let length = body.len();
                write!(socket, "{request} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
                    .unwrap();
                socket.write_all(body).unwrap();
                socket
            })
            .collect();
        // Each holds a slot, if what it asks for takes one.
        let start = Instant::now();
        post_and_check(&service, &some_flights(1));
        assert!(start.elapsed() < 10 * PATIENCE, "after {:?}", start.elapsed());
        thread::sleep((2 * PATIENCE).saturating_sub(start.elapsed()));
        for mut socket in deaf {
            // What the system still held, and then the end.
            let mut answer = Vec::new();
            let _ = socket.read_to_end(&mut answer);
            assert!((1..whole).contains(&answer.len()), "{} bytes of {whole}", answer.len());
        }
    }
    service.stop();
}

#[test]
fn http_serves_slow_clients_and_lets_go_of_those_that_dribble() {
    let service = impatient_http_service();
    let df: DataFrame = FLIGHTS.clone().into_record_batch().unwrap().slice(0, 5_000).into();
    let sent = stream(&df);
    let head = format!(
        "POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        sent.len()
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            let socket = service.connect();
            (&socket).write_all(head.as_bytes()).unwrap();
            send_slowly(&socket, &sent);
            assert!(same(&decoded(response(socket).body), &df).is_ok());
        });
        // In the head, and in the body.
        for begun in [10, head.len()] {
            let (service, head, sent) = (&service, &head, &sent);
            scope.spawn(move || {
                let (socket, start) = (service.connect(), Instant::now());
                (&socket).write_all(&head.as_bytes()[..begun]).unwrap();
                let rest = [&head.as_bytes()[begun..], &sent[..1_000]].concat();
                dribble(&socket, &rest);
                are_let_go(vec![socket], start);
            });
        }
    });
    service.stop();
}

#[test]
fn http_has_so_many_connections_and_then_those_who_wait() {
    const CONNECTIONS: usize = 512;
    let service = http_service();
    let most = service.files() + CONNECTIONS;
    let silent: Vec<_> = (0..CONNECTIONS + 100).map(|_| service.connect()).collect();
    wait_until(|| service.files() >= most, "all connections to be taken");
    let mut waits = service.connect();
    write!(waits, "HEAD /flights HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    waits.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let error = waits.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "nobody answers yet");
    assert_eq!(service.files(), most);
    drop(silent);
    waits.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    assert_eq!(response(waits).status(), "200");
    service.stop();
}

// ---- Memory

/// The most that a service may hold more than before, for a client that does not read: one
/// stream, which lies in huge pages, and its answer.
const MOST: usize = 48 << 20;

/// Counts what is written.
struct Counting<'a>(TcpStream, &'a AtomicUsize);

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.1.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn tcp_waits_for_a_slow_reader() {
    const STREAMS: usize = 40;
    let service = tcp_service();
    let mut socket = service.connect();
    exchange(&mut socket, &some_flights(0));
    let before = service.resident();
    let written = AtomicUsize::new(0);
    thread::scope(|scope| {
        let writer = socket.try_clone().unwrap();
        scope.spawn(|| {
            let mut writer = Counting(writer, &written);
            for _ in 0..STREAMS {
                write_stream(&mut writer, &FLIGHTS, Target::Arrow).unwrap();
            }
        });
        // Nobody reads until nothing moves: if that is taken for so too early, the check below
        // is only a weaker one.
        let mut last = (0, Instant::now());
        wait_until(
            || {
                let now = written.load(Ordering::Relaxed);
                if now != last.0 {
                    last = (now, Instant::now());
                }
                now > 0 && last.1.elapsed() > Duration::from_millis(500)
            },
            "the service to stop reading",
        );
        let all = STREAMS * stream(&FLIGHTS).len();
        assert!(last.0 < all / 2, "{} of {all} bytes were read", last.0);
        for _ in 0..STREAMS {
            check_answer(&mut socket, &FLIGHTS);
        }
    });
    let grown = service.peak() - before;
    println!("memory grew by {grown} bytes");
    assert!(grown < MOST);
    assert_eq!(service.stop(), "");
}

#[test]
fn http_shares_its_memory_among_slow_readers() {
    let service = http_service();
    let expected = request(&service, "GET /flights", b"").body;
    let before = service.resident();
    let slow: Vec<_> = (0..40)
        .map(|_| {
            let mut socket = service.connect();
            write!(socket, "GET /flights HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
            let mut reader = BufReader::with_capacity(100, socket);
            reader.read_line(&mut String::new()).unwrap();
            reader
        })
        .collect();
    for reader in slow {
        let mut rest = Vec::new();
        { reader }.read_to_end(&mut rest).unwrap();
        assert!(rest.ends_with(&expected));
    }
    let grown = service.peak() - before;
    println!("memory grew by {grown} bytes, {} were sent", 40 * expected.len());
    assert!(grown < MOST);
    service.stop();
}

// ---- Refusals

/// A stream whose body claims to have 1 TiB, and its first 64 MiB.
fn too_large() -> Vec<u8> {
    let numbers: Int64Array = (0..1_000).map(|n| (n % 7 > 0).then_some(n)).collect();
    let batch = RecordBatch::try_from_iter([("n", Arc::new(numbers) as _)]).unwrap();
    let mut stream = stream(&batch.into());
    // Of 1,000 bits and 8,000 bytes.
    let body = (128u64 + 8_000).to_le_bytes();
    let places: Vec<_> = stream.windows(8).enumerate().filter(|(_, bytes)| *bytes == body).collect();
    let [(place, _)] = places[..] else { panic!("{} places", places.len()) };
    stream[place..place + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    stream.resize(64 << 20, 0);
    stream
}

/// What is no stream, and what is said to it.
fn malformed() -> Vec<(Vec<u8>, &'static str)> {
    let text: Arc<dyn Array> = Arc::new(StringArray::from(vec!["quite", "some", "text"]));
    let good = stream(&RecordBatch::try_from_iter([("text", text)]).unwrap().into());
    let place = good.windows(5).position(|bytes| bytes == b"quite").unwrap();
    let mut not_utf8 = good.clone();
    not_utf8[place] = 0xff;
    let mut no_offsets = good.clone();
    no_offsets[place - 60] = 0xff;
    let cut = good[..place].to_vec();
    let no_end = good[..good.len() - 8].to_vec();
    vec![
        (b"{\"text\": [\"no\", \"stream\"]}".to_vec(), "max_metadata_bytes"),
        (not_utf8, "row 0 of column \"text\" is not UTF-8"),
        (no_offsets, "column \"text\""),
        (cut, "input ends early"),
        (no_end, "end"),
    ]
}

#[test]
fn tcp_refuses_with_a_line() {
    let service = tcp_service();
    let before = service.resident();
    // It is told although the client goes on sending, and nothing is reserved for a claim.
    let told = refusal(&service, &too_large(), false);
    assert!(told.contains("`Limits::max_stream_bytes` allows 268435456"), "{told}");
    assert!(service.peak() - before < MOST);

    let many = BooleanArray::from(vec![true; (32 << 20) + 1]);
    let many = RecordBatch::try_from_iter([("b", Arc::new(many) as _)]).unwrap();
    let told = refusal(&service, &stream(&many.into()), false);
    assert!(told.contains("33554433 rows are more than 33554432"), "{told}");

    for (bytes, reason) in malformed() {
        let told = refusal(&service, &bytes, true);
        assert!(told.contains(reason), "{told}");
    }
    exchange(&mut service.connect(), &FLIGHTS);
    let log = service.stop();
    assert_eq!(log.lines().count(), 2 + malformed().len(), "{log}");
}

#[test]
fn http_refuses_with_a_status() {
    let service = http_service();
    let before = service.resident();
    let response = post(&service, &too_large());
    assert_eq!(response.status(), "413");
    assert!(response.text().contains("`Limits::max_stream_bytes` allows 268435456"), "{}", response.text());
    assert!(service.peak() - before < MOST);

    for (bytes, reason) in malformed() {
        let response = post(&service, &bytes);
        assert_eq!(response.status(), "400");
        assert!(response.text().contains(reason), "{}", response.text());
        assert!(response.text().ends_with('\n') && response.text().lines().count() == 1);
    }
    assert_eq!(post(&service, b"").status(), "400");
    assert_eq!(request(&service, "GET /elsewhere", b"").status(), "404");
    assert_eq!(request(&service, "GET /", b"").status(), "405");
    post_and_check(&service, &FLIGHTS);
    assert_eq!(service.stop(), "");
}

// ---- The end

#[test]
fn tcp_completes_what_has_begun_and_ends() {
    let service = tcp_service();
    let (mut idle, mut busy) = (service.connect(), service.connect());
    exchange(&mut idle, &some_flights(0));
    let before = service.resident();
    let sent = stream(&FLIGHTS);
    let (first, rest) = sent.split_at(sent.len() - 100_000);
    busy.write_all(first).unwrap();
    wait_until(|| service.resident() > before + first.len() / 2, "half of the stream to arrive");

    service.terminate();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0, "an idle connection ends at once");
    assert!(TcpStream::connect(service.address).is_err(), "nobody new is let in");
    busy.write_all(rest).unwrap();
    check_answer(&mut busy, &FLIGHTS);
    assert_eq!(busy.read(&mut [0]).unwrap(), 0);
    assert_eq!(service.ends(), "");
}

#[test]
fn http_completes_what_has_begun_and_ends() {
    let service = http_service();
    let (mut idle, mut busy) = (service.connect(), BufReader::new(service.connect()));
    write!(idle, "HEAD /flights HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    idle.read_exact(&mut [0; 8]).unwrap();
    let sent = stream(&FLIGHTS);
    let length = sent.len();
    let expects = "Expect: 100-continue\r\nConnection: close";
    write!(busy.get_mut(), "POST / HTTP/1.1\r\nHost: test\r\n{expects}\r\nContent-Length: {length}\r\n\r\n")
        .unwrap();
    let mut line = String::new();
    busy.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
    busy.read_line(&mut line).unwrap();

    service.terminate();
    idle.read_to_end(&mut Vec::new()).unwrap(); // An idle connection ends at once.
    wait_until(|| TcpStream::connect(service.address).is_err(), "that nobody new is let in");
    busy.get_mut().write_all(&sent).unwrap();
    let response = response(busy.into_inner());
    assert_eq!(response.status(), "200");
    assert!(same(&decoded(response.body), &FLIGHTS).is_ok());
    assert_eq!(service.ends(), "");
}

#[test]
fn what_cannot_start_says_why() {
    for (example, arguments, told) in [
        ("tcp_service", vec![], "usage"),
        ("http_service", vec!["127.0.0.1:0"], "usage"),
        ("http_service", vec!["127.0.0.1:0", "no-such-file"], "No such file"),
    ] {
        let output = Command::new(service::binary(example)).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(told));
    }
}
