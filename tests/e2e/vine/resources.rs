//! The format as a resource: both kinds of revisions read it, and every example in it is what it claims to be.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

use super::{FILE, Plan};

const BRIEF: &str = "vine://spec/brief";
const FULL: &str = "vine://spec/full";

fn in_both_eras(flags: &[&str], mut check: impl FnMut(&mut Client)) {
    let home = Home::new();
    let mut legacy = home.host(flags);
    check(&mut legacy);
    let mut modern = home.connect(flags);
    modern.go_modern();
    check(&mut modern);
}

#[track_caller]
fn text(client: &mut Client, uri: &str) -> String {
    let result = client.request("resources/read", json!({ "uri": uri }));
    let contents = result["contents"].as_array().expect("contents");
    assert_eq!(contents.len(), 1, "{result}");
    assert_eq!((&contents[0]["uri"], &contents[0]["mimeType"]), (&json!(uri), &json!("text/markdown")));
    contents[0]["text"].as_str().expect("a text").to_owned()
}

#[test]
fn both_are_listed_and_read_in_both_eras() {
    for flags in [&["--only", "vine"][..], &[]] {
        in_both_eras(flags, |client| {
            let list = client.request("resources/list", json!({}));
            let listed = |name: &str| {
                let found = list["resources"].as_array().expect("an array").iter().find(|entry| entry["name"] == name);
                let found = found.unwrap_or_else(|| panic!("{name} in {list}"));
                (found["uri"].clone(), found["mimeType"].clone())
            };
            assert_eq!(listed("vine-spec-brief"), (json!(BRIEF), json!("text/markdown")));
            assert_eq!(listed("vine-spec-full"), (json!(FULL), json!("text/markdown")));
            for (uri, lines) in [(BRIEF, 150..260), (FULL, 600..820)] {
                let text = text(client, uri);
                assert!(lines.contains(&text.lines().count()), "{uri}: {} lines", text.lines().count());
            }
        });
    }
}

#[test]
fn an_unknown_resource_is_an_error_of_the_protocol() {
    in_both_eras(&["--only", "vine"], |client| {
        for uri in ["vine://spec/none", "vine://spec/", "vine://", "vine://spec/brief/x"] {
            let answer = client.ask("resources/read", json!({ "uri": uri }));
            assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
        }
    });
}

#[test]
fn vine_has_tools_and_resources() {
    let home = Home::new();
    let mut client = home.connect(&["--only", "vine"]);
    let capabilities = client.initialize("2025-11-25")["capabilities"].clone();
    assert!(capabilities["tools"].is_object() && capabilities["resources"].is_object(), "{capabilities}");
}

/// A fenced block: the word behind the fence, its text, and the line before it.
struct Fenced {
    word: String,
    text: String,
    before: String,
}

fn fenced(page: &str) -> Vec<Fenced> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    let mut before = String::new();
    while let Some(line) = lines.next() {
        if let Some(word) = line.strip_prefix("```") {
            let text: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            found.push(Fenced { word: word.to_owned(), text, before: std::mem::take(&mut before) });
        } else {
            before = line.to_owned();
        }
    }
    found
}

#[test]
fn every_example_is_what_it_claims_to_be() {
    let mut plan = Plan::new();
    let (brief, full) = (text(&mut plan.client, BRIEF), text(&mut plan.client, FULL));
    let mut counted = [0; 3];
    for page in [brief, full] {
        let mut last = String::new();
        for Fenced { word, text, before } in fenced(&page) {
            match &*word {
                "vine" => {
                    let verdict = plan.verdict(&text);
                    assert!(verdict.starts_with("Valid — "), "{verdict}\n{text}");
                    counted[0] += 1;
                    last = text;
                }
                "vine-invalid" => {
                    let expected = before.trim_matches('`');
                    let verdict = plan.verdict(&text);
                    assert!(!expected.is_empty() && verdict.starts_with(expected), "{expected}\n{verdict}");
                    counted[1] += 1;
                }
                "vine-written" => {
                    plan.put(FILE, &last);
                    let root = plan.next()["progress"]["root_id"].clone();
                    plan.write(json!([{ "op": "update", "id": root }]));
                    assert_eq!(plan.text(FILE), text);
                    counted[2] += 1;
                }
                _ => {}
            }
        }
    }
    let [valid, invalid, written] = counted;
    assert!(valid >= 8 && invalid >= 8 && written >= 1, "{counted:?}");
}

#[test]
fn the_expansion_in_the_text_is_what_happens() {
    let mut plan = Plan::new();
    let page = text(&mut plan.client, FULL);
    let section = page.split("\n## ").find(|section| section.starts_with("17. ")).expect("the section on expansion");
    let examples: Vec<Fenced> = fenced(section).into_iter().filter(|block| block.word == "vine").collect();
    let [parent, child, expected] = &examples[..] else { panic!("three examples") };
    plan.put(FILE, &parent.text);
    plan.put("kitchen.vine", &child.text);
    plan.call("vine_expand", json!({ "file": FILE, "ref_id": "kitchen", "child_file": "kitchen" }))
        .expect("it is expanded");
    assert_eq!(plan.text(FILE), expected.text);
}

#[test]
fn the_texts_name_what_there_is() {
    let mut plan = Plan::new();
    let tools = plan.client.request("tools/list", json!({}));
    let (brief, full) = (text(&mut plan.client, BRIEF), text(&mut plan.client, FULL));
    for tool in tools["tools"].as_array().expect("an array") {
        let name = tool["name"].as_str().expect("a name");
        let parameters: Vec<&String> =
            tool["inputSchema"]["properties"].as_object().expect("parameters").keys().collect();
        let line = brief.lines().find(|line| line.starts_with(&format!("### `{name}("))).expect(name);
        assert!(parameters.iter().all(|parameter| line.contains(parameter.as_str())), "{line}: {parameters:?}");
    }
    let operations = [
        "create",
        "add_task",
        "remove_task",
        "set_status",
        "claim",
        "update",
        "add_dep",
        "remove_dep",
        "add_ref",
        "update_ref_uri",
        "extract_to_ref",
    ];
    let constraints = ["at-least-one-task", "valid-dependency-refs", "no-cycles", "no-islands", "ref-uri-required"];
    let statuses = ["complete", "started", "reviewing", "planning", "notstarted", "blocked"];
    for word in operations.iter().chain(&constraints).chain(&statuses) {
        let marked = format!("`{word}`");
        assert!(brief.contains(&marked) && full.contains(&marked), "{word}");
    }
    for word in ["ready_to_start", "ready_to_complete", "needs_expansion", "claimed", "progress", "summary"] {
        assert!(brief.contains(word), "{word}");
    }
    for part in ["```abnf", "ref-header", "Canonical serialisation", "no-islands", "ID collision"] {
        assert!(full.contains(part), "{part}");
    }
}

#[test]
fn a_read_only_session_reads_them_too() {
    let home = Home::new();
    let mut client = home.host(&["--only", "vine", "--read-only"]);
    let list: Value = client.request("resources/list", json!({}));
    assert_eq!(list["resources"].as_array().map(Vec::len), Some(2), "{list}");
    assert!(text(&mut client, BRIEF).starts_with("# VINE in brief\n"));
}
