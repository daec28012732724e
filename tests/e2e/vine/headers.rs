//! What a header says: id, name, status or uri; and which lines are none.

use serde_json::json;

use super::{FILE, Plan, at_line};

#[test]
fn good_task_headers() {
    let mut plan = Plan::new();
    let blanks = "[a]   (complete)";
    for (header, id, name, status) in [
        ("[a] A (complete)", "a", "A", "complete"),
        ("[a] A (notstarted)", "a", "A", "notstarted"),
        ("[a] A (planning)", "a", "A", "planning"),
        ("[a] A (blocked)", "a", "A", "blocked"),
        ("[a] A (started)", "a", "A", "started"),
        ("[a] A (reviewing)", "a", "A", "reviewing"),
        ("  [a]\t A  b \t(complete) ", "a", "A  b", "complete"),
        ("[a] Fix (all) the (started) things (blocked)", "a", "Fix (all) the (started) things", "blocked"),
        (blanks, "a", " ", "complete"),
        ("[a] @tag(x) (planning)", "a", "@tag(x)", "planning"),
        ("[a] A @tag(x) (planning)", "a", "A @tag(x)", "planning"),
        ("[a] ] (planning)", "a", "]", "planning"),
        ("[a-B/9/--] x (started)", "a-B/9/--", "x", "started"),
        ("[-] x (started)", "-", "x", "started"),
        ("[a] A (complete) (complete)", "a", "A (complete)", "complete"),
        ("[a] A (complete) @k(v)", "a", "A", "complete"),
        ("[a] A (complete)   @k()\t@K(a, (b ,)", "a", "A", "complete"),
        ("[a] A (complete) @k(v) (started)", "a", "A (complete) @k(v)", "started"),
        ("[a] 名前 🌿 (complete)", "a", "名前 🌿", "complete"),
        ("[a]\u{a0}é\u{2003}(complete)", "a", "é", "complete"),
        ("[a] a\u{85}b (complete)", "a", "a\u{85}b", "complete"),
    ] {
        plan.put(FILE, format!("vine 1.2.0\n---\n{header}\n"));
        let list = plan.json("list", json!({}));
        let task = &list[0];
        let seen = (&task["id"], &task["kind"], &task["shortName"], &task["status"]);
        assert_eq!(seen, (&json!(id), &json!("task"), &json!(name), &json!(status)), "{header:?}");
    }
}

#[test]
fn a_name_of_one_blank_is_written_back() {
    let text = "vine 1.2.0\n---\n[a]   (complete)\n";
    let mut plan = Plan::of(text);
    plan.write(json!([{ "op": "update", "id": "a" }]));
    assert_eq!(plan.text(FILE), text);
}

#[test]
fn lines_that_are_no_task_header() {
    let mut plan = Plan::new();
    for header in [
        "[a]  (complete)",
        "[a] (complete)",
        "[a](complete)",
        "[a] A",
        "[a] A ()",
        "[a] A (done)",
        "[a] A (Complete)",
        "[a] A ( complete)",
        "[a] A(complete)",
        "[a]A (complete)",
        "[] A (complete)",
        "[a/] A (complete)",
        "[/a] A (complete)",
        "[a//b] A (complete)",
        "[a b] A (complete)",
        "[a_b] A (complete)",
        "[ä] A (complete)",
        "[ａ] A (complete)",
        "a A (complete)",
        "[a] N (started) @k",
        "[a] N (started)@k(v)",
        "[a] N (started) tail",
        "[a] N (started) @1k(v)",
        "[a] N (started) @k-l(v)",
        "[a] N (started) @k(v)x",
        "[a] N (started) @k(v)@l(v)",
        "[a] N (started) @(v)",
        "[a] N (started) @ä(v)",
        "[a] a\rb (started)",
        "[a] a\u{2028}b (started)",
        "[a] a\u{2029}b (started)",
        "ref",
        "ref\t[x] N (u)",
        "Ref [x] N (u)",
        "REF [x] N (u)",
        "ref[x] N (u)",
        "reference [x] N (u)",
        "-> b",
        "> d",
        "text",
    ] {
        let expected = at_line(3, &format!("Invalid task header: \"{header}\""));
        assert_eq!(plan.verdict(format!("vine 1.2.0\n---\n  {header}  \n")), expected, "{header:?}");
    }
}

#[test]
fn good_reference_headers() {
    let mut plan = Plan::new();
    for (header, id, name, uri) in [
        ("ref [x] N (u)", "x", "N", "u"),
        ("ref  \t[x]  N  m  (u)", "x", "N  m", "u"),
        ("ref [x] See (this) (./a(b).vine)", "x", "See (this)", "./a(b).vine"),
        ("ref [x] N (complete)", "x", "N", "complete"),
        ("ref [x] N (()", "x", "N", "("),
        ("ref [x] N (u) @k(v)", "x", "N", "u"),
        ("ref [a/b] N (https://example.org/p.vine?a=b#c)", "a/b", "N", "https://example.org/p.vine?a=b#c"),
        ("ref [x] 名 (計画.vine)", "x", "名", "計画.vine"),
    ] {
        plan.put(FILE, format!("vine 1.2.0\n---\n[root] R (started)\n-> {id}\n---\n{header}\n"));
        let node = plan.json("task", json!({ "id": id }));
        let expected = json!({
            "id": id, "kind": "ref", "shortName": name, "description": "", "dependencies": [], "decisions": [], "vine": uri,
        });
        assert_eq!(node, expected, "{header:?}");
    }
}

#[test]
fn lines_that_are_no_reference_header() {
    let mut plan = Plan::new();
    for header in [
        "ref [x]",
        "ref x N (u)",
        "ref [x] N",
        "ref [x] (u)",
        "ref [x]  (u)",
        "ref [x] N ()",
        "ref [x] N (a b)",
        "ref [x] N (u) tail",
        "ref [x] N (u) @k",
        "ref [x] N (u\u{3000})",
        "ref [x y] N (u)",
        "ref ref [x] N (u)",
    ] {
        let expected = at_line(3, &format!("Invalid reference header: \"{header}\""));
        assert_eq!(plan.verdict(format!("vine 1.2.0\n---\n {header}\n")), expected, "{header:?}");
    }
}

/// Annotations show in the file only, so a write has to show what was read.
#[test]
fn annotations_are_cut_trimmed_and_sorted() {
    let mut plan = Plan::new();
    for (read, written) in [
        ("", ""),
        (" @k()", " @k()"),
        (" @k(,, ,)", " @k()"),
        (" @k( a ,b,  c d )", " @k(a,b,c d)"),
        (" @k(a) @k(b)", " @k(b)"),
        (" @k(a) @k()", " @k()"),
        (" @b(1)\t@a(2)  @B(3) @a1(4)", " @B(3) @a(2) @a1(4) @b(1)"),
        (" @k((a)", " @k((a)"),
        (" @k(\u{a0}é\u{3000})", " @k(é)"),
    ] {
        for header in ["[a] A (complete)", "ref [a] A (u)"] {
            plan.put(FILE, format!("vine 1.2.0\n---\n[r] R (started)\n-> a\n---\n{header}{read}\n"));
            plan.write(json!([{ "op": "update", "id": "r" }]));
            assert_eq!(
                plan.text(FILE),
                format!("vine 1.2.0\n---\n[r] R (started)\n-> a\n---\n{header}{written}\n"),
                "{read}"
            );
        }
    }
}

#[test]
fn no_answer_shows_annotations() {
    let mut plan =
        Plan::of("vine 1.2.0\n---\n[a] A (planning) @secret(hidden)\n-> b\n---\nref [b] B (u) @secret(hidden)\n");
    for action in ["summary", "list", "search", "task", "context", "descendants", "refs", "validate"] {
        let text = plan.read(action, json!({ "id": "a", "query": "a" }));
        assert!(!text.contains("secret") && !text.contains("hidden") && !text.contains("annotations"), "{text}");
    }
    let texts = [plan.next().to_string(), plan.write(json!([{ "op": "claim", "id": "a" }])).to_string()];
    assert!(texts.iter().all(|text| !text.contains("secret") && !text.contains("annotations")), "{texts:?}");
}
