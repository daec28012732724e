//! Documents of vibe: every text has facts, and setting a status twice is setting it once.

use trellisd::families::vibe::{facts, model, plan, status_line};

pub(crate) fn run(bytes: &[u8]) {
    let text = model::decoded(bytes);
    model::Document::of(&text);
    plan::Plan::of(&text);
    facts::facts("project/tasks/001-a.md", &text);
    let set = |text: &str| {
        let new = status_line::spliced(text.as_bytes(), &status_line::changed(text, "done"));
        String::from_utf8(new).expect("text")
    };
    let once = set(&text);
    assert_eq!(set(&once), once);
}
