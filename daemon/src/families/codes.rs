//! Every error of every family with its code, kind, details, words and hint, against a snapshot: what callers rely on
//! does not change unnoticed.

use serde_json::json;
use trellis_protocol::Failure;

use super::board::error::BoardError;
use super::board::parse::InvalidBoard;
use super::error::{ArgumentError, CommonError, NamedFile};
use super::item_set::ItemsError;
use super::todo::error::TodoError;
use super::todo::ids::IdsExhausted;
use super::todo::model::{TaskId, in_tree};
use super::trellis::error::TrellisError;
use super::vault::error::{Reserved, VaultError};
use super::vibe::error::VibeError;
use super::vine::error::VineError;
use super::vine::parse::ParseError;
use super::vine::validate::GraphError;
use crate::disk::{ReadError, RelativePath};
use crate::families::edit::EditError;
use crate::projects::{Interface, NotAProject, ProjectError};
use crate::text::file_names::NameError;

fn line(name: &str, failure: impl Into<Failure>) -> String {
    let Failure { code, kind, message, hint, details } = failure.into();
    let hint = hint.map_or_else(|| "no hint".to_owned(), |hint| format!("hint: {hint}"));
    format!("{name}\n  {code} {kind:?} {details}\n  {}\n  {hint}\n", message.replace('\n', "⏎"))
}

/// What a disk may say instead of showing something.
fn all_unseen() -> Vec<ReadError> {
    let no_project = |door, named: Option<&str>| {
        let named = named.map(Into::into);
        ReadError::NoProject(Box::new(ProjectError { door, named, why: NotAProject::NotThere }))
    };
    vec![
        no_project(Interface::Stdio, None),
        no_project(Interface::Http, Some("/srv/x")),
        ReadError::TreeMissing,
        ReadError::Missing,
        ReadError::IsDirectory,
        ReadError::IsFile,
        ReadError::NotRegular,
        ReadError::SymlinkRefused,
        ReadError::OutsideTree,
        ReadError::TreeOutsideProject,
        ReadError::PermissionDenied,
        ReadError::TooLarge { size: 9, limit: 8 },
        ReadError::Io("input/output error".into()),
    ]
}

/// What a disk may say instead of taking something.
fn all_edit_errors() -> Vec<EditError> {
    let mut all: Vec<EditError> = all_unseen().into_iter().map(EditError::Read).collect();
    all.extend([
        EditError::Busy,
        EditError::DiskFull,
        EditError::ReadOnly,
        EditError::Denied,
        EditError::TooLarge,
        EditError::TooManyFiles,
        EditError::Io("input/output error".into()),
        EditError::Unrecorded(Box::new(EditError::DiskFull)),
    ]);
    all
}

fn path(text: &str) -> RelativePath {
    RelativePath::parse(text).expect("a path")
}

#[test]
fn the_errors_of_the_vault() {
    let at = || path("a/b.md");
    let file = || super::vault::error::named(&at());
    let common = |error: CommonError| VaultError::from(error);
    let argument = |field: &str, wanted: &'static str| ArgumentError::must_be(wanted).of(field);
    let in_file = argument("range.start_line", "at least 1").value(0);
    let mut lines = vec![
        line("argument", VaultError::from(argument("chunk_lines", "an integer").value("3"))),
        line("long argument", VaultError::from(argument("limits", "an object").value("é".repeat(100)))),
        line("argument of a file", VaultError::InFile { path: at(), error: Box::new(in_file) }),
        line("no path", VaultError::from(argument("path", "a path below the vault").code("invalid_path"))),
        line("not text", VaultError::not_text(&at(), 3)),
        line("read-only", common(CommonError::ReadOnly)),
        line("name", VaultError::Name { path: at(), why: NameError::Ending }),
        line("exists", common(CommonError::Exists { file: file() })),
        line("file in the way", VaultError::FileBlocksDirectory { path: at() }),
        line("collides", VaultError::NameCollision { path: at(), other: "B.md".to_owned() }),
        line("changed", common(CommonError::Changed { file: file(), expected: "e".into(), actual: Some("a".into()) })),
        line("would be too large", common(CommonError::TooLarge { file: file(), size: 9, limit: 8 })),
        line("no directory", VaultError::NoDirectory { path: at() }),
    ];
    for why in [Reserved::System, Reserved::Daily, Reserved::DailyName, Reserved::Hidden] {
        lines.push(line(&format!("{why:?}"), VaultError::Reserved { path: at(), why }));
    }
    for why in all_unseen() {
        lines.push(line(&format!("File {why:?}"), VaultError::read_error(Some(&at()), why.clone())));
        lines.push(line(&format!("Vault {why:?}"), VaultError::read_error(None, why)));
    }
    for why in all_edit_errors() {
        lines.push(line(&format!("unwritten {why:?}"), common(CommonError::Write { file: file(), why })));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_errors_of_todo() {
    let (at, id) = (|| in_tree("task.md"), TaskId::of(17).expect("an id"));
    let argument = || ArgumentError::must_be("a text").of("field");
    let file = || super::todo::error::named(&at());
    let mut lines = vec![
        line("missing argument", TodoError::from(argument())),
        line("long argument", TodoError::from(argument().code("CONTENT_TOO_LONG").value("é".repeat(200)))),
        line("no task", TodoError::TaskNotFound { id }),
        line("no reference", TodoError::ReferenceNotFound { id }),
        line("other category", TodoError::WrongCategory { id, category: "Done".to_owned() }),
        line("full", TodoError::TaskIdsExhausted { why: IdsExhausted::Existing }),
        line("all given", TodoError::TaskIdsExhausted { why: IdsExhausted::Given }),
        line("all named", TodoError::TaskIdsExhausted { why: IdsExhausted::Named(id, vec![at(), at()]) }),
        line("records full", TodoError::AdrsFull { why: IdsExhausted::Existing }),
        line("records given", TodoError::AdrsFull { why: IdsExhausted::Given }),
        line("no record", TodoError::AdrNotFound { number: 3 }),
        line("two records", TodoError::DuplicateAdrNumber { number: 3, names: vec!["3-a.md".into(), "3-b.md".into()] }),
        line("no context", TodoError::NoContext { id }),
        line("not text", TodoError::not_text(&at(), 3)),
        line("linked tree", TodoError::LinkedTree),
        line("changed", TodoError::changed(&at(), &"e".repeat(200), "a")),
        line("unplaceable", TodoError::NotReparsable { path: at() }),
        line("duplicate", TodoError::Duplicate { id }),
        line("read-only", TodoError::Common(CommonError::ReadOnly)),
    ];
    for why in all_unseen() {
        lines.push(line(&format!("unseen {why:?}"), TodoError::read_error(&at(), why)));
    }
    for why in all_edit_errors() {
        let error = CommonError::Write { file: file(), why: why.clone() };
        lines.push(line(&format!("unwritten {why:?}"), TodoError::Common(error)));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_errors_of_vibe() {
    let (project, at) = (|| "p".to_owned(), || "tasks/001-x.md".to_owned());
    let argument = || ArgumentError::must_be("an integer").of("limit");
    let file = || super::vibe::error::named("p", at());
    let below_root = || NamedFile::new("path", at());
    let common = |error: CommonError| VibeError::from(error);
    let mut lines = vec![
        line("missing argument", VibeError::from(argument())),
        line("argument", VibeError::from(argument().value("3"))),
        line("long argument", VibeError::from(argument().value(json!(["é".repeat(100)])))),
        line("status", VibeError::InvalidStatus { status: "x".repeat(100) }),
        line("query", VibeError::InvalidQuery),
        line("read-only", common(CommonError::ReadOnly)),
        line("path", VibeError::path("project", "../x", "it goes up")),
        line("project name", VibeError::InvalidProjectName { project: "a b".to_owned() }),
        line("no project", VibeError::ProjectNotFound { project: project(), nearest: vec!["app".to_owned()] }),
        line("project exists", VibeError::ProjectExists { project: project() }),
        line("folder", VibeError::InvalidFolder { folder: "x".to_owned() }),
        line("no file", VibeError::FileNotFound { project: project(), path: at() }),
        line("exists", VibeError::FileExists { project: project(), path: at(), hint: "choose another name" }),
        line("ambiguous", VibeError::AmbiguousTask { project: project(), task: "1".into(), candidates: vec![at()] }),
        line("changed", common(CommonError::Changed { file: file(), expected: "e".into(), actual: Some("a".into()) })),
        line("too large", common(CommonError::TooLarge { file: below_root(), size: 9, limit: 8 })),
        line("not text", common(CommonError::NotText { file: file(), at: 3 })),
        line("index", VibeError::Index { why: "it is being rebuilt".to_owned() }),
    ];
    for why in all_unseen() {
        lines.push(line(&format!("unseen {why:?}"), VibeError::read_error("p/tasks", why)));
    }
    for why in all_edit_errors() {
        let name = format!("unwritten {why:?}");
        lines.push(line(&name, common(CommonError::Write { file: below_root(), why })));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_errors_of_the_board() {
    let name = "b.json";
    let file = || super::board::error::named(name);
    let common = |error: CommonError| BoardError::from(error);
    let mut lines = vec![
        line("nothing given", BoardError::NothingGiven { fields: &["title"] }),
        line("no task", BoardError::NoTask { id: "task-1".to_owned() }),
        line("changed", BoardError::changed("e", Some("a".to_owned()))),
        line("gone", BoardError::changed("e", None)),
        line("read-only", common(CommonError::ReadOnly)),
        line("would be too large", common(CommonError::TooLarge { file: file(), size: 9, limit: 8 })),
        line("not text", BoardError::Broken { file: name.to_owned(), why: InvalidBoard::NotText { at: 3 } }),
        line(
            "not JSON",
            BoardError::Broken { file: name.to_owned(), why: InvalidBoard::NotJson { why: "line 1".into() } },
        ),
    ];
    for why in all_unseen() {
        lines.push(line(&format!("unseen {why:?}"), BoardError::read_error(name, why)));
    }
    for why in all_edit_errors() {
        lines.push(line(&format!("unwritten {why:?}"), common(CommonError::Write { file: file(), why })));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_errors_of_vine() {
    let file = || "plan".to_owned();
    let mut lines = vec![
        line("argument", VineError::from(ArgumentError::must_be("a string").of("file"))),
        line("parse", VineError::Parse(ParseError { line: 3, message: "no".to_owned() })),
        line("invalid", VineError::Invalid(GraphError::NoUri("r".to_owned()))),
        line("operation", VineError::Operation("Operation 0: no.".to_owned())),
        line("no task", VineError::NoTask("a".to_owned())),
        line("exists", VineError::Exists(file())),
        line("not vine", VineError::NotVine(file())),
        line("not text", VineError::NotText(file())),
        line("no directory", VineError::NoDirectory(file())),
        line("changed", VineError::Changed { file: file(), expected: "e".to_owned(), actual: "a".to_owned() }),
        line("lost", VineError::Lost { what: "a".to_owned(), why: "b".to_owned() }),
        line("read-only", VineError::ReadOnly),
    ];
    for why in all_unseen() {
        for (resolved, lacks_base) in [(None, false), (Some("/srv/plan".to_owned()), true)] {
            let name = format!("unseen {why:?} {resolved:?}");
            lines.push(line(&name, VineError::Read { file: file(), resolved, why: why.clone(), lacks_base }));
        }
    }
    for why in all_edit_errors() {
        lines.push(line(&format!("unwritten {why:?}"), VineError::Write { path: path("plan.vine"), why }));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_errors_of_items() {
    let uri = || "todo://p/T001".to_owned();
    let names = || vec!["app".to_owned()];
    let of = |error: ItemsError| TrellisError::of(error, "todo://p/T001");
    let argument = ArgumentError::must_be("an integer").of("limit").value("x");
    let mut lines = vec![
        line("argument", TrellisError::from(argument)),
        line("read-only", TrellisError::from(CommonError::ReadOnly)),
        line("no address", of(ItemsError::InvalidAddress)),
        line("unknown project", of(ItemsError::UnknownProject { name: "ap".to_owned(), nearest: names() })),
        line("ambiguous project", of(ItemsError::AmbiguousProject { name: "app".to_owned(), candidates: names() })),
        line("no own project", of(ItemsError::NoOwnProject { projects: names() })),
        line("no item", TrellisError::ItemNotFound { uri: uri(), nearest: vec![uri()] }),
        line("no part", TrellisError::SectionNotFound { uri: uri(), headings: names() }),
        line("changed", TrellisError::Changed { uri: uri(), expected: "e".to_owned(), actual: "a".to_owned() }),
        line("unreadable", TrellisError::Unreadable { uri: uri(), reason: "it is not UTF-8 text".to_owned() }),
    ];
    for why in all_unseen() {
        lines.push(line(&format!("unseen {why:?}"), of(ItemsError::Read(why))));
    }
    insta::assert_snapshot!(lines.join("\n"));
}
