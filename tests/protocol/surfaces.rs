//! Which tools a host sees, under which names: alone, in the union, chosen one by one, read-only.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

const FIXTURE: [&str; 12] = [
    "get_line",
    "notify_change",
    "block_until",
    "open_gate",
    "gate_state",
    "panic_inline",
    "panic_blocking",
    "large_answer",
    "pair_create",
    "pair_transfer",
    "pair_merge",
    "text_answer",
];
const CLASH: [&str; 2] = ["get_line", "prompt"];

fn prefixed<'a>(family: &'a str, tools: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    tools.iter().map(move |tool| format!("{family}_{tool}"))
}

#[track_caller]
fn check(home: &Home, flags: &[&str], expected: impl IntoIterator<Item = impl Into<String>>) {
    let expected: Vec<String> = expected.into_iter().map(Into::into).collect();
    assert_eq!(home.host(flags).tool_names(), expected, "{flags:?}");
}

#[test]
fn alone_a_family_keeps_its_own_names() {
    let home = Home::with_fixtures();
    check(&home, &["--only", "fixture"], FIXTURE);
    check(&home, &["--only=clash"], CLASH);
}

#[test]
fn in_the_union_names_say_whose_they_are() {
    let home = Home::with_fixtures();
    let common = home.host(&["--only", "trellis"]).tool_names();
    let common: Vec<String> = common.iter().map(|tool| format!("trellis_{tool}")).collect();
    let both = || common.iter().cloned().chain(prefixed("fixture", &FIXTURE)).chain(prefixed("clash", &CLASH));
    check(&home, &["--families", "clash"], common.iter().cloned().chain(prefixed("clash", &CLASH)));
    check(&home, &["--families", "fixture,clash"], both());
    check(&home, &["--families", "clash, fixture"], both());
    let vault = home.host(&["--only", "vault"]).tool_names();
    assert!(vault.contains(&"vault_ls".to_owned()), "{vault:?}");
    let beside = vault.into_iter().chain(prefixed("fixture", &FIXTURE));
    check(&home, &["--families", "fixture,vault"], common.iter().cloned().chain(beside));
    let all = home.host(&[]).tool_names();
    let last: Vec<String> = both().skip(common.len()).collect();
    assert!(all.ends_with(&last) && all.starts_with(&common), "{all:?}");
    assert_eq!(all.len(), all.iter().collect::<std::collections::BTreeSet<_>>().len(), "each name once");
}

#[test]
fn single_tools_are_added_and_hidden() {
    let home = Home::with_fixtures();
    check(&home, &["--only", "clash", "--tools", "+fixture_text_answer,-get_line"], ["fixture_text_answer", "prompt"]);
    check(
        &home,
        &["--only", "clash", "--tools", "-get_line", "--tools", "+get_line"],
        ["fixture_get_line", "get_line", "prompt"],
    );
    let common = home.host(&["--only", "trellis"]).tool_names();
    let common = common.iter().map(|tool| format!("trellis_{tool}"));
    let kept = common.chain(prefixed("fixture", &FIXTURE)).chain(["clash_prompt".to_owned()]);
    check(&home, &["--families", "fixture,clash", "--tools", "-clash_get_line"], kept);
    let mut host = home.host(&["--only", "clash", "--tools", "-get_line"]);
    let answer = host.ask("tools/call", json!({ "name": "get_line" }));
    assert_eq!(answer["error"]["data"]["code"], "unknown_tool", "a hidden tool is not there: {answer}");
}

#[test]
fn a_read_only_session_sees_no_tool_that_writes_and_may_call_none() {
    let home = Home::with_fixtures();
    let reading = FIXTURE.into_iter().filter(|tool| *tool != "notify_change" && !tool.starts_with("pair_"));
    check(&home, &["--only", "fixture", "--read-only"], reading);
    let mut host = home.host(&["--read-only"]);
    for name in ["fixture_notify_change", "notify_change"] {
        let answer = host.call_err(name, json!({ "play": "hamlet", "text": "x" }));
        assert_eq!(answer["error"]["code"], "READ_ONLY");
    }
    host.call_ok("fixture_open_gate", json!({ "gate": "administers" }));
}

#[test]
fn a_bare_name_works_in_the_union_as_long_as_one_family_has_it() {
    let home = Home::with_fixtures();
    let mut host = home.host(&[]);
    let answer = host.call_err("get_line", json!({ "play": "hamlet" }));
    assert_eq!(answer["error"]["code"], "AMBIGUOUS_TOOL");
    assert_eq!(answer["error"]["details"]["candidates"], json!(["fixture_get_line", "clash_get_line"]));
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("fixture_get_line") && message.contains("clash_get_line"), "{message}");
    assert_eq!(host.call_ok("prompt", json!({}))["text"], "To be");
    assert_eq!(host.call_ok("clash_get_line", json!({}))["text"], "Line?");
    assert_eq!(host.call_ok("fixture_get_line", json!({ "play": "hamlet" }))["text"], "Who's there?");
    let mut without = home.host(&["--tools", "-clash_get_line"]);
    assert_eq!(without.call_ok("get_line", json!({ "play": "hamlet" }))["text"], "Who's there?");
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let home = Home::with_fixtures();
    let mut host = home.host(&["--only", "fixture"]);
    for name in ["nothing", "vault_ls", "fixture_get_line", "", "Recite"] {
        let error = host.ask("tools/call", json!({ "name": name, "arguments": {} }))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32602), &json!("unknown_tool")), "{name}");
    }
}

#[test]
fn a_family_that_does_not_exist_is_explained_in_valid_mcp() {
    let home = Home::with_fixtures();
    let mut host = home.connect(&["--only", "vualt"]);
    let opening = host.initialize("2025-06-18");
    assert_eq!(opening["protocolVersion"], "2025-06-18");
    assert!(opening["instructions"].as_str().is_some_and(|text| text.contains("`vualt`")), "{opening}");
    assert_eq!(host.tool_names(), ["trellis_status"]);
    for name in ["trellis_status", "vault_ls"] {
        let error = host.call_err(name, json!({}))["error"].clone();
        assert_eq!(error["code"], "unavailable");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("`vualt`") && message.contains("fixture, clash"), "{message}");
    }
    assert!(host.close().success());
}

#[test]
fn the_list_is_the_same_in_every_session_and_after_a_restart() {
    let home = Home::with_fixtures();
    let list = |host: &mut Client| -> Value { host.request("tools/list", json!({})) };
    let mut host = home.host(&[]);
    let before = list(&mut host);
    assert_eq!(list(&mut home.host(&[])), before);
    assert_eq!(list(&mut host), before);
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    wait_until("another daemon", || home.daemon_pid().filter(|other| *other != pid));
    assert_eq!(list(&mut host), before);
}
