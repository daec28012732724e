//! The verbs that change the vault: what was seen and the arguments come in, an answer and an edit go
//! out. Pure; the order of the checks is the contract's.

use serde_json::json;

use super::arguments::{CreateArgs, ReplaceArgs};
use super::error::{VaultError, named};
use super::model::FILE_LIMIT;
use crate::disk::{DirectoryEntry, FileContent, ReadError, SymlinkPolicy, TreeLocation};
use crate::families::Answer;
use crate::families::edit::Edit;
use crate::families::error::{ArgumentError, CommonError};
use crate::text::file_names::{self, fold_file_name};
use crate::text::hash::hash_of;
use crate::text::json::whole_number;

type VaultWriteResult = Result<(Answer, Edit), VaultError>;

/// What `vault_create` looks at: whether anything is there, and who lives on the way.
pub type CreateCheck = (Result<FileContent, ReadError>, Vec<Result<Vec<DirectoryEntry>, ReadError>>);

/// A new file, exactly as given.
pub fn create((there, levels): CreateCheck, args: &CreateArgs, place: TreeLocation) -> VaultWriteResult {
    let path = || args.path.clone();
    match there {
        Ok(_) | Err(ReadError::IsDirectory | ReadError::NotRegular | ReadError::TooLarge { .. }) => {
            return Err(CommonError::Exists { file: named(&args.path) }.into());
        }
        Err(ReadError::Missing | ReadError::TreeMissing) => {}
        Err(why) => return Err(VaultError::read_error(Some(&args.path), why)),
    }
    for (part, level) in args.path.parts().zip(levels) {
        // What is not there yet holds nothing.
        let entries = match level {
            Err(ReadError::IsFile | ReadError::NotRegular) => {
                return Err(VaultError::FileBlocksDirectory { path: path() });
            }
            seen => seen.unwrap_or_default(),
        };
        // Directories that are there keep whatever name they have.
        if entries.iter().any(|entry| entry.name == part) {
            continue;
        }
        file_names::check_portable(part).map_err(|why| VaultError::Name { path: path(), why })?;
        let fold = fold_file_name(part);
        if let Some(other) = entries.into_iter().find(|entry| fold_file_name(&entry.name) == fold) {
            return Err(VaultError::NameCollision { path: path(), other: other.name });
        }
    }
    let answer = json!({ "written_path": args.path.as_str(), "written_bytes": args.content.len() });
    let edit = Edit::nothing().create(place, path(), SymlinkPolicy::Refuse, args.content.clone().into_bytes());
    Ok((Answer::object(answer), edit))
}

/// Some text in place of some other, literally.
pub fn replace(seen: Result<FileContent, ReadError>, args: &ReplaceArgs, place: TreeLocation) -> VaultWriteResult {
    let path = || args.path.clone();
    let seen = seen.map_err(|why| VaultError::read_error(Some(&args.path), why))?;
    let actual = hash_of(&seen.bytes);
    if let Some(expected) = args.if_match.as_ref().filter(|expected| !expected.eq_ignore_ascii_case(&actual)) {
        let (file, expected) = (named(&args.path), expected.clone());
        return Err(CommonError::Changed { file, expected, actual: Some(actual) }.into());
    }
    let text = str::from_utf8(&seen.bytes).map_err(|error| VaultError::not_text(&args.path, error.valid_up_to()))?;
    let most = match &args.max_replacements {
        None => 1,
        Some(given) => whole_number(given).and_then(|most| u64::try_from(most).ok()).ok_or_else(|| {
            let error = ArgumentError::must_be("an integer of at least 0").of("max_replacements").value(given.clone());
            VaultError::InFile { path: path(), error: Box::new(error) }
        })?,
    };
    let (find, replacement) = with_line_ends_of(text, &args.find, &args.replace);
    let (new, replacements) = replaced(text, &find, &replacement, most);
    if new.len() as u64 > FILE_LIMIT {
        let file = named(&args.path);
        return Err(CommonError::TooLarge { file, size: new.len(), limit: FILE_LIMIT }.into());
    }
    let answer = Answer::object(json!({ "written_path": args.path.as_str(), "replacements": replacements }));
    let edit = match new == text {
        // Nothing to change: the file is not touched, not even its time.
        true => Edit::nothing(),
        false => Edit::nothing().replace(place, path(), SymlinkPolicy::Refuse, &seen, new.into_bytes()),
    };
    Ok((answer, edit))
}

/// From the top, without overlaps; what was put in is not searched again.
fn replaced(text: &str, find: &str, replacement: &str, most: u64) -> (String, u64) {
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    let mut count = 0;
    while count < most {
        let Some((before, after)) = rest.split_once(find) else { break };
        new.push_str(before);
        new.push_str(replacement);
        rest = after;
        count += 1;
    }
    new.push_str(rest);
    (new, count)
}

/// In a file whose lines all end with CRLF, a text with bare line feeds means its line ends. Where both
/// kinds stand, the text is first taken as it is.
fn with_line_ends_of(text: &str, find: &str, replacement: &str) -> (String, String) {
    let as_given = || (find.to_owned(), replacement.to_owned());
    if !has_bare_feed(find) || !text.contains("\r\n") {
        return as_given();
    }
    if has_bare_feed(text) && text.contains(find) {
        return as_given();
    }
    (carried(find), carried(replacement))
}

fn has_bare_feed(text: &str) -> bool {
    text.bytes().enumerate().any(|(place, byte)| byte == b'\n' && (place == 0 || text.as_bytes()[place - 1] != b'\r'))
}

fn carried(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, find: &str, replacement: &str, most: u64, expected: (&str, u64)) {
        let (find, replacement) = with_line_ends_of(text, find, replacement);
        let (new, count) = replaced(text, &find, &replacement, most);
        assert_eq!((new.as_str(), count), expected, "{text:?} {find:?}");
    }

    #[test]
    fn occurrences_are_replaced_from_the_top_without_overlaps() {
        check("aaaaa", "aa", "aaa", u64::MAX, ("aaaaaaa", 2));
        check("aXbXc", "X", "", 1, ("abXc", 1));
        check("aXbXc", "X", "-", 0, ("aXbXc", 0));
        check("a", "b", "c", 9, ("a", 0));
        check("a\nb\nc", "a\nb", "z", 1, ("z\nc", 1));
        check("あいう", "い", "🦀", 1, ("あ🦀う", 1));
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        check("a\r\nb\r\n", "a\nb", "x\ny", 1, ("x\r\ny\r\n", 1));
        check("a\r\nb", "\nb", "\nc", 1, ("a\r\nc", 1));
        check("a\r\nb", "a\r\nb", "c\nd", 1, ("c\nd", 1));
        check("a\nb\r\nc", "a\nb", "z\nz", 1, ("z\nz\r\nc", 1));
        check("a\nb\r\nc", "b\nc", "z\nz", 1, ("a\nz\r\nz", 1));
        check("\u{feff}a\r\n", "a", "b", 1, ("\u{feff}b\r\n", 1));
    }
}
