//! Keys, tokens and texts that pass through the gateway are in no log and on no screen, and secrets are not left lying
//! in memory.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use jsonwebtoken::{EncodingKey, Header};
use serde_json::json;
use trellis_tests::harness::Home;
use trellis_tests::harness::http::{HttpClient, free_port};

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

/// How often a text is in the memory of a process; none if the system does not let us look.
fn copies_in_memory(pid: u32, text: &str) -> Option<usize> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let mut copies = 0;
    for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
        let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let address = |digits: &str| u64::from_str_radix(digits, 16).expect("an address");
        let mut bytes = vec![0; (address(end) - address(start)) as usize];
        if memory.read_exact_at(&mut bytes, address(start)).is_ok() {
            copies += bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count();
        }
    }
    Some(copies)
}

/// Settings keep one copy of each; what checks tokens has one of its own. Nothing else does, however often it is asked.
#[test]
fn r26_secrets_are_wiped_from_memory() {
    const KEY: &str = "a-key-that-is-wiped-0123456789";
    const SECRET: &str = "a-secret-that-is-wiped-0123456789-0123456789";
    let (home, port) = (Home::new(), free_port());
    let config = home.paths().config;
    fs::create_dir_all(config.parent().expect("a directory")).expect("a directory");
    let table = format!("[http]\nenabled = true\nport = {port}\napi_keys = [\"{KEY}\"]\njwt_secret = \"{SECRET}\"\n");
    fs::write(&config, table).expect("a file");
    assert!(home.trellisd(&["up"]).status.success());
    let pid = home.daemon_pid().expect("a daemon");
    let Some(copies) = copies_in_memory(pid, KEY) else { return println!("skipped: no look at another's memory here") };
    assert!(copies <= 1, "{copies} copies of a key");
    let claims = json!({ "exp": 99_999_999_999_u64 });
    let token = jsonwebtoken::encode(&Header::default(), &claims, &EncodingKey::from_secret(SECRET.as_bytes()));
    let web = HttpClient::at(port).with("Authorization", &format!("Bearer {}", token.expect("a token")));
    for _ in 0..50 {
        assert_eq!(web.get("/tools").status, 200);
    }
    let copies = copies_in_memory(pid, SECRET).expect("as before");
    assert!(copies <= 2, "{copies} copies of a secret");
}
