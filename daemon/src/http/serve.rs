//! Connections: accepted as long as there is room, each with its own limits, and ended gently when the
//! daemon leaves.

use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::Gateway;
use super::answer::{answer, raw};
use super::framing::{Framing, HEAD_LIMIT, HEAD_LINES};
use super::wire::Wire;
use crate::present::http::Fault;

/// Connections at once; further ones are told to come back.
const MOST_CONNECTIONS: usize = 512;
/// How long a connection may lie idle between two requests.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// How long what is being worked on may take when we leave.
const DRAIN: Duration = Duration::from_secs(4);
/// And connections to close after that.
const LAST_WORD: Duration = Duration::from_millis(300);
/// Accepting failed, probably for lack of descriptors: wait for some to be freed.
const BREATHER: Duration = Duration::from_millis(50);

/// Accepts until the daemon leaves, then waits for what is being worked on.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let leaving = gateway.engine.leaving.clone();
    let connections = TaskTracker::new();
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = leaving.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => match Arc::clone(&room).try_acquire_owned() {
                Ok(place) => {
                    let gateway = Arc::clone(&gateway);
                    connections.spawn(async move {
                        connection(gateway, stream).await;
                        drop(place);
                    });
                }
                Err(_) => {
                    let _ = stream.try_write(&raw(&Fault::Busy));
                }
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATHER).await;
            }
        }
    }
    drop(listener);
    connections.close();
    let _ = tokio::time::timeout(DRAIN, gateway.working.done()).await;
    gateway.ending.cancel();
    let _ = tokio::time::timeout(LAST_WORD, connections.wait()).await;
    Ok(())
}

async fn connection(gateway: Arc<Gateway>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let framing = Arc::new(Mutex::new(Framing::default()));
    let wire = Wire::new(stream, Arc::clone(&framing));
    let leaving = gateway.engine.leaving.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (gateway, unsure) = (Arc::clone(&gateway), framing.lock().is_broken());
        async move { Ok::<_, Infallible>(answer(&gateway, request.map(Body::new), unsure).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(KEEP_ALIVE)
        .max_header_size(HEAD_LIMIT)
        .max_headers(HEAD_LINES);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(wire), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = leaving.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
