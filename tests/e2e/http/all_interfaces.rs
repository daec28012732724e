//! What one door writes, the others read at once.

use serde_json::json;
use trellis_tests::harness::Home;

#[test]
fn files_written_through_one_door_are_read_through_the_others() {
    let home = Home::new();
    home.write("vault/a.md", "zero\n");
    let (home, web) = home.gateway(&[]);
    let mut host = home.host(&[]);
    let (session, _) = web.initialize("/mcp", "2025-11-25");
    let read = json!({ "path": "shared.md", "full": true });
    let over_mcp = |arguments: &serde_json::Value, tool: &str| {
        let params = json!({ "name": tool, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        session.message("/mcp", &message).answer()["result"]["structuredContent"].clone()
    };
    host.call_ok("vault_create", json!({ "path": "shared.md", "content": "by stdio\n" }));
    assert_eq!(web.call_ok("vault_read", read.clone()), host.call_ok("vault_read", read.clone()));
    for round in 0..20 {
        let before = web.call_ok("vault_read", read.clone())["text"].as_str().expect("text").to_owned();
        let after = format!("round {round}");
        let change = json!({ "path": "shared.md", "find": before.trim_end(), "replace": after });
        match round % 3 {
            0 => drop(web.call_ok("vault_replace", change)),
            1 => drop(host.call_ok("vault_replace", change)),
            _ => assert!(over_mcp(&change, "vault_replace").is_object()),
        }
        let seen = [
            web.call_ok("vault_read", read.clone()),
            host.call_ok("vault_read", read.clone()),
            over_mcp(&read, "vault_read"),
        ];
        for one in &seen {
            assert!(one["text"].as_str().is_some_and(|text| text.contains(&after)), "{one}");
            assert_eq!(*one, seen[0]);
        }
    }
}

#[test]
fn forty_requests_at_once_are_all_served() {
    let home = Home::new();
    home.write("vault/a.md", "zero\n");
    let (_home, web) = home.gateway(&[]);
    let mut lines: Vec<_> = (0..64).map(|_| web.open()).collect();
    let json = web.with("Content-Type", "application/json");
    for (number, line) in lines.iter_mut().enumerate() {
        let body = json!({ "path": format!("n{number}.md"), "content": "x" }).to_string();
        line.write(&json.bytes("POST", "/tools/vault_create", Some(body.as_bytes())));
    }
    for line in &mut lines {
        assert_eq!(line.reply().status, 200);
    }
    assert_eq!(web.call_ok("vault_ls", json!({}))["items"].as_array().expect("a list").len(), 65);
}
