//! MCP over HTTP, in both kinds of revisions.

use serde_json::{Value, json};
use trellis_tests::harness::{Home, HttpClient};

fn vault() -> (Home, HttpClient) {
    let home = Home::new();
    home.write("vault/a.md", "one\ntwo\n");
    home.gateway(&[])
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

#[test]
fn every_revision_with_a_handshake_is_served() {
    let (_home, web) = vault();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (session, result) = web.initialize("/mcp", version);
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "trellis");
        let session = session.with("MCP-Protocol-Version", version);
        let answer = session.message("/mcp", &request("tools/call", json!({ "name": "vault_ls", "arguments": {} })));
        assert_eq!(answer.status, 200);
        let result = answer.answer()["result"].clone();
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON");
        assert_eq!(text["items"][0]["name"], "a.md");
        assert_eq!(result.get("structuredContent").is_some(), version >= "2025-06-18", "{version}");
        assert_eq!(session.message("/mcp", &request("ping", json!({}))).answer()["result"], json!({}));
    }
    let (_, result) = web.initialize("/mcp", "1999-01-01");
    assert_eq!(result["protocolVersion"], "2025-11-25");
}

#[test]
fn a_session_is_needed_known_and_ended() {
    let (_home, web) = vault();
    let (session, _) = web.initialize("/mcp", "2025-11-25");
    let list = request("tools/list", json!({}));
    assert_eq!(web.message("/mcp", &list).status, 400, "no session");
    assert_eq!(web.with("Mcp-Session-Id", "unknown").message("/mcp", &list).status, 404);
    assert_eq!(session.message("/mcp/vault", &list).status, 404, "a session of another surface");
    let odd = session.with("MCP-Protocol-Version", "1999-01-01").message("/mcp", &list);
    assert_eq!(odd.status, 400);
    assert_eq!(odd.json()["error"]["code"], -32600);
    let other = web.initialize("/mcp", "2025-11-25").0;
    assert_eq!(session.send("DELETE", "/mcp", None).status, 202);
    assert_eq!(session.message("/mcp", &list).status, 404, "ended");
    assert_eq!(other.message("/mcp", &list).status, 200, "another is not touched");
}

/// Memory that a process has, in bytes.
fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[test]
fn sessions_that_are_not_there_are_not_remembered() {
    let (home, web) = vault();
    let pid = home.daemon_pid().expect("a daemon");
    let mut line = web.open();
    let mut name = |number: u32| {
        let session = web.with("Mcp-Session-Id", &format!("{number:04}{}", "x".repeat(12_000)));
        let session = session.with("Accept", "application/json, text/event-stream");
        let session = session.with("Content-Type", "application/json");
        let list = request("tools/list", json!({})).to_string();
        line.write(&session.bytes("POST", "/mcp", Some(list.as_bytes())));
        assert_eq!(line.reply().status, 404);
    };
    (0..200).for_each(&mut name);
    let before = resident(pid);
    (200..3200).for_each(&mut name);
    let grown = resident(pid).saturating_sub(before);
    assert!(grown < 10 << 20, "36 MB of names made the daemon {} KiB larger", grown >> 10);
}

#[test]
fn what_a_client_takes_is_respected() {
    let (_home, web) = vault();
    let post = |accept: &str| {
        web.with("Accept", accept).post(
            "/mcp",
            &request(
                "initialize",
                json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
            ),
        )
    };
    for accept in [
        "application/json, text/event-stream",
        "*/*",
        "text/event-stream;q=0.5, application/*",
        "Application/JSON,TEXT/*",
    ] {
        assert_eq!(post(accept).status, 200, "{accept}");
    }
    for accept in ["application/json", "text/event-stream", "text/html", "application/json, text/event-stream;q=0"] {
        let reply = post(accept);
        assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (406, (-32600).into()), "{accept}");
    }
    assert_eq!(web.post("/mcp", &request("ping", json!({}))).status, 406);
    assert_eq!(web.with("Accept", "application/json").get("/mcp").status, 406);
}

#[test]
fn wrong_messages_are_told_apart() {
    let (_home, web) = vault();
    let (session, _) = web.initialize("/mcp", "2025-11-25");
    let json = session.with("Content-Type", "application/json").with("Accept", "*/*");
    for (body, status, code) in [
        (r#"{"#, 400, -32700),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        (r#"{"id":1}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vault_ls","arguments":[]}}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, 200, -32601),
    ] {
        let reply = json.send("POST", "/mcp", Some(body.as_bytes()));
        assert_eq!((reply.status, reply.answer()["error"]["code"].clone()), (status, code.into()), "{body}");
    }
    let failed = session.message(
        "/mcp",
        &request("tools/call", json!({ "name": "vault_read", "arguments": { "path": "no.md", "full": true } })),
    );
    assert_eq!(failed.answer()["result"]["isError"], true, "a tool's failure is its result");
}

#[test]
fn the_era_without_a_handshake_is_served() {
    let (_home, web) = vault();
    let discovered = web.modern("/mcp", "server/discover", json!({}));
    assert_eq!(discovered.status, 200);
    assert_eq!(discovered.header("mcp-session-id"), None);
    assert!(
        discovered.answer()["result"]["supportedVersions"].as_array().expect("a list").contains(&"2026-07-28".into())
    );
    let called = web.modern("/mcp", "tools/call", json!({ "name": "vault_ls", "arguments": {} })).answer();
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(called["result"]["structuredContent"]["items"][0]["name"], "a.md");
    let listed = web.modern("/mcp", "tools/list", json!({})).answer();
    assert!(listed["result"]["ttlMs"].is_u64());

    let unknown = web.modern("/mcp", "no/such", json!({}));
    assert_eq!((unknown.status, unknown.answer()["error"]["code"].clone()), (404, (-32601).into()));
    for removed in ["initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "ping"] {
        let reply = web.modern("/mcp", removed, json!({}));
        assert_eq!((reply.status, reply.answer()["error"]["code"].clone()), (404, (-32601).into()), "{removed}");
    }
    let unfit = web.modern("/mcp", "tools/call", json!({ "name": "vault_ls", "arguments": [] }));
    assert_eq!(unfit.answer()["error"]["code"], -32602);
    let bare = web.with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "tools/list");
    let bare = bare.message("/mcp", &request("tools/list", json!({})));
    assert_eq!((bare.status, bare.answer()["error"]["code"].clone()), (400, (-32602).into()));
    let modern = web.with("MCP-Protocol-Version", "2026-07-28").with("Accept", "text/event-stream");
    assert_eq!(modern.get("/mcp").status, 405);
    assert_eq!(modern.send("DELETE", "/mcp", None).status, 405);
}

#[test]
fn headers_of_the_modern_era_must_tell_the_truth() {
    let (_home, web) = vault();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let call = request("tools/call", json!({ "name": "vault_ls", "arguments": {}, "_meta": meta }));
    let with = |pairs: &[(&str, &str)]| {
        let web = pairs.iter().fold(web.clone(), |web, (name, value)| web.with(name, value));
        let reply = web.message("/mcp", &call);
        (reply.status, reply.answer()["error"]["code"].clone())
    };
    let version = ("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(with(&[version, ("Mcp-Method", "tools/call"), ("Mcp-Name", "vault_ls")]), (200, Value::Null));
    for wrong in [
        &[version, ("Mcp-Method", "tools/list"), ("Mcp-Name", "vault_ls")][..],
        &[version, ("Mcp-Method", "tools/call"), ("Mcp-Name", "vault_read")],
        &[version, ("Mcp-Name", "vault_ls")],
        &[("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "vault_ls")],
    ] {
        assert_eq!(with(wrong), (400, (-32020).into()), "{wrong:?}");
    }
}

#[test]
fn a_family_has_a_door_of_its_own() {
    let (home, web) = vault();
    let (session, _) = web.initialize("/mcp/vault", "2025-11-25");
    let names = |list: Value| -> Vec<Value> {
        list["tools"].as_array().expect("a list").iter().map(|tool| tool["name"].clone()).collect()
    };
    let alone = names(session.message("/mcp/vault", &request("tools/list", json!({}))).answer()["result"].clone());
    let mut host = home.host(&["--only", "vault"]);
    assert_eq!(alone, names(host.request("tools/list", json!({}))));
    let modern = web.modern("/mcp/vault", "tools/list", json!({})).answer();
    assert_eq!(alone, names(modern["result"].clone()));
}

#[test]
fn a_stream_stays_open_for_what_the_server_has_to_say() {
    let (_home, web) = vault();
    let (session, _) = web.initialize("/mcp", "2025-11-25");
    let listening = session.with("Accept", "text/event-stream");
    let mut line = listening.open();
    line.write(&listening.bytes("GET", "/mcp", None));
    let head = line.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert!(head.header("x-request-id").is_some());

    let modern = web.with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "subscriptions/listen");
    let modern = modern.with("Accept", "application/json, text/event-stream").with("Content-Type", "application/json");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let listen =
        request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true }, "_meta": meta }));
    let mut line = modern.open();
    line.write(&modern.bytes("POST", "/mcp", Some(listen.to_string().as_bytes())));
    let head = line.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let first = line.event().expect("an acknowledgement");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
}

#[test]
fn a_host_that_names_no_project_is_asked_for_its_roots() {
    // The daemon is started in a directory that is no project.
    let (home, web) = Home::new().gateway(&[]);
    home.write("inner/vault/a.md", "one\ntwo\n");
    let web = web.without("X-Trellis-Project").with("Accept", "application/json, text/event-stream");
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": client });
    let opened = web.post("/mcp", &request("initialize", params));
    let session = web.with("Mcp-Session-Id", opened.header("mcp-session-id").expect("a session"));
    session.post("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let json = session.with("Content-Type", "application/json");
    let call = request("tools/call", json!({ "name": "vault_ls", "arguments": {} }));
    let mut line = json.open();
    line.write(&json.bytes("POST", "/mcp", Some(call.to_string().as_bytes())));
    assert_eq!(line.head().status, 200);
    let asked = line.event().expect("a question");
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots = json!({ "roots": [{ "uri": format!("file://{}/inner", home.project().display()) }] });
    let told = session.post("/mcp", &json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }));
    assert_eq!(told.status, 202);
    let answer = line.event().expect("the answer");
    assert_eq!(answer["result"]["structuredContent"]["items"][0]["name"], "a.md", "{answer}");
}

#[test]
fn sessions_that_nobody_ends_make_room_for_new_ones() {
    let (_home, web) = vault();
    let list = request("tools/list", json!({}));
    let first = web.initialize("/mcp", "2025-11-25").0;
    let second = web.initialize("/mcp", "2025-11-25").0;
    for _ in 0..254 {
        web.initialize("/mcp", "2025-11-25");
    }
    assert_eq!(first.message("/mcp", &list).status, 200);
    let last = web.initialize("/mcp", "2025-11-25").0;
    assert_eq!(second.message("/mcp", &list).status, 404, "it was used longest ago");
    for session in [&first, &last] {
        assert_eq!(session.message("/mcp", &list).status, 200);
    }
}
