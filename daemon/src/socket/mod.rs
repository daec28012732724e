//! The local socket: accept, check who it is, greet, serve.

/// Bind, or take over what the service manager bound.
pub mod listen;

/// Notices when our socket or lock is replaced.
pub mod replaced;

pub mod envelope_io;

pub mod handshake;

use std::sync::Arc;
use std::time::Duration;

use interprocess::local_socket::traits::tokio::Listener as _;
use tokio_util::task::TaskTracker;

use crate::engine::Engine;
use crate::engine::lifecycle::ExitReason;

pub use listen::Listener;
use replaced::SocketReplacedWatcher;

/// How long finishing may take in all when we leave: the sessions' own time, and a little.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(4_500);
/// Accepting failed, probably for lack of descriptors: wait for some to be freed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Accepts until the daemon leaves, then waits for the sessions to finish.
pub async fn serve(engine: Arc<Engine>, listener: &Listener) {
    let sessions = TaskTracker::new();
    let displaced = SocketReplacedWatcher::watch(listener.directories());
    loop {
        let accepted = tokio::select! {
            accepted = listener.socket.accept() => accepted,
            () = engine.lifecycle.leaving().cancelled() => break,
            () = displaced.changed() => {
                if !listener.is_still_ours() {
                    engine.lifecycle.leave(ExitReason::Displaced);
                    engine.lifecycle.leaving().cancelled().await;
                }
                continue;
            }
        };
        match accepted {
            Ok(stream) => {
                if !listener.is_still_ours() {
                    engine.lifecycle.leave(ExitReason::Displaced);
                }
                sessions.spawn(handshake::handshake(Arc::clone(&engine), Arc::new(stream)));
                // Whoever came is heard before others are looked for.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    listener.unlink();
    sessions.close();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, sessions.wait()).await.is_err() {
        tracing::warn!("some sessions did not finish in time");
    }
}
