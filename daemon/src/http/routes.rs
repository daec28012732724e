//! What there is at which path, once the guard has let a request in.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{ALLOW, HeaderMap};
use axum::http::request::Parts;
use axum::http::{Method, Request, Response};
use axum::response::IntoResponse as _;
use axum::routing::{any, get, post};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use trellis_protocol::{FailureKind, Surface};

use super::answer::json as json_answer;
use super::{Gateway, body, openapi};
use crate::clock::Now;
use crate::present::http::{HttpError, error_response, tool_response};
use crate::text::json::Json;
use crate::tools::{ClientSession, CredentialsName, ToolCall, ToolError};

/// How long a tool may take, and waiting for its turn.
const TOOL_TIMEOUT: Duration = Duration::from_secs(120);
/// How long `/health` waits for the disk.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// The family that keeps the bridge file.
const BOARD: &str = "board";
/// The tool that reads the whole bridge file.
const READ_BOARD: &str = "vbm_get_board";
/// The code of a bridge file that cannot be read.
const BRIDGE_ERROR: &str = "1003";

type RouteResult = Result<Response<Body>, HttpError>;

pub fn router(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .route("/health", get(health).fallback(|| other_method("GET, HEAD")))
        .route("/tools", get(list).post(call).fallback(|| other_method("GET, HEAD, POST")))
        .route("/tools/{name}", post(call_named).fallback(|| other_method("POST")))
        .route("/v1/tools/{name}", post(call_named).fallback(|| other_method("POST")))
        .route("/sync", post(sync).fallback(|| other_method("POST")))
        .route("/openapi.json", get(describe).fallback(|| other_method("GET, HEAD")))
        .route("/mcp", any(mcp_all))
        .route("/mcp/{family}", any(mcp_family))
        .fallback(|| async { HttpError::NoPath })
        .with_state(gateway)
}

async fn other_method(allowed: &'static str) -> Response<Body> {
    ([(ALLOW, allowed)], HttpError::NoMethod).into_response()
}

async fn health(State(gateway): State<Arc<Gateway>>) -> Response<Body> {
    let (status, word) = if is_degraded(&gateway).await { (503, "degraded") } else { (200, "healthy") };
    let version = env!("CARGO_PKG_VERSION");
    json_answer(status, &json!({ "status": word, "server": "trellis", "version": version, "timestamp": now() }))
}

/// Whether the bridge file cannot be read. Strangers may ask, so they take turns of their own and name no project.
async fn is_degraded(gateway: &Gateway) -> bool {
    let board = Surface::default().with_families(BOARD).ok();
    let session = board
        .and_then(|board| gateway.gateway_sessions.shared(gateway.gateway_sessions.default_project(), &board).ok());
    let Some(session) = session else { return false };
    match tokio::time::timeout(HEALTH_TIMEOUT, run(&session, READ_BOARD, ToolCall::default())).await {
        Ok(Some(Err(tool_error))) => tool_error.failure.code == BRIDGE_ERROR,
        Ok(_) => false,
        Err(_) => true,
    }
}

async fn list(State(gateway): State<Arc<Gateway>>) -> RouteResult {
    let session = open_session(&gateway, None)?;
    let catalogue = &session.catalogue;
    let tools = catalogue.tools().map(|(exposed, family, tool)| {
        let (description, schema) = (catalogue.speak(family, tool.description), catalogue.schema(family, tool));
        json!({ "name": exposed.name, "description": description, "inputSchema": schema })
    });
    Ok(json_answer(200, &json!({ "tools": tools.collect::<Vec<Value>>() })))
}

async fn describe(State(gateway): State<Arc<Gateway>>) -> RouteResult {
    Ok(json_answer(200, &openapi::document(&open_session(&gateway, None)?.catalogue)))
}

async fn call(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> RouteResult {
    let (headers, mut given) = arguments(request).await?;
    let Some(Value::String(name)) = given.remove("name") else {
        return Err(HttpError::Parameters("`name` must be the name of a tool".to_owned()));
    };
    let arguments = match given.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(inner) => object(inner)?,
    };
    answer_call(&gateway, &headers, &name, arguments).await
}

async fn call_named(
    State(gateway): State<Arc<Gateway>>,
    name: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> RouteResult {
    let Path(name) = name.map_err(|_| HttpError::NoPath)?;
    let (headers, mut given) = arguments(request).await?;
    if given.len() == 1
        && let Some(inner) = given.get_mut("arguments")
    {
        given = object(inner.take())?;
    }
    answer_call(&gateway, &headers, &name, given).await
}

fn object(arguments: Value) -> Result<Map<String, Value>, HttpError> {
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(HttpError::Parameters("`arguments` must be an object".to_owned())),
    }
}

async fn sync(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> RouteResult {
    let (headers, _) = arguments(request).await?;
    let session = open_session(&gateway, gateway.gateway_sessions.project(&headers)?)?;
    let _work = gateway.working.token();
    let outcome = tokio::time::timeout(TOOL_TIMEOUT, run(&session, READ_BOARD, ToolCall::default())).await;
    match outcome.map_err(|_| HttpError::Sync("reading the bridge file took too long".to_owned()))? {
        Some(Ok(board)) => Ok(json_answer(200, &synced(&board.value()))),
        Some(Err(ToolError { failure, .. })) if failure.code != BRIDGE_ERROR && failure.kind != FailureKind::Input => {
            Err(HttpError::Sync(failure.message))
        }
        Some(Err(tool_error)) => Ok(error_answer(&tool_error)),
        None => Err(HttpError::Sync("there is no board to synchronise".to_owned())),
    }
}

/// Files are read anew for every answer, so nothing is left to resolve.
fn synced(board: &Value) -> Value {
    let lanes = board["board"]["lanes"].as_object();
    let tasks: usize = lanes.into_iter().flat_map(Map::values).filter_map(Value::as_array).map(Vec::len).sum();
    json!({ "success": true, "syncedAt": now(), "tasksSynced": tasks, "conflicts": 0, "conflictsResolved": [] })
}

async fn mcp_all(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> RouteResult {
    mcp(&gateway, Surface::default(), request).await
}

async fn mcp_family(
    State(gateway): State<Arc<Gateway>>,
    family: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> RouteResult {
    let Path(family) = family.map_err(|_| HttpError::NoPath)?;
    let surface = Surface::default().with_families(&family).map_err(|_| HttpError::NoPath)?;
    if surface.families != [family] {
        return Err(HttpError::NoPath);
    }
    mcp(&gateway, surface, request).await
}

async fn mcp(gateway: &Gateway, surface: Surface, request: Request<Body>) -> RouteResult {
    if ![Method::GET, Method::POST, Method::DELETE].contains(request.method()) {
        return Ok(other_method("GET, POST, DELETE").await);
    }
    gateway.engine.registry.catalogue(&surface).map_err(|_| HttpError::NoPath)?;
    let (mut parts, body) = request.into_parts();
    let project = gateway.gateway_sessions.project(&parts.headers)?;
    parts.extensions.insert(CredentialsName(gateway.guard.credentials_name(&parts.headers)));
    let bytes = if parts.method == Method::POST { body::bytes(&parts.headers, body).await? } else { Vec::new().into() };
    let host = |lasting: bool| match lasting {
        true => gateway.gateway_sessions.lasting(project.clone(), &surface),
        false => gateway.gateway_sessions.shared(project.clone(), &surface),
    };
    Ok(gateway.mcp.answer(&surface.key(), parts, bytes, &host, gateway.working.token()).await)
}

/// The headers and the object in the body of a request.
async fn arguments(request: Request<Body>) -> Result<(HeaderMap, Map<String, Value>), HttpError> {
    let (Parts { headers, .. }, body) = request.into_parts();
    let bytes = body::bytes(&headers, body).await?;
    Ok((headers, body::object(&bytes)?))
}

async fn answer_call(gateway: &Gateway, headers: &HeaderMap, name: &str, arguments: Map<String, Value>) -> RouteResult {
    let session = open_session(gateway, gateway.gateway_sessions.project(headers)?)?;
    let _work = gateway.working.token();
    let call =
        ToolCall { arguments, credentials: Some(gateway.guard.credentials_name(headers)), ..ToolCall::default() };
    match tokio::time::timeout(TOOL_TIMEOUT, run(&session, name, call)).await {
        Ok(Some(Ok(answer))) => Ok(json_answer(200, &answer)),
        Ok(Some(Err(tool_error))) => Ok(error_answer(&tool_error)),
        Ok(None) => Err(HttpError::NoTool(name.to_owned())),
        Err(_) => Err(HttpError::Busy),
    }
}

fn error_answer(tool_error: &ToolError) -> Response<Body> {
    let (status, body) = error_response(tool_error);
    json_answer(status, &body)
}

/// Runs a tool. `None`: there is none of that name.
async fn run(session: &Arc<ClientSession>, name: &str, call: ToolCall) -> Option<Result<Json, ToolError>> {
    session.wait_for_trees().await;
    let found = match session.find_tool(name)? {
        Ok(found) => found,
        Err(refused) => return Some(Err(refused)),
    };
    let call = ToolCall { by: Some("http".to_owned()), ..call };
    Some(session.call_tool(found, call).await.map(tool_response))
}

fn open_session(gateway: &Gateway, project: Option<std::path::PathBuf>) -> Result<Arc<ClientSession>, HttpError> {
    gateway.gateway_sessions.shared(project, &Surface::default()).map_err(|failure| {
        tracing::error!("{failure}");
        HttpError::Internal
    })
}

/// RFC 3339 in UTC, to the millisecond.
fn now() -> String {
    Now::read(&TimeZone::UTC).at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
