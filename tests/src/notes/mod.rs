//! A family that exists only in tests: notes below `notes/` of the session's directory, written with `note` and
//! searched with `find`.
//!
//! Paths are `project/folder/name.md`. A text is cut at its headings. It is there only in homes that ask for it, so
//! that other tests need not know of its tools.

use jiff::civil::Date;
use serde::Serialize;
use serde_json::{Map, Value, json};
use trellis_protocol::{Coded, ErrorInfo, Failure, FailureKind};
use trellisd::disk::{FileContent, ReadError, ReadFile, RelativePath, SymlinkPolicy, TreeLocation};
use trellisd::families::edit::Edit;
use trellisd::families::facts::{
    Chunk, DocumentFacts, DocumentSource, Hit, Hits, ReindexCounts, ReindexRequest, SearchError, SearchRequest,
};
use trellisd::families::need::Constant;
use trellisd::families::{Answer, Arguments, SessionContext, Tool, ToolEffect};
use trellisd::families::{ErrorFormat, Family, ToolNaming};

#[derive(Debug)]
pub struct NotesFamily;

/// The variable of a home that asks for it.
pub const NOTES_VARIABLE: &str = "TRELLIS_TEST_LIBRARY";

impl Family for NotesFamily {
    const NAME: &'static str = "notes";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Error;
    const TOOL_NAMING: ToolNaming = ToolNaming::Prefixed;
    const INSTRUCTION: &'static str = "notes that are found by their words.";

    fn tools() -> Vec<Tool> {
        vec![
            Tool::read(
                ("find", "Find notes"),
                "Use this to find notes by their words.",
                |args: &FindArgs, session: &SessionContext| {
                    let FindArgs { query, project, folder, limit } = args;
                    let (query, project, folder) = (query.clone(), project.clone(), folder.clone());
                    Ok(SearchRequest { family: "notes", place: place(session), query, project, folder, limit: *limit })
                },
                |found, _, _| Ok(Answer::object(hits(&found.map_err(NotesError)?))),
            ),
            Tool {
                effect: ToolEffect::Maintains,
                ..Tool::read(
                    ("compare", "Compare notes with the disk"),
                    "Use this to see what became of the notes since the last time.",
                    |args: &CompareArgs, session: &SessionContext| {
                        let (project, full) = (args.project.clone(), args.full);
                        Ok(ReindexRequest { family: "notes", place: place(session), project, full })
                    },
                    |compared: Result<ReindexCounts, SearchError>, _, _| {
                        let ReindexCounts { scanned, updated, added, deleted, unchanged } =
                            compared.map_err(NotesError)?;
                        Ok(Answer::object(json!({
                            "scanned": scanned, "updated": updated, "added": added, "deleted": deleted,
                            "unchanged": unchanged,
                        })))
                    },
                )
            },
            Tool::write(
                ("note", "Write a note"),
                "Use this to write a note, new or in place of an old one.",
                ToolEffect::Writes { destructive: true, idempotent: true },
                |args: &NoteArgs, session: &SessionContext| {
                    let (place, path) = (place(session), args.path.clone());
                    Ok((
                        Constant(place.clone()),
                        ReadFile { place, path, links: SymlinkPolicy::Refuse, size_limit: 8 << 20 },
                    ))
                },
                |(place, seen): (TreeLocation, Result<FileContent, ReadError>), args: &NoteArgs, _| {
                    let (path, links) = (args.path.clone(), SymlinkPolicy::Refuse);
                    let text = args.text.clone().into_bytes();
                    let edit = match seen {
                        Ok(seen) => Edit::nothing().replace(place, path, links, &seen, text),
                        Err(ReadError::Missing | ReadError::TreeMissing) => {
                            Edit::nothing().create(place, path, links, text)
                        }
                        Err(read_error) => return Err(NotesError(SearchError::Read(read_error)).into()),
                    };
                    Ok((Answer::object(json!({ "written": args.path.as_str() })), edit))
                },
            ),
        ]
    }

    fn read_only() -> Failure {
        Failure::new("read_only", FailureKind::Refused, "notes cannot be written here")
    }

    fn trees(session: &SessionContext) -> Vec<TreeLocation> {
        vec![place(session)]
    }

    fn documents() -> Option<DocumentSource> {
        Some(DocumentSource { wanted: |path| path.ends_with(".md"), facts })
    }
}

fn place(session: &SessionContext) -> TreeLocation {
    TreeLocation::Fixed(session.directory.clone().unwrap_or_default().join("notes"))
}

fn facts(path: &str, text: &str) -> DocumentFacts {
    let parts: Vec<&str> = path.split('/').collect();
    let part = |place: usize| if parts.len() > place + 1 { parts[place].to_owned() } else { String::new() };
    let name = parts.last().copied().unwrap_or_default();
    let mut chunks: Vec<Chunk> = vec![Chunk { heading: None, content: 0..0, boost: 1.0 }];
    let (mut at, mut updated) = (0, None);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.starts_with("# ") || line.starts_with("## ") {
            chunks.push(Chunk { heading: Some(line.trim_end().to_owned()), content: end..end, boost: 1.0 });
        } else if let Some(chunk) = chunks.last_mut() {
            chunk.content.end = end;
        }
        if let Some(date) = line.strip_prefix("updated: ") {
            updated = date.trim().parse::<Date>().ok();
        }
        at = end;
    }
    chunks.retain(|chunk| chunk.heading.is_some() || !text[chunk.content.clone()].trim().is_empty());
    let title = chunks.iter().find_map(|chunk| chunk.heading.clone()).unwrap_or_default();
    DocumentFacts {
        project: part(0),
        folder: part(1),
        title: title.trim_start_matches('#').trim().to_owned(),
        stem: name.trim_end_matches(".md").to_owned(),
        kind: Some("note".to_owned()),
        status: None,
        updated,
        tags: Vec::new(),
        boost: 1.0,
        chunks,
        problem: None,
    }
}

/// What `find` answers.
#[derive(Serialize)]
struct Notes<'a> {
    total: usize,
    hits: Vec<Note<'a>>,
    rebuilding: Option<Value>,
}

#[derive(Serialize)]
struct Note<'a> {
    path: &'a str,
    project: &'a str,
    folder: &'a str,
    heading: Option<&'a str>,
    snippet: &'a str,
    score: f64,
    kind: Option<&'a str>,
    updated: String,
}

fn hits(found: &Hits) -> Notes<'_> {
    fn note(hit: &Hit) -> Note<'_> {
        Note {
            path: hit.path.as_str(),
            project: &hit.project,
            folder: &hit.folder,
            heading: hit.heading.as_deref(),
            snippet: &hit.snippet,
            score: hit.score,
            kind: hit.kind.as_deref(),
            updated: hit.updated.to_string(),
        }
    }
    let rebuilding = found.progress.map(|(done, total)| json!({ "done": done, "total": total }));
    Notes { total: found.total, hits: found.hits.iter().map(note).collect(), rebuilding }
}

/// The index had no answer.
#[derive(Debug, thiserror::Error)]
#[error("no answer: {0:?}")]
struct NotesError(SearchError);

impl Coded for NotesError {
    fn info(&self) -> ErrorInfo {
        let code = match self.0 {
            SearchError::Read(_) => "unseen",
            SearchError::Index(_) => "index",
            SearchError::Cancelled => "cancelled",
        };
        ErrorInfo::without_hint(code, FailureKind::Unavailable, Value::Null)
    }
}

#[derive(Debug)]
struct FindArgs {
    query: String,
    project: Option<String>,
    folder: Option<String>,
    limit: usize,
}

#[derive(Debug)]
struct CompareArgs {
    project: Option<String>,
    full: bool,
}

#[derive(Debug)]
struct NoteArgs {
    path: RelativePath,
    text: String,
}

fn text(arguments: &Map<String, Value>, name: &str) -> Option<String> {
    arguments.get(name).and_then(Value::as_str).map(str::to_owned)
}

impl Arguments for FindArgs {
    fn schema() -> Value {
        json!({ "type": "object", "properties": { "query": { "type": "string" } } })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        Ok(Self {
            query: text(arguments, "query").unwrap_or_default(),
            project: text(arguments, "project"),
            folder: text(arguments, "folder"),
            limit: arguments.get("limit").and_then(Value::as_u64).unwrap_or(20) as usize,
        })
    }
}

impl Arguments for CompareArgs {
    fn schema() -> Value {
        json!({ "type": "object", "properties": { "full": { "type": "boolean" } } })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let full = arguments.get("full").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { project: text(arguments, "project"), full })
    }
}

impl Arguments for NoteArgs {
    fn schema() -> Value {
        json!({ "type": "object", "properties": { "path": { "type": "string" }, "text": { "type": "string" } } })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let bad = || Failure::new("input", FailureKind::Input, "a note has a path");
        let path = text(arguments, "path").and_then(|path| RelativePath::parse(&path).ok()).ok_or_else(bad)?;
        Ok(Self { path, text: text(arguments, "text").unwrap_or_default() })
    }
}
