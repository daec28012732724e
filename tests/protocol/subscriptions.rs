//! What hosts hear about without asking again, in both kinds of revisions, when another session changes something.

use std::time::Duration;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};

const HAMLET: &str = "fixture://plays/hamlet";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn notify_change(writer: &mut Client, play: &str) {
    writer.call_ok("fixture_notify_change", json!({ "play": play, "text": "x" }));
}

#[track_caller]
fn heard(client: &mut Client, method: &str) -> Value {
    let message = client.next_message();
    assert_eq!(message["method"], method, "{message}");
    message["params"].clone()
}

/// Everything that was told has arrived when the answer to a later request has: it must have been nothing.
#[track_caller]
fn heard_nothing(client: &mut Client) {
    client.tool_names();
    assert_eq!(client.message_within(Duration::ZERO), None);
}

#[test]
fn a_subscribed_resource_is_told_and_others_are_not() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.host(&[]), home.host(&["--tools", "+fixture_notify_change"]));
    assert_eq!(reader.request("resources/subscribe", json!({ "uri": HAMLET })), json!({}));
    notify_change(&mut writer, "sueño");
    heard(&mut reader, "notifications/resources/list_changed");
    notify_change(&mut writer, "hamlet");
    assert_eq!(heard(&mut reader, "notifications/resources/updated")["uri"], HAMLET);
    heard(&mut reader, "notifications/resources/list_changed");
    assert_eq!(reader.request("resources/unsubscribe", json!({ "uri": HAMLET })), json!({}));
    notify_change(&mut writer, "hamlet");
    heard(&mut reader, "notifications/resources/list_changed");
    heard_nothing(&mut reader);
}

#[test]
fn only_what_may_exist_can_be_subscribed_to() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "fixture"]);
    for uri in ["fixture://none", "file:///etc/passwd", ""] {
        assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri }))["error"]["code"], -32002, "{uri}");
    }
    assert_eq!(client.request("resources/subscribe", json!({ "uri": "fixture://plays/later" })), json!({}));
    assert_eq!(client.request("resources/unsubscribe", json!({ "uri": "fixture://never" })), json!({}));
}

#[test]
fn a_surface_hears_nothing_of_families_that_are_off() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.host(&["--only", "vault"]), home.host(&[]));
    notify_change(&mut writer, "hamlet");
    heard(&mut writer, "notifications/resources/list_changed");
    heard_nothing(&mut reader);
}

#[test]
fn subscriptions_outlive_a_daemon() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.host(&[]), home.host(&[]));
    let mut plain = home.host(&[]);
    reader.request("resources/subscribe", json!({ "uri": HAMLET }));
    let pid = home.daemon_pid().expect("a daemon");
    home.kill(pid);
    let sessions = || home.status().filter(|status| status["pid"] != pid)?["sessions"].as_array().map(Vec::len);
    wait_until("all sessions are back", || (sessions() == Some(3)).then_some(()));
    notify_change(&mut writer, "hamlet");
    assert_eq!(heard(&mut reader, "notifications/resources/updated")["uri"], HAMLET);
    heard(&mut reader, "notifications/resources/list_changed");
    heard(&mut plain, "notifications/resources/list_changed");
}

/// Opens a subscription and returns its id, after the acknowledgement with the filter that was accepted.
#[track_caller]
fn listen(client: &mut Client, filter: Value, accepted: &Value) -> u64 {
    let id = client.send("subscriptions/listen", json!({ "notifications": filter }));
    let params = heard(client, "notifications/subscriptions/acknowledged");
    assert_eq!(&params["notifications"], accepted, "{params}");
    assert_eq!(params["_meta"][SUBSCRIPTION], id, "{params}");
    id
}

#[test]
fn a_modern_host_hears_what_it_asked_for_with_the_name_of_its_subscription() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.connect(&[]), home.host(&[]));
    reader.go_modern();
    let asked = json!({ "resourcesListChanged": true, "resourceSubscriptions": [HAMLET, "none:such"] });
    let accepted = json!({ "resourcesListChanged": true, "resourceSubscriptions": [HAMLET] });
    let id = listen(&mut reader, asked, &accepted);
    notify_change(&mut writer, "hamlet");
    let updated = heard(&mut reader, "notifications/resources/updated");
    assert_eq!((&updated["uri"], &updated["_meta"][SUBSCRIPTION]), (&json!(HAMLET), &json!(id)));
    let changed = heard(&mut reader, "notifications/resources/list_changed");
    assert_eq!(changed["_meta"][SUBSCRIPTION], id);
    notify_change(&mut writer, "sueño");
    heard(&mut reader, "notifications/resources/list_changed");
    heard_nothing(&mut reader);
}

#[test]
fn what_was_not_asked_for_is_not_told() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.connect(&[]), home.host(&[]));
    reader.go_modern();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["fixture://programme"] });
    listen(&mut reader, filter.clone(), &filter);
    let only_list = json!({ "resourcesListChanged": true });
    let second = listen(&mut reader, only_list.clone(), &only_list);
    notify_change(&mut writer, "hamlet");
    assert_eq!(heard(&mut reader, "notifications/resources/list_changed")["_meta"][SUBSCRIPTION], second);
    heard_nothing(&mut reader);
}

#[test]
fn nothing_follows_the_end_of_a_subscription() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.connect(&[]), home.host(&[]));
    reader.go_modern();
    let filter = json!({ "resourcesListChanged": true });
    let id = listen(&mut reader, filter.clone(), &filter);
    let other = listen(&mut reader, filter.clone(), &filter);
    reader.notify("notifications/cancelled", json!({ "requestId": id }));
    reader.tool_names();
    notify_change(&mut writer, "hamlet");
    assert_eq!(heard(&mut reader, "notifications/resources/list_changed")["_meta"][SUBSCRIPTION], other);
    heard_nothing(&mut reader);
}

#[test]
fn what_happens_right_after_the_acknowledgement_is_heard() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.connect(&[]), home.host(&[]));
    reader.go_modern();
    let filter = json!({ "resourcesListChanged": true });
    for _ in 0..20 {
        let id = listen(&mut reader, filter.clone(), &filter);
        notify_change(&mut writer, "hamlet");
        assert_eq!(heard(&mut reader, "notifications/resources/list_changed")["_meta"][SUBSCRIPTION], id);
        reader.notify("notifications/cancelled", json!({ "requestId": id }));
        reader.tool_names();
    }
}

#[test]
fn a_daemon_that_leaves_does_not_end_a_subscription() {
    let home = Home::with_fixtures();
    let (mut reader, mut writer) = (home.connect(&[]), home.host(&[]));
    reader.go_modern();
    let filter = json!({ "resourcesListChanged": true });
    let id = listen(&mut reader, filter.clone(), &filter);
    let pid = home.daemon_pid().expect("a daemon");
    let process = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it is ours");
    wait_until("another daemon", || home.daemon_pid().filter(|other| *other != pid));
    let message = wait_until("the subscription is renewed", || {
        notify_change(&mut writer, "hamlet");
        reader.message_within(Duration::from_millis(50))
    });
    assert_eq!(message["method"], "notifications/resources/list_changed");
    assert_eq!(message["params"]["_meta"][SUBSCRIPTION], id);
}

#[test]
fn subscriptions_take_nobody_s_place() {
    let home = Home::with_fixtures();
    let mut client = home.connect(&["--only", "fixture"]);
    client.go_modern();
    let filter = json!({ "resourcesListChanged": true });
    for _ in 0..64 {
        listen(&mut client, filter.clone(), &filter);
    }
    let refused = client.ask("subscriptions/listen", json!({ "notifications": filter }));
    assert_eq!(refused["error"]["data"]["code"], "busy", "{refused}");
    assert_eq!(client.call_ok("get_line", json!({ "play": "hamlet" }))["line"], 1);
}
