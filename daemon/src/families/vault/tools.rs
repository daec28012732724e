//! The table of tools: name, sentences, what each needs to look at, and its op.

use std::path::Path;

use super::arguments::{CreateArgs, LsArgs, ReadArgs, ReplaceArgs, ScanArgs};
use super::edits;
use super::error::VaultError;
use super::model::{FILE_LIMIT, Limits, place};
use super::ops;
use super::reserved::{self, WriteKind};
use crate::disk::{ReadDirectory, ReadFile, RelativePath, SymlinkPolicy};
use crate::families::need::Constant;
use crate::families::{SessionContext, Tool, ToolEffect};

/// Words that people use and the names have not.
const SEARCH_HINTS: [(&str, &str); 5] = [
    ("vault_ls", "files folders notes directory list"),
    ("vault_create", "note new file write save"),
    ("vault_read", "note file open content"),
    ("vault_scan", "note long file chunks page"),
    ("vault_replace", "note edit change file"),
];

/// All tools, in the order in which they are listed.
pub fn table() -> Vec<Tool> {
    Tool::all_with_long_results(Tool::all_found_by(rows(), &SEARCH_HINTS), &["vault_read", "vault_scan"])
}

fn rows() -> Vec<Tool> {
    vec![
        Tool::read(
            ("vault_ls", "List vault"),
            "Use this to find out which text files and directories the vault holds. Lists one level: directories first, \
             then files, without links. Paths in the answer can be passed to the other vault tools. At most 1000 \
             entries; `truncated` says whether there are more.",
            |args: &LsArgs, session: &SessionContext| {
                let place = place(session, args.project_root.as_deref());
                Ok(ReadDirectory { place, path: args.path.clone(), links: SymlinkPolicy::Refuse })
            },
            |seen, args: &LsArgs, _| Ok(ops::ls(seen, args)?),
        ),
        Tool::write(
            ("vault_create", "Create vault file"),
            "Use this to write a new text file into the vault. Never overwrites: a file that exists is a `conflict`. The \
             text is written exactly as given, and missing directories are made. Below `daily/` only \
             `daily/YYYY-MM-DD.md` can be created.",
            ToolEffect::Writes { destructive: false, idempotent: false },
            |args: &CreateArgs, session: &SessionContext| {
                may_write(&args.path, WriteKind::Create)?;
                let place = place(session, args.project_root.as_deref());
                let (path, links) = (args.path.clone(), SymlinkPolicy::Refuse);
                let file = ReadFile { place: place.clone(), path, links, size_limit: 0 };
                let listing = |path| ReadDirectory { place: place.clone(), path, links: SymlinkPolicy::Refuse };
                let levels: Vec<ReadDirectory> = args.path.ancestors().map(listing).collect();
                Ok((Constant(place), (file, levels)))
            },
            |(place, ground), args: &CreateArgs, _| Ok(edits::create(ground, args, place)?),
        ),
        Tool::read(
            ("vault_read", "Read vault file"),
            "Use this to read a vault file, whole or by line range (`range`: 1-based, inclusive lines). The text ends with whole lines and holds at most 20000 characters; if `truncated`, \
             `next_offset.start_line` is where to go on, and `range.start_char` reads on within one very long line. \
             `hash` identifies the file's state.",
            |args: &ReadArgs, session: &SessionContext| Ok(file(&args.path, args.project_root.as_deref(), session)),
            |(limits, seen), args: &ReadArgs, _| Ok(ops::read(seen, args, limits)?),
        ),
        Tool::read(
            ("vault_scan", "Scan vault file"),
            "Use this to go through a long vault file in chunks of lines, from the top or from a cursor. Pass \
             `next_cursor` back as `cursor` until `eof` is true; every line comes once. `truncated_reason` is \
             `chunk_end` when only the chunk was full.",
            |args: &ScanArgs, session: &SessionContext| Ok(file(&args.path, args.project_root.as_deref(), session)),
            |(limits, seen), args: &ScanArgs, _| Ok(ops::scan(seen, args, limits)?),
        ),
        Tool::write(
            ("vault_replace", "Edit vault file"),
            "Use this to change a vault file by replacing a literal text with another. Case-sensitive, from the top, once \
             unless `max_replacements` says otherwise; `find` may span lines. Line ends and everything else stay. \
             `replacements` says how often; 0 means that nothing was found and nothing was written.",
            ToolEffect::Writes { destructive: true, idempotent: false },
            |args: &ReplaceArgs, session: &SessionContext| {
                may_write(&args.path, WriteKind::Replace)?;
                let place = place(session, args.project_root.as_deref());
                let (path, links) = (args.path.clone(), SymlinkPolicy::Refuse);
                let file = ReadFile { place: place.clone(), path, links, size_limit: FILE_LIMIT };
                Ok((Constant(place), file))
            },
            |(place, seen), args: &ReplaceArgs, _| Ok(edits::replace(seen, args, place)?),
        ),
    ]
}

/// Some places are not for tools to write, whatever is there.
fn may_write(path: &RelativePath, deed: WriteKind) -> Result<(), VaultError> {
    reserved::check(path, deed).map_err(|why| VaultError::Reserved { path: path.clone(), why })
}

/// A file, together with how much of it the session may be shown.
fn file(path: &RelativePath, root: Option<&Path>, session: &SessionContext) -> (Constant<Limits>, ReadFile) {
    let place = place(session, root);
    let file = ReadFile { place, path: path.clone(), links: SymlinkPolicy::Refuse, size_limit: FILE_LIMIT };
    (Constant(Limits::of(session)), file)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use serde_json::{Map, Value, json};
    use tempfile::TempDir;
    use trellis_protocol::Failure;

    use super::*;
    use crate::clock::Now;
    use crate::families::need::with_context;
    use crate::families::{Body, ToolRun};

    #[test]
    fn sentences_are_short() {
        for tool in table() {
            let first = tool.description.split(". ").next().unwrap_or_default();
            assert!(first.len() <= 120 && tool.description.len() < 600, "{}", tool.name);
            assert!(tool.title.len() <= 30);
        }
    }

    /// Calls a tool in a project with a vault; expects a member of the answer, or a code.
    fn check(name: &str, arguments: Value, expected: Result<(&str, Value), &str>) {
        let home = TempDir::new().expect("a temporary directory");
        let vault = home.path().join("vault");
        fs::create_dir_all(vault.join("notes")).expect("directories");
        fs::write(vault.join("notes/a.md"), "one\ntwo\n").expect("a file");
        fs::write(vault.join("broken.md"), b"\xff").expect("a file");
        let large = fs::File::create(vault.join("large.md")).expect("a file");
        large.set_len(FILE_LIMIT + 1).expect("a large file");
        std::os::unix::fs::symlink("notes", vault.join("link")).expect("a link");
        let seen = called(Some(home.path()), name, &arguments);
        match expected {
            Ok((member, value)) => assert_eq!(seen.expect("an answer")[member], value, "{name} {arguments}"),
            Err(code) => assert_eq!(seen.expect_err("a refusal").code, code, "{name} {arguments}"),
        }
    }

    fn called(
        directory: Option<&std::path::Path>,
        name: &str,
        arguments: &Value,
    ) -> Result<Map<String, Value>, Failure> {
        let session = SessionContext { directory: directory.map(Into::into), ..SessionContext::default() };
        let tool = table().into_iter().find(|tool| tool.name == name).expect("the tool");
        let arguments = arguments.as_object().expect("an object");
        let now = Now::read(&session.zone.0);
        let answer = with_context(&session, |context| match &tool.run {
            ToolRun::Read(two_phase) => two_phase.run(arguments, context, &now),
            ToolRun::Write(two_phase) => two_phase.run(arguments, context, &now).map(|(answer, _)| answer),
        })?;
        let Body::Object(object) = answer.body else { panic!("not an object") };
        Ok(object.value().as_object().cloned().expect("an object"))
    }

    #[test]
    fn calls_reach_the_vault() {
        check("vault_read", json!({ "path": "notes/a.md", "full": true }), Ok(("text", json!("one\ntwo"))));
        check("vault_scan", json!({ "path": "notes\\a.md", "chunk_lines": 1 }), Ok(("text", json!("one"))));
        let items = json!([{ "name": "a.md", "path": "notes/a.md", "kind": "file" }]);
        check("vault_ls", json!({ "path": "notes" }), Ok(("items", items)));
        check("vault_ls", json!({}), Ok(("base_path", json!(null))));
        for (name, more) in [("vault_read", "full"), ("vault_scan", "_full")] {
            let call = |path: &str| json!({ "path": path, more: true });
            check(name, call("none.md"), Err("not_found"));
            check(name, call("notes"), Err("not_found"));
            check(name, call("link/a.md"), Err("forbidden"));
            check(name, call("broken.md"), Err("conflict"));
            check(name, call("large.md"), Err("conflict"));
            check(name, call("../x"), Err("invalid_path"));
            let foreign = json!({ "path": "notes/a.md", more: true, "project_root": "/" });
            check(name, foreign, Err("invalid_parameter"));
        }
        check("vault_ls", json!({ "path": "none" }), Err("not_found"));
        check("vault_ls", json!({ "path": "notes/a.md" }), Err("not_found"));
        check("vault_ls", json!({ "path": "link" }), Err("forbidden"));
        check("vault_ls", json!({ "path": " " }), Err("invalid_path"));
    }

    #[test]
    fn without_a_vault_or_a_project_nothing_is_found() {
        let home = TempDir::new().expect("a temporary directory");
        for (name, arguments) in [("vault_ls", json!({})), ("vault_read", json!({ "path": "a", "full": true }))] {
            let code = |directory| called(directory, name, &arguments).expect_err("a refusal").code;
            assert_eq!(code(Some(home.path())), "not_found");
            assert_eq!(code(None), "invalid_parameter");
        }
    }
}
