//! Numbers in the names of tasks: the next one, and the task that a number means.

use super::error::VibeError;
use super::layout::as_markdown;

/// The number of `004-title.md` or `004.md`.
pub fn number(filename: &str) -> Option<u64> {
    let (stem, extension) = filename.split_at_checked(filename.len().checked_sub(3)?)?;
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let ends = stem.len() == digits || stem[digits..].starts_with('-');
    if extension.eq_ignore_ascii_case(".md") && ends { stem[..digits].parse().ok() } else { None }
}

/// The number as it stands in the name.
pub fn label(filename: &str) -> Option<&str> {
    number(filename)?;
    filename.split(|character: char| !character.is_ascii_digit()).next()
}

/// The number that follows all others.
pub fn next<'a>(filenames: impl Iterator<Item = &'a str>) -> u64 {
    filenames.filter_map(number).max().unwrap_or(0).saturating_add(1)
}

/// With three digits at least.
pub fn padded(number: u64) -> String {
    format!("{number:03}")
}

/// The file that somebody means: by its name, with or without its extension, or by its number.
pub fn find_task<'a>(task: &str, project: &str, filenames: &[&'a str]) -> Result<Option<&'a str>, VibeError> {
    let named = |name: &str| filenames.iter().find(|filename| **filename == name).copied();
    if let Some(filename) = named(task).or_else(|| named(&as_markdown(task))) {
        return Ok(Some(filename));
    }
    let wanted = task.bytes().all(|byte| byte.is_ascii_digit()).then(|| task.parse::<u64>().ok()).flatten();
    let Some(wanted) = wanted else { return Ok(None) };
    let mut fitting: Vec<&'a str> =
        filenames.iter().filter(|filename| number(filename) == Some(wanted)).copied().collect();
    // Nobody means the copy of a conflict by its number while the task itself is there.
    if fitting.iter().any(|filename| !is_conflict_copy(filename)) {
        fitting.retain(|filename| !is_conflict_copy(filename));
    }
    match fitting.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        many => {
            let mut candidates: Vec<String> = many.iter().map(|name| (*name).to_owned()).collect();
            candidates.sort();
            Err(VibeError::AmbiguousTask { project: project.to_owned(), task: task.to_owned(), candidates })
        }
    }
}

fn is_conflict_copy(filename: &str) -> bool {
    filename.contains(".conflict-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filenames: &[&str], expected: &str) {
        assert_eq!(padded(next(filenames.iter().copied())), expected, "{filenames:?}");
    }

    #[test]
    fn the_next_number_follows_the_highest() {
        check(&[], "001");
        check(&["001-a.md", "005-b.md", "notes.md"], "006");
        check(&["7.md", "03-x.md"], "008");
        check(&["999-a.md"], "1000");
        check(&["1000-a.md"], "1001");
        check(&["009x.md", "010-a.txt", "-011.md", "２-x.md"], "001");
        check(&["012-a.MD"], "013");
        check(&["99999999999999999999-a.md"], "001");
        assert_eq!((label("004-a.md"), label("4.md"), label("a.md")), (Some("004"), Some("4"), None));
    }

    #[test]
    fn a_task_is_meant_by_name_or_number() {
        let filenames = [
            "004-a.conflict-20261118T122457Z.md",
            "004-a.md",
            "05-b.md",
            "5-c.md",
            "notes.md",
            "6",
            "8-d.conflict-x.md",
        ];
        let check = |task: &str, expected: Result<Option<&str>, usize>| {
            let seen = find_task(task, "p", &filenames).map_err(|error| match error {
                VibeError::AmbiguousTask { candidates, .. } => candidates.len(),
                other => panic!("{other}"),
            });
            assert_eq!(seen, expected, "{task}");
        };
        for task in ["4", "04", "004", "004-a", "004-a.md"] {
            check(task, Ok(Some("004-a.md")));
        }
        check("notes", Ok(Some("notes.md")));
        check("5", Err(2));
        check("05-b", Ok(Some("05-b.md")));
        check("6", Ok(Some("6")));
        check("8", Ok(Some("8-d.conflict-x.md")));
        check("9", Ok(None));
        check("", Ok(None));
        check("99999999999999999999999", Ok(None));
    }
}
