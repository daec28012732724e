//! The verbs: what was seen and the arguments come in, an answer goes out. Pure; the order of the
//! checks is the contract's: existence, range, limits.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::arguments::{Lines, LsArgs, ReadArgs, ScanArgs, Whole};
use super::error::VaultError;
use super::lines::{self, Range, TextSlice};
use super::model::{ENTRY_LIMIT, Limits};
use crate::disk::{DirectoryEntry, EntryKind, FileContent, ReadError, RelativePath};
use crate::families::Answer;
use crate::families::error::ArgumentError;
use crate::text::file_names::fold_file_name;
use crate::text::hash::hash_of;

/// One level of the vault: directories first, then by name without regard to case.
pub fn ls(seen: Result<Vec<DirectoryEntry>, ReadError>, args: &LsArgs) -> Result<Answer, VaultError> {
    let read_error = |why| match (why, &args.path) {
        (ReadError::NotRegular, Some(path)) => VaultError::NoDirectory { path: path.clone() },
        (why, path) => VaultError::read_error(path.as_ref(), why),
    };
    let mut entries: Vec<DirectoryEntry> =
        seen.map_err(read_error)?.into_iter().filter(|entry| is_shown(&entry.name)).collect();
    entries.sort_by_cached_key(|entry| (entry.kind, fold_file_name(&entry.name), entry.name.clone()));
    let truncated = entries.len() > ENTRY_LIMIT;
    entries.truncate(ENTRY_LIMIT);
    let base_path = args.path.as_ref().map(RelativePath::as_str);
    let item = |DirectoryEntry { name, kind }: DirectoryEntry| {
        let path = base_path.map_or_else(|| name.clone(), |base| format!("{base}/{name}"));
        let kind = match kind {
            EntryKind::Directory => "dir",
            EntryKind::File => "file",
        };
        json!({ "name": name, "path": path, "kind": kind })
    };
    let items: Vec<Value> = entries.into_iter().map(item).collect();
    Ok(Answer::object(json!({ "base_path": base_path, "items": items, "truncated": truncated })))
}

/// Some lines of a file, or all.
pub fn read(seen: Result<FileContent, ReadError>, args: &ReadArgs, limits: Limits) -> Result<Answer, VaultError> {
    let file = Text::of(seen, &args.path)?;
    let about = |error| VaultError::InFile { path: args.path.clone(), error: Box::new(error) };
    let range = range(args, file.lines, limits).map_err(about)?;
    let cap = CharLimit::of(args.limits.max_chars.as_ref(), limits).map_err(about)?;
    let piece = lines::cut(&file.text, range, cap.chars);
    let next = file.line_after(&piece);
    let reason = match next {
        _ if piece.is_cut => cap.reason,
        Some(_) => "range_end",
        None => "none",
    };
    let params = with_project(json!({ "path": args.path.as_str() }), args.project_root.as_deref());
    Ok(Answer::object(json!({
        "text": piece.text,
        "truncated": reason != "none",
        "returned_chars": piece.chars,
        "applied_range": { "start_line": range.first, "end_line": piece.last },
        "next_offset": { "start_line": next },
        "truncated_reason": reason,
        "next_actions": [{ "type": "vault_replace", "confidence": 0.8, "params": params }],
        "hash": file.hash,
    })))
}

/// One chunk of a file, and where the next one begins.
pub fn scan(seen: Result<FileContent, ReadError>, args: &ScanArgs, limits: Limits) -> Result<Answer, VaultError> {
    let file = Text::of(seen, &args.path)?;
    let about = |error| VaultError::InFile { path: args.path.clone(), error: Box::new(error) };
    let first = match args.start() {
        Some((field, start)) => line(field, start, file.lines).map_err(about)?,
        None => 1,
    };
    let chunk = chunk(args.chunk_lines.as_ref(), limits).map_err(about)?;
    let cap = CharLimit::of(args.limits.max_chars.as_ref(), limits).map_err(about)?;
    let last = first.saturating_add(chunk - 1).min(file.lines);
    let piece = lines::cut(&file.text, Range { first, last, skipped_chars: 0 }, cap.chars);
    let next = file.line_after(&piece);
    let reason = match next {
        _ if piece.is_cut => cap.reason,
        Some(_) => "chunk_end",
        None => "none",
    };
    let next_action = match next {
        Some(next) => {
            let mut params =
                json!({ "path": args.path.as_str(), "cursor": { "start_line": next }, "chunk_lines": chunk });
            if let Some(max_chars) = &args.limits.max_chars {
                params["limits"] = json!({ "max_chars": max_chars.number });
            }
            let params = with_project(params, args.project_root.as_deref());
            json!({ "type": "vault_scan", "confidence": 0.8, "params": params })
        }
        None => json!({ "type": "stop", "confidence": 0.9, "params": null }),
    };
    Ok(Answer::object(json!({
        "text": piece.text,
        "applied_range": { "start_line": first, "end_line": piece.last },
        "next_cursor": { "start_line": next },
        "eof": next.is_none(),
        "truncated": reason != "none",
        "truncated_reason": reason,
        "next_actions": [next_action],
        "hash": file.hash,
    })))
}

/// A file that is text.
struct Text {
    text: String,
    lines: usize,
    /// SHA-256 of the whole file.
    hash: String,
}

impl Text {
    fn of(seen: Result<FileContent, ReadError>, path: &RelativePath) -> Result<Self, VaultError> {
        let bytes = seen.map_err(|why| VaultError::read_error(Some(path), why))?.bytes;
        let hash = hash_of(&bytes);
        let text =
            String::from_utf8(bytes).map_err(|error| VaultError::not_text(path, error.utf8_error().valid_up_to()))?;
        Ok(Self { lines: lines::count(&text), text, hash })
    }

    fn line_after(&self, piece: &TextSlice) -> Option<usize> {
        (piece.last < self.lines).then_some(piece.last + 1)
    }
}

/// How many characters may be shown, and what it is called when they do not suffice.
struct CharLimit {
    chars: usize,
    reason: &'static str,
}

impl CharLimit {
    fn of(max_chars: Option<&Whole>, limits: Limits) -> Result<Self, ArgumentError> {
        let hard = Self { chars: limits.hard_max_chars, reason: "hard_limit" };
        let Some(asked) = max_chars else { return Ok(hard) };
        let chars = at_least_one("limits.max_chars", asked)?;
        Ok(if chars < hard.chars { Self { chars, reason: "max_chars" } } else { hard })
    }
}

fn range(args: &ReadArgs, lines: usize, limits: Limits) -> Result<Range, ArgumentError> {
    let Lines { start_line, end_line, start_char } = match &args.range {
        _ if args.full == Some(true) => return Ok(Range { first: 1, last: lines, skipped_chars: 0 }),
        Some(range) => range,
        None if args.full.is_none() && !limits.needs_range => {
            return Ok(Range { first: 1, last: lines, skipped_chars: 0 });
        }
        None => {
            let missing = ArgumentError::is("must be given unless `full` is true").of("range");
            return Err(missing.hint("pass `range: {}` for all lines, or `full: true`"));
        }
    };
    let end = end_line.as_ref().map_or(Ok(lines), |end| at_least_one("range.end_line", end))?;
    let first = start_line.as_ref().map_or(Ok(1), |start| line("range.start_line", start, lines))?;
    if let Some(end) = end_line.as_ref().filter(|_| first > end) {
        let wanted = format!("at least the start line, {first}");
        return Err(ArgumentError::must_be(wanted).of("range.end_line").value(Value::Number(end.given.clone())));
    }
    let skipped_chars =
        start_char.as_ref().map_or(Ok(0), |chars| within("range.start_char", chars, 0..=usize::MAX, "at least 0"))?;
    Ok(Range { first, last: end.min(lines), skipped_chars })
}

fn chunk(chunk_lines: Option<&Whole>, limits: Limits) -> Result<usize, ArgumentError> {
    let Some(asked) = chunk_lines else { return Ok(limits.default_chunk) };
    within("chunk_lines", asked, 1..=limits.max_chunk, format!("from 1 to {}", limits.max_chunk))
}

fn line(field: &'static str, number: &Whole, lines: usize) -> Result<usize, ArgumentError> {
    within(field, number, 1..=lines, format!("from 1 to {lines}, the last line"))
}

fn at_least_one(field: &'static str, number: &Whole) -> Result<usize, ArgumentError> {
    within(field, number, 1..=usize::MAX, "at least 1")
}

fn within(
    field: &'static str,
    whole: &Whole,
    numbers: RangeInclusive<usize>,
    wanted: impl Into<Cow<'static, str>>,
) -> Result<usize, ArgumentError> {
    let number = usize::try_from(whole.number).ok().filter(|number| numbers.contains(number));
    number.ok_or_else(|| ArgumentError::must_be(wanted).of(field).value(Value::Number(whole.given.clone())))
}

/// The next call goes to the same vault.
fn with_project(mut params: Value, project_root: Option<&std::path::Path>) -> Value {
    if let Some(project_root) = project_root {
        params["project_root"] = json!(project_root.to_string_lossy());
    }
    params
}

/// Left out is what file managers leave behind, and what a write of ours has not yet renamed.
fn is_shown(name: &str) -> bool {
    let of_ours = name.starts_with(".trellis-") && name.ends_with(".vtmp");
    !of_ours && !name.starts_with("._") && !matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use trellis_protocol::failure::Coded;

    use super::*;
    use crate::disk::FileStamp;
    use crate::families::{Arguments, Body};

    const LIMITS: Limits = Limits { hard_max_chars: 20, default_chunk: 3, max_chunk: 5, needs_range: true };

    fn seen(bytes: impl Into<Vec<u8>>) -> Result<FileContent, ReadError> {
        let stamp = FileStamp { device: 0, inode: 0, size: 0, modified_ns: 0, changed_ns: 0 };
        Ok(FileContent { bytes: bytes.into(), stamp })
    }

    fn parse<A: Arguments>(arguments: &Value) -> A {
        let mut all = Map::from_iter([("path".to_owned(), json!("a.md"))]);
        all.extend(arguments.as_object().cloned().expect("an object"));
        A::parse(&all).expect("arguments of good types")
    }

    fn object(answer: Answer) -> Value {
        let Body::Object(object) = answer.body else { panic!("not an object") };
        object.value()
    }

    /// The file's text, the arguments; the text read, its last line, the next one, and the reason.
    fn check_read(file: &str, arguments: &Value, expected: (&str, usize, Option<usize>, &str)) {
        let answer = object(read(seen(file), &parse(arguments), LIMITS).expect("an answer"));
        let (text, last, next, reason) = expected;
        assert_eq!(answer["text"], text, "{file:?} {arguments}");
        assert_eq!(answer["returned_chars"], text.chars().count());
        assert_eq!(answer["applied_range"]["end_line"], last, "{file:?} {arguments}");
        assert_eq!(answer["next_offset"], json!({ "start_line": next }), "{file:?} {arguments}");
        assert_eq!(answer["truncated_reason"], reason, "{file:?} {arguments}");
        assert_eq!(answer["truncated"], reason != "none");
    }

    /// The code, the field, and what must be in the message.
    fn check_refused(error: Result<Answer, VaultError>, expected: (&str, &str, &str)) {
        let error = error.expect_err("a refusal");
        let (code, field, words) = expected;
        let info = error.info();
        assert_eq!((info.code, info.details["field"].as_str().unwrap_or_default()), (code, field), "{error}");
        assert_eq!(info.details["path"], "a.md");
        assert!(error.to_string().contains(words), "{error}");
    }

    #[test]
    fn a_read_has_the_contract_s_shape() {
        let arguments = json!({ "path": "./n//a.md", "range": {}, "project_root": "/p" });
        let answer = object(read(seen("one\r\ntwo\n"), &parse(&arguments), LIMITS).expect("an answer"));
        let expected = json!({
            "text": "one\ntwo",
            "truncated": false,
            "returned_chars": 7,
            "applied_range": { "start_line": 1, "end_line": 2 },
            "next_offset": { "start_line": null },
            "truncated_reason": "none",
            "next_actions": [{
                "type": "vault_replace",
                "confidence": 0.8,
                "params": { "path": "n/a.md", "project_root": "/p" },
            }],
            "hash": "611912c05d6113dd9932610cf2d5876c6f05324e05f326a40620dd4f3fd4ac0d",
        });
        assert_eq!(answer.to_string(), expected.to_string());
    }

    #[test]
    fn ranges_are_read_and_clamped() {
        let file = "a\nb\nc\n";
        check_read(file, &json!({ "full": true }), ("a\nb\nc", 3, None, "none"));
        check_read(file, &json!({ "full": true, "range": { "start_line": 9 } }), ("a\nb\nc", 3, None, "none"));
        check_read(file, &json!({ "range": {} }), ("a\nb\nc", 3, None, "none"));
        check_read(file, &json!({ "range": { "start_line": 2 } }), ("b\nc", 3, None, "none"));
        check_read(file, &json!({ "range": { "end_line": 2 } }), ("a\nb", 2, Some(3), "range_end"));
        check_read(file, &json!({ "range": { "start_line": 3, "end_line": 99 } }), ("c", 3, None, "none"));
        check_read("", &json!({ "range": {} }), ("", 1, None, "none"));
        check_read("", &json!({ "full": true }), ("", 1, None, "none"));
        check_read("", &json!({ "range": { "end_line": 5 } }), ("", 1, None, "none"));
        check_read("\u{feff}a", &json!({ "full": true }), ("\u{feff}a", 1, None, "none"));
        let skip = json!({ "range": { "start_line": 1, "end_line": 1, "start_char": 2 } });
        check_read("あいう\nb", &skip, ("う", 1, Some(2), "range_end"));
        check_read("あ\nb", &skip, ("", 1, Some(2), "range_end"));
    }

    #[test]
    fn cuts_say_where_to_go_on() {
        let long = "x".repeat(25);
        check_read(&long, &json!({ "full": true }), (&long[..20], 1, None, "hard_limit"));
        let rest = json!({ "range": { "start_char": 20 } });
        check_read(&long, &rest, ("xxxxx", 1, None, "none"));
        let two = format!("{long}\nb");
        check_read(&two, &json!({ "full": true }), (&long[..20], 1, Some(2), "hard_limit"));
        let file = "aaaa\nbbbb\ncccc";
        let limited = |chars: i64| json!({ "full": true, "limits": { "max_chars": chars } });
        check_read(file, &limited(9), ("aaaa\nbbbb", 2, Some(3), "max_chars"));
        check_read(file, &limited(8), ("aaaa", 1, Some(2), "max_chars"));
        check_read(file, &limited(3), ("aaa", 1, Some(2), "max_chars"));
        check_read(file, &limited(14), (file, 3, None, "none"));
        check_read(&long, &limited(20), (&long[..20], 1, None, "hard_limit"));
        check_read(&long, &limited(i64::MAX), (&long[..20], 1, None, "hard_limit"));
        // The limit comes before the end of the range.
        let both = json!({ "range": { "end_line": 2 }, "limits": { "max_chars": 4 } });
        check_read(file, &both, ("aaaa", 1, Some(2), "max_chars"));
    }

    #[test]
    fn a_read_is_refused_in_order() {
        let refused =
            |arguments: Value, expected| check_refused(read(seen("a\nb"), &parse(&arguments), LIMITS), expected);
        let parameter = "invalid_parameter";
        refused(json!({}), (parameter, "range", "unless `full` is true"));
        refused(json!({ "full": false }), (parameter, "range", "unless `full` is true"));
        refused(json!({ "range": { "start_line": 0 } }), (parameter, "range.start_line", "not `0`"));
        refused(json!({ "range": { "start_line": 3 } }), (parameter, "range.start_line", "from 1 to 2"));
        refused(json!({ "range": { "end_line": 0 } }), (parameter, "range.end_line", "at least 1, not `0`"));
        refused(
            json!({ "range": { "start_line": 2, "end_line": 1 } }),
            (parameter, "range.end_line", "line, 2, not `1`"),
        );
        refused(json!({ "range": { "start_char": -1 } }), (parameter, "range.start_char", "not `-1`"));
        refused(json!({ "full": true, "limits": { "max_chars": 0 } }), (parameter, "limits.max_chars", "not `0`"));
        refused(
            json!({ "range": { "start_line": 0 }, "limits": { "max_chars": 0 } }),
            (parameter, "range.start_line", ""),
        );
        let broken = json!({ "range": { "start_line": 0 }, "limits": { "max_chars": 0 } });
        check_refused(read(Err(ReadError::Missing), &parse(&broken), LIMITS), ("not_found", "", "`a.md`"));
        check_refused(read(seen(*b"ab\xff"), &parse(&broken), LIMITS), ("conflict", "", "not UTF-8"));
        check_refused(
            read(seen(""), &parse(&json!({ "range": { "start_line": 2 } })), LIMITS),
            (parameter, "range.start_line", ""),
        );
    }

    #[test]
    fn a_scan_has_the_contract_s_shape() {
        let arguments = json!({ "chunk_lines": 2, "limits": { "max_chars": 99 }, "project_root": "/p" });
        let answer = object(scan(seen("a\nb\nc"), &parse(&arguments), LIMITS).expect("an answer"));
        let hash = answer["hash"].clone();
        assert_eq!(hash.as_str().map(str::len), Some(64));
        let params = json!({
            "path": "a.md",
            "cursor": { "start_line": 3 },
            "chunk_lines": 2,
            "limits": { "max_chars": 99 },
            "project_root": "/p",
        });
        let expected = json!({
            "text": "a\nb",
            "applied_range": { "start_line": 1, "end_line": 2 },
            "next_cursor": { "start_line": 3 },
            "eof": false,
            "truncated": true,
            "truncated_reason": "chunk_end",
            "next_actions": [{ "type": "vault_scan", "confidence": 0.8, "params": params }],
            "hash": hash,
        });
        assert_eq!(answer.to_string(), expected.to_string());
        let answer = object(scan(seen("a\nb\nc"), &parse(&json!({})), LIMITS).expect("an answer"));
        assert_eq!(answer["eof"], true);
        assert_eq!(answer["next_cursor"], json!({ "start_line": null }));
        assert_eq!(answer["truncated_reason"], "none");
        assert_eq!(answer["next_actions"], json!([{ "type": "stop", "confidence": 0.9, "params": null }]));
    }

    #[test]
    fn following_the_cursor_visits_every_line_once() {
        let file = "a\n\nbbbbbbbbbbbbbbb\nccccccccccccc\nd\n\n\ne\nf\ng\nh";
        for (chunk, max_chars) in [(1, 20), (2, 20), (5, 20), (5, 15), (3, 17)] {
            let (mut visited, mut cursor) = (Vec::new(), json!({}));
            loop {
                let arguments = json!({ "cursor": cursor, "chunk_lines": chunk, "limits": { "max_chars": max_chars } });
                let answer = object(scan(seen(file), &parse(&arguments), LIMITS).expect("an answer"));
                visited.extend(answer["text"].as_str().expect("text").split('\n').map(str::to_owned));
                cursor = answer["next_cursor"].clone();
                if answer["eof"] == true {
                    break;
                }
            }
            assert_eq!(visited.join("\n"), file, "{chunk} {max_chars}");
        }
    }

    #[test]
    fn a_last_line_that_is_too_long_ends_a_scan() {
        let answer = object(scan(seen("x".repeat(25)), &parse(&json!({})), LIMITS).expect("an answer"));
        assert_eq!((&answer["eof"], &answer["truncated"]), (&json!(true), &json!(true)));
        assert_eq!(answer["truncated_reason"], "hard_limit");
    }

    #[test]
    fn a_scan_is_refused_in_order() {
        let refused =
            |arguments: Value, expected| check_refused(scan(seen("a\nb"), &parse(&arguments), LIMITS), expected);
        let parameter = "invalid_parameter";
        refused(json!({ "cursor": { "start_line": 3 } }), (parameter, "cursor.start_line", "from 1 to 2"));
        refused(json!({ "start_line": 0, "cursor": { "start_line": 1 } }), (parameter, "start_line", "not `0`"));
        refused(json!({ "chunk_lines": 0 }), (parameter, "chunk_lines", "from 1 to 5, not `0`"));
        refused(json!({ "chunk_lines": 6 }), (parameter, "chunk_lines", "not `6`"));
        refused(json!({ "chunk_lines": 6.0 }), (parameter, "chunk_lines", "not `6.0`"));
        refused(json!({ "limits": { "max_chars": -1 } }), (parameter, "limits.max_chars", "not `-1`"));
        check_refused(scan(seen(*b"\xff"), &parse(&json!({})), LIMITS), ("conflict", "", "not UTF-8"));
        assert!(scan(seen(""), &parse(&json!({ "start_line": 1 })), LIMITS).is_ok());
    }

    fn entry(name: &str, kind: EntryKind) -> DirectoryEntry {
        DirectoryEntry { name: name.to_owned(), kind }
    }

    #[test]
    fn a_listing_is_sorted_and_tidy() {
        let names =
            ["b.md", "A.md", "a.md", ".DS_Store", "Thumbs.db", "desktop.ini", "._a.md", "Straße", "strasz", "あ"];
        let mut entries: Vec<DirectoryEntry> = names.iter().map(|name| entry(name, EntryKind::File)).collect();
        entries.push(entry("z", EntryKind::Directory));
        entries.push(entry(".system", EntryKind::Directory));
        entries.push(entry(".trellis-1-0123456789abcdef.vtmp", EntryKind::File));
        let answer = object(ls(Ok(entries), &LsArgs { path: None, project_root: None }).expect("an answer"));
        let items = answer["items"].as_array().expect("items");
        let shown: Vec<&str> = items.iter().filter_map(|item| item["path"].as_str()).collect();
        assert_eq!(shown, [".system", "z", "A.md", "a.md", "b.md", "Straße", "strasz", "あ"]);
        assert_eq!((&answer["base_path"], &answer["truncated"]), (&json!(null), &json!(false)));
        let args = LsArgs { path: RelativePath::parse("n/m").ok(), project_root: None };
        let answer = object(ls(Ok(vec![entry("x", EntryKind::Directory)]), &args).expect("an answer"));
        let expected = json!({
            "base_path": "n/m",
            "items": [{ "name": "x", "path": "n/m/x", "kind": "dir" }],
            "truncated": false,
        });
        assert_eq!(answer.to_string(), expected.to_string());
    }

    #[test]
    fn a_listing_has_its_limit() {
        for (number, truncated) in [(ENTRY_LIMIT, false), (ENTRY_LIMIT + 1, true)] {
            let entries = (0..number).map(|number| entry(&number.to_string(), EntryKind::File)).collect();
            let answer = object(ls(Ok(entries), &LsArgs { path: None, project_root: None }).expect("an answer"));
            assert_eq!(answer["items"].as_array().map(Vec::len), Some(ENTRY_LIMIT));
            assert_eq!(answer["truncated"], truncated);
        }
    }
}
