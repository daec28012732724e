//! `vine_next`: which node goes into which list.

use serde_json::{Value, json};

use super::{FILE, Plan, blocks, ids};

/// Blocks, and the ids in `ready_to_start`, `ready_to_complete`, `blocked` and `needs_expansion`.
#[track_caller]
fn check(cases: &[(&[&str], [&[&str]; 4])]) {
    let mut plan = Plan::new();
    for (text, expected) in cases {
        plan.put(FILE, blocks(text));
        let next = plan.next();
        let lists = ["ready_to_start", "ready_to_complete", "blocked", "needs_expansion"];
        for (list, expected) in lists.into_iter().zip(expected) {
            assert_eq!(ids(&next[list]), *expected, "{list} of {text:?}");
        }
        assert_eq!(next["progress"]["ready_count"], expected[0].len());
    }
}

#[test]
fn a_task_without_dependencies_by_its_status() {
    check(&[
        (&["[r] R (started)\n-> t", "[t] T (notstarted)"], [&["t"], &[], &[], &[]]),
        (&["[r] R (started)\n-> t", "[t] T (planning)"], [&["t"], &[], &[], &[]]),
        (&["[r] R (started)\n-> t", "[t] T (blocked)"], [&[], &[], &["t"], &[]]),
        (&["[r] R (started)\n-> t", "[t] T (started)"], [&[], &[], &[], &[]]),
        (&["[r] R (started)\n-> t", "[t] T (complete)"], [&[], &[], &[], &[]]),
        (&["[r] R (started)\n-> t", "ref [t] T (u)"], [&[], &[], &[], &["t"]]),
    ]);
}

#[test]
fn complete_and_reviewing_satisfy_and_nothing_else() {
    check(&[
        (&["[r] R (notstarted)\n-> t", "[t] T (complete)"], [&["r"], &[], &[], &[]]),
        (&["[r] R (planning)\n-> t", "[t] T (reviewing)"], [&["r"], &[], &[], &[]]),
        (&["[r] R (blocked)\n-> t", "[t] T (reviewing)"], [&[], &[], &["r"], &[]]),
        (&["ref [r] R (u)\n-> t", "[t] T (complete)"], [&[], &[], &[], &["r"]]),
        (&["[r] R (notstarted)\n-> t", "[t] T (started)"], [&[], &[], &[], &[]]),
        (&["[r] R (blocked)\n-> t", "[t] T (started)"], [&[], &[], &[], &[]]),
        (&["ref [r] R (u)\n-> t", "[t] T (started)"], [&[], &[], &[], &[]]),
        (&["[r] R (notstarted)\n-> t", "[t] T (blocked)"], [&[], &[], &["t"], &[]]),
        (&["[r] R (notstarted)\n-> t", "ref [t] T (u)"], [&[], &[], &[], &["t"]]),
        (&["[r] R (notstarted)\n-> t\n-> s", "[t] T (complete)", "[s] S (planning)"], [&["s"], &[], &[], &[]]),
    ]);
}

#[test]
fn work_under_review_is_final_when_somebody_builds_on_it() {
    check(&[
        (&["[r] R (notstarted)\n-> t", "[t] T (reviewing)"], [&["r"], &[], &[], &[]]),
        (&["[r] R (planning)\n-> t", "[t] T (reviewing)"], [&["r"], &[], &[], &[]]),
        (&["[r] R (blocked)\n-> t", "[t] T (reviewing)"], [&[], &[], &["r"], &[]]),
        (&["[r] R (started)\n-> t", "[t] T (reviewing)"], [&[], &["t"], &[], &[]]),
        (&["[r] R (complete)\n-> t", "[t] T (reviewing)"], [&[], &["t"], &[], &[]]),
        // A reference does not count as somebody.
        (&["ref [r] R (u)\n-> t", "[t] T (reviewing)"], [&[], &[], &[], &["r"]]),
        (
            &["[r] R (notstarted)\n-> a\n-> b", "[a] A (planning)\n-> t", "[b] B (started)\n-> t", "[t] T (reviewing)"],
            [&["a"], &["t"], &[], &[]],
        ),
        // Its own dependencies must be satisfied, too.
        (&["[r] R (started)\n-> t", "[t] T (reviewing)\n-> s", "[s] S (started)"], [&[], &[], &[], &[]]),
        (&["[r] R (started)\n-> t", "[t] T (reviewing)\n-> s", "[s] S (reviewing)"], [&[], &["t", "s"], &[], &[]]),
    ]);
}

#[test]
fn the_root_comes_last_when_nothing_else_is_left() {
    check(&[
        (&["[r] R (reviewing)"], [&[], &["r"], &[], &[]]),
        (&["[r] R (reviewing)\n-> t", "[t] T (complete)"], [&[], &["r"], &[], &[]]),
        (
            &["[r] R (reviewing)\n-> t\n-> s", "[t] T (reviewing)", "[s] S (reviewing)"],
            [&[], &["t", "s", "r"], &[], &[]],
        ),
        (&["[r] R (reviewing)\n-> t", "[t] T (started)"], [&[], &[], &[], &[]]),
        (&["[r] R (reviewing)\n-> t", "[t] T (blocked)"], [&[], &[], &["t"], &[]]),
        (&["[r] R (reviewing)\n-> t", "[t] T (notstarted)"], [&["t"], &[], &[], &[]]),
        (&["[r] R (reviewing)\n-> t", "ref [t] T (u)"], [&[], &[], &[], &["t"]]),
        // A reference behind satisfied work prevents it as well.
        (&["[r] R (reviewing)\n-> t", "[t] T (complete)\n-> s", "ref [s] S (u)"], [&[], &[], &[], &["s"]]),
        (&["[r] R (complete)\n-> t", "[t] T (complete)"], [&[], &[], &[], &[]]),
        (&["[r] R (started)"], [&[], &[], &[], &[]]),
        (&["ref [r] R (u)"], [&[], &[], &[], &["r"]]),
    ]);
}

#[test]
fn lists_are_in_the_order_of_the_file() {
    check(&[(
        &[
            "[r] R (notstarted)\n-> a\n-> b\n-> c\n-> d\n-> e\n-> f\n-> g",
            "[g] G (planning)",
            "ref [f] F (u)",
            "[e] E (blocked)",
            "[d] D (notstarted)",
            "[c] C (planning)",
            "[b] B (blocked)",
            "ref [a] A (u)",
        ],
        [&["g", "d", "c"], &[], &["e", "b"], &["f", "a"]],
    )]);
}

#[test]
fn the_answer_in_its_exact_words() {
    let mut plan = Plan::of(blocks(&[
        "[r] R (started)\n-> t\n-> w\n-> x\n-> b",
        "[t] T (notstarted)\nText.\n-> w\n> d\n@file m u",
        "[w] W (reviewing)",
        "ref [x] X (u)\nHidden.\n-> w\n> d",
        "[b] B (blocked)",
    ]));
    let expected = r#"{
  "ready_to_start": [
    {
      "id": "t",
      "kind": "task",
      "shortName": "T",
      "description": "Text.",
      "dependencies": [
        "w"
      ],
      "decisions": [
        "d"
      ],
      "status": "notstarted",
      "attachments": [
        {
          "class": "file",
          "mime": "m",
          "uri": "u"
        }
      ]
    }
  ],
  "ready_to_complete": [
    {
      "id": "w",
      "kind": "task",
      "shortName": "W",
      "description": "",
      "dependencies": [],
      "decisions": [],
      "status": "reviewing",
      "attachments": []
    }
  ],
  "blocked": [
    {
      "id": "b",
      "kind": "task",
      "shortName": "B",
      "description": "",
      "dependencies": [],
      "decisions": [],
      "status": "blocked",
      "attachments": []
    }
  ],
  "needs_expansion": [
    {
      "id": "x",
      "shortName": "X",
      "vine": "u",
      "dependencies": [
        "w"
      ]
    }
  ],
  "progress": {
    "total": 5,
    "complete": 0,
    "percentage": 0,
    "ready_count": 1,
    "root_id": "r",
    "root_status": "started",
    "by_status": {
      "complete": 0,
      "notstarted": 1,
      "planning": 0,
      "blocked": 1,
      "started": 1,
      "reviewing": 1
    }
  }
}"#;
    assert_eq!(plan.call("vine_next", json!({ "file": FILE })).expect("a frontier"), expected);
}

#[test]
fn a_write_answers_with_the_same_frontier() {
    let mut plan = Plan::of(blocks(&["[r] R (started)\n-> t\n-> x", "[t] T (notstarted)", "ref [x] X (u)"]));
    let mut answer = plan.write(json!([{ "op": "set_status", "id": "t", "status": "reviewing" }]));
    let keys: Vec<String> = answer.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, ["summary", "progress", "ready_to_start", "ready_to_complete", "blocked", "needs_expansion"]);
    let next = plan.next();
    let keys: Vec<&String> = next.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["ready_to_start", "ready_to_complete", "blocked", "needs_expansion", "progress"]);
    answer.as_object_mut().expect("an object").remove("summary");
    assert_eq!(answer, next);
    assert_eq!(ids(&next["ready_to_complete"]), ["t"]);
    let progress: &Value = &next["progress"];
    assert_eq!((&progress["total"], &progress["complete"]), (&json!(3), &json!(0)));
}
