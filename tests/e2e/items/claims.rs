//! Who is on what: taken, renewed, given back, seen by everybody, and gone with its session or its item.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, HttpClient, wait_until};

use super::{each, filled, list, open};

fn claim(host: &mut Client, uri: &str) -> Value {
    host.call_ok("trellis_claim", json!({ "uri": uri }))
}

fn refused(host: &mut Client, arguments: Value) -> Value {
    host.call_err("trellis_claim", arguments)["error"].clone()
}

/// The claim on an item, as `open` shows it.
fn claimed(host: &mut Client, uri: &str) -> Value {
    open(host, uri)["claimed"].clone()
}

fn time(value: &Value) -> jiff::Timestamp {
    let text = value.as_str().expect("a time");
    assert!(text.len() == 20 && text.ends_with('Z'), "{text}");
    text.parse().expect("a time")
}

#[test]
fn an_item_is_taken_renewed_and_given_back() {
    let home = filled();
    let (mut one, mut two) = (home.host(&[]), home.host(&[]));
    let answer = claim(&mut one, "todo:///T001");
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["uri", "kind", "title", "status", "claimed"]);
    assert_eq!((&answer["uri"], &answer["kind"]), (&"todo://project/T001".into(), &"task".into()));
    assert_eq!((&answer["title"], &answer["status"]), (&"Write the parser".into(), &"in_progress".into()));
    let held = answer["claimed"].clone();
    let keys: Vec<&String> = held.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["by", "session", "since", "until", "mine"]);
    assert_eq!((&held["by"], &held["mine"]), (&"test".into(), &true.into()));
    let session = held["session"].as_str().expect("a name");
    assert!(session.len() >= 7 && session.starts_with('s'), "{session}");
    assert!(session[1..].chars().all(|letter| letter.is_ascii_hexdigit()), "{session}");
    assert_eq!((time(&held["until"]) - time(&held["since"])).get_seconds(), 3600);

    let error = refused(&mut two, json!({ "uri": "T001" }));
    assert_eq!(error["code"], "CLAIMED");
    for field in ["by", "session", "since", "until"] {
        assert_eq!(error["details"][field], held[field], "{field}");
    }
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("`trellis_list`") && message.contains("test"), "{message}");
    assert_eq!(refused(&mut two, json!({ "uri": "T001", "release": true }))["code"], "CLAIMED");

    let renewed = one.call_ok("trellis_claim", json!({ "uri": "T001", "minutes": 1 }));
    assert_eq!((&renewed["renewed"], &renewed["claimed"]["since"]), (&true.into(), &held["since"]));
    assert!(time(&renewed["claimed"]["until"]) < time(&held["until"]), "also earlier than before");
    let others = claimed(&mut two, "T001");
    let expected = json!({ "by": "test", "session": session, "until": renewed["claimed"]["until"], "mine": false });
    assert_eq!(others.to_string(), expected.to_string());

    let given = one.call_ok("trellis_claim", json!({ "uri": "T001", "release": true }));
    let keys: Vec<&String> = given.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["uri", "kind", "title", "status", "changed"]);
    assert_eq!(given["changed"], true);
    let again = one.call_ok("trellis_claim", json!({ "uri": "T001", "release": true }));
    assert_eq!(again["changed"], false);
    assert!(claim(&mut two, "T001").get("renewed").is_none());
}

#[test]
fn everybody_sees_who_is_on_what() {
    let home = filled();
    let (mut one, mut two) = (home.host(&[]), home.host(&[]));
    let addresses = [
        "todo://project/T001",
        "todo://project/adr/2",
        "todo://project/context/T001",
        "vine://project/plans/launch.vine#build",
        "vault://project/notes/idea.md",
        "vibe://projects/project/tasks/001-first.md",
        "board://project/task-9",
    ];
    for uri in addresses {
        assert_eq!(claim(&mut one, uri)["uri"], uri);
        assert_eq!((&claimed(&mut one, uri)["mine"], &claimed(&mut two, uri)["mine"]), (&true.into(), &false.into()));
    }
    let taken = list(&mut two, json!({ "claimed": true, "limit": 100 }));
    let mut uris = each(&taken, "uri");
    uris.sort_unstable();
    let mut expected = addresses.to_vec();
    expected.sort_unstable();
    assert_eq!(uris, expected);
    let total = |host: &mut Client, arguments: Value| list(host, arguments)["total"].as_u64().expect("a number");
    let all = total(&mut two, json!({}));
    assert_eq!(total(&mut two, json!({ "claimed": false })), all - addresses.len() as u64);
    let of_part = claim(&mut one, "vault:///notes/idea.md#bright-idea");
    assert_eq!((&of_part["uri"], &of_part["renewed"]), (&"vault://project/notes/idea.md".into(), &true.into()));
    let hits = two.call_ok("trellis_recall", json!({ "query": "bright idea" }));
    assert_eq!(
        (&hits["hits"][0]["claimed"]["by"], &hits["hits"][0]["claimed"]["mine"]),
        (&"test".into(), &false.into())
    );
    // What another session holds can be changed all the same.
    two.call_ok("todo_update_task", json!({ "task_id": "T001", "title": "Write two parsers" }));
    assert_eq!(claimed(&mut one, "T001")["mine"], true);
}

#[test]
fn a_claim_touches_no_file_and_is_no_change() {
    let home = filled();
    let before = fs::read(home.project().join(".todo/task.md")).expect("tasks");
    let names = || {
        let mut names: Vec<_> = fs::read_dir(home.project().join(".todo"))
            .expect("a directory")
            .flatten()
            .map(|one| one.file_name())
            .collect();
        names.sort();
        names
    };
    let there = names();
    let mut host = home.host(&[]);
    let result = host.call("trellis_claim", json!({ "uri": "T001" }));
    assert!(result.get("_meta").and_then(|meta| meta.get("trellis/change")).is_none(), "{result}");
    assert_eq!((fs::read(home.project().join(".todo/task.md")).expect("tasks"), names()), (before, there));
    let kept = fs::read_to_string(home.state().join("claims.json")).expect("it is on the disk");
    assert!(kept.contains("T001"), "{kept}");
    let feed = fs::read_dir(home.state().join("feed")).into_iter().flatten().flatten();
    assert!(feed.flat_map(|file| fs::read_to_string(file.path())).all(|text| !text.contains("T001")));
}

#[test]
fn what_cannot_be_claimed_is_said() {
    let home = filled();
    let mut host = home.host(&[]);
    for (arguments, code, field) in [
        (json!({ "uri": "T001", "until": "now" }), "INVALID_ARGUMENT", json!("until")),
        (json!({}), "INVALID_ARGUMENT", json!("uri")),
        (json!({ "uri": "T001", "minutes": 0 }), "INVALID_ARGUMENT", json!("minutes")),
        (json!({ "uri": "T001", "minutes": 1441 }), "INVALID_ARGUMENT", json!("minutes")),
        (json!({ "uri": "T001", "release": "yes" }), "INVALID_ARGUMENT", json!("release")),
        (json!({ "uri": "nothing" }), "INVALID_URI", Value::Null),
        (json!({ "uri": "todo://nowhere/T001" }), "UNKNOWN_PROJECT", Value::Null),
        (json!({ "uri": "T404" }), "ITEM_NOT_FOUND", Value::Null),
        (json!({ "uri": "todo:///task.md" }), "NOT_ALLOWED", Value::Null),
    ] {
        let error = refused(&mut host, arguments.clone());
        assert_eq!((&error["code"], &error["details"]["field"]), (&code.into(), &field), "{arguments}");
    }
    assert!(!home.state().join("claims.json").exists(), "nothing was written");
    assert_eq!(
        host.call_ok("trellis_claim", json!({ "uri": "T001", "minutes": 1440.0, "release": null }))["uri"],
        "todo://project/T001"
    );
}

#[test]
fn a_session_holds_a_hundred_items() {
    let home = filled();
    for number in 1..=101 {
        home.write(&format!("vault/many/{number}.md"), "x");
    }
    let mut host = home.host(&[]);
    for number in 1..=100 {
        claim(&mut host, &format!("vault:///many/{number}.md"));
    }
    let error = refused(&mut host, json!({ "uri": "vault:///many/101.md" }));
    assert_eq!((&error["code"], &error["details"]["field"]), (&"INVALID_ARGUMENT".into(), &"uri".into()));
    assert_eq!(claim(&mut host, "vault:///many/7.md")["renewed"], true);
    claim(&mut home.host(&[]), "vault:///many/101.md");
    host.call_ok("trellis_claim", json!({ "uri": "vault:///many/7.md", "release": true }));
    claim(&mut host, "T001");
}

#[test]
fn a_session_that_may_write_nothing_may_claim() {
    let home = filled();
    let mut host = home.host(&["--read-only"]);
    let tools = host.request("tools/list", json!({}));
    let tool = tools["tools"].as_array().expect("tools").iter().find(|tool| tool["name"] == "trellis_claim");
    let annotations = tool.expect("it is listed")["annotations"].clone();
    let expected =
        json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false });
    assert_eq!(annotations, expected);
    assert_eq!(claim(&mut host, "T001")["claimed"]["mine"], true);
    assert!(home.host(&["--profile", "core"]).tool_names().contains(&"trellis_claim".to_owned()));
}

#[test]
fn goodbye_frees_what_a_session_held() {
    let home = filled();
    let (mut one, mut two) = (home.host(&[]), home.host(&[]));
    claim(&mut one, "T001");
    claim(&mut one, "vault:///notes/idea.md");
    claim(&mut two, "T003");
    let began = Instant::now();
    assert!(one.close().success());
    wait_until("it is free", || (list(&mut two, json!({ "claimed": true }))["total"] == 1).then_some(()));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(claimed(&mut two, "T003")["mine"], true, "nobody else's ended");
    let kept = || fs::read_to_string(home.state().join("claims.json")).expect("a file");
    wait_until("it is off the disk", || (!kept().contains("T001")).then_some(()));
}

#[test]
fn subscribers_hear_of_a_claim_and_of_its_end() {
    let home = filled();
    let uri = "vibe://projects/project/tasks/001-first.md";
    let (mut reader, mut one) = (home.host(&[]), home.host(&[]));
    reader.request("resources/subscribe", json!({ "uri": uri }));
    let heard = |reader: &mut Client| {
        let message = reader.next_message();
        assert_eq!(
            (&message["method"], &message["params"]["uri"]),
            (&"notifications/resources/updated".into(), &uri.into())
        );
    };
    claim(&mut one, uri);
    heard(&mut reader);
    one.call_ok("trellis_claim", json!({ "uri": uri, "release": true }));
    heard(&mut reader);
    one.call_ok("trellis_claim", json!({ "uri": uri, "release": true }));
    claim(&mut one, "vibe://projects/project/plans/decision-db.md");
    claim(&mut one, uri);
    heard(&mut reader);
    one.close();
    heard(&mut reader);
    reader.tool_names();
    assert_eq!(reader.message_within(Duration::ZERO), None, "once each, and of nothing else");
}

#[test]
fn a_claim_is_gone_with_its_item() {
    let home = filled();
    let (mut one, mut two) = (home.host(&[]), home.host(&[]));
    let note = home.project().join("vault/notes/idea.md");
    let text = fs::read(&note).expect("a note");
    let kept = || fs::read_to_string(home.state().join("claims.json")).expect("a file");
    claim(&mut one, "vault:///notes/idea.md");
    claim(&mut one, "T003");
    claim(&mut one, "vine:///plans/launch.vine#build");
    claim(&mut one, "task-9");
    // An editor that replaces the file keeps it.
    fs::remove_file(&note).expect("removed");
    fs::write(&note, &text).expect("a note");
    assert_eq!(claimed(&mut two, "vault:///notes/idea.md")["by"], "test");
    fs::remove_file(&note).expect("removed");
    two.call_ok("todo_delete_task", json!({ "task_id": "T003" }));
    two.call_ok("vbm_delete_task", json!({ "id": "task-9" }));
    fs::remove_file(home.project().join("plans/launch.vine")).expect("removed");
    assert_eq!(list(&mut two, json!({ "claimed": true }))["total"], 0, "it is not seen at once");
    wait_until("none is kept", || (!kept().contains("\"by\"")).then_some(()));
    fs::write(&note, &text).expect("a note");
    assert_eq!(claimed(&mut two, "vault:///notes/idea.md"), Value::Null, "another file of that name is free");
}

#[test]
fn over_http_a_claim_ends_when_it_is_given_back() {
    let home = Home::new().with("TRELLIS_CLAIM_GRACE_SECONDS", "1");
    let (home, web) = home.gateway(&[("API_KEYS", "one,two")]);
    home.write(".todo/task.md", "- [ ] a #T001\n");
    let with_key = |key: &str| web.without("X-API-Key").with("X-API-Key", key);
    let (one, two) = (with_key("one"), with_key("two"));
    let claim = |uri: &str| json!({ "uri": uri });
    let held = one.call_ok("trellis_claim", claim("T001"));
    assert_eq!((&held["claimed"]["by"], &held["claimed"]["mine"]), (&"http".into(), &true.into()));
    let error = two.post("/tools/trellis_claim", &claim("T001"));
    assert_eq!((error.status, error.code()), (409, "CLAIMED".into()));
    assert_eq!(one.call_ok("trellis_claim", claim("T001"))["renewed"], true, "the same key is the same caller");
    let mut host = home.host(&[]);
    assert_eq!(refused(&mut host, claim("T001"))["details"]["session"], held["claimed"]["session"]);
    home.kill(home.daemon_pid().expect("a daemon"));
    assert_eq!(claimed(&mut host, "T001")["session"], held["claimed"]["session"], "it is still held");
    let restarted = Instant::now();
    wait_until("longer than a connection may be away", || (restarted.elapsed() > Duration::from_secs(2)).then_some(()));
    assert_eq!(claimed(&mut host, "T001")["session"], held["claimed"]["session"], "nobody notices that it is gone");
    let free = one.call_ok("trellis_claim", json!({ "uri": "T001", "release": true }));
    assert_eq!((&free["changed"], claimed(&mut host, "T001")), (&true.into(), Value::Null));
}

#[test]
fn sessions_of_mcp_over_http_hold_their_own_until_it_is_given_back() {
    let home = Home::new();
    home.write(".todo/task.md", "- [ ] a #T001\n");
    let (home, web) = home.gateway(&[]);
    let (one, two) = (web.initialize("/mcp", "2025-11-25").0, web.initialize("/mcp", "2025-11-25").0);
    let call = |web: &HttpClient, arguments: Value| {
        let params = json!({ "name": "trellis_claim", "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        web.message("/mcp", &message).answer()["result"]["structuredContent"].clone()
    };
    let held = call(&one, json!({ "uri": "T001" }));
    assert_eq!(held["claimed"]["mine"], true, "{held}");
    assert_eq!(call(&two, json!({ "uri": "T001" }))["error"]["details"]["session"], held["claimed"]["session"]);
    assert!(one.send("DELETE", "/mcp", None).status < 300);
    assert_eq!(
        claimed(&mut home.host(&[]), "T001")["session"],
        held["claimed"]["session"],
        "it has not been given back"
    );
}

#[test]
fn the_claim_of_a_plan_takes_none() {
    let home = filled();
    let mut host = home.host(&[]);
    host.call_ok(
        "vine_write",
        json!({ "file": "plans/launch.vine", "operations": [{ "op": "claim", "id": "build" }] }),
    );
    let node = open(&mut host, "vine:///plans/launch.vine#build");
    assert_eq!((&node["status"], &node["claimed"]), (&"started".into(), &Value::Null));
}
