//! Task lists, decision records and contexts of todo: an edit does what it says, and to nothing else.

use trellisd::families::todo::model::{AdrStatus, Status};
use trellisd::families::todo::{adr, context, parse::TaskFile, splice};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    tasks(text);
    let record = adr::Adr::parse(text);
    for status in AdrStatus::ALL {
        let changed = adr::with_status(text, record.status, status, None, "2026-01-02T03:04:05.000Z");
        assert_eq!(adr::Adr::parse(&changed).status, status, "{changed:?}");
    }
    assert!(context::appended(text, "words").starts_with(text));
    assert!(context::appended_to(text, "Notes", "words").contains("words"));
    assert!(context::replaced_in(text, "Notes", "words").contains("words"));
}

fn tasks(text: &str) {
    let file = TaskFile::parse(text);
    for (place, task) in file.tasks.iter().enumerate() {
        for status in Status::ALL {
            let changed = TaskFile::parse(&splice::set_status(&file, task, status));
            assert_eq!(changed.tasks.len(), file.tasks.len());
            assert_eq!((changed.tasks[place].id, changed.tasks[place].status), (task.id, status));
        }
        let left = splice::remove(&file, task);
        assert!(left.len() < text.len());
    }
}
