//! Connections: accepted as long as there is room or somebody makes room, each with its own limits, and ended gently
//! when the daemon leaves.

use std::convert::Infallible;
use std::net::{IpAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio_util::task::TaskTracker;

use super::answer::{answer, raw_response};
use super::connections::{ConnectionPlace, ConnectionTable};
use super::framing::{FramingCheck, HEAD_LIMIT, HEAD_LINES};
use super::guarded_stream::GuardedStream;
use super::{Gateway, routes};
use crate::present::http::HttpError;

/// How long a connection may lie idle between two requests.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long what is being worked on may take when we leave.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);
/// And connections to close after that.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(300);
/// Accepting failed, probably for lack of descriptors: wait for some to be freed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Accepts until the daemon leaves, then waits for what is being worked on.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let leaving = gateway.engine.lifecycle.leaving().clone();
    let connections = TaskTracker::new();
    let router = routes::router(Arc::clone(&gateway));
    let table = Arc::new(ConnectionTable::default());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = leaving.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => match table.admit() {
                Some(place) => {
                    let caller = Arc::new(HttpCaller { peer: peer.ip(), place, framing: Mutex::default() });
                    connections.spawn(connection(Arc::clone(&gateway), router.clone(), stream, caller));
                }
                None => {
                    let _ = stream.try_write(&raw_response(&HttpError::Busy));
                }
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    connections.close();
    gateway.working.close();
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, gateway.working.wait()).await;
    gateway.ending.cancel();
    let _ = tokio::time::timeout(GOODBYE_TIMEOUT, connections.wait()).await;
    Ok(())
}

/// Who is at the other end of a connection, as far as requests must know.
#[derive(Debug)]
pub struct HttpCaller {
    pub peer: IpAddr,
    pub place: ConnectionPlace,
    /// Where the connection's requests begin and end.
    pub framing: Mutex<FramingCheck>,
}

async fn connection(gateway: Arc<Gateway>, router: Router, stream: TcpStream, caller: Arc<HttpCaller>) {
    let _ = stream.set_nodelay(true);
    let wire = GuardedStream::new(stream, Arc::clone(&caller));
    let leaving = gateway.engine.lifecycle.leaving().clone();
    let answering = Arc::clone(&caller);
    let service = service_fn(move |request: Request<Incoming>| {
        let (gateway, router, caller) = (Arc::clone(&gateway), router.clone(), Arc::clone(&answering));
        async move { Ok::<_, Infallible>(answer(&gateway, router, request.map(Body::new), &caller).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(KEEP_ALIVE_TIMEOUT)
        .max_header_size(HEAD_LIMIT)
        .max_headers(HEAD_LINES);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(wire), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = caller.place.evicted() => return,
        () = leaving.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
