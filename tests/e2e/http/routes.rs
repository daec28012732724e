//! What there is at which path, and how it is answered.

use serde_json::{Value, json};
use trellis_tests::harness::{Home, HttpClient};

fn vault() -> (Home, HttpClient) {
    let home = Home::new();
    home.write("vault/a.md", "one\ntwo\n");
    home.gateway(&[])
}

#[test]
fn health_needs_no_key_and_tells_little() {
    let (home, web) = vault();
    let reply = HttpClient::at(web.address.port()).get("/health");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    let body = reply.json();
    let keys: Vec<&String> = body.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["status", "server", "version", "timestamp"]);
    assert_eq!(body["status"], "healthy");
    let stamp = body["timestamp"].as_str().expect("text");
    assert!(stamp.len() == 24 && stamp.ends_with('Z') && stamp.contains('T'), "{stamp}");
    assert!(!reply.text().contains(home.path().to_str().expect("text")));
}

#[test]
fn the_list_is_the_list_of_every_other_door() {
    let (home, web) = vault();
    let reply = web.get("/tools");
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")));
    let tools = reply.json()["tools"].as_array().expect("a list").clone();
    let mut host = home.host(&[]);
    let listed = host.request("tools/list", json!({}));
    let (session, _) = web.initialize("/mcp", "2025-11-25");
    let over_mcp = session.message("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).answer();
    assert_eq!(listed["tools"], over_mcp["result"]["tools"]);
    assert_eq!(tools.len(), listed["tools"].as_array().expect("a list").len());
    for (tool, other) in tools.iter().zip(listed["tools"].as_array().expect("a list")) {
        let keys: Vec<&String> = tool.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["name", "description", "inputSchema"]);
        for key in keys {
            assert_eq!(tool[key], other[key]);
        }
    }
}

#[test]
fn a_tool_answers_with_its_own_object() {
    let (_home, web) = vault();
    let expected =
        json!({ "base_path": null, "items": [{ "name": "a.md", "path": "a.md", "kind": "file" }], "truncated": false });
    let same: [(&str, Value); 7] = [
        ("/tools", json!({ "name": "vault_ls", "arguments": {} })),
        ("/tools", json!({ "name": "vault_ls" })),
        ("/tools", json!({ "name": "vault_ls", "arguments": null })),
        ("/tools/vault_ls", json!({})),
        ("/tools/vault_ls", json!({ "arguments": {} })),
        ("/tools/vault_ls", json!({ "_unknown": 1, "sessionId": 2 })),
        ("/v1/tools/vault_ls", json!({})),
    ];
    for (path, body) in same {
        let reply = web.post(path, &body);
        assert_eq!((reply.status, reply.json()), (200, expected.clone()), "{path} {body}");
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    let empty = web.send("POST", "/tools/vault_ls", Some(b""));
    assert_eq!((empty.status, empty.json()), (200, expected));
}

#[test]
fn failures_of_tools_have_one_shape() {
    let (_home, web) = vault();
    let missing = web.post("/tools/vault_read", &json!({ "path": "no.md", "full": true }));
    assert_eq!((missing.status, missing.code()), (404, "not_found".into()));
    let error = missing.json()["error"].clone();
    assert_eq!(error["data"]["path"], "no.md");
    assert!(error["hint"].is_string() && !error["message"].as_str().expect("text").contains("; "), "{error}");
    let cases = [
        ("vault_read", json!({ "path": "a.md", "full": false }), 400, "invalid_parameter"),
        ("vault_read", json!({ "path": "../a.md", "full": true }), 400, "invalid_path"),
        ("vault_create", json!({ "path": "a.md", "content": "x" }), 409, "conflict"),
        ("vault_read", json!({ "path": "a.md", "full": 1 }), 400, "invalid_parameter"),
    ];
    for (tool, arguments, status, code) in cases {
        let reply = web.post(&format!("/tools/{tool}"), &arguments);
        assert_eq!((reply.status, reply.code()), (status, code.into()), "{tool} {arguments}");
    }
}

#[test]
fn wrong_calls_are_told_apart() {
    let (_home, web) = vault();
    let json = web.with("Content-Type", "application/json");
    let cases: [(&str, &[u8], u16, i64); 12] = [
        ("/tools", b"{", 400, -32700),
        ("/tools", b"\xff\xfe", 400, -32700),
        ("/tools", b"[]", 400, -32600),
        ("/tools", b"\"vault_ls\"", 400, -32600),
        ("/tools", b"", 400, -32602),
        ("/tools", b"{}", 400, -32602),
        ("/tools", br#"{"name":1}"#, 400, -32602),
        ("/tools", br#"{"name":"vault_ls","arguments":[]}"#, 400, -32602),
        ("/tools", br#"{"name":"no_such"}"#, 404, -32601),
        ("/tools/no_such", b"{}", 404, -32601),
        ("/tools/vault_ls", br#"{"arguments":1}"#, 400, -32602),
        ("/tools/vault_ls", b"null", 400, -32600),
    ];
    for (path, body, status, code) in cases {
        let reply = json.send("POST", path, Some(body));
        assert_eq!((reply.status, reply.code()), (status, code.into()), "{path} {}", String::from_utf8_lossy(body));
    }
}

#[test]
fn other_paths_and_methods_are_refused_in_json() {
    let (_home, web) = vault();
    for path in [
        "/",
        "/tool",
        "/tools/",
        "/tools/a/b",
        "/v1/tools",
        "/mcp/no_such",
        "/mcp/vault,vault",
        "/mcp/a/b",
        "/%ff",
        "/tools/%ff",
    ] {
        let reply = web.post(path, &json!({}));
        assert_eq!((reply.status, reply.code()), (404, (-32601).into()), "{path}");
        assert!(!reply.text().contains("vault"), "{}", reply.text());
    }
    let cases = [
        ("POST", "/health", "GET"),
        ("DELETE", "/tools", "POST"),
        ("PUT", "/tools", "GET"),
        ("GET", "/tools/vault_ls", "POST"),
        ("PATCH", "/v1/tools/vault_ls", "POST"),
        ("GET", "/sync", "POST"),
        ("POST", "/openapi.json", "GET"),
        ("PUT", "/mcp", "DELETE"),
        ("PATCH", "/mcp/vault", "POST"),
    ];
    for (method, path, allowed) in cases {
        let reply = web.send(method, path, None);
        assert_eq!((reply.status, reply.code()), (405, (-32601).into()), "{method} {path}");
        assert!(reply.header("allow").is_some_and(|allow| allow.contains(allowed)), "{method} {path}");
    }
    assert_eq!(web.send("HEAD", "/health", None).status, 200);
}

#[test]
fn every_answer_has_an_id() {
    let (home, web) = vault();
    let odd = web.with("X-Request-ID", "my request").get("/tools");
    assert_ne!(odd.header("x-request-id"), Some("my request"));
    for (web, method, path) in [
        (web.clone(), "GET", "/health"),
        (web.clone(), "GET", "/tools"),
        (web.clone(), "GET", "/nowhere"),
        (web.clone(), "PUT", "/tools"),
        (web.clone(), "OPTIONS", "/tools"),
        (web.without("X-API-Key"), "GET", "/tools"),
        (web.with("Origin", "https://evil.example"), "GET", "/tools"),
        (web.without("Host").with("Host", "evil.example"), "GET", "/tools"),
        (web.clone(), "POST", "/mcp"),
    ] {
        let fresh = web.send(method, path, None);
        let id = fresh.header("x-request-id").expect("an id");
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{method} {path}");
        let echoed = web.with("X-Request-ID", "id-1.2:x_Y").send(method, path, None);
        assert_eq!(echoed.header("x-request-id"), Some("id-1.2:x_Y"), "{method} {path}");
        let long = web.with("X-Request-ID", &"x".repeat(129)).send(method, path, None);
        assert!(long.header("x-request-id").is_some_and(|id| id.len() == 36));
    }
    web.with("X-Request-ID", "in-the-log").get("/tools");
    trellis_tests::harness::wait_until("the log names it", || home.log().contains("in-the-log").then_some(()));
}

#[test]
fn a_request_works_in_the_project_that_it_names() {
    let (home, web) = vault();
    let other = home.path().join("otro proyecto 日本");
    std::fs::create_dir_all(other.join("vault")).expect("made");
    std::fs::write(other.join("vault/b.md"), "b").expect("written");
    let there = web.without("X-Trellis-Project").with("X-Trellis-Project", other.to_str().expect("text"));
    let names = |web: &HttpClient| web.call_ok("vault_ls", json!({}))["items"][0]["name"].clone();
    assert_eq!((names(&web), names(&there)), ("a.md".into(), "b.md".into()));
    for named in ["project", "~/project"] {
        let named = web.without("X-Trellis-Project").with("X-Trellis-Project", named);
        assert_eq!(names(&named), "a.md");
    }
    for wrong in ["nowhere", ""] {
        let reply =
            web.without("X-Trellis-Project").with("X-Trellis-Project", wrong).post("/tools/vault_ls", &json!({}));
        assert_eq!((reply.status, reply.code()), (400, (-32602).into()), "`{wrong}`");
    }
    let twice = web.with("X-Trellis-Project", "/tmp").post("/tools/vault_ls", &json!({}));
    assert_eq!(twice.status, 400);
}

#[test]
fn without_a_name_the_project_that_is_set_counts() {
    let home = Home::new();
    home.write("vault/a.md", "one\n");
    let project = home.project();
    let (_home, web) = home.gateway(&[("TRELLIS_HTTP_PROJECT", project.to_str().expect("text"))]);
    let web = web.without("X-Trellis-Project");
    assert_eq!(web.call_ok("vault_ls", json!({}))["items"][0]["name"], "a.md");
}

#[test]
fn the_daemon_s_own_settings_are_the_defaults() {
    let home = Home::new();
    home.write("notes/c.md", "c\n");
    let notes = home.project().join("notes");
    let (_home, web) = home.gateway(&[("VAULT_ROOT", notes.to_str().expect("text"))]);
    assert_eq!(web.without("X-Trellis-Project").call_ok("vault_ls", json!({}))["items"][0]["name"], "c.md");
}

#[test]
fn a_connection_serves_many_requests() {
    let (_home, web) = vault();
    let mut line = web.open();
    let json = web.with("Content-Type", "application/json");
    for number in 0..20 {
        line.write(&json.bytes("POST", "/tools/vault_ls", Some(format!("{{\"_n\":{number}}}").as_bytes())));
        assert_eq!(line.reply().status, 200);
    }
    let chunked = json.with("Transfer-Encoding", "chunked");
    let mut bytes = chunked.bytes("POST", "/tools/vault_ls", None);
    bytes.extend_from_slice(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n");
    for _ in 0..3 {
        line.write(&bytes);
        assert_eq!(line.reply().status, 200);
    }
}

/// A host without a key looks for a way to log in: it hears at once that there is none, and stops.
#[test]
fn whoever_looks_for_oauth_hears_that_it_is_not_there() {
    let (_home, web) = vault();
    let stranger = HttpClient::at(web.address.port());
    let metadata = "oauth-protected-resource";
    for path in [
        format!("/.well-known/{metadata}"),
        format!("/.well-known/{metadata}/mcp"),
        "/.well-known/oauth-authorization-server".to_owned(),
        "/mcp/.well-known/openid-configuration".to_owned(),
        "/register".to_owned(),
    ] {
        for web in [&stranger, &web] {
            let reply = web.get(&path);
            assert_eq!((reply.status, reply.code()), (404, (-32601).into()), "{path}");
            assert_eq!(web.post(&path, &json!({ "client_name": "x" })).status, 404, "{path}");
        }
    }
    for path in ["/registered", "/register/x", "/well-known/x", "/tools"] {
        assert_eq!(stranger.get(path).status, 401, "{path}");
    }
    let page = stranger.with("Origin", "https://evil.example");
    assert_eq!(page.get("/register").status, 403, "a page still may not call");
}
