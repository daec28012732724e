//! Where things are in a workspace: projects, their folders, and the documents in them. Names come in, kinds and
//! checked paths go out; nothing is looked at.

use std::path::PathBuf;

use super::error::VibeError;
use crate::disk::{RelativePath, TreeLocation};
use crate::families::SessionContext;
use crate::text::file_names;

/// Larger documents are neither read nor changed.
pub const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// Extensions of text files that keep their name: they are written and read as given, and never searched.
const TEXT_EXTENSIONS: [&str; 26] = [
    "txt", "json", "jsonl", "yaml", "yml", "toml", "csv", "tsv", "xml", "html", "css", "js", "ts", "py", "rs", "go",
    "sh", "sql", "svg", "log", "cfg", "ini", "mdx", "rst", "adoc", "tex",
];

/// The plan that is meant when nobody names one.
pub const MAIN_PLAN: &str = "execution-plan.md";

/// The standard folders, with the kind of what is in them and what that is worth in a search.
pub const FOLDERS: [(&str, &str, f32); 8] = [
    ("tasks", "task", 2.0),
    ("plans", "plan", 1.8),
    ("sessions", "session", 1.5),
    ("reports", "report", 1.0),
    ("changelog", "changelog", 1.2),
    ("references", "reference", 0.8),
    ("scratch", "scratch", 0.5),
    ("assets", "asset", 0.3),
];

/// What the project's own status is worth in a search.
const STATUS_BOOST: f32 = 3.0;
/// What any other document is worth.
const DEFAULT_BOOST: f32 = 0.3;
/// Longer names are refused before the system does.
const MAX_NAME_BYTES: usize = 255;

/// Where the session's workspace is.
pub fn place(session: &SessionContext) -> TreeLocation {
    let root = session.path("VIBE_ROOT").map(PathBuf::from);
    let home = || session.home.clone().unwrap_or_default();
    TreeLocation::Fixed(root.unwrap_or_else(|| home().join(".vibe")))
}

/// Whether the session's host has forbidden to write.
pub fn is_read_only(session: &SessionContext) -> bool {
    let value = session.variable("VIBE_READ_ONLY").unwrap_or_default().trim().to_ascii_lowercase();
    matches!(value.as_str(), "1" | "true" | "yes")
}

/// Whether a file of the workspace is a document, by its path below the root.
pub fn is_document(path: &str) -> bool {
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    path.contains('/') && !is_hidden && is_markdown(path)
}

/// Whether a name is that of a document.
pub fn is_markdown(name: &str) -> bool {
    has_extension(name, &["md"])
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let is_one = |extension: &str| extensions.iter().any(|known| known.eq_ignore_ascii_case(extension));
    name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && is_one(extension))
}

/// Where a document is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentPath {
    /// The directory below the root.
    pub project: String,
    /// The directory below the project; empty for files in the project itself.
    pub folder: String,
    /// What is left, with `/` in it when the file lies deeper.
    pub filename: String,
}

impl DocumentPath {
    /// From a path below the root; none for what is in no project.
    pub fn of(path: &str) -> Option<Self> {
        let (project, rest) = path.split_once('/')?;
        let (folder, filename) = rest.split_once('/').unwrap_or(("", rest));
        Some(Self { project: project.to_owned(), folder: folder.to_owned(), filename: filename.to_owned() })
    }

    /// Below the project.
    pub fn in_project(&self) -> String {
        in_folder(&self.folder, &self.filename)
    }

    /// Below the root.
    pub fn path(&self) -> String {
        format!("{}/{}", self.project, self.in_project())
    }

    /// What the place says about the kind.
    pub fn kind(&self) -> Option<&'static str> {
        if self.is_status() { Some("status") } else { self.standard_folder().map(|(_, kind, _)| kind) }
    }

    /// What the place is worth in a search.
    pub fn boost(&self) -> f32 {
        let of_folder = || self.standard_folder().map_or(DEFAULT_BOOST, |(.., boost)| boost);
        if self.is_status() { STATUS_BOOST } else { of_folder() }
    }

    /// Whether it can be searched and has metadata of its own; other files are text, or whatever they are.
    pub fn is_document(&self) -> bool {
        is_markdown(&self.filename)
    }

    fn standard_folder(&self) -> Option<(&'static str, &'static str, f32)> {
        FOLDERS.into_iter().find(|(folder, ..)| *folder == self.folder)
    }

    fn is_status(&self) -> bool {
        self.folder.is_empty() && self.filename == "status.md"
    }

    /// The name without directories, number prefix and extension. The year of a date is no such number.
    pub fn stem(&self) -> &str {
        let stem = self.full_stem();
        let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
        let rest = stem[digits..].strip_prefix('-').filter(|rest| digits > 0 && !rest.is_empty());
        match rest {
            Some(rest) if super::metadata::day(stem).is_none() => rest,
            _ => stem,
        }
    }

    /// The name without directories and extension.
    pub fn full_stem(&self) -> &str {
        let name = self.filename.rsplit('/').next().unwrap_or(&self.filename);
        if is_markdown(name) { &name[..name.len() - 3] } else { name }
    }
}

/// A file below its project.
pub fn in_folder(folder: &str, filename: &str) -> String {
    if folder.is_empty() { filename.to_owned() } else { format!("{folder}/{filename}") }
}

/// A project, by its name alone.
pub fn project_path(project: &str) -> Result<RelativePath, VibeError> {
    name("project", project)
}

/// One of the standard folders, to write into or to search in.
pub fn standard_folder(folder: &str) -> Result<(), VibeError> {
    let known = FOLDERS.iter().find(|(name, ..)| *name == folder).map(drop);
    known.ok_or_else(|| VibeError::InvalidFolder { folder: folder.to_owned() })
}

/// The same, or the project itself.
pub fn standard_folder_or_none(folder: &str) -> Result<(), VibeError> {
    if folder.is_empty() { Ok(()) } else { standard_folder(folder) }
}

/// Any folder to read from; empty is the project itself.
pub fn readable_folder(folder: &str) -> Result<(), VibeError> {
    if folder.is_empty() { Ok(()) } else { name("folder", folder).map(drop) }
}

/// A file to read, at any depth, under each name that may be meant.
pub fn readable_files(project: &RelativePath, folder: &str, filename: &str) -> Result<Vec<RelativePath>, VibeError> {
    if filename.is_empty() {
        return Err(VibeError::path("filename", filename, "it is empty"));
    }
    for part in filename.split('/') {
        plain("filename", filename, part)?;
    }
    names_meant(filename).iter().map(|name| below(project, folder, name)).collect()
}

/// A file to change: one name, or what else may be meant by it.
pub fn writable_files(project: &RelativePath, folder: &str, filename: &str) -> Result<Vec<RelativePath>, VibeError> {
    name("filename", filename)?;
    names_meant(filename).iter().map(|name| below(project, folder, name)).collect()
}

/// A file to make: one name, with the extension that it gets.
pub fn new_file(project: &RelativePath, folder: &str, filename: &str) -> Result<RelativePath, VibeError> {
    name("filename", filename)?;
    below(project, folder, &with_extension(filename))
}

/// The name of a new file, which must work on every system.
pub fn new_name(filename: &str) -> Result<(), VibeError> {
    file_names::check_portable(filename).map_err(|why| VibeError::path("filename", filename, why.to_string()))
}

/// The name of a file that is made under this name: `.md` at the end, unless it has a known extension.
pub fn with_extension(filename: &str) -> String {
    if has_extension(filename, &TEXT_EXTENSIONS) { filename.to_owned() } else { as_markdown(filename) }
}

/// The name of a document: `.md` at the end, whatever other extension there is.
pub fn as_markdown(filename: &str) -> String {
    if is_markdown(filename) { filename.to_owned() } else { format!("{filename}.md") }
}

/// The names of files that a name may mean; the first that is there counts. A file of any kind has its own name, so
/// that what is listed can be read.
pub fn names_meant(filename: &str) -> Vec<String> {
    let (name, extended) = (filename.to_owned(), with_extension(filename));
    if name == extended { vec![name] } else { vec![name, extended] }
}

/// One name, in one piece.
fn name(field: &'static str, given: &str) -> Result<RelativePath, VibeError> {
    if given.contains('/') {
        return Err(VibeError::path(field, given, "it must be one name, without separators"));
    }
    plain(field, given, given)?;
    RelativePath::from_components(given).ok_or_else(|| VibeError::path(field, given, "it is no plain name"))
}

/// A part of a path that leads nowhere else.
fn plain(field: &'static str, given: &str, part: &str) -> Result<(), VibeError> {
    let why = match part {
        _ if part.trim().is_empty() => "a name in it is empty",
        "." | ".." => "it must not contain `.` or `..`",
        _ if part.contains('\\') => "it must not contain a backslash",
        _ if part.chars().any(char::is_control) => "it must not contain control characters",
        _ if part.starts_with('.') => "names that begin with a dot are not part of the workspace",
        _ if part.len() > MAX_NAME_BYTES => "a name in it is longer than 255 bytes",
        _ => return Ok(()),
    };
    Err(VibeError::path(field, given, why))
}

fn below(project: &RelativePath, folder: &str, filename: &str) -> Result<RelativePath, VibeError> {
    let rest = in_folder(folder, filename);
    let path = RelativePath::from_components(&rest).map(|rest| project.join_path(&rest));
    let path = path.filter(|path| path.as_str().len() <= RelativePath::MAX_BYTES);
    path.ok_or_else(|| VibeError::path("filename", filename, "the path is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(environment: &[(&str, &str)]) -> SessionContext {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let environment = environment.iter().map(pair).collect();
        SessionContext { environment, home: Some("/home/ada".into()), ..SessionContext::default() }
    }

    #[test]
    fn the_settings_say_where_the_workspace_is() {
        let check = |environment: &[(&str, &str)], expected: &str| {
            assert_eq!(place(&session(environment)), TreeLocation::Fixed(expected.into()), "{environment:?}");
        };
        check(&[], "/home/ada/.vibe");
        check(&[("VIBE_ROOT", "/srv/v")], "/srv/v");
        check(&[("VIBE_ROOT", "")], "/home/ada/.vibe");
    }

    #[test]
    fn three_words_forbid_writing() {
        let check =
            |value, expected| assert_eq!(is_read_only(&session(&[("VIBE_READ_ONLY", value)])), expected, "{value}");
        for value in ["1", "true", "yes", "TRUE", " Yes "] {
            check(value, true);
        }
        for value in ["", "0", "false", "no", "on"] {
            check(value, false);
        }
    }

    #[test]
    fn documents_are_markdown_in_projects() {
        for path in ["p/a.md", "p/tasks/001.MD", "p/assets/x/y.md", "日/本.md"] {
            assert!(is_document(path), "{path}");
        }
        for path in ["a.md", "p/a.txt", "p/.a.md", ".p/a.md", "p/.x/a.md", "p/md", "p/a.md.vtmp"] {
            assert!(!is_document(path), "{path}");
        }
    }

    #[test]
    fn a_path_says_project_folder_and_name() {
        let check = |path: &str, expected: (&str, &str), kind: Option<&str>, worth: f32, stem: &str| {
            let document = DocumentPath::of(path).expect("a document");
            assert_eq!((document.folder.as_str(), document.filename.as_str()), expected, "{path}");
            assert_eq!((document.kind(), document.boost(), document.stem()), (kind, worth, stem), "{path}");
            assert_eq!(document.path(), path);
        };
        check("p/status.md", ("", "status.md"), Some("status"), 3.0, "status");
        check("p/a.md", ("", "a.md"), None, 0.3, "a");
        check("p/tasks/004-x-y.md", ("tasks", "004-x-y.md"), Some("task"), 2.0, "x-y");
        check("p/tasks/004.md", ("tasks", "004.md"), Some("task"), 2.0, "004");
        check("p/tasks/status.md", ("tasks", "status.md"), Some("task"), 2.0, "status");
        check(
            "p/sessions/2025-02-09-api.md",
            ("sessions", "2025-02-09-api.md"),
            Some("session"),
            1.5,
            "2025-02-09-api",
        );
        check("p/assets/d/2-x.md", ("assets", "d/2-x.md"), Some("asset"), 0.3, "x");
        check("p/other/x.md", ("other", "x.md"), None, 0.3, "x");
    }

    fn check_names(read: Result<RelativePath, VibeError>, expected: Result<&str, &str>) {
        use trellis_protocol::failure::Coded as _;
        let seen = read.as_ref().map(RelativePath::as_str).map_err(|error| error.info().code);
        assert_eq!(seen, expected, "{read:?}");
    }

    fn first(paths: Result<Vec<RelativePath>, VibeError>) -> Result<RelativePath, VibeError> {
        paths.map(|paths| paths[0].clone())
    }

    #[test]
    fn names_lead_nowhere_else() {
        let bad = [
            "",
            " ",
            ".",
            "..",
            "../x",
            "/x",
            "a\\b",
            "a\0",
            "a\nb",
            ".hidden",
            "x/.y",
            "x/../y",
            "a//b",
            "x/",
            &"x".repeat(256),
        ];
        for given in bad {
            let project = project_path("p").expect("a project");
            check_names(first(readable_files(&project, "tasks", given)), Err("INVALID_PATH"));
            check_names(first(writable_files(&project, "tasks", given)), Err("INVALID_PATH"));
            check_names(new_file(&project, "tasks", given), Err("INVALID_PATH"));
            check_names(project_path(given), Err("INVALID_PATH"));
        }
        let project = project_path("日本 é").expect("a project");
        check_names(project_path("a/b"), Err("INVALID_PATH"));
        check_names(first(readable_files(&project, "", "x.md")), Ok("日本 é/x.md"));
        check_names(first(readable_files(&project, "assets", "d/x.md")), Ok("日本 é/assets/d/x.md"));
        check_names(first(writable_files(&project, "assets", "d/x.md")), Err("INVALID_PATH"));
        check_names(first(writable_files(&project, "assets", "x.png")), Ok("日本 é/assets/x.png"));
        check_names(new_file(&project, "assets", "d/x.md"), Err("INVALID_PATH"));
        check_names(new_file(&project, "plans", "x"), Ok("日本 é/plans/x.md"));
        check_names(new_file(&project, "assets", "x.json"), Ok("日本 é/assets/x.json"));
    }

    #[test]
    fn known_extensions_stay_and_other_names_are_documents() {
        let check = |filename: &str, expected: &str| assert_eq!(with_extension(filename), expected);
        for extension in TEXT_EXTENSIONS {
            let filename = format!("a.{extension}");
            check(&filename, &filename);
            assert_eq!(as_markdown(&filename), format!("{filename}.md"));
            assert_eq!(names_meant(&filename).len(), 1);
            assert!(!is_markdown(&filename) && !is_document(&format!("p/{filename}")));
        }
        for filename in ["a.md", "x.MD", "data.JSON", "a.b.Yaml", "メモ.txt", "d/x.csv"] {
            check(filename, filename);
        }
        check("notes", "notes.md");
        check("v1.2", "v1.2.md");
        check("json", "json.md");
        check("a.json.", "a.json..md");
        check("pic.png", "pic.png.md");
        check("a.markdown", "a.markdown.md");
        assert_eq!(names_meant("pic.png"), ["pic.png", "pic.png.md"]);
        assert_eq!(names_meant("notes"), ["notes", "notes.md"]);
        assert_eq!(names_meant("notes.md"), ["notes.md"]);
    }
}
