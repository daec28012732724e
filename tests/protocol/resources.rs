//! Resources and their templates, read and listed in pages.

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

fn host() -> (Home, Client) {
    let home = Home::with_fixtures();
    let client = home.host(&["--only", "fixture"]);
    (home, client)
}

#[test]
fn the_list_comes_in_pages_and_every_entry_once() {
    let (_home, mut client) = host();
    let mut entries: Vec<Value> = Vec::new();
    let mut params = json!({});
    let mut pages = 0;
    loop {
        let mut result = client.request("resources/list", params);
        pages += 1;
        entries.append(result["resources"].as_array_mut().expect("an array"));
        match result["nextCursor"].take() {
            Value::Null => break,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
    assert_eq!((pages, entries.len()), (2, 1 + 4 + 250));
    let uris: std::collections::BTreeSet<&str> =
        entries.iter().map(|entry| entry["uri"].as_str().expect("a URI")).collect();
    assert_eq!(uris.len(), entries.len());
    assert!(uris.iter().all(|uri| uri.is_ascii()));
    insta::assert_json_snapshot!(entries[..6]);
}

#[test]
fn a_cursor_that_nobody_gave_is_refused() {
    let (_home, mut client) = host();
    for method in ["resources/list", "resources/templates/list", "prompts/list", "tools/list"] {
        for cursor in ["x", "", "-1", "1e3", "99999999999999999999999", "100000"] {
            let answer = client.ask(method, json!({ "cursor": cursor }));
            assert_eq!(answer["error"]["code"], -32602, "{method} {cursor}: {answer}");
        }
    }
}

#[test]
fn templates_are_listed() {
    let (_home, mut client) = host();
    insta::assert_json_snapshot!(client.request("resources/templates/list", json!({}))["resourceTemplates"]);
}

#[test]
fn what_is_listed_can_be_read() {
    let (_home, mut client) = host();
    let list = client.request("resources/list", json!({}));
    for entry in list["resources"].as_array().expect("an array").iter().take(8) {
        let result = client.request("resources/read", json!({ "uri": entry["uri"] }));
        let contents = &result["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&entry["uri"], &entry["mimeType"]));
        assert!(contents["text"].as_str().is_some_and(|text| !text.is_empty()));
    }
    let uri = "fixture://plays/%E5%BF%A0%E8%87%A3%E8%94%B5";
    let result = client.request("resources/read", json!({ "uri": uri }));
    assert_eq!(result["contents"][0]["text"], "嘉肴ありといへども");
    let annotations = &result["contents"][0]["_meta"]["annotations"];
    assert_eq!(annotations["lastModified"], "2026-01-02T03:04:05Z");
    assert!(annotations["priority"].is_number() && annotations["audience"].is_array(), "{result}");
    let plain = client.request("resources/read", json!({ "uri": "fixture://plays/sueño" }));
    assert!(plain["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with("Hipogrifo")));
}

#[test]
fn what_is_not_there_has_the_code_of_its_era() {
    let (home, mut legacy) = host();
    let mut modern = home.connect(&["--only", "fixture"]);
    modern.go_modern();
    for uri in ["fixture://plays/macbeth", "fixture://scenes/251", "fixture://none", "none:", "", "file:///etc/passwd"]
    {
        for (client, code) in [(&mut legacy, -32002), (&mut modern, -32602)] {
            let error = client.ask("resources/read", json!({ "uri": uri }))["error"].clone();
            assert_eq!((&error["code"], &error["data"]["code"]), (&json!(code), &json!("not_found")), "{uri}: {error}");
        }
    }
}

#[test]
fn a_surface_has_only_the_resources_of_its_families() {
    let home = Home::with_fixtures();
    let mut client = home.host(&["--only", "clash"]);
    assert_eq!(client.request("resources/list", json!({}))["resources"], json!([]));
    let error = client.ask("resources/read", json!({ "uri": "fixture://programme" }))["error"].clone();
    assert_eq!(error["code"], -32002);
}

#[test]
fn variables_of_a_template_are_completed_in_any_language() {
    let (_home, mut client) = host();
    let mut complete = |uri: &str, name: &str, value: &str| {
        let reference = json!({ "type": "ref/resource", "uri": uri });
        let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
        client.request("completion/complete", params)["completion"].clone()
    };
    let plays = "fixture://plays/{name}";
    assert_eq!(complete(plays, "name", "su")["values"], json!(["sueño"]));
    assert_eq!(complete(plays, "name", "sueñ")["values"], json!(["sueño"]));
    assert_eq!(complete(plays, "name", "忠")["values"], json!(["忠臣蔵"]));
    assert_eq!(complete(plays, "name", "z")["values"], json!([]));
    let scenes = complete("fixture://scenes/{number}", "number", "");
    assert_eq!(scenes["values"].as_array().map(Vec::len), Some(100));
    assert_eq!((&scenes["total"], &scenes["hasMore"]), (&json!(250), &json!(true)));
    assert_eq!(complete("fixture://programme", "x", "")["values"], json!([]));
    let reference = json!({ "type": "ref/resource", "uri": "fixture://none/{x}" });
    let params = json!({ "ref": reference, "argument": { "name": "x", "value": "" } });
    assert_eq!(client.ask("completion/complete", params)["error"]["code"], -32602);
}
