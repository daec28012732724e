//! What one host writes, every host finds at once.

use serde_json::json;

use super::{NotesFixture, find, paths};

const PAIRS: usize = 1000;

#[test]
fn a_thousand_writes_are_found_by_the_other_host() {
    let shelves = NotesFixture::with(&[("old.md", "something old\n")]);
    let (mut writer, mut reader) = (shelves.host(), shelves.host());
    assert_eq!(paths(&mut reader, "old"), ["old.md"]);
    let mut misses = Vec::new();
    for number in 0..PAIRS {
        // Some files are new, some are written again.
        let path = format!("notes/n{}.md", number % 300);
        writer.call_ok("note", json!({ "path": path, "text": format!("# N\nmarker{number}x of today\n") }));
        if paths(&mut reader, &format!("marker{number}x")) != [path] {
            misses.push(number);
        }
        if number >= 300 && find(&mut reader, &format!("marker{}x", number - 300))["total"] != 0 {
            misses.push(number);
        }
    }
    assert_eq!(misses, [0; 0], "what was written is found, and what it replaced is not");
    assert_eq!(find(&mut reader, "today")["total"], 300);
}
