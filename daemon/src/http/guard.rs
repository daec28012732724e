//! Who may come in: host, origin, credentials, decided on the head of a request before its body is read.
//!
//! Fails closed: what is there twice, cannot be read or is not configured is refused. Every wrong credential gets the
//! same answer, and one that comes after many others has to wait.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use axum::http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use axum::http::request::Parts;

use super::keys::{API_KEY_PREFIX, Keyring};
use super::rate_limit::WrongCredentialLimit;
use super::token::{TokenError, TokenRules};
use crate::clock;
use crate::config::http::HttpSettings;
use crate::present::http::HttpError;
use crate::text::hash::hash_of;

/// Where a key travels.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// At most one refused token in this time is written to the log.
const LOG_INTERVAL_MS: i64 = 1000;

/// The rules of one gateway.
#[derive(Debug)]
pub struct Guard {
    hosts: Hosts,
    origins: Vec<String>,
    keyring: Keyring,
    tokens: Option<TokenRules>,
    open: bool,
    wrong: WrongCredentialLimit,
    /// When a refused token was last written to the log, in milliseconds of the epoch.
    refusal_logged: AtomicI64,
}

/// The names under which we may be called.
#[derive(Debug)]
struct Hosts {
    port: u16,
    loopback: bool,
    further: Vec<String>,
}

impl Guard {
    /// The rules that follow from the settings, for a gateway at this address.
    pub fn new(settings: &HttpSettings, address: SocketAddr, keyring: Keyring) -> Self {
        let loopback = address.ip().is_loopback();
        let further = settings.allowed_hosts.value.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self {
            hosts: Hosts { port: address.port(), loopback, further },
            origins: settings.allowed_origins.value.clone(),
            keyring,
            tokens: TokenRules::of(settings),
            open: settings.allow_unauthenticated.value && loopback,
            wrong: WrongCredentialLimit::default(),
            refusal_logged: AtomicI64::default(),
        }
    }

    /// Whether nobody can come in.
    pub fn is_shut(&self) -> bool {
        !self.open && self.tokens.is_none() && self.keyring.is_empty()
    }

    /// The names under which we may be called; `None`: any.
    pub fn names(&self) -> Option<Vec<String>> {
        let Hosts { loopback, further, .. } = &self.hosts;
        let ours = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        (*loopback || !further.is_empty()).then(|| ours.into_iter().chain(further.iter().cloned()).collect())
    }

    /// The request must be meant for us: a page that rebinds its own name to our address is not.
    pub fn host(&self, parts: &Parts) -> Result<(), HttpError> {
        let named = only(&parts.headers, &HOST).ok_or_else(|| HttpError::request(400, "exactly one Host is needed"))?;
        let named = named.to_str().map_err(|_| HttpError::Host)?;
        let meant = parts.uri.authority().map(|authority| authority.as_str());
        let ours = self.hosts.has(named) && meant.is_none_or(|meant| self.hosts.has(meant));
        if ours { Ok(()) } else { Err(HttpError::Host) }
    }

    /// A page that calls us must be one that may; its origin is given back to be named in the answer.
    pub fn origin(&self, parts: &Parts) -> Result<Option<HeaderValue>, HttpError> {
        if !parts.headers.contains_key(ORIGIN) {
            return Ok(None);
        }
        let origin = only(&parts.headers, &ORIGIN).ok_or(HttpError::Origin)?;
        let text = origin.to_str().map_err(|_| HttpError::Origin)?;
        let allowed = self.origins.iter().any(|one| one == text) || self.is_our_own(text, &parts.headers);
        if allowed { Ok(Some(origin.clone())) } else { Err(HttpError::Origin) }
    }

    /// A page that we served ourselves, on this machine.
    fn is_our_own(&self, origin: &str, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        self.hosts.loopback && host.is_some_and(|host| origin.strip_prefix("http://") == Some(host))
    }

    /// One good credential is enough, and never waits; wrong ones of one peer do. None at all is no attempt.
    pub fn credentials(&self, headers: &HeaderMap, peer: IpAddr) -> Result<(), HttpError> {
        let sent = [API_KEY, AUTHORIZATION].map(|name| headers.get_all(name).iter().count());
        let key = headers.get(API_KEY).is_some_and(|value| self.is_key(value));
        let bearer = headers.get(AUTHORIZATION).is_some_and(|value| self.is_bearer(value));
        if sent.iter().all(|count| *count < 2) && (self.open || key || bearer) {
            return Ok(());
        }
        let wait = if sent == [0, 0] { None } else { self.wrong.count(peer, Instant::now()) };
        Err(wait.map_or(HttpError::Credentials, |wait| HttpError::TooManyWrong { seconds: wait.as_secs().max(1) }))
    }

    /// What credentials that were let in are called, the same for as long as they are used.
    pub fn credentials_name(&self, headers: &HeaderMap) -> String {
        let key = headers.get(API_KEY).and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = bearer.and_then(|text| text.split_once(' ')).map(|(_, token)| token.trim_start_matches(' '));
        let named = key.into_iter().chain(token).find_map(|key| self.keyring.public_name(key));
        named.or_else(|| token.map(|token| format!("token {}", hash_of(token.as_bytes())))).unwrap_or_default()
    }

    fn is_key(&self, value: &HeaderValue) -> bool {
        let text = std::str::from_utf8(value.as_bytes());
        text.is_ok_and(|text| !text.is_empty() && self.keyring.has(text))
    }

    fn is_bearer(&self, value: &HeaderValue) -> bool {
        let parts = value.to_str().ok().and_then(|text| text.split_once(' '));
        let Some((_, token)) = parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else { return false };
        let token = token.trim_start_matches(' ');
        if token.starts_with(API_KEY_PREFIX) {
            return self.keyring.has_created(token);
        }
        let Some(tokens) = &self.tokens else { return false };
        let now = clock::epoch_millis();
        match tokens.check(token, now as f64 / 1000.0) {
            Ok(()) => true,
            Err(why) => {
                self.log_refusal(why, now);
                false
            }
        }
    }

    /// The person who runs the daemon reads why; whoever sends many wrong tokens does not fill the log.
    fn log_refusal(&self, why: TokenError, now: i64) {
        let last = self.refusal_logged.swap(now, Ordering::Relaxed);
        if now.saturating_sub(last) >= LOG_INTERVAL_MS {
            tracing::warn!(%why, "a bearer token was refused");
        } else {
            self.refusal_logged.store(last, Ordering::Relaxed);
        }
    }
}

impl Hosts {
    /// On loopback only loopback's own names and those that were added; to other machines we have names that we
    /// cannot know, so there only a list that was given counts.
    fn has(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        if authority.contains('@') {
            return false;
        }
        let name = without_port(&authority);
        let port = authority[name.len()..].strip_prefix(':');
        let ours = ["localhost", "127.0.0.1", "[::1]"].contains(&name)
            && port.is_none_or(|port| port == self.port.to_string());
        let further = self.further.iter().any(|one| *one == authority || one == name);
        ours || further || (!self.loopback && self.further.is_empty())
    }
}

/// `[::1]:80` → `[::1]`, `a:80` → `a`.
fn without_port(authority: &str) -> &str {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    &authority[..end]
}

/// The value of a header that must not be there twice.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    first.filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn guard(address: &str, pairs: &[(&str, &str)]) -> Guard {
        let mut settings = HttpSettings::default();
        let variables = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        settings.take_variables(&variables, &mut Vec::new());
        let keyring = Keyring::new("/nonexistent/http-keys.json".into(), &settings.api_keys.value);
        Guard::new(&settings, address.parse().expect("an address"), keyring)
    }

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    const HERE: &str = "127.0.0.1:4001";
    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[track_caller]
    fn check_host(guard: &Guard, host: &str, allowed: bool) {
        assert_eq!(guard.host(&parts("/", &[("host", host)])).is_ok(), allowed, "{host}");
    }

    #[test]
    fn on_loopback_only_loopback_s_names_are_ours() {
        let plain = guard(HERE, &[]);
        for host in ["localhost", "LOCALHOST:4001", "127.0.0.1", "127.0.0.1:4001", "[::1]", "[::1]:4001"] {
            check_host(&plain, host, true);
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:4001", "localhost:80", "x@localhost"]
        {
            check_host(&plain, host, false);
        }
        let more = guard(HERE, &[("ALLOWED_HOSTS", "Box.local, gate:8443")]);
        for (host, allowed) in [("box.local", true), ("box.local:99", true), ("gate", false), ("gate:8443", true)] {
            check_host(&more, host, allowed);
        }
        assert!(plain.host(&parts("/", &[])).is_err());
        assert!(plain.host(&parts("/", &[("host", "localhost"), ("host", "localhost")])).is_err());
        assert!(plain.host(&parts("http://evil.example/", &[("host", "localhost")])).is_err());
    }

    #[test]
    fn other_machines_may_call_us_by_any_name_or_by_those_listed() {
        check_host(&guard("0.0.0.0:80", &[]), "anything.example", true);
        let listed = guard("0.0.0.0:80", &[("ALLOWED_HOSTS", "a.example")]);
        check_host(&listed, "a.example", true);
        check_host(&listed, "b.example", false);
    }

    #[test]
    fn only_listed_pages_and_our_own_may_call() {
        let guard = guard(HERE, &[("ALLOWED_ORIGINS", "https://a.example, http://localhost:3000")]);
        let allowed = |origin: &str| guard.origin(&parts("/", &[("host", "localhost:4001"), ("origin", origin)]));
        assert_eq!(guard.origin(&parts("/", &[("host", "localhost")])), Ok(None));
        for origin in ["https://a.example", "http://localhost:3000", "http://localhost:4001"] {
            assert_eq!(allowed(origin), Ok(Some(HeaderValue::from_str(origin).expect("a value"))), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://a.example:443",
            "https://A.example",
            "http://a.example",
            "https://a.example/",
            "http://localhost",
            "http://127.0.0.1:4001",
            "https://localhost:4001",
            "*",
        ] {
            assert_eq!(allowed(origin), Err(HttpError::Origin), "{origin}");
        }
    }

    #[test]
    fn keys_are_whole_and_exact() {
        let keyed = guard(HERE, &[("API_KEYS", "one, ,two")]);
        let with = |headers: &[(&str, &str)]| keyed.credentials(&parts("/", headers).headers, PEER).is_ok();
        assert!(with(&[("x-api-key", "one")]) && with(&[("x-api-key", "two")]));
        for key in ["", " ", "One", "on", "onee", "one,two", "one ", ","] {
            assert!(!with(&[("x-api-key", key)]), "`{key}`");
        }
        assert!(!with(&[]) && !with(&[("authorization", "Bearer one")]) && !with(&[("authorization", "one")]));
        assert!(!with(&[("x-api-key", "one"), ("x-api-key", "one")]));
        assert!(!with(&[("x-api-key", "one"), ("authorization", "Basic x"), ("authorization", "Basic x")]));
        assert!(with(&[("x-api-key", "one"), ("authorization", "Bearer wrong")]));
        assert!(!keyed.is_shut() && guard(HERE, &[("API_KEYS", ",")]).is_shut());
    }

    #[test]
    fn guessing_is_slowed_and_knowing_is_not() {
        let keyed = guard(HERE, &[("API_KEYS", "one")]);
        let with = |headers: &[(&str, &str)]| keyed.credentials(&parts("/", headers).headers, PEER);
        for _ in 0..20 {
            assert_eq!(with(&[("x-api-key", "wrong")]), Err(HttpError::Credentials));
        }
        let slowed = |answer| matches!(answer, Err(HttpError::TooManyWrong { seconds: 1..=60 }));
        assert!(slowed(with(&[("x-api-key", "wrong")])) && slowed(with(&[("authorization", "Bearer wrong")])));
        assert!(slowed(with(&[("x-api-key", "one"), ("x-api-key", "one")])), "a doubled one is wrong");
        assert_eq!(with(&[("x-api-key", "one")]), Ok(()));
        assert_eq!(with(&[]), Err(HttpError::Credentials));
        assert_eq!(
            keyed.credentials(&parts("/", &[("x-api-key", "")]).headers, [127, 0, 0, 2].into()),
            Err(HttpError::Credentials)
        );
    }

    #[test]
    fn open_doors_are_for_this_machine_only() {
        let open = [("ALLOW_UNAUTHENTICATED", "true")];
        let bare = parts("/", &[]).headers;
        assert!(guard(HERE, &open).credentials(&bare, PEER).is_ok());
        assert!(guard("0.0.0.0:80", &open).credentials(&bare, PEER).is_err());
        assert!(guard(HERE, &[("ALLOW_UNAUTHENTICATED", "yes")]).credentials(&bare, PEER).is_err());
        assert!(guard(HERE, &[]).credentials(&bare, PEER).is_err());
    }
}
