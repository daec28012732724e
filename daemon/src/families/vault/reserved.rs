//! Places in the vault where a tool must not write, whatever is there.
//!
//! Decided on the path alone, before anything is looked at. Case makes no difference, so that a rule
//! holds on every file system.

use super::error::Reserved;
use crate::disk::RelativePath;
use crate::text::file_names::fold_file_name;

/// What a tool wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Make a new file.
    Create,
    /// Change one that is there.
    Replace,
}

/// Whether the deed may be done there.
pub fn check(path: &RelativePath, deed: WriteKind) -> Result<(), Reserved> {
    let first = fold_file_name(path.parts().next().unwrap_or_default());
    match (first.as_str(), deed) {
        (".system", _) => Err(Reserved::System),
        ("daily", WriteKind::Replace) => Err(Reserved::Daily),
        ("daily", WriteKind::Create) if is_daily(path.as_str()) => Ok(()),
        ("daily", WriteKind::Create) => Err(Reserved::DailyName),
        _ if path.parts().any(|part| part.starts_with('.')) => Err(Reserved::Hidden),
        _ => Ok(()),
    }
}

/// `daily/YYYY-MM-DD.md`, spelt just so, with a date that exists.
fn is_daily(path: &str) -> bool {
    let date = path.strip_prefix("daily/").and_then(|name| name.strip_suffix(".md"));
    date.is_some_and(|date| {
        let shaped = date.len() == 10
            && date.bytes().enumerate().all(|(place, byte)| match place {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        shaped && date.parse::<jiff::civil::Date>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_both(path: &str, create: Result<(), Reserved>, replace: Result<(), Reserved>) {
        let path = RelativePath::parse(path).expect("a path");
        assert_eq!(check(&path, WriteKind::Create), create, "create {path}");
        assert_eq!(check(&path, WriteKind::Replace), replace, "replace {path}");
    }

    #[test]
    fn reserved_places_are_caught_in_every_spelling() {
        check_both("notes/a.md", Ok(()), Ok(()));
        check_both("dailyish/a.md", Ok(()), Ok(()));
        check_both("notes/daily/a.md", Ok(()), Ok(()));
        for path in [".system", ".system/x", ".System/x", "./.SYSTEM//x"] {
            check_both(path, Err(Reserved::System), Err(Reserved::System));
        }
        check_both("daily/2026-02-28.md", Ok(()), Err(Reserved::Daily));
        check_both("daily/2024-02-29.md", Ok(()), Err(Reserved::Daily));
        for path in [
            "daily",
            "daily/x.md",
            "daily/2026-02-30.md",
            "daily/2026-13-01.md",
            "daily/2026-1-01.md",
            "daily/2026-01-01.MD",
            "Daily/2026-01-01.md",
            "daily/a/2026-01-01.md",
            "daily/2026-01-01.txt",
            "daily/+026-01-01.md",
        ] {
            check_both(path, Err(Reserved::DailyName), Err(Reserved::Daily));
        }
        check_both(".git/config", Err(Reserved::Hidden), Err(Reserved::Hidden));
        check_both("notes/.hidden", Err(Reserved::Hidden), Err(Reserved::Hidden));
    }
}
