//! Which tools a host sees, under which names: alone, in the union, chosen one by one, read-only.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, until};

const REHEARSAL: [&str; 12] = [
    "recite",
    "revise",
    "wait",
    "cue",
    "wings",
    "stumble",
    "collapse",
    "declaim",
    "purse_pair",
    "purse_pay",
    "purse_pour",
    "bow",
];
const UNDERSTUDY: [&str; 2] = ["recite", "prompt"];

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
    let home = Home::rehearsing();
    check(&home, &["--only", "rehearsal"], REHEARSAL);
    check(&home, &["--only=understudy"], UNDERSTUDY);
    check(&home, &["--families", "understudy"], UNDERSTUDY);
}

#[test]
fn in_the_union_names_say_whose_they_are() {
    let home = Home::rehearsing();
    let both = || prefixed("rehearsal", &REHEARSAL).chain(prefixed("understudy", &UNDERSTUDY));
    check(&home, &["--families", "rehearsal,understudy"], both());
    check(&home, &["--families", "understudy, rehearsal"], both());
    let vault = home.host(&["--only", "vault"]).tool_names();
    assert!(vault.contains(&"vault_ls".to_owned()), "{vault:?}");
    check(&home, &["--families", "rehearsal,vault"], vault.into_iter().chain(prefixed("rehearsal", &REHEARSAL)));
    let all = home.host(&[]).tool_names();
    assert!(all.ends_with(&both().collect::<Vec<_>>()), "{all:?}");
    assert_eq!(all.len(), all.iter().collect::<std::collections::BTreeSet<_>>().len(), "each name once");
}

#[test]
fn single_tools_are_added_and_hidden() {
    let home = Home::rehearsing();
    check(&home, &["--only", "understudy", "--tools", "+rehearsal_bow,-recite"], ["rehearsal_bow", "prompt"]);
    check(
        &home,
        &["--only", "understudy", "--tools", "-recite", "--tools", "+recite"],
        ["rehearsal_recite", "recite", "prompt"],
    );
    let kept = prefixed("rehearsal", &REHEARSAL).chain(["understudy_prompt".to_owned()]);
    check(&home, &["--families", "rehearsal,understudy", "--tools", "-understudy_recite"], kept);
    let mut host = home.host(&["--only", "understudy", "--tools", "-recite"]);
    let answer = host.ask("tools/call", json!({ "name": "recite" }));
    assert_eq!(answer["error"]["data"]["code"], "unknown_tool", "a hidden tool is not there: {answer}");
}

#[test]
fn a_read_only_session_sees_no_tool_that_writes_and_may_call_none() {
    let home = Home::rehearsing();
    let reading = REHEARSAL.into_iter().filter(|tool| *tool != "revise" && !tool.starts_with("purse_"));
    check(&home, &["--only", "rehearsal", "--read-only"], reading);
    let mut host = home.host(&["--read-only"]);
    for name in ["rehearsal_revise", "revise"] {
        let answer = host.call_err(name, json!({ "play": "hamlet", "text": "x" }));
        assert_eq!(answer["error"]["code"], "READ_ONLY");
    }
    host.call_ok("rehearsal_cue", json!({ "cue": "administers" }));
}

#[test]
fn a_bare_name_works_in_the_union_as_long_as_one_family_has_it() {
    let home = Home::rehearsing();
    let mut host = home.host(&[]);
    let answer = host.call_err("recite", json!({ "play": "hamlet" }));
    assert_eq!(answer["error"]["code"], "AMBIGUOUS_TOOL");
    assert_eq!(answer["error"]["details"]["candidates"], json!(["rehearsal_recite", "understudy_recite"]));
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("rehearsal_recite") && message.contains("understudy_recite"), "{message}");
    assert_eq!(host.call_ok("prompt", json!({}))["text"], "To be");
    assert_eq!(host.call_ok("understudy_recite", json!({}))["text"], "Line?");
    assert_eq!(host.call_ok("rehearsal_recite", json!({ "play": "hamlet" }))["text"], "Who's there?");
    let mut without = home.host(&["--tools", "-understudy_recite"]);
    assert_eq!(without.call_ok("recite", json!({ "play": "hamlet" }))["text"], "Who's there?");
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let home = Home::rehearsing();
    let mut host = home.host(&["--only", "rehearsal"]);
    for name in ["nothing", "vault_ls", "rehearsal_recite", "", "Recite"] {
        let error = host.ask("tools/call", json!({ "name": name, "arguments": {} }))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32602), &json!("unknown_tool")), "{name}");
    }
}

#[test]
fn a_family_that_does_not_exist_is_explained_in_valid_mcp() {
    let home = Home::rehearsing();
    let mut host = home.connect(&["--only", "vualt"]);
    let opening = host.initialize("2025-06-18");
    assert_eq!(opening["protocolVersion"], "2025-06-18");
    assert!(opening["instructions"].as_str().is_some_and(|text| text.contains("`vualt`")), "{opening}");
    assert_eq!(host.tool_names(), ["trellis_status"]);
    for name in ["trellis_status", "vault_ls"] {
        let error = host.call_err(name, json!({}))["error"].clone();
        assert_eq!(error["code"], "unavailable");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("`vualt`") && message.contains("rehearsal, understudy"), "{message}");
    }
    assert!(host.close().success());
}

#[test]
fn the_list_is_the_same_in_every_session_and_after_a_restart() {
    let home = Home::rehearsing();
    let list = |host: &mut Client| -> Value { host.request("tools/list", json!({})) };
    let mut host = home.host(&[]);
    let before = list(&mut host);
    assert_eq!(list(&mut home.host(&[])), before);
    assert_eq!(list(&mut host), before);
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    until("another daemon", || home.daemon_pid().filter(|other| *other != pid));
    assert_eq!(list(&mut host), before);
}
