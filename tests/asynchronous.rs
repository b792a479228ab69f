//! Streams over tokio: the same as over blocking sockets, whenever a call is cancelled.
#![cfg(feature = "tokio")]

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::*;
use arrow_frames::{
    AsyncStreamSink, AsyncStreamSource, DataFrame, Decoder, Encoder, ErrorKind, Frames, Limits, Part,
    ReceiveMemory, Target, from_buffers, to_buffers, write_frames_async,
};
use common::*;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

fn batch(rows: i64) -> RecordBatch {
    let text: StringArray = (0..rows).map(|n| (n % 3 > 0).then(|| format!("text {n}"))).collect();
    let columns: [(&str, ArrayRef, bool); 2] =
        [("n", Arc::new(Int64Array::from_iter_values(0..rows)), false), ("text", Arc::new(text), true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn stream(frames: &Frames) -> Vec<u8> {
    frames.segments().unwrap().collect::<Vec<_>>().concat()
}

/// Is ready every other time, for a few bytes.
struct Slow<T> {
    inner: T,
    most: usize,
    is_ready: bool,
}

impl<T> Slow<T> {
    fn new(inner: T, most: usize) -> Self {
        Slow { inner, most, is_ready: false }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.is_ready = !self.is_ready;
        if self.is_ready {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for Slow<&[u8]> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        std::task::ready!(self.poll(cx));
        let count = self.most.min(out.remaining()).min(self.inner.len());
        let (now, later) = self.inner.split_at(count);
        out.put_slice(now);
        self.inner = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Slow<Vec<u8>> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        std::task::ready!(self.poll(cx));
        let count = self.most.min(bytes.len());
        self.inner.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.poll(cx).map(Ok)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Polls a future once and gives it up if it is not ready.
async fn once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn every_type_comes_back_over_a_socket() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let samples: Vec<DataFrame> = cases()
        .iter()
        .flat_map(|case| [0, 1, 100, 9_000].map(|rows| make(&case.field, rows, Nulls::Some)))
        .map(|(field, array)| one_column(&field, &array))
        .collect();
    let sent = samples.clone();
    let sender = tokio::spawn(async move {
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        for df in &sent {
            write_frames_async(&mut socket, &to_buffers(df, Target::Arrow).unwrap()).await.unwrap();
        }
    });
    let (socket, _) = listener.accept().await.unwrap();
    let mut source =
        AsyncStreamSource::new(socket).with_read_ahead(1 << 16).with_memory(ReceiveMemory::recycled(1 << 20));
    for df in &samples {
        let again = from_buffers(source.read_all().await.unwrap()).unwrap();
        assert_same(df, &again, &|| df.schema().field(0).name().clone());
        source.restart();
    }
    sender.await.unwrap();
    assert!(source.next().await.unwrap().is_none());
    assert!(!source.is_finished(), "the socket was closed, and no stream was there to end");
}

#[tokio::test]
async fn reading_can_be_cancelled_at_any_point() {
    let df = DataFrame::from(batch(9_000));
    let bytes = stream(&to_buffers(&df, Target::Arrow).unwrap());
    for (most, read_ahead) in [(7, 0), (1_000, 0), (1_000, 1 << 16), (100_000, 100)] {
        let mut source = AsyncStreamSource::new(Slow::new(&bytes[..], most)).with_read_ahead(read_ahead);
        let mut decoder = Decoder::new();
        let mut batches = Vec::new();
        let mut cancelled = 0;
        loop {
            match once(source.next()).await {
                None => cancelled += 1,
                Some(frames) => match frames.unwrap() {
                    None => break,
                    Some(frames) => {
                        batches.extend(decoder.decode(frames).unwrap().into_record_batches().unwrap())
                    }
                },
            }
        }
        assert!(source.is_finished() && cancelled > 2);
        assert_eq!(source.position(), bytes.len() as u64);
        assert_eq!(batches, [batch(9_000)]);
    }
}

#[tokio::test]
async fn writing_can_be_cancelled_at_any_point() {
    let batches = [batch(100), batch(9_000), batch(0), batch(3)];
    let df = DataFrame::try_from_batches(batches[0].schema(), batches.to_vec()).unwrap();
    let expected = stream(&to_buffers(&df, Target::Arrow).unwrap());
    for most in [1_000, 100_000] {
        let writer = Slow::new(Vec::new(), most);
        let mut sink =
            AsyncStreamSink::new(writer, Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
        let mut cancelled = 0;
        for batch in &batches {
            // Queued, however far it comes.
            match once(sink.write(batch)).await {
                Some(result) => result.unwrap(),
                None => cancelled += 1,
            }
        }
        // The end is queued once, however often this is given up.
        loop {
            match once(sink.finish()).await {
                Some(result) => break result.unwrap(),
                None => cancelled += 1,
            }
        }
        sink.finish().await.unwrap();
        assert!(sink.write(&batches[0]).await.is_err(), "the stream has ended");
        assert!(cancelled > 2);
        assert!(sink.into_writer().inner == expected, "{most} bytes at a time");
    }
}

#[tokio::test]
async fn a_fault_at_any_operation_loses_nothing() {
    /// Fails once, at the given operation.
    struct Fails<T>(T, usize);
    impl<T> Fails<T> {
        fn is_now(&mut self) -> bool {
            self.1 = self.1.wrapping_sub(1);
            self.1 == 0
        }
    }
    impl AsyncWrite for Fails<Vec<u8>> {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            if self.is_now() {
                return Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()));
            }
            let count = bytes.len().min(5_000);
            self.0.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            if self.is_now() {
                return Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()));
            }
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    impl AsyncRead for Fails<&[u8]> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            if self.is_now() {
                return Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()));
            }
            let count = 5_000.min(out.remaining()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            out.put_slice(now);
            self.0 = later;
            Poll::Ready(Ok(()))
        }
    }
    let batches = [batch(100), batch(5_000), batch(3)];
    let df = DataFrame::try_from_batches(batches[0].schema(), batches.to_vec()).unwrap();
    let expected = stream(&to_buffers(&df, Target::Arrow).unwrap());
    let mut is_beyond = false;
    for fails_at in 1.. {
        let writer = Fails(Vec::new(), fails_at);
        let mut sink =
            AsyncStreamSink::new(writer, Encoder::new(Target::Arrow), &batches[0].schema()).unwrap();
        let mut failures = 0;
        for batch in &batches {
            failures += usize::from(sink.write(batch).await.is_err());
        }
        while sink.finish().await.is_err() {
            failures += 1;
        }
        assert!(sink.into_writer().0 == expected, "failed at {fails_at}");
        assert!(failures <= 1);
        if failures == 0 {
            is_beyond = true;
            break;
        }
    }
    assert!(is_beyond);

    let whole = Frames::from_stream(expected.clone()).unwrap();
    for fails_at in 1..1_000 {
        let mut source = AsyncStreamSource::new(Fails(&expected[..], fails_at));
        let (mut parts, mut failures) = (Vec::new(), 0);
        loop {
            match source.next().await {
                Ok(None) => break,
                Ok(Some(frames)) => parts.push(frames),
                Err(_) => failures += 1,
            }
        }
        let frames: Frames = parts.into_iter().collect();
        assert_eq!(frames.buffers(), whole.buffers(), "failed at {fails_at}");
        if failures == 0 {
            return;
        }
    }
    panic!("it never got beyond the last operation");
}

#[tokio::test]
async fn a_stream_that_is_cut_says_where() {
    let bytes = stream(&to_buffers(&DataFrame::from(batch(10)), Target::Arrow).unwrap());
    for length in 0..bytes.len() {
        let mut source = AsyncStreamSource::new(&bytes[..length]);
        let by_slice = Frames::from_stream(bytes[..length].to_vec());
        match (source.read_all().await, by_slice) {
            (Ok(_), Ok(_)) => assert!(!source.is_finished()),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
            (found, expected) => panic!("cut at {length}: {found:?}, {expected:?}"),
        }
    }
    let limits = Limits { max_body_bytes: 10, ..Limits::default() };
    let error = AsyncStreamSource::new(&bytes[..]).with_limits(limits).read_all().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    let error = AsyncStreamSource::new(&bytes[..bytes.len() - 9]).read_all().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { part: Part::Body, .. }), "{error}");
}

#[tokio::test]
async fn writable_frames_and_what_follows_the_stream() {
    let frames = Encoder::new(Target::Arrow).with_writable(true).encode(&batch(9_000).into()).unwrap();
    let bytes = [&stream(&frames)[..], b"more"].concat();
    let mut source = AsyncStreamSource::new(&bytes[..]).with_writable(true).with_read_ahead(1 << 16);
    let received = source.read_all().await.unwrap();
    let mut decoder = Decoder::new().with_writable(true).with_max_copied_bytes(0);
    assert_eq!(decoder.decode(received).unwrap().into_record_batch().unwrap(), batch(9_000));
    let (rest, leftover) = source.into_parts();
    assert_eq!([&leftover[..], rest].concat(), b"more");
}
