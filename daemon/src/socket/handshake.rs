//! The handshake of a connection: who is it, which protocol version does it speak, what does it want?

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use interprocess::local_socket::traits::StreamCommon as _;
use trellis_protocol::control::{ControlReply, ControlRequest, Status};
use trellis_protocol::envelope::{
    Caller, EXPLICIT_DIRECTORY, Envelope, Hello, RefusalReason, Refused, Reply, Resume, Welcome,
};
use trellis_protocol::{SessionKey, codec, version};

use super::envelope_io::{Connection, EnvelopeReader, EnvelopeWriter, write_raw};
use crate::clock::zone_named;
use crate::engine::lifecycle::ExitReason;
use crate::engine::{ClientStatus, Engine, GatewayState};
use crate::families::session::SessionTimeZone;
use crate::families::{Catalogue, SessionContext};
use crate::http::credentials_warning;
use crate::http::listen::late_settings_notice;
use crate::ids;
use crate::mcp;
use crate::tools::ClientSession;
use crate::tools::call::MAX_BLOCKING_CALLS;

/// Nobody waits longer than this until everything has been seen.
const MAX_BARRIER_TIMEOUT: Duration = Duration::from_secs(10);

/// Greets and serves one connection.
pub async fn handshake(engine: Arc<Engine>, connection: Connection) {
    // Only this user reaches the daemon; not even root is special.
    let peer = connection.peer_creds().ok().and_then(|credentials| credentials.euid());
    if peer != Some(rustix::process::geteuid().as_raw()) {
        engine.count(|counters| &counters.refused_peers);
        tracing::warn!("a connection of another user was refused");
        return;
    }
    let mut reader = EnvelopeReader::new(Arc::clone(&connection));
    let Ok((number, body)) = reader.greeting().await else { return };
    // We answer in the words of the older of the two.
    let words = number.min(version::CURRENT);
    let hello = match codec::decode_hello(number, &body) {
        Ok(Some(hello)) => hello,
        Ok(None) => {
            let ours = version::CURRENT;
            let message = format!("this daemon speaks protocol {ours}, the greeting came in protocol {number}");
            let hint = match number > ours {
                true => "ask this daemon to hand over, or run `trellisd stop` and start the newer one",
                false => "update the proxy: install trellis-mcp and trellisd of the same version",
            };
            return refuse(&connection, ours, RefusalReason::Version, message, hint).await;
        }
        Err(error) => {
            tracing::warn!("a greeting could not be read");
            tracing::debug!(%error, "it was no greeting");
            let hint = "install trellis-mcp and trellisd of the same version";
            return refuse(&connection, words, RefusalReason::Version, "the greeting could not be read", hint).await;
        }
    };
    let writer = EnvelopeWriter::new(Arc::clone(&connection));
    match hello.caller {
        Caller::CommandLine => {
            if welcome(&connection, words, new_key(), None).await {
                serve_control(&engine, &mut reader, &writer).await;
            }
        }
        Caller::Proxy => session(&engine, &connection, words, hello, reader, writer).await,
    }
}

async fn session(
    engine: &Arc<Engine>,
    connection: &Connection,
    words: u16,
    mut hello: Hello,
    reader: EnvelopeReader,
    writer: EnvelopeWriter,
) {
    if engine.lifecycle.leaving().is_cancelled() {
        let hint = "connect again in a moment";
        return refuse(connection, words, RefusalReason::Draining, "this daemon is leaving", hint).await;
    }
    let catalogue = match engine.registry.catalogue(&hello.surface) {
        Ok(catalogue) => catalogue,
        Err(failure) => {
            let hint = failure.hint.unwrap_or_default();
            return refuse(connection, words, RefusalReason::Surface, failure.message, hint).await;
        }
    };
    let resume = hello.resume.take();
    // A session that was never greeted before has no name yet, even if it has something to resume.
    let named = resume.as_ref().map(|resume: &Resume| resume.session).filter(|key| *key != SessionKey::default());
    let key = named.unwrap_or_else(new_key);
    let notice = startup_notice(engine, &catalogue, &hello.environment);
    let status = Arc::new(ClientStatus {
        pid: hello.pid,
        directory: String::from_utf8_lossy(&hello.directory).into_owned(),
        client: ArcSwapOption::empty(),
        ..ClientStatus::default()
    });
    let session = Arc::new(session_of(hello, key));
    engine.sessions.insert(key, Arc::clone(&status));
    engine.count(|counters| &counters.sessions);
    if welcome(connection, words, key, notice).await {
        let session =
            ClientSession::start(Arc::clone(engine), catalogue, session, Arc::clone(&status), MAX_BLOCKING_CALLS);
        mcp::serve(session, reader, writer, resume).await;
    }
    // A session that has resumed on another connection already is not ours to remove.
    engine.sessions.remove_if(&key, |_, current| Arc::ptr_eq(current, &status));
}

/// What a person should know who asked for something that this session does not get.
fn startup_notice(engine: &Engine, catalogue: &Catalogue, environment: &[(String, String)]) -> Option<String> {
    let unknown = (!catalogue.unknown_tools.is_empty())
        .then(|| format!("--tools names nothing that exists: {}", catalogue.unknown_tools.join(", ")));
    let variable = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let late = late_settings_notice(&engine.process.gateway, variable);
    let notices: Vec<String> = [unknown, late].into_iter().flatten().collect();
    (!notices.is_empty()).then(|| notices.join("; "))
}

/// What `trellisd status` shows; never waits for a user's disk.
fn status(engine: &Engine) -> Status {
    let mut status = engine.status();
    if let GatewayState::On(_) = engine.process.gateway {
        let warning = credentials_warning(&engine.settings.http, &engine.process.paths.state);
        status.warnings.extend(warning.map(str::to_owned));
    }
    status
}

/// What the families may know of a greeting.
fn session_of(hello: Hello, key: SessionKey) -> SessionContext {
    let directory = PathBuf::from(OsString::from_vec(hello.directory));
    let environment: BTreeMap<String, String> = hello.environment.into_iter().collect();
    SessionContext {
        has_explicit_directory: environment.contains_key(EXPLICIT_DIRECTORY),
        home: std::env::home_dir(),
        key: Some(key.to_string()),
        directory: directory.is_absolute().then_some(directory),
        environment,
        zone: SessionTimeZone(zone_named(&hello.time_zone)),
        umask: hello.umask,
        ..SessionContext::default()
    }
}

async fn serve_control(engine: &Arc<Engine>, reader: &mut EnvelopeReader, writer: &EnvelopeWriter) {
    loop {
        let envelope = tokio::select! {
            envelope = reader.next() => envelope,
            () = engine.lifecycle.leaving().cancelled() => return,
        };
        let Ok(Some(Envelope::ControlRequest(order))) = envelope else { return };
        let report = match order {
            ControlRequest::Status => ControlReply::Status(Box::new(status(engine))),
            ControlRequest::Stop | ControlRequest::HandOver => ControlReply::Leaving { pid: std::process::id() },
            ControlRequest::SyncBarrier { milliseconds } => {
                let (engine, timeout) = (Arc::clone(engine), Duration::from_millis(milliseconds.into()));
                let waited = tokio::task::spawn_blocking(move || engine.sync_barrier(timeout.min(MAX_BARRIER_TIMEOUT)));
                ControlReply::Synced { everything: waited.await.unwrap_or(false) }
            }
        };
        let sent = writer.send(&Envelope::ControlReply(report)).await;
        match order {
            ControlRequest::Stop => engine.lifecycle.leave(ExitReason::Asked),
            ControlRequest::HandOver => engine.lifecycle.leave(ExitReason::HandOver),
            _ if sent.is_err() => return,
            ControlRequest::Status | ControlRequest::SyncBarrier { .. } => {}
        }
    }
}

async fn welcome(connection: &Connection, words: u16, session: SessionKey, notice: Option<String>) -> bool {
    let build = env!("CARGO_PKG_VERSION").to_owned();
    reply(connection, words, &Reply::Welcome(Welcome { build, session, notice })).await
}

async fn refuse(
    connection: &Connection,
    words: u16,
    reason: RefusalReason,
    message: impl Into<String>,
    hint: impl Into<String>,
) {
    let refused = Refused { reason, message: message.into(), hint: hint.into() };
    reply(connection, words, &Reply::Refused(refused)).await;
}

async fn reply(connection: &Connection, words: u16, reply: &Reply) -> bool {
    match codec::encode_reply(words, reply) {
        Ok(bytes) => write_raw(connection, &bytes).await.is_ok(),
        Err(_) => false,
    }
}

/// A name for a session that no other has.
fn new_key() -> SessionKey {
    let random = || u128::from(ids::random_u64());
    SessionKey(random() << 64 | random())
}
