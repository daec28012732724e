//! The gateway: the same tools for browsers, scripts and hosts that speak HTTP.
//!
//! Off unless asked for. A connection comes in, its requests pass the guard and reach the same registry
//! and engine as a proxy's; answers go out as plain JSON, or as MCP below `/mcp`. It keeps nothing of its own but keys.

/// What can be set.
pub mod settings;

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

/// A connection as the parser sees it.
pub mod wire;

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

/// What is being worked on.
pub mod working;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;
use trellis_protocol::endpoint::Surroundings;

use guard::Guard;
use keys::Keyring;
use session::Visits;
use settings::HttpSettings;
use working::Working;

use crate::engine::Engine;
use crate::mcp::http::Streamable;

/// A warning that holds until there are credentials: `status` asks whether it still does.
const REFUSES_EVERYBODY: &str = "the HTTP gateway refuses everybody: no credentials are set; set API_KEYS or JWT_SECRET, \
                                 or make a key with `trellisd http key new`";

/// What a person should know about the credentials of a gateway with these settings, if anything.
pub fn credentials_warning(settings: &HttpSettings, state: &Path) -> Option<&'static str> {
    let open = settings.allow_unauthenticated.value;
    let is_set = open || settings.jwt_secret.value.is_some() || !settings.api_keys.value.is_empty();
    let has_keys = || keys::made(&keys::place(state)).is_ok_and(|keys| !keys.is_empty());
    (!is_set && !has_keys()).then_some(REFUSES_EVERYBODY)
}

/// All that the requests of one gateway share.
#[derive(Debug)]
pub struct Gateway {
    engine: Arc<Engine>,
    guard: Guard,
    visits: Visits,
    streamable: Streamable,
    working: Working,
    ending: CancellationToken,
    router: Router,
}

impl Gateway {
    /// A gateway at this address, for what the engine serves.
    pub fn new(engine: Arc<Engine>, address: SocketAddr, around: Surroundings, umask: u32) -> Arc<Self> {
        let settings = &engine.settings.http;
        let keyring = Keyring::new(keys::place(&engine.life.places.state), &settings.api_keys.value);
        let guard = Guard::new(settings, address, keyring);
        if guard.is_shut() {
            tracing::warn!("{REFUSES_EVERYBODY}");
        }
        if let Some(weakness) = settings.weaknesses() {
            engine.warn(weakness);
        }
        let ending = CancellationToken::new();
        let streamable = Streamable::new(guard.names(), &ending, body::BODY_LIMIT);
        let visits = Visits::new(Arc::clone(&engine), around, umask);
        Arc::new_cyclic(|gateway| Self {
            engine,
            guard,
            visits,
            streamable,
            working: Working::default(),
            ending,
            router: routes::router(gateway.clone()),
        })
    }
}
