//! The local socket: accept, check who it is, greet, serve.

/// Bind, or take over what the service manager bound.
pub mod listen;

/// When somebody replaces our socket or lock.
pub mod displaced;

/// Only this user.
pub mod peer;

/// Envelopes on a connection, both ways.
pub mod link;

/// The first words of a connection.
pub mod greet;

use std::sync::Arc;
use std::time::Duration;

use interprocess::local_socket::traits::tokio::Listener as _;
use tokio_util::task::TaskTracker;

use crate::engine::event::Why;
use crate::engine::{Engine, Event};

use displaced::Displaced;
pub use listen::Listener;

/// How long finishing may take in all when we leave: the sessions' own time, and a little.
const FAREWELL: Duration = Duration::from_millis(4_500);
/// Accepting failed, probably for lack of descriptors: wait for some to be freed.
const BREATHER: Duration = Duration::from_millis(50);

/// Accepts until the daemon leaves, then waits for the sessions to finish.
pub async fn serve(engine: Arc<Engine>, listener: &Listener) {
    let sessions = TaskTracker::new();
    let displaced = Displaced::watch(listener.directories());
    loop {
        let accepted = tokio::select! {
            accepted = listener.socket.accept() => accepted,
            () = engine.leaving.cancelled() => break,
            () = displaced.stirred() => {
                if !listener.is_still_ours() {
                    engine.post(Event::Leave(Why::Displaced));
                    engine.leaving.cancelled().await;
                }
                continue;
            }
        };
        match accepted {
            Ok(stream) => {
                if !listener.is_still_ours() {
                    engine.post(Event::Leave(Why::Displaced));
                }
                sessions.spawn(greet::greet(Arc::clone(&engine), Arc::new(stream)));
                // Whoever came is heard before others are looked for.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATHER).await;
            }
        }
    }
    listener.withdraw();
    sessions.close();
    if tokio::time::timeout(FAREWELL, sessions.wait()).await.is_err() {
        tracing::warn!("some sessions did not finish in time");
    }
}
