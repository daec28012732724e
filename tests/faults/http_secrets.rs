//! Keys, tokens and texts that pass through the gateway are in no log and on no screen.

use serde_json::json;
use trellis_tests::harness::Home;

const SECRETS: [&str; 6] = [
    "hush-key-in-settings",
    "hush-secret-of-tokens-that-is-long-enough",
    "hush-wrong-key",
    "hush-token",
    "hush-text",
    "hush-path",
];

#[test]
fn secrets_are_in_no_log() {
    let home = Home::new();
    home.write("vault/a.md", "hush-text in a file");
    let (home, web) =
        home.gateway(&[("API_KEYS", "hush-key-in-settings"), ("JWT_SECRET", SECRETS[1]), ("LOG_LEVEL", "info")]);
    let made = home.trellisd(&["http", "key", "new"]);
    let made = String::from_utf8(made.stdout).expect("text").trim().to_owned();
    let web = web.without("X-API-Key");
    let good = web.with("X-API-Key", "hush-key-in-settings");
    assert_eq!(good.call_ok("vault_read", json!({ "path": "a.md", "full": true }))["text"], "hush-text in a file");
    assert_eq!(web.with("Authorization", &format!("Bearer {made}")).get("/tools").status, 200);
    assert_eq!(web.with("X-API-Key", "hush-wrong-key").get("/tools").status, 401);
    assert_eq!(web.with("Authorization", "Bearer hush-token").get("/tools").status, 401);
    assert_eq!(good.get("/tools?key=hush-token").status, 200);
    assert_eq!(good.get("/hush-path").status, 404);
    assert_eq!(good.post("/tools/vault_read", &json!({ "path": "hush-path", "full": true })).status, 404);
    assert_eq!(good.with("Content-Type", "application/json").send("POST", "/tools", Some(b"{hush-text")).status, 400);
    good.with("X-Request-ID", "the-last-one").get("/tools");
    trellis_tests::harness::wait_until("the log has all", || home.log().contains("the-last-one").then_some(()));
    let status = home.trellisd(&["status"]);
    let settings = home.trellisd(&["status", "--settings"]);
    let shown = [home.log().into_bytes(), status.stdout, settings.stdout, settings.stderr].concat();
    let shown = String::from_utf8_lossy(&shown);
    for secret in SECRETS.iter().copied().chain([made.as_str(), &made["trellis_".len()..]]) {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}
