//! What there is at which path, once the guard has let a request in.

use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{ALLOW, HeaderMap, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, Request, Response};
use axum::routing::{any, get, post};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use trellis_protocol::{Kind, Surface};

use super::answer::{json as json_answer, refuse};
use super::session::Visit;
use super::{Gateway, body, openapi};
use crate::clock::Now;
use crate::present::http::{Fault, answered, failed};
use crate::text::json::Json;
use crate::tools::{Caught, Request as ToolRequest};

/// How long a tool may take, and waiting for its turn.
const TOOL_TIME: Duration = Duration::from_secs(120);
/// How long `/health` waits for the disk.
const HEALTH_TIME: Duration = Duration::from_secs(2);

/// The family that keeps the bridge file.
const BOARD: &str = "board";
/// The tool that reads the whole bridge file.
const READ_BOARD: &str = "vbm_get_board";
/// The code of a bridge file that cannot be read.
const BRIDGE_ERROR: &str = "1003";

type Shared = Weak<Gateway>;
type Answer = Result<Response<Body>, Fault>;

/// Every path. The gateway holds the router, so the router only borrows the gateway.
pub fn router(gateway: Shared) -> Router {
    Router::new()
        .route("/health", get(health).fallback(|| other_method("GET, HEAD")))
        .route("/tools", get(list).post(call).fallback(|| other_method("GET, HEAD, POST")))
        .route("/tools/{name}", post(call_named).fallback(|| other_method("POST")))
        .route("/v1/tools/{name}", post(call_named).fallback(|| other_method("POST")))
        .route("/sync", post(sync).fallback(|| other_method("POST")))
        .route("/openapi.json", get(describe).fallback(|| other_method("GET, HEAD")))
        .route("/mcp", any(mcp_all))
        .route("/mcp/{family}", any(mcp_family))
        .fallback(|| async { refuse(&Fault::NoPath) })
        .with_state(gateway)
}

async fn other_method(allowed: &'static str) -> Response<Body> {
    let mut response = refuse(&Fault::NoMethod);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn present(answer: Answer) -> Response<Body> {
    answer.unwrap_or_else(|fault| refuse(&fault))
}

/// The gateway lives as long as its connections do.
fn held(gateway: &Shared) -> Result<Arc<Gateway>, Fault> {
    gateway.upgrade().ok_or(Fault::Busy)
}

async fn health(State(gateway): State<Shared>) -> Response<Body> {
    present(
        async {
            let gateway = held(&gateway)?;
            let (status, word) = if is_degraded(&gateway).await { (503, "degraded") } else { (200, "healthy") };
            let body = json!({
                "status": word,
                "server": "trellis",
                "version": env!("CARGO_PKG_VERSION"),
                "timestamp": now(),
            });
            Ok(json_answer(status, &body))
        }
        .await,
    )
}

/// Whether the bridge file cannot be read. Strangers may ask, so they take turns of their own and name no project.
async fn is_degraded(gateway: &Gateway) -> bool {
    let board = Surface::default().with_families(BOARD).ok();
    let visit = board.and_then(|board| gateway.visits.shared(gateway.visits.default_project(), &board).ok());
    let Some(visit) = visit else { return false };
    match tokio::time::timeout(HEALTH_TIME, run(&visit, READ_BOARD, Map::new())).await {
        Ok(Some(Err(caught))) => caught.failure.code == BRIDGE_ERROR,
        Ok(_) => false,
        Err(_) => true,
    }
}

async fn list(State(gateway): State<Shared>) -> Response<Body> {
    present(held(&gateway).and_then(|gateway| {
        let visit = visit(&gateway, None)?;
        let tools: Vec<Value> = visit
            .call
            .catalogue
            .tools()
            .map(|(exposed, _, tool)| {
                json!({ "name": exposed.name, "description": tool.description, "inputSchema": tool.schema })
            })
            .collect();
        Ok(json_answer(200, &json!({ "tools": tools })))
    }))
}

async fn describe(State(gateway): State<Shared>) -> Response<Body> {
    present(held(&gateway).and_then(|gateway| {
        let visit = visit(&gateway, None)?;
        Ok(json_answer(200, &openapi::document(&visit.call.catalogue)))
    }))
}

async fn call(State(gateway): State<Shared>, request: Request<Body>) -> Response<Body> {
    present(
        async {
            let gateway = held(&gateway)?;
            let (headers, mut given) = arguments(request).await?;
            let Some(Value::String(name)) = given.remove("name") else {
                return Err(Fault::Parameters("`name` must be the name of a tool".to_owned()));
            };
            let arguments = match given.remove("arguments") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(arguments)) => arguments,
                Some(_) => return Err(Fault::Parameters("`arguments` must be an object".to_owned())),
            };
            answer_call(&gateway, &headers, &name, arguments).await
        }
        .await,
    )
}

async fn call_named(
    State(gateway): State<Shared>,
    name: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Response<Body> {
    present(
        async {
            let gateway = held(&gateway)?;
            let Path(name) = name.map_err(|_| Fault::NoPath)?;
            let (headers, mut given) = arguments(request).await?;
            if given.len() == 1
                && let Some(inner) = given.get_mut("arguments")
            {
                given = match inner.take() {
                    Value::Object(arguments) => arguments,
                    _ => return Err(Fault::Parameters("`arguments` must be an object".to_owned())),
                };
            }
            answer_call(&gateway, &headers, &name, given).await
        }
        .await,
    )
}

async fn sync(State(gateway): State<Shared>, request: Request<Body>) -> Response<Body> {
    present(
        async {
            let gateway = held(&gateway)?;
            let (headers, _) = arguments(request).await?;
            let visit = visit(&gateway, gateway.visits.project(&headers)?)?;
            let _work = gateway.working.begin();
            let outcome = tokio::time::timeout(TOOL_TIME, run(&visit, READ_BOARD, Map::new())).await;
            let outcome = outcome.map_err(|_| Fault::Sync("reading the bridge file took too long".to_owned()))?;
            match outcome {
                Some(Ok(board)) => Ok(json_answer(200, &synced(&board.value()))),
                Some(Err(caught)) if caught.failure.code == BRIDGE_ERROR || caught.failure.kind == Kind::Input => {
                    let (status, body) = failed(&caught);
                    Ok(json_answer(status, &body))
                }
                Some(Err(caught)) => Err(Fault::Sync(caught.failure.message)),
                None => Err(Fault::Sync("there is no board to synchronise".to_owned())),
            }
        }
        .await,
    )
}

/// Files are read anew for every answer, so nothing is left to resolve.
fn synced(board: &Value) -> Value {
    let lanes = board["board"]["lanes"].as_object();
    let tasks: usize = lanes.into_iter().flat_map(Map::values).filter_map(Value::as_array).map(Vec::len).sum();
    json!({ "success": true, "syncedAt": now(), "tasksSynced": tasks, "conflicts": 0, "conflictsResolved": [] })
}

async fn mcp_all(State(gateway): State<Shared>, request: Request<Body>) -> Response<Body> {
    present(mcp(&gateway, Surface::default(), request).await)
}

async fn mcp_family(
    State(gateway): State<Shared>,
    family: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Response<Body> {
    let surface = family.ok().and_then(|Path(family)| {
        let surface = Surface::default().with_families(&family).ok()?;
        (surface.families == [family]).then_some(surface)
    });
    match surface {
        Some(surface) => present(mcp(&gateway, surface, request).await),
        None => refuse(&Fault::NoPath),
    }
}

async fn mcp(gateway: &Shared, surface: Surface, request: Request<Body>) -> Answer {
    let gateway = held(gateway)?;
    if ![Method::GET, Method::POST, Method::DELETE].contains(request.method()) {
        return Ok(other_method("GET, POST, DELETE").await);
    }
    gateway.engine.registry.catalogue(&surface).map_err(|_| Fault::NoPath)?;
    let (parts, body) = request.into_parts();
    let project = gateway.visits.project(&parts.headers)?;
    let bytes = if parts.method == Method::POST { body::bytes(&parts.headers, body).await? } else { Vec::new().into() };
    let host = |lasting: bool| match lasting {
        true => gateway.visits.fresh(project.clone(), &surface),
        false => gateway.visits.shared(project.clone(), &surface),
    };
    let work = gateway.working.begin();
    let response = gateway.streamable.answer(&surface.key(), parts, bytes, host, work).await;
    Ok(response)
}

/// The headers and the object in the body of a request.
async fn arguments(request: Request<Body>) -> Result<(HeaderMap, Map<String, Value>), Fault> {
    let (Parts { headers, .. }, body) = request.into_parts();
    let bytes = body::bytes(&headers, body).await?;
    Ok((headers, body::object(&bytes)?))
}

async fn answer_call(gateway: &Gateway, headers: &HeaderMap, name: &str, arguments: Map<String, Value>) -> Answer {
    let visit = visit(gateway, gateway.visits.project(headers)?)?;
    let _work = gateway.working.begin();
    match tokio::time::timeout(TOOL_TIME, run(&visit, name, arguments)).await {
        Ok(Some(Ok(answer))) => Ok(json_answer(200, &answer)),
        Ok(Some(Err(caught))) => {
            let (status, body) = failed(&caught);
            Ok(json_answer(status, &body))
        }
        Ok(None) => Err(Fault::NoTool(name.to_owned())),
        Err(_) => Err(Fault::Busy),
    }
}

/// Runs a tool. `None`: there is none of that name.
async fn run(visit: &Visit, name: &str, arguments: Map<String, Value>) -> Option<Result<Json, Caught>> {
    visit.attended.looked().await;
    let request = ToolRequest { tool: name.to_owned(), arguments, ..ToolRequest::default() };
    Some(visit.call.tool(request).await?.map(answered))
}

fn visit(gateway: &Gateway, project: Option<std::path::PathBuf>) -> Result<Visit, Fault> {
    gateway.visits.shared(project, &Surface::default()).map_err(|failure| {
        tracing::error!("{failure}");
        Fault::Internal
    })
}

/// RFC 3339 in UTC, to the millisecond.
fn now() -> String {
    Now::read(&TimeZone::UTC).at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
