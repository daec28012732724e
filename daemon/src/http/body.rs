//! The body of a request → JSON, within its size and its time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};

use crate::present::http::HttpError;

/// The largest body.
pub const BODY_LIMIT: usize = 4 << 20;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// What is too large is still read for a moment and thrown away, so that its sender hears why and is not cut off.
const MAX_DISCARDED_BYTES: usize = 16 << 20;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer texts are read beside the requests of others.
const OFFLOAD_BODY_BYTES: usize = 64 << 10;

/// The bytes of a body that says it is JSON. An empty one need not say so.
pub async fn bytes(headers: &HeaderMap, body: Body) -> Result<Bytes, HttpError> {
    let typed = is_json(headers)?;
    let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|length| length > BODY_LIMIT) {
        let mut rest = Limited::new(body, MAX_DISCARDED_BYTES);
        let discard = async { while let Some(Ok(_)) = rest.frame().await {} };
        let _ = tokio::time::timeout(DISCARD_TIMEOUT, discard).await;
        return Err(too_large());
    }
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BODY_LIMIT).collect()).await;
    let collected = collected.map_err(|_| HttpError::request(408, "the body took too long to arrive"))?;
    let collected = collected.map_err(|error| {
        if error.is::<LengthLimitError>() { too_large() } else { HttpError::request(400, "the body ended too early") }
    })?;
    let bytes = collected.to_bytes();
    if !typed && !bytes.is_empty() { Err(wrong_type()) } else { Ok(bytes) }
}

/// The arguments in a body: an object, or nothing.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, HttpError> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| HttpError::NotJson)?;
    let parse = || serde_json::from_str::<Value>(text);
    let parsed = if text.len() > OFFLOAD_BODY_BYTES { tokio::task::block_in_place(parse) } else { parse() };
    match parsed {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(HttpError::request(400, "the body must be a JSON object")),
        Err(_) => Err(HttpError::NotJson),
    }
}

/// Whether the body says it is JSON; a body that says it is something else is refused.
fn is_json(headers: &HeaderMap) -> Result<bool, HttpError> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(wrong_type());
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let Some(first) = types.next() else { return Ok(false) };
    let text = first.to_str().map_err(|_| wrong_type())?;
    let mut parts = text.split(';').map(str::trim);
    let json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    if json && utf8 && types.next().is_none() { Ok(true) } else { Err(wrong_type()) }
}

fn wrong_type() -> HttpError {
    HttpError::request(415, "the body must be `application/json` in UTF-8, not encoded otherwise")
}

fn too_large() -> HttpError {
    HttpError::request(413, format!("the body is over the limit of {BODY_LIMIT} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kinds: &[&'static str], expected: Result<bool, u16>) {
        let mut headers = HeaderMap::new();
        for kind in kinds {
            headers.append(CONTENT_TYPE, axum::http::HeaderValue::from_static(kind));
        }
        assert_eq!(is_json(&headers).map_err(|http_error| http_error.status()), expected, "{kinds:?}");
    }

    #[test]
    fn only_json_is_json() {
        check(&[], Ok(false));
        check(&["application/json"], Ok(true));
        check(&["Application/JSON; charset=UTF-8"], Ok(true));
        check(&["application/json; charset=\"utf-8\"; a=b"], Ok(true));
        check(&["application/json; charset=latin1"], Err(415));
        check(&["application/jsonp"], Err(415));
        check(&["text/plain"], Err(415));
        check(&["application/x-www-form-urlencoded"], Err(415));
        check(&["application/json", "application/json"], Err(415));
    }

    #[test]
    fn a_body_is_an_object_or_nothing() {
        assert_eq!(object(b""), Ok(Map::new()));
        assert_eq!(object(b"{}"), Ok(Map::new()));
        assert_eq!(
            object(b"[]").map_err(|http_error| http_error.body()["error"]["code"].clone()),
            Err((-32600).into())
        );
        for text in [&b"{"[..], b"\xff", b" ", b"{}x", b"nul"] {
            assert_eq!(object(text), Err(HttpError::NotJson));
        }
    }
}
