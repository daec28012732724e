//! `trellisd http key`: made, shown once, listed, revoked, while the daemon runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use trellis_tests::harness::http::free_port;
use trellis_tests::harness::{Home, HttpClient};

fn run(home: &Home, arguments: &[&str]) -> (bool, String) {
    let output = home.trellisd(arguments);
    (output.status.success(), String::from_utf8(output.stdout).expect("text"))
}

fn new_key(home: &Home, name: &str) -> String {
    let (done, key) = run(home, &["http", "key", "new", "--name", name]);
    assert!(done);
    key.trim_end().to_owned()
}

#[test]
fn a_running_daemon_takes_new_keys_and_drops_revoked_ones() {
    let port = free_port();
    let home = Home::new().with("ENABLE_HTTP", "true").with("PORT", port.to_string());
    assert!(home.trellisd(&["up"]).status.success());
    let web = HttpClient::at(port);
    let warnings = || home.status().expect("a status")["warnings"].to_string();
    assert!(warnings().contains("refuses everybody"), "{}", warnings());
    let (first, second) = (new_key(&home, "web"), new_key(&home, "scripts"));
    assert!(first.starts_with("trellis_") && first != second);
    assert!(!warnings().contains("refuses everybody"), "there are credentials now: {}", warnings());
    for key in [&first, &second] {
        assert_eq!(web.with("X-API-Key", key).get("/tools").status, 200);
        assert_eq!(web.with("Authorization", &format!("Bearer {key}")).get("/tools").status, 200);
    }
    assert_eq!(web.with("Authorization", "Bearer trellis_0").get("/tools").status, 401);
    let (_, list) = run(&home, &["http", "key", "list"]);
    assert!(list.contains("web") && list.contains("scripts") && !list.contains("trellis_"), "{list}");
    let row = list.lines().find(|line| line.contains("web")).expect("a row");
    let id = row.split_whitespace().next().expect("an id");
    assert!(run(&home, &["http", "key", "revoke", id]).0);
    assert_eq!(web.with("X-API-Key", &first).get("/tools").status, 401);
    assert_eq!(web.with("Authorization", &format!("Bearer {first}")).get("/tools").status, 401);
    assert_eq!(web.with("X-API-Key", &second).get("/tools").status, 200);
    let again = home.trellisd(&["http", "key", "revoke", id]);
    assert_eq!(again.status.code(), Some(4));
    assert!(!home.log().contains("trellis_"));
}

#[test]
fn keys_are_kept_as_hashes_for_the_owner_alone() {
    let home = Home::new();
    let key = new_key(&home, "web");
    let path = home.state().join("http-keys.json");
    let text = fs::read_to_string(&path).expect("the file");
    assert!(!text.contains(&key) && !text.contains(&key["trellis_".len()..]), "{text}");
    assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
    assert!(home.daemons().is_empty(), "making a key needs no daemon");
}

#[test]
fn keys_made_at_once_are_all_kept() {
    let home = Home::new();
    let keys: Vec<String> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn({
                    let home = &home;
                    move || new_key(home, &number.to_string())
                })
            })
            .collect();
        makers.into_iter().map(|maker| maker.join().expect("a key")).collect()
    });
    let (_, list) = run(&home, &["http", "key", "list"]);
    assert_eq!(list.lines().count(), keys.len() + 1, "{list}");
}

#[test]
fn a_made_key_is_a_credential_for_other_machines_too() {
    let port = free_port();
    let home = Home::new().with("ENABLE_HTTP", "true").with("PORT", port.to_string()).with("HOST", "0.0.0.0");
    let key = new_key(&home, "lan");
    assert!(home.trellisd(&["up"]).status.success());
    assert_eq!(HttpClient::at(port).with("X-API-Key", &key).get("/tools").status, 200);
}
