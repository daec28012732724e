//! Whether a JSON Web Token is good: bytes, rules and time in, yes or what is wrong with it out.
//!
//! The algorithm is ours, never the token's choice; headers that ask for more than a signature are
//! refused before any claim is read, and only the one canonical spelling of each part is taken.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::config::http::HttpSettings;

/// Longer tokens are not looked at.
pub const TOKEN_LIMIT: usize = 8 << 10;
/// How far clocks may differ.
const LEEWAY_SECONDS: f64 = 30.0;
/// Header fields that name keys or change what a signature means.
const REFUSED_FIELDS: [&str; 6] = ["crit", "jku", "x5u", "jwk", "x5c", "b64"];

/// Why a token is not taken. For the log of the person who runs the daemon; a caller hears the same for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("it is longer than 8 KiB")]
    TooLong,
    #[error("it is not three parts of base64url with JSON objects in the first two")]
    Malformed,
    #[error("its header names another algorithm than HS256")]
    Algorithm,
    #[error("its header has a field that changes what a signature means")]
    HeaderField,
    #[error("it was not signed with JWT_SECRET")]
    Signature,
    #[error("it has no `exp`, and a token that never ends is not taken")]
    NoExpiry,
    #[error("its `exp` is past or no number")]
    Expired,
    #[error("its `nbf` or `iat` lies ahead or is no number")]
    NotYet,
    #[error("its `iss` is not the one in JWT_ISSUER")]
    Issuer,
    #[error("its `aud` does not name the one in JWT_AUDIENCE")]
    Audience,
}

/// What a token has to fulfil.
pub struct TokenRules {
    /// Wiped when it is dropped.
    key: DecodingKey,
    issuer: Option<String>,
    audience: Option<String>,
}

impl fmt::Debug for TokenRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenRules").finish_non_exhaustive()
    }
}

impl TokenRules {
    /// The rules in the settings; `None` if there is no secret, so that no token is good.
    pub fn of(settings: &HttpSettings) -> Option<Self> {
        let key = DecodingKey::from_secret(settings.jwt_secret.value.as_ref()?.reveal().as_bytes());
        let (issuer, audience) = (settings.jwt_issuer.value.clone(), settings.jwt_audience.value.clone());
        Some(Self { key, issuer, audience })
    }

    /// Whether the token was signed with the secret, holds at this time, in seconds of the epoch, and is meant for us.
    pub fn check(&self, token: &str, now: f64) -> Result<(), TokenError> {
        if token.len() > TOKEN_LIMIT {
            return Err(TokenError::TooLong);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::Malformed)?;
        let header = object(header)?;
        if header.get("alg").and_then(Value::as_str) != Some("HS256") {
            return Err(TokenError::Algorithm);
        }
        if REFUSED_FIELDS.iter().any(|field| header.contains_key(*field)) {
            return Err(TokenError::HeaderField);
        }
        decode(signature).ok_or(TokenError::Malformed)?;
        let signed = jsonwebtoken::crypto::verify(signature, message.as_bytes(), &self.key, Algorithm::HS256);
        if !signed.unwrap_or(false) {
            return Err(TokenError::Signature);
        }
        let claims = object(payload)?;
        check_times(&claims, now)?;
        self.check_parties(&claims)
    }

    /// Who made it and for whom, as far as that is set.
    fn check_parties(&self, claims: &Map<String, Value>) -> Result<(), TokenError> {
        let names = |claim: &Value, wanted: &str| match claim {
            Value::Array(names) => names.iter().any(|name| name == wanted),
            name => name == wanted,
        };
        let issuer = claims.get("iss").unwrap_or(&Value::Null);
        if self.issuer.as_deref().is_some_and(|wanted| issuer != wanted) {
            return Err(TokenError::Issuer);
        }
        let audience = claims.get("aud").unwrap_or(&Value::Null);
        if self.audience.as_deref().is_some_and(|wanted| !names(audience, wanted)) {
            return Err(TokenError::Audience);
        }
        Ok(())
    }
}

/// `exp` must be there and lie ahead; `nbf` and `iat` must not.
fn check_times(claims: &Map<String, Value>, now: f64) -> Result<(), TokenError> {
    let time = |name: &str| claims.get(name).map(Value::as_f64);
    match time("exp") {
        None => return Err(TokenError::NoExpiry),
        Some(Some(at)) if at > now - LEEWAY_SECONDS => {}
        Some(_) => return Err(TokenError::Expired),
    }
    let has_begun = |at: Option<f64>| at.is_some_and(|at| at <= now + LEEWAY_SECONDS);
    let begun = ["nbf", "iat"].into_iter().filter_map(time).all(has_begun);
    if begun { Ok(()) } else { Err(TokenError::NotYet) }
}

fn object(part: &str) -> Result<Map<String, Value>, TokenError> {
    decode(part).and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or(TokenError::Malformed)
}

/// Base64url without padding, in its only spelling: no stray bits at the end, nothing else in between.
fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok().map(Zeroizing::new).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::EncodingKey;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SECRET: &[u8] = b"a secret that is long enough for HS256";
    const NOW: f64 = 1_800_000_000.0;

    fn encode(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let held = chunk.iter().fold(0_u32, |held, byte| held << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
            for place in 0..=chunk.len() {
                text.push(char::from(LETTERS[(held >> (18 - 6 * place) & 63) as usize]));
            }
        }
        text
    }

    fn signed(message: &str, secret: &[u8], algorithm: Algorithm) -> String {
        let key = EncodingKey::from_secret(secret);
        format!("{message}.{}", jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm).expect("signed"))
    }

    fn token(header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
        signed(&message, SECRET, Algorithm::HS256)
    }

    fn plain() -> Value {
        json!({ "alg": "HS256", "typ": "JWT" })
    }

    fn rules(secret: &[u8]) -> TokenRules {
        TokenRules { key: DecodingKey::from_secret(secret), issuer: None, audience: None }
    }

    fn is_good(token: &str, secret: &[u8], now: f64) -> bool {
        rules(secret).check(token, now).is_ok()
    }

    #[track_caller]
    fn check(header: Value, claims: Value, good: bool) {
        assert_eq!(is_good(&token(&header, &claims), SECRET, NOW), good, "{header} {claims}");
    }

    #[test]
    fn times_decide_within_the_leeway() {
        check(plain(), json!({ "exp": NOW + 60.0 }), true);
        check(plain(), json!({ "exp": NOW - 29.0 }), true);
        check(plain(), json!({ "exp": NOW - 31.0 }), false);
        check(plain(), json!({}), false);
        check(plain(), json!({ "exp": (NOW + 60.0).to_string() }), false);
        check(plain(), json!({ "exp": null }), false);
        check(plain(), json!({ "exp": NOW + 60.0, "nbf": NOW + 29.0, "iat": NOW + 29.0 }), true);
        check(plain(), json!({ "exp": NOW + 60.0, "nbf": NOW + 31.0 }), false);
        check(plain(), json!({ "exp": NOW + 60.0, "iat": NOW + 31.0 }), false);
        check(plain(), json!({ "exp": NOW + 60.0, "iat": "now" }), false);
        check(plain(), json!([NOW + 60.0]), false);
    }

    #[test]
    fn the_log_can_say_what_is_wrong() {
        let why = |claims: Value| rules(SECRET).check(&token(&plain(), &claims), NOW).err();
        assert_eq!(why(json!({})), Some(TokenError::NoExpiry));
        assert_eq!(why(json!({ "exp": NOW - 60.0 })), Some(TokenError::Expired));
        assert_eq!(why(json!({ "exp": NOW + 60.0, "nbf": NOW + 60.0 })), Some(TokenError::NotYet));
        let good = token(&plain(), &json!({ "exp": NOW + 60.0 }));
        assert_eq!(rules(b"another secret").check(&good, NOW), Err(TokenError::Signature));
        assert_eq!(rules(SECRET).check("a.b", NOW), Err(TokenError::Malformed));
    }

    #[test]
    fn issuer_and_audience_count_when_they_are_set() {
        let check = |issuer: Option<&str>, audience: Option<&str>, claims: Value, expected| {
            let (issuer, audience) = (issuer.map(str::to_owned), audience.map(str::to_owned));
            let rules = TokenRules { issuer, audience, ..rules(SECRET) };
            let mut claims = claims;
            claims["exp"] = json!(NOW + 60.0);
            assert_eq!(rules.check(&token(&plain(), &claims), NOW), expected, "{claims}");
        };
        check(None, None, json!({ "iss": "a", "aud": 3 }), Ok(()));
        check(Some("a"), None, json!({ "iss": "a" }), Ok(()));
        for wrong in [json!({}), json!({ "iss": "b" }), json!({ "iss": ["a"] }), json!({ "iss": null })] {
            check(Some("a"), None, wrong, Err(TokenError::Issuer));
        }
        check(None, Some("t"), json!({ "aud": "t" }), Ok(()));
        check(None, Some("t"), json!({ "aud": ["s", 3, "t"] }), Ok(()));
        for wrong in [json!({}), json!({ "aud": "T" }), json!({ "aud": [] }), json!({ "aud": { "t": "t" } })] {
            check(None, Some("t"), wrong, Err(TokenError::Audience));
        }
        check(Some("a"), Some("t"), json!({ "iss": "a", "aud": "t" }), Ok(()));
        check(Some("a"), Some("t"), json!({ "iss": "a" }), Err(TokenError::Audience));
    }

    #[test]
    fn the_token_does_not_choose_its_algorithm() {
        let claims = json!({ "exp": NOW + 60.0 });
        for alg in ["none", "None", "NONE", "nOnE", "", "hs256", "HS384", "HS512", "RS256", "ES256", "EdDSA", "PS256"] {
            check(json!({ "alg": alg }), claims.clone(), false);
        }
        check(json!({}), claims.clone(), false);
        check(json!({ "alg": ["HS256"] }), claims.clone(), false);
        let message = format!("{}.{}", encode(br#"{"alg":"none"}"#), encode(claims.to_string().as_bytes()));
        assert!(!is_good(&format!("{message}."), SECRET, NOW));
        for (name, algorithm) in [("HS384", Algorithm::HS384), ("HS512", Algorithm::HS512)] {
            let header = encode(json!({ "alg": name }).to_string().as_bytes());
            let honest = signed(&format!("{header}.{}", encode(claims.to_string().as_bytes())), SECRET, algorithm);
            assert!(!is_good(&honest, SECRET, NOW));
        }
    }

    #[test]
    fn headers_that_ask_for_more_are_refused() {
        let claims = json!({ "exp": NOW + 60.0 });
        check(json!({ "alg": "HS256", "kid": "../../etc/passwd" }), claims.clone(), true);
        for field in REFUSED_FIELDS {
            check(json!({ "alg": "HS256", field: ["exp"] }), claims.clone(), false);
            check(json!({ "alg": "HS256", field: null }), claims.clone(), false);
        }
    }

    #[test]
    fn only_one_spelling_is_taken() {
        let good = token(&plain(), &json!({ "exp": NOW + 60.0, "a": 1 }));
        assert!(is_good(&good, SECRET, NOW));
        assert!(!is_good(&format!("{good}="), SECRET, NOW));
        assert!(!is_good(&format!("{good}.x"), SECRET, NOW));
        assert!(!is_good(&format!(" {good}"), SECRET, NOW));
        assert!(!is_good(&good.replace('.', ".."), SECRET, NOW));
        assert!(!is_good(&good, b"another secret that is long enough too", NOW));
        // 32 bytes leave two stray bits in the last letter: four spellings, one of them canonical.
        let last = good.chars().next_back().expect("a letter");
        let others =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".chars().filter(|one| *one != last);
        for other in others {
            let changed = format!("{}{other}", &good[..good.len() - 1]);
            assert!(!is_good(&changed, SECRET, NOW), "{other} instead of {last}");
        }
        let long = token(&plain(), &json!({ "exp": NOW + 60.0, "pad": "x".repeat(TOKEN_LIMIT) }));
        assert!(!is_good(&long, SECRET, NOW));
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding_and_nothing_else(bytes in proptest::collection::vec(any::<u8>(), 1..80), noise in ".{0,40}") {
            prop_assert_eq!(decode(&encode(&bytes)), Some(Zeroizing::new(bytes)));
            if let Some(decoded) = decode(&noise) {
                prop_assert_eq!(encode(&decoded), noise);
            }
        }

        #[test]
        fn no_text_is_a_token_by_chance(text in ".{0,200}") {
            prop_assert!(!is_good(&text, SECRET, NOW));
        }
    }
}
