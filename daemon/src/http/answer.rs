//! One request → one answer: an id, the guard, the routes, and the headers that every answer has.

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;
use tower::ServiceExt as _;
use uuid::Uuid;

use super::Gateway;
use super::serve::HttpCaller;
use crate::present::http::HttpError;

/// Names a request, in its answer and in the log.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Content-Type, Authorization, X-API-Key, X-Request-ID, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, \
     Mcp-Name, Last-Event-ID, X-Trellis-Project",
);
const EXPOSED: HeaderValue = HeaderValue::from_static("X-Request-ID, Mcp-Session-Id");

/// Answers one request of this caller.
pub async fn answer(gateway: &Gateway, router: Router, request: Request<Body>, caller: &HttpCaller) -> Response<Body> {
    let id = request_id(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let began = std::time::Instant::now();
    let mut origin = None;
    let mut response = dispatch_checked(gateway, router, request, caller, &mut origin).await.into_response();
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    note(&id, &method, &path, response.status(), began);
    response
}

/// One line; a path that leads nowhere may hold anything and is left out.
fn note(id: &str, method: &Method, path: &str, status: StatusCode, began: std::time::Instant) {
    let known = !matches!(status.as_u16(), 401 | 403 | 404 | 421 | 429);
    let path: String = if known { path.chars().take(120).collect() } else { "-".to_owned() };
    let milliseconds = began.elapsed().as_millis();
    if path == "/health" {
        tracing::debug!(request = id, %method, path, status = status.as_u16(), milliseconds, "answered");
    } else {
        tracing::info!(request = id, %method, path, status = status.as_u16(), milliseconds, "answered");
    }
}

async fn dispatch_checked(
    gateway: &Gateway,
    router: Router,
    request: Request<Body>,
    caller: &HttpCaller,
    origin: &mut Option<HeaderValue>,
) -> Result<Response<Body>, HttpError> {
    // Where it ends is not certain, so nothing after it is read either.
    if caller.framing.lock().is_broken() {
        return Err(HttpError::request(400, "a request has one content length or chunks, and not both"));
    }
    let (parts, body) = request.into_parts();
    gateway.guard.host(&parts)?;
    *origin = gateway.guard.origin(&parts)?;
    if parts.method == Method::OPTIONS {
        return Ok(preflight(origin.is_some()));
    }
    let path = parts.uri.path();
    if is_oauth_probe(path) {
        return Err(HttpError::NoPath);
    }
    if path != "/health" {
        gateway.guard.credentials(&parts.headers, caller.peer)?;
        caller.place.trust();
    }
    if gateway.engine.lifecycle.leaving().is_cancelled() {
        return Err(HttpError::Busy);
    }
    let routed = router.oneshot(Request::from_parts(parts, body)).await;
    routed.map_err(|never| match never {})
}

/// Where hosts without a key look for a way to log in. That there is none is no secret, and a 401 there would make
/// them try on.
fn is_oauth_probe(path: &str) -> bool {
    path == "/register" || path.split('/').any(|segment| segment == ".well-known")
}

fn preflight(from_a_page: bool) -> Response<Body> {
    if !from_a_page {
        return StatusCode::NO_CONTENT.into_response();
    }
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// JSON with a status.
pub fn json(status: u16, body: &impl Serialize) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Maps with texts for keys can always be written.
    (status, [(CONTENT_TYPE, JSON)], serde_json::to_vec(body).unwrap_or_default()).into_response()
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response<Body> {
        let response = json(self.status(), &self.body());
        match self {
            Self::Credentials => ([(WWW_AUTHENTICATE, "Bearer")], response).into_response(),
            Self::Busy => ([(RETRY_AFTER, "1")], response).into_response(),
            Self::TooManyWrong { seconds } => ([(RETRY_AFTER, seconds.to_string())], response).into_response(),
            // What the rest of the connection holds is not known any more.
            Self::Request { .. } => ([(CONNECTION, "close")], response).into_response(),
            _ => response,
        }
    }
}

/// The bytes of a whole answer, for connections that no request was read from.
pub fn raw_response(http_error: &HttpError) -> Vec<u8> {
    let body = http_error.body().to_string();
    let status = StatusCode::from_u16(http_error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json; charset=utf-8\r\ncache-control: no-store\r\n\
         x-request-id: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        Uuid::new_v4(),
        body.len(),
    );
    (head + &body).into_bytes()
}

/// The client's own name for the request if it is a plain one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let mut values = headers.get_all(REQUEST_ID).iter();
    let given = values.next().and_then(|value| value.to_str().ok()).filter(|_| values.next().is_none());
    let plain = |text: &&str| {
        (1..=128).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
    };
    given.filter(plain).map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &[&str], echoed: bool) {
        let mut headers = HeaderMap::new();
        for value in given {
            headers.append(REQUEST_ID, HeaderValue::from_str(value).expect("a value"));
        }
        let id = request_id(&headers);
        assert_eq!(given.first() == Some(&id.as_str()), echoed, "{given:?} {id}");
        assert!(!id.is_empty());
    }

    #[test]
    fn plain_ids_are_echoed() {
        check(&["abc-123._:Z"], true);
        check(&[&"x".repeat(128)], true);
        check(&[&"x".repeat(129)], false);
        check(&[""], false);
        check(&["a b"], false);
        check(&["a/b"], false);
        check(&["a", "a"], false);
        check(&[], false);
    }
}
