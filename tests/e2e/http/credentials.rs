//! Keys and tokens, good and bad: a good one comes in, and all bad ones hear the same.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use trellis_tests::harness::http::KEY;
use trellis_tests::harness::{Home, HttpClient, wait_until};

const SECRET: &str = "a secret of the tests, longer than 32 bytes";

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("before the end")
}

/// Base64url of a text; signing gives us nothing else that encodes.
fn encode(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let held = chunk.iter().fold(0_u32, |held, byte| held << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        encoded.extend((0..=chunk.len()).map(|place| char::from(LETTERS[(held >> (18 - 6 * place) & 63) as usize])));
    }
    encoded
}

fn signed(header: &str, claims: &str, secret: &str, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", encode(header), encode(claims));
    let key = EncodingKey::from_secret(secret.as_bytes());
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm).expect("a signature");
    format!("{message}.{signature}")
}

fn token(header: Value, claims: Value) -> String {
    signed(&header.to_string(), &claims.to_string(), SECRET, Algorithm::HS256)
}

fn good_token() -> String {
    token(json!({ "alg": "HS256", "typ": "JWT" }), json!({ "sub": "ada", "exp": now() + 600 }))
}

fn locked() -> (Home, HttpClient) {
    let (home, web) = Home::new().gateway(&[("API_KEYS", &format!("{KEY},, second ")), ("JWT_SECRET", SECRET)]);
    (home, web.without("X-API-Key"))
}

/// From an address of its own: nobody is slowed down by others' attempts.
#[track_caller]
fn check(web: &HttpClient, what: &str, status: u16) {
    let web = web.elsewhere();
    for (method, path) in [("GET", "/tools"), ("GET", "/openapi.json")] {
        let reply = web.send(method, path, None);
        assert_eq!(reply.status, status, "{what} at {path}: {}", reply.text());
        if status == 401 {
            assert_eq!(reply.code(), 1005, "{what}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{what}");
            assert!(reply.json()["error"]["hint"].is_string());
        }
    }
    let posted = web.message("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(posted.status == 401, status == 401, "{what} at /mcp");
}

#[test]
fn keys_open_and_nothing_like_a_key_does() {
    let (_home, web) = locked();
    check(&web.with("X-API-Key", KEY), "a key", 200);
    check(&web.with("x-api-key", "second"), "the second key", 200);
    let two_phase = [&KEY[1..], &KEY[..KEY.len() - 1]];
    let wrong =
        ["", " ", "wrong", two_phase[0], two_phase[1], &KEY.to_uppercase(), &format!("{KEY},second"), ",", "null"];
    for key in wrong {
        check(&web.with("X-API-Key", key), &format!("the key `{key}`"), 401);
    }
    check(&web, "nothing", 401);
    check(&web.with("X-API-Key", KEY).with("X-API-Key", KEY), "a key twice", 401);
    check(&web.with("X-API-Key", "wrong").with("X-API-Key", KEY), "two keys", 401);
    check(&web.with("Authorization", &format!("Bearer {KEY}")), "a key as a token", 401);
    check(&web.with("Authorization", &format!("Basic {KEY}")), "another scheme", 401);
    check(&web.with("Authorization", KEY), "no scheme", 401);
    assert_eq!(web.get(&format!("/tools?api_key={KEY}&X-API-Key={KEY}")).status, 401);
    assert_eq!(web.with("Cookie", &format!("X-API-Key={KEY}")).get("/tools").status, 401);
}

#[test]
fn a_good_token_opens() {
    let (_home, web) = locked();
    for scheme in ["Bearer", "bearer", "BEARER"] {
        check(&web.with("Authorization", &format!("{scheme} {}", good_token())), scheme, 200);
    }
    check(
        &web.with("Authorization", &format!("Bearer {}", good_token())).with("X-API-Key", "wrong"),
        "one of two",
        200,
    );
    check(&web.with("Authorization", "Bearer wrong").with("X-API-Key", KEY), "the other of two", 200);
}

#[test]
fn bad_tokens_all_hear_the_same() {
    let (_home, web) = locked();
    let plain = || json!({ "alg": "HS256", "typ": "JWT" });
    let claims = || json!({ "exp": now() + 600 });
    let mut bad: Vec<(String, String)> = Vec::new();
    let mut add = |what: &str, token: String| bad.push((what.to_owned(), token));
    add("expired", token(plain(), json!({ "exp": now() - 60 })));
    add("without an end", token(plain(), json!({ "sub": "ada" })));
    add("an end that is text", token(plain(), json!({ "exp": (now() + 600).to_string() })));
    add("not yet valid", token(plain(), json!({ "exp": now() + 600, "nbf": now() + 120 })));
    add("issued tomorrow", token(plain(), json!({ "exp": now() + 99_999, "iat": now() + 86_400 })));
    add("no object", token(plain(), json!([now() + 600])));
    for alg in ["none", "None", "NONE", "nOnE", "hs256", "HS384", "RS256", "ES256", "", " HS256"] {
        add(&format!("the algorithm `{alg}`"), token(json!({ "alg": alg }), claims()));
        let header = encode(&json!({ "alg": alg }).to_string());
        add(&format!("`{alg}` unsigned"), format!("{header}.{}.", encode(&claims().to_string())));
    }
    let text = claims().to_string();
    add("an honest HS384", signed(r#"{"alg":"HS384"}"#, &text, SECRET, Algorithm::HS384));
    add("an honest HS512", signed(r#"{"alg":"HS512"}"#, &text, SECRET, Algorithm::HS512));
    add("RS256 signed as HS256", signed(r#"{"alg":"RS256","typ":"JWT"}"#, &text, SECRET, Algorithm::HS256));
    add("two algorithms", signed(r#"{"alg":"HS256","alg":"none"}"#, &text, SECRET, Algorithm::HS256));
    for field in ["crit", "jku", "x5u", "jwk"] {
        add(field, token(json!({ "alg": "HS256", field: ["exp"] }), claims()));
    }
    add(
        "another secret",
        signed(&plain().to_string(), &text, "another secret, also longer than 32 bytes", Algorithm::HS256),
    );
    add("an empty secret", signed(&plain().to_string(), &text, "", Algorithm::HS256));
    add("oversized", token(plain(), json!({ "exp": now() + 600, "pad": "x".repeat(7000) })));
    let good = good_token();
    add("padded", format!("{good}="));
    add("cut", good[..good.len() - 1].to_owned());
    add("with more parts", format!("{good}.{good}"));
    add("with spaces", format!("{good} x"));
    add("two parts", good.rsplit_once('.').expect("parts").0.to_owned());
    add("nothing", String::new());
    let (message, signature) = good.rsplit_once('.').expect("parts");
    add("other letters", format!("{message}.{}", signature.replace(['-', '_'], "+")) + "+");
    let last = signature.chars().next_back().expect("a letter");
    // The last letter of 32 bytes has two bits too many: three more spellings decode to the same bytes.
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let place = letters.find(last).expect("a letter");
    for other in 1..4 {
        let letter = &letters[place + other..=place + other];
        add("not canonical", format!("{message}.{}{letter}", &signature[..signature.len() - 1]));
    }
    let first = web.with("Authorization", &format!("Bearer {}", bad[0].1)).get("/tools");
    for (what, token) in &bad {
        let web = web.with("Authorization", &format!("Bearer {token}"));
        check(&web, what, 401);
        assert_eq!(web.elsewhere().get("/tools").body, first.body, "{what}");
    }
    assert_eq!(web.get("/tools").body, first.body);
    assert_eq!(web.with("X-API-Key", "wrong").get("/tools").body, first.body);
    let twice = web.with("Authorization", &format!("Bearer {good}")).with("Authorization", &format!("Bearer {good}"));
    check(&twice, "a token twice", 401);
    check(&twice.with("X-API-Key", KEY), "a token twice beside a key", 401);
}

/// Two hundred guesses in a row.
#[test]
fn guessing_is_slowed_and_knowing_is_not() {
    let (_home, web) = locked();
    let web = web.elsewhere();
    let guess = |number: u32| match number % 3 {
        0 => web.with("X-API-Key", &format!("guess-{number}")),
        1 => web.with("Authorization", &format!("Bearer trellis_{number:048x}")),
        _ => web.with("X-API-Key", KEY).with("X-API-Key", &format!("guess-{number}")),
    };
    let answers: Vec<_> = (0..200).map(|number| guess(number).get("/tools")).collect();
    let (first, later) = answers.split_at(20);
    assert!(first.iter().all(|answer| answer.status == 401));
    for answer in later {
        assert_eq!((answer.status, answer.code()), (429, 1005.into()), "{}", answer.text());
        let seconds: u64 = answer.header("retry-after").expect("a time").parse().expect("a number");
        assert!((1..=60).contains(&seconds), "{seconds}");
        assert_eq!(answer.body.len(), later[0].body.len(), "all of them hear the same");
    }
    assert_eq!(web.with("X-API-Key", KEY).get("/tools").status, 200, "who is right is never slowed down");
    assert_eq!(web.with("Authorization", &format!("Bearer {}", good_token())).get("/tools").status, 200);
    assert_eq!(web.get("/tools").status, 401, "no credentials are no guess");
    assert_eq!(web.get("/health").status, 200);
    assert_eq!(web.elsewhere().with("X-API-Key", "wrong").get("/tools").status, 401, "another address");
}

#[test]
fn requests_without_credentials_are_no_guesses() {
    let (_home, web) = locked();
    let web = web.elsewhere();
    assert!((0..50).all(|_| web.get("/tools").status == 401));
    assert_eq!(web.with("X-API-Key", "wrong").get("/tools").status, 401);
}

#[test]
fn tokens_of_others_or_for_others_are_refused_when_it_is_set() {
    let settings = [("JWT_SECRET", SECRET), ("JWT_ISSUER", "https://id.example"), ("JWT_AUDIENCE", "trellis")];
    let (home, web) = Home::new().gateway(&settings);
    let web = web.without("X-API-Key");
    let with = |claims: Value| {
        let mut claims = claims;
        claims["exp"] = (now() + 600).into();
        web.with("Authorization", &format!("Bearer {}", token(json!({ "alg": "HS256" }), claims)))
    };
    let issuer = "https://id.example";
    check(&with(json!({ "iss": issuer, "aud": "trellis" })), "its own", 200);
    check(&with(json!({ "iss": issuer, "aud": ["other", "trellis"] })), "a list", 200);
    check(&with(json!({ "iss": issuer, "aud": ["other"] })), "for others", 401);
    check(&with(json!({ "iss": issuer })), "for nobody", 401);
    check(&with(json!({ "iss": "https://id.example/", "aud": "trellis" })), "of others", 401);
    check(&with(json!({ "aud": "trellis" })), "of nobody", 401);
    wait_until("the log says why", || home.log().contains("JWT_AUDIENCE").then_some(()));
    let settings = String::from_utf8(home.trellisd(&["status", "--settings"]).stdout).expect("text");
    assert!(settings.contains("http.jwt_issuer") && settings.contains(issuer), "{settings}");
    let (_home, web) = Home::new().gateway(&[("JWT_SECRET", SECRET)]);
    let anybody = token(json!({ "alg": "HS256" }), json!({ "exp": now() + 600, "iss": "x", "aud": "y" }));
    check(&web.without("X-API-Key").with("Authorization", &format!("Bearer {anybody}")), "not asked for", 200);
}

#[test]
fn the_log_says_why_a_token_was_refused_without_showing_it() {
    let (home, web) = locked();
    let endless = token(json!({ "alg": "HS256", "typ": "JWT" }), json!({ "sub": "ada" }));
    check(&web.with("Authorization", &format!("Bearer {endless}")), "a token without `exp`", 401);
    wait_until("the log says why", || home.log().contains("it has no `exp`").then_some(()));
    assert!(!home.log().contains(&endless[..20]), "{}", home.log());
}

#[test]
fn without_a_secret_no_token_is_good() {
    let (_home, web) = Home::new().gateway(&[]);
    let web = web.without("X-API-Key");
    check(&web.with("Authorization", &format!("Bearer {}", good_token())), "a token", 401);
    let empty = signed(r#"{"alg":"HS256"}"#, &json!({ "exp": now() + 600 }).to_string(), "", Algorithm::HS256);
    check(&web.with("Authorization", &format!("Bearer {empty}")), "signed with nothing", 401);
}

#[test]
fn a_session_id_is_no_credential() {
    let (_home, web) = locked();
    let (session, _) = web.with("X-API-Key", KEY).initialize("/mcp", "2025-11-25");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(session.message("/mcp", &list).status, 200);
    assert_eq!(session.without("X-API-Key").message("/mcp", &list).status, 401);
    assert_eq!(session.without("X-API-Key").send("DELETE", "/mcp", None).status, 401);
    assert_eq!(session.message("/mcp", &list).status, 200);
}

#[test]
fn a_weak_secret_is_told() {
    let (home, _web) = Home::new().gateway(&[("JWT_SECRET", "short")]);
    assert!(home.log().contains("JWT_SECRET has 5 bytes"), "{}", home.log());
    assert!(home.status().expect("a status")["warnings"].to_string().contains("JWT_SECRET"));
}
