//! The first words of a connection: who is it, which words does it speak, what does it want?

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::Semaphore;
use trellis_protocol::control::{Order, Report};
use trellis_protocol::envelope::{Caller, Envelope, Hello, Reason, Refused, Reply, Resume, TOLD_DIRECTORY, Welcome};
use trellis_protocol::{SessionKey, codec, version};

use super::link::{Connection, Outbox, Reader, write_raw};
use super::peer;
use crate::chance;
use crate::clock::zone_named;
use crate::engine::event::Why;
use crate::engine::{Attended, Connected, Engine, Event};
use crate::http::listen::came_too_late;
use crate::mcp;
use crate::tools::call::TURNS;
use crate::tools::session::Zone;
use crate::tools::{Call, Catalogue, Session};

/// Nobody waits longer than this until everything has been seen.
const MOST_PATIENCE: Duration = Duration::from_secs(10);

/// Greets and serves one connection.
pub async fn greet(engine: Arc<Engine>, connection: Connection) {
    if !peer::is_us(&connection) {
        engine.count(|counters| &counters.refused_peers);
        tracing::warn!("a connection of another user was refused");
        return;
    }
    let mut reader = Reader::new(Arc::clone(&connection));
    let Ok((number, body)) = reader.greeting().await else { return };
    // We answer in the words of the older of the two.
    let words = number.min(version::CURRENT);
    let hello = match codec::decode_hello(number, &body) {
        Ok(Some(hello)) => hello,
        Ok(None) => return refuse(&connection, version::CURRENT, foreign(number)).await,
        Err(error) => {
            tracing::warn!(%error, "a greeting could not be read");
            return refuse(&connection, words, garbled()).await;
        }
    };
    let outbox = Outbox::new(Arc::clone(&connection));
    match hello.caller {
        Caller::CommandLine => {
            if welcome(&connection, words, new_key(), None).await {
                orders(&engine, &mut reader, &outbox).await;
            }
        }
        Caller::Proxy => session(&engine, &connection, words, hello, reader, outbox).await,
    }
}

async fn session(
    engine: &Arc<Engine>,
    connection: &Connection,
    words: u16,
    mut hello: Hello,
    reader: Reader,
    outbox: Outbox,
) {
    if engine.leaving.is_cancelled() {
        return refuse(connection, words, draining()).await;
    }
    let catalogue = match engine.registry.catalogue(&hello.surface) {
        Ok(catalogue) => catalogue,
        Err(failure) => {
            let hint = failure.hint.map(String::from).unwrap_or_default();
            return refuse(connection, words, Refused { reason: Reason::Surface, message: failure.message, hint })
                .await;
        }
    };
    let resume = hello.resume.take();
    // A session that was never greeted before has no name yet, even if it has something to resume.
    let named = resume.as_ref().map(|resume: &Resume| resume.session).filter(|key| *key != SessionKey::default());
    let key = named.unwrap_or_else(new_key);
    let notice = notice(engine, &catalogue, &hello.environment);
    let connected = Arc::new(Connected {
        pid: hello.pid,
        directory: String::from_utf8_lossy(&hello.directory).into_owned(),
        client: ArcSwapOption::empty(),
        ..Connected::default()
    });
    let session = Arc::new(session_of(hello, key));
    engine.sessions.insert(key, Arc::clone(&connected));
    engine.count(|counters| &counters.sessions);
    if welcome(connection, words, key, notice).await {
        let turns = Arc::new(Semaphore::new(TURNS));
        let call = Call { engine: Arc::clone(engine), catalogue, session, turns, slow: Arc::default() };
        let attended = Attended::begin(&call);
        mcp::serve(call, Arc::clone(&connected), attended, reader, outbox, resume).await;
    }
    // A session that has resumed on another connection already is not ours to remove.
    engine.sessions.remove_if(&key, |_, current| Arc::ptr_eq(current, &connected));
}

/// What a person should know who asked for something that this session does not get.
fn notice(engine: &Engine, catalogue: &Catalogue, environment: &[(String, String)]) -> Option<String> {
    let unknown = (!catalogue.unknown_tools.is_empty())
        .then(|| format!("--tools names nothing that exists: {}", catalogue.unknown_tools.join(", ")));
    let variable = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let late = came_too_late(&engine.life.gateway, variable);
    let notices: Vec<String> = [unknown, late].into_iter().flatten().collect();
    (!notices.is_empty()).then(|| notices.join("; "))
}

/// What the families may know of a greeting.
fn session_of(hello: Hello, key: SessionKey) -> Session {
    let directory = PathBuf::from(OsString::from_vec(hello.directory));
    let environment: BTreeMap<String, String> = hello.environment.into_iter().collect();
    Session {
        is_told: environment.contains_key(TOLD_DIRECTORY),
        home: std::env::home_dir(),
        key: Some(key.to_string()),
        directory: directory.is_absolute().then_some(directory),
        environment,
        zone: Zone(zone_named(&hello.time_zone)),
        umask: hello.umask,
        ..Session::default()
    }
}

async fn orders(engine: &Arc<Engine>, reader: &mut Reader, outbox: &Outbox) {
    loop {
        let envelope = tokio::select! {
            envelope = reader.next() => envelope,
            () = engine.leaving.cancelled() => return,
        };
        let Ok(Some(Envelope::Order(order))) = envelope else { return };
        let report = match order {
            Order::Status => Report::Status(Box::new(engine.status())),
            Order::Stop | Order::HandOver => Report::Leaving { pid: std::process::id() },
            Order::WaitUntilSeen { milliseconds } => {
                let (engine, patience) = (Arc::clone(engine), Duration::from_millis(milliseconds.into()));
                let waited = tokio::task::spawn_blocking(move || engine.wait_until_seen(patience.min(MOST_PATIENCE)));
                Report::Seen { everything: waited.await.unwrap_or(false) }
            }
        };
        let sent = outbox.send(&Envelope::Report(report)).await;
        match order {
            Order::Status | Order::WaitUntilSeen { .. } => {}
            Order::Stop => engine.post(Event::Leave(Why::Asked)),
            Order::HandOver => engine.post(Event::Leave(Why::HandOver)),
        }
        if sent.is_err() {
            return;
        }
    }
}

async fn welcome(connection: &Connection, words: u16, session: SessionKey, notice: Option<String>) -> bool {
    let build = env!("CARGO_PKG_VERSION").to_owned();
    reply(connection, words, &Reply::Welcome(Welcome { build, session, notice })).await
}

async fn refuse(connection: &Connection, words: u16, refused: Refused) {
    reply(connection, words, &Reply::Refused(refused)).await;
}

async fn reply(connection: &Connection, words: u16, reply: &Reply) -> bool {
    match codec::encode_reply(words, reply) {
        Ok(bytes) => write_raw(connection, &bytes).await.is_ok(),
        Err(_) => false,
    }
}

fn foreign(number: u16) -> Refused {
    let ours = version::CURRENT;
    let hint = if number > ours {
        "ask this daemon to hand over, or run `trellisd stop` and start the newer one"
    } else {
        "update the proxy: install trellis-mcp and trellisd of the same version"
    };
    Refused {
        reason: Reason::Version,
        message: format!("this daemon speaks protocol {ours}, the greeting came in protocol {number}"),
        hint: hint.to_owned(),
    }
}

fn garbled() -> Refused {
    Refused {
        reason: Reason::Version,
        message: "the greeting could not be read".to_owned(),
        hint: "install trellis-mcp and trellisd of the same version".to_owned(),
    }
}

fn draining() -> Refused {
    Refused {
        reason: Reason::Draining,
        message: "this daemon is leaving".to_owned(),
        hint: "connect again in a moment".to_owned(),
    }
}

/// A name for a session that no other has.
fn new_key() -> SessionKey {
    let random = || u128::from(chance::number());
    SessionKey(random() << 64 | random())
}
