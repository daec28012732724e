//! MCP over HTTP: a request that the guard let in → rmcp's answer.
//!
//! Both eras, one service for each surface. What rmcp does otherwise than our contracts ask is put right
//! here: parameters that do not fit are told apart from unknown methods, and every refusal is JSON.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use dashmap::DashMap;
use http_body_util::{BodyExt as _, Full};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::task::task_tracker::TaskTrackerToken;
use trellis_protocol::Failure;
use trellis_protocol::message::{
    self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MessageHead, SERVER_ERROR,
};

use crate::http::{McpEndpoint, McpLimits};
use crate::mcp::decode::decode;
use crate::mcp::handler::Handler;
use crate::tools::ClientSession;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Sessions with a handshake that one surface keeps; beyond that the one that was used longest ago ends.
const MAX_MCP_SESSIONS: usize = 256;
/// A session that nobody used for so long ends.
const SESSION_TTL: Duration = Duration::from_secs(60 * 60);

/// The services of one gateway.
#[derive(Debug)]
pub struct HttpMcp {
    config: StreamableHttpServerConfig,
    surfaces: DashMap<String, Arc<Sessions>>,
}

impl McpEndpoint for HttpMcp {
    fn answer<'a>(
        &'a self,
        surface: &'a str,
        mut parts: Parts,
        body: Bytes,
        make_session: &'a (dyn Fn(bool) -> Result<Arc<ClientSession>, Failure> + Sync),
        work: TaskTrackerToken,
    ) -> Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>> {
        Box::pin(async move {
            let sessions = self.sessions(surface);
            let posts = parts.method == Method::POST;
            if !accepts(&mut parts) {
                let kinds = if posts { "application/json and text/event-stream" } else { "text/event-stream" };
                return refused(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, &format!("Accept must allow {kinds}"));
            }
            let session = parts.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
            let asked = if posts { HttpRequestHead::of(&body) } else { HttpRequestHead::default() };
            if let Some(instead) = asked.instead
                && (asked.status.is_some() || asked.modern || sessions.has(session.as_deref()).await)
            {
                return json_answer(asked.status.unwrap_or(StatusCode::OK), instead);
            }
            let gateway_session = match make_session(asked.opens) {
                Ok(gateway_session) => gateway_session,
                Err(failure) => {
                    tracing::error!("{failure}");
                    let sentence = "something went wrong here; the log says more";
                    return refused(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, sentence);
                }
            };
            if asked.opens {
                sessions.make_room().await;
            }
            let factory = move || Ok(Handler::new(Arc::clone(&gateway_session)));
            let service = StreamableHttpService::new(factory, Arc::clone(&sessions.manager), self.config.clone());
            let ends = parts.method == Method::DELETE;
            let response = service.handle(Request::from_parts(parts, Full::new(body))).await;
            let given = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
            sessions.note(given, session.as_deref(), ends);
            let (parts, body) = response.into_parts();
            if parts.status.is_client_error() || parts.status.is_server_error() {
                return as_json_error(parts, body.collect().await.map(|body| body.to_bytes()).unwrap_or_default());
            }
            let work = (posts && !asked.lasts).then_some(work);
            let body = body.map_frame(move |frame| {
                let _until_it_has_gone_out = &work;
                frame
            });
            Response::from_parts(parts, Body::new(body))
        })
    }
}

/// The sessions of one surface.
#[derive(Debug)]
struct Sessions {
    manager: Arc<LocalSessionManager>,
    used: Mutex<HashMap<String, Instant>>,
}

impl HttpMcp {
    /// Services within these limits. Host and origin were checked by the guard; rmcp checks the names once more.
    pub fn endpoint(limits: McpLimits) -> Box<dyn McpEndpoint> {
        let McpLimits { host_names, ending, body_limit } = limits;
        let config = StreamableHttpServerConfig::default();
        let config = match host_names {
            Some(names) => config.with_allowed_hosts(names),
            None => config.disable_allowed_hosts(),
        };
        let config = config
            .with_cancellation_token(ending)
            .with_json_response(true)
            // Hosts of earlier revisions take an event without data for a broken message.
            .with_sse_retry(None)
            .with_max_request_body_bytes(body_limit);
        Box::new(Self { config, surfaces: DashMap::new() })
    }

    fn sessions(&self, surface: &str) -> Arc<Sessions> {
        Arc::clone(&self.surfaces.entry(surface.to_owned()).or_insert_with(|| {
            let mut config = SessionConfig::default();
            config.keep_alive = Some(SESSION_TTL);
            config.sse_retry = None;
            let mut manager = LocalSessionManager::default();
            manager.session_config = config;
            Arc::new(Sessions { manager: Arc::new(manager), used: Mutex::default() })
        }))
    }
}

impl Sessions {
    async fn has(&self, id: Option<&str>) -> bool {
        let Some(id) = id else { return false };
        self.manager.has_session(&id.into()).await.unwrap_or(false)
    }

    /// Takes note of a session that was opened, used or ended. One that is named and not there is not remembered.
    fn note(&self, opened: Option<String>, named: Option<&str>, ended: bool) {
        let mut used = self.used.lock();
        if let Some(id) = opened {
            used.insert(id, Instant::now());
        } else if let Some(id) = named {
            if ended {
                used.remove(id);
            } else if let Some(at) = used.get_mut(id) {
                *at = Instant::now();
            }
        }
    }

    /// Ends the session that was used longest ago if there are too many.
    async fn make_room(&self) {
        let there: Vec<String> = self.manager.sessions.read().await.keys().map(|id| id.to_string()).collect();
        let oldest = {
            let mut used = self.used.lock();
            used.retain(|id, _| there.contains(id));
            let full = there.len() >= MAX_MCP_SESSIONS;
            full.then(|| used.iter().min_by_key(|(_, at)| **at).map(|(id, _)| id.clone())).flatten()
        };
        if let Some(oldest) = oldest {
            let _ = self.manager.close_session(&oldest.into()).await;
        }
    }
}

/// Requests that a revision without a handshake does not have.
const HANDSHAKE_ONLY_METHODS: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// What has to be known of a message before rmcp reads it.
#[derive(Debug, Default)]
struct HttpRequestHead {
    /// A handshake: the session is its own.
    opens: bool,
    /// A subscription: its stream stays open.
    lasts: bool,
    /// It carries its own version.
    modern: bool,
    /// What to answer instead of passing it on.
    instead: Option<Vec<u8>>,
    /// The status of that, if it counts whatever the session; else it is an answer like others.
    status: Option<StatusCode>,
}

impl HttpRequestHead {
    fn of(body: &[u8]) -> Self {
        let bad = Some(StatusCode::BAD_REQUEST);
        let (id, method, modern) = match message::read_head(body) {
            Ok(MessageHead::Request { id, method, params }) => (id, method, declares_version(params)),
            Ok(_) => return Self::default(),
            Err(fault) => return Self { instead: Some(fault.answer()), status: bad, ..Self::default() },
        };
        if modern && HANDSHAKE_ONLY_METHODS.contains(&method.as_ref()) {
            let sentence = format!("there is no method `{method}` in this revision");
            let instead = Some(message::error_answer(id, METHOD_NOT_FOUND, &sentence, None));
            return Self { modern, instead, status: Some(StatusCode::NOT_FOUND), ..Self::default() };
        }
        let opens = method == "initialize";
        let lasts = method == "subscriptions/listen";
        let refused = decode(body).err().flatten();
        // Unknown methods are rmcp's to refuse, with the status that its revision asks for.
        let code =
            |answer: &Vec<u8>| serde_json::from_slice::<serde_json::Value>(answer).ok()?["error"]["code"].as_i64();
        let code = refused.as_ref().and_then(code);
        let instead = refused.filter(|_| code != Some(METHOD_NOT_FOUND.into()));
        let status = bad.filter(|_| code != Some(INVALID_PARAMS.into()));
        Self { opens, lasts, modern, instead, status }
    }
}

fn declares_version(params: Option<&str>) -> bool {
    let params = params.and_then(|params| serde_json::from_str::<serde_json::Value>(params).ok());
    params.is_some_and(|params| params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string())
}

/// Whether the client takes what may be answered; rmcp knows no wildcards, so they are spelled out for it.
fn accepts(parts: &mut Parts) -> bool {
    let wanted: &[&str] = match parts.method {
        Method::POST => &["application/json", "text/event-stream"],
        Method::GET => &["text/event-stream"],
        _ => return true,
    };
    let allowed = wanted.iter().all(|kind| allows(&parts.headers, kind));
    if allowed {
        parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
    allowed
}

fn allows(headers: &HeaderMap, kind: &str) -> bool {
    let (family, _) = kind.split_once('/').unwrap_or((kind, ""));
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        let matches = name == kind || name == "*/*" || name.strip_suffix("/*") == Some(family);
        matches && !refused
    })
}

/// A refusal of rmcp's that is no JSON, as JSON.
fn as_json_error(mut parts: axum::http::response::Parts, body: Bytes) -> Response<Body> {
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        return Response::from_parts(parts, Body::from(body));
    }
    let said = String::from_utf8_lossy(&body);
    let (code, sentence) = match parts.status {
        StatusCode::NOT_FOUND => (SERVER_ERROR, "there is no such session: initialize again".to_owned()),
        status if status.is_server_error() => {
            tracing::error!(status = status.as_u16(), "a message could not be answered");
            tracing::debug!("{said}");
            (INTERNAL_ERROR, "something went wrong here; the log says more".to_owned())
        }
        _ => (INVALID_REQUEST, said.chars().take(200).collect()),
    };
    let answer = message::error_answer("null", code, &sentence, None);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(answer))
}

fn refused(status: StatusCode, code: i32, sentence: &str) -> Response<Body> {
    json_answer(status, message::error_answer("null", code, sentence, None))
}

fn json_answer(status: StatusCode, answer: Vec<u8>) -> Response<Body> {
    (status, [(CONTENT_TYPE, "application/json")], answer).into_response()
}
