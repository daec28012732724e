//! The gateway: the same tools for browsers, scripts and hosts that speak HTTP.
//!
//! Off unless asked for. A connection comes in, its requests pass the guard and reach the same registry
//! and engine as a proxy's; answers go out as plain JSON, or as MCP below `/mcp`. It keeps nothing of its own but keys.

/// A listening socket, or why there is none.
pub mod listen;

/// Keys: made, kept as hashes, compared.
pub mod keys;

/// JSON Web Tokens.
pub mod token;

/// Who may come in.
pub mod guard;

/// Where requests begin and end.
pub mod framing;

/// A guarded stream under the HTTP parser.
pub mod guarded_stream;

/// Who stays when there is no room for another connection.
pub mod connections;

/// Guessing is slow.
pub mod rate_limit;

/// Connections, as many as there is room for.
pub mod serve;

/// One request, one answer.
pub mod answer;

/// The body of a request.
pub mod body;

/// Which session a request is.
pub mod session;

/// What there is at which path.
pub mod routes;

/// The tools as an OpenAPI document.
pub mod openapi;

use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::request::Parts;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use trellis_protocol::Failure;
use trellis_protocol::endpoint::AccountEnvironment;

use guard::Guard;
use keys::Keyring;
use session::GatewaySessions;

use crate::config::http::HttpSettings;
use crate::engine::Engine;
use crate::tools::ClientSession;

/// A warning that holds until there are credentials: `status` asks whether it still does.
const REFUSES_EVERYBODY: &str = "the HTTP gateway refuses everybody: no credentials are set; set API_KEYS or JWT_SECRET, \
                                 or make a key with `trellisd http key new`";

/// What a person should know about the credentials of a gateway with these settings, if anything.
pub fn credentials_warning(settings: &HttpSettings, state: &Path) -> Option<&'static str> {
    let open = settings.allow_unauthenticated.value;
    let is_set = open || settings.jwt_secret.value.is_some() || !settings.api_keys.value.is_empty();
    let has_keys = || keys::list(&keys::path(state)).is_ok_and(|keys| !keys.is_empty());
    (!is_set && !has_keys()).then_some(REFUSES_EVERYBODY)
}

/// Answers requests of MCP that the guard let in.
pub trait McpEndpoint: Send + Sync + std::fmt::Debug {
    /// `session` makes the session: one of its own if it gets true, else a shared one. The work is done when the answer
    /// has gone out; a stream that stays open on purpose is no work.
    fn answer<'a>(
        &'a self,
        surface: &'a str,
        parts: Parts,
        body: Bytes,
        session: &'a (dyn Fn(bool) -> Result<Arc<ClientSession>, Failure> + Sync),
        work: TaskTrackerToken,
    ) -> Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;
}

/// What an endpoint has to keep to.
#[derive(Debug)]
pub struct McpLimits {
    /// Names under which requests may come; none allows all.
    pub host_names: Option<Vec<String>>,
    /// Cancelled when streams must end.
    pub ending: CancellationToken,
    pub body_limit: usize,
}

/// All that the requests of one gateway share.
#[derive(Debug)]
pub struct Gateway {
    engine: Arc<Engine>,
    guard: Guard,
    gateway_sessions: GatewaySessions,
    mcp: Box<dyn McpEndpoint>,
    /// The requests that are being worked on, so that shutdown can wait for them.
    working: TaskTracker,
    ending: CancellationToken,
}

impl Gateway {
    /// A gateway at this address, for what the engine serves. `mcp` makes whoever answers MCP within these limits.
    pub fn new(
        engine: Arc<Engine>,
        address: SocketAddr,
        account: AccountEnvironment,
        umask: u32,
        mcp: impl FnOnce(McpLimits) -> Box<dyn McpEndpoint>,
    ) -> Arc<Self> {
        let settings = &engine.settings.http;
        let keyring = Keyring::new(keys::path(&engine.process.paths.state), &settings.api_keys.value);
        let guard = Guard::new(settings, address, keyring);
        if guard.is_shut() {
            tracing::warn!("{REFUSES_EVERYBODY}");
        }
        if let Some(weakness) = settings.weaknesses() {
            engine.warn(&weakness);
        }
        let ending = CancellationToken::new();
        let mcp = mcp(McpLimits { host_names: guard.names(), ending: ending.clone(), body_limit: body::BODY_LIMIT });
        let gateway_sessions = GatewaySessions::new(Arc::clone(&engine), account, umask);
        Arc::new(Self { engine, guard, gateway_sessions, mcp, working: TaskTracker::new(), ending })
    }
}
