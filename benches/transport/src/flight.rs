//! Arrow Flight over loopback, as fast as it is known to be: large messages, large windows.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightClient, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};

use crate::{Side, since};

/// HTTP/2 windows and frames, message sizes: what the defaults of 64 KiB and 4 MiB cost is not
/// what is measured here.
const WINDOW: u32 = 64 << 20;
const FRAME: u32 = (1 << 24) - 1;
const MESSAGE: usize = 1 << 30;

/// Bytes of a FlightData message; larger ones are slower.
const DATA: usize = 2 << 20;

/// `do_get`: the service encodes, the client decodes.
pub fn get(batch: &RecordBatch) -> Side {
    let (runtime, mut client) = connect(batch.clone());
    let expected = batch.num_rows();
    Side::new("Arrow Flight do_get, tuned", move || {
        let start = Instant::now();
        let rows: usize = runtime
            .block_on(async {
                let batches = client.do_get(Ticket::new("all")).await.expect("a stream");
                batches.map_ok(|batch| batch.num_rows()).try_fold(0, |a, b| async move { Ok(a + b) }).await
            })
            .expect("decodes");
        assert_eq!(rows, expected);
        since(start)
    })
}

/// `do_put`: the client encodes, the service decodes.
pub fn put(batch: &RecordBatch) -> Side {
    let (runtime, mut client) = connect(batch.slice(0, 0));
    let batch = batch.clone();
    Side::new("Arrow Flight do_put, tuned", move || {
        let start = Instant::now();
        let sent = encoded(batch.clone());
        let results = runtime.block_on(async {
            client.do_put(sent.map_err(Into::into)).await.expect("a stream").try_collect::<Vec<_>>().await
        });
        let rows = results.expect("an answer")[0].app_metadata.clone();
        assert_eq!(rows, batch.num_rows().to_string());
        since(start)
    })
}

fn encoded(batch: RecordBatch) -> arrow_flight::encode::FlightDataEncoder {
    let builder = FlightDataEncoderBuilder::new().with_max_flight_data_size(DATA);
    builder.with_schema(batch.schema()).build(stream::iter([Ok(batch)]))
}

fn connect(batch: RecordBatch) -> (&'static Runtime, FlightClient) {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
    });
    let client = runtime.block_on(async {
        let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let address = incoming.local_addr().expect("an address");
        let service = FlightServiceServer::new(Service { batch })
            .max_decoding_message_size(MESSAGE)
            .max_encoding_message_size(MESSAGE);
        let server = Server::builder()
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_frame_size(FRAME)
            .tcp_nodelay(true)
            .add_service(service)
            .serve_with_incoming(incoming);
        runtime.spawn(server);
        let channel = Endpoint::from_shared(format!("http://{address}"))
            .expect("an address")
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .tcp_nodelay(true)
            .connect()
            .await
            .expect("connects");
        let inner = FlightServiceClient::new(channel)
            .max_decoding_message_size(MESSAGE)
            .max_encoding_message_size(MESSAGE);
        FlightClient::new_from_inner(inner)
    });
    (runtime, client)
}

/// Gives one batch, and takes any.
struct Service {
    batch: RecordBatch,
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;

    async fn do_get(&self, _: Request<Ticket>) -> Answer<Self::DoGetStream> {
        Ok(Response::new(encoded(self.batch.clone()).map_err(Into::into).boxed()))
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        let sent = request.into_inner().map_err(Into::into);
        let batches = FlightRecordBatchStream::new_from_flight_data(sent);
        let rows =
            batches.map_ok(|batch| batch.num_rows()).try_fold(0, |a, b| async move { Ok(a + b) }).await?;
        let answer = PutResult { app_metadata: rows.to_string().into() };
        Ok(Response::new(stream::iter([Ok(answer)]).boxed()))
    }

    async fn handshake(&self, _: Request<Streaming<HandshakeRequest>>) -> Answer<Self::HandshakeStream> {
        Err(unused())
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        Err(unused())
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        Err(unused())
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<PollInfo> {
        Err(unused())
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        Err(unused())
    }

    async fn do_action(&self, _: Request<Action>) -> Answer<Self::DoActionStream> {
        Err(unused())
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Self::ListActionsStream> {
        Err(unused())
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoExchangeStream> {
        Err(unused())
    }
}

fn unused() -> Status {
    Status::unimplemented("not measured")
}
