//! The tools that ask the index: `search` and `reindex`.

use serde::Serialize;
use serde_json::json;

use super::arguments::{ReindexArgs, SearchArgs};
use super::error::VibeError;
use super::layout::{DocumentPath, place, project_path};
use super::needs::{self, ProjectListed};
use super::ops::project_exists;
use crate::clock::Now;
use crate::disk::{ReadError, TreeLocation};
use crate::families::facts::{Hit, Hits, ReindexCounts, ReindexRequest, SearchError, SearchRequest};
use crate::families::need::CurrentTime;
use crate::families::{Answer, SessionContext, Tool, ToolEffect};

/// Whose documents these are.
const FAMILY: &str = "vibe";

pub fn search() -> Tool {
    Tool::read(
        ("search", "Search documents"),
        "Use this to find documents of all projects by their words, best first, with the place of each match. Words must \
         all occur if they can; accents and case do not matter.",
        |args: &SearchArgs, session: &SessionContext| {
            let place = place(session);
            let project = args.project.as_deref().map(project_path).transpose()?;
            let listing = project.map(|project| needs::project_listing(&place, project));
            let asks = needs::searchable(args.folder.as_deref()).is_ok();
            let SearchArgs { query, project, folder, limit } = args.clone();
            let search = asks.then_some(SearchRequest { family: FAMILY, place, query, project, folder, limit });
            Ok((listing, search))
        },
        |seen, args: &SearchArgs, _| Ok(found(seen, args)?),
    )
}

/// Some words in one project.
pub fn in_project(place: TreeLocation, project: &str, words: &str, limit: usize) -> SearchRequest {
    let (query, project) = (words.to_owned(), Some(project.to_owned()));
    SearchRequest { family: FAMILY, place, query, project, folder: None, limit }
}

type SearchOutput = Option<Result<Hits, SearchError>>;

fn found((listed, searched): (Option<ProjectListed>, SearchOutput), args: &SearchArgs) -> Result<Answer, VibeError> {
    if let (Some(project), Some(listed)) = (&args.project, listed) {
        project_exists(project, listed)?;
    }
    needs::searchable(args.folder.as_deref())?;
    let hits = answered(searched.unwrap_or_else(|| Ok(Hits::default())))?;
    let results = hits.hits.iter().filter_map(result).collect();
    let rebuilding = hits.progress.map(|(done, total)| CatchUpNote { done, total });
    Ok(Answer::object(SearchAnswer {
        query: &args.query,
        total_matches: hits.total,
        results,
        rebuilding,
        relaxed: hits.is_relaxed,
    }))
}

/// What `search` answers.
#[derive(Serialize)]
struct SearchAnswer<'a> {
    query: &'a str,
    total_matches: usize,
    results: Vec<SearchRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rebuilding: Option<CatchUpNote>,
    /// Not all terms were found.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    relaxed: bool,
}

#[derive(Serialize)]
struct CatchUpNote {
    done: usize,
    total: usize,
}

#[derive(Serialize)]
struct SearchRow<'a> {
    project: String,
    folder: String,
    filename: String,
    path: String,
    heading: Option<&'a str>,
    snippet: &'a str,
    score: f64,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    status: Option<&'a str>,
    updated: String,
}

fn result(hit: &Hit) -> Option<SearchRow<'_>> {
    let path = DocumentPath::of(hit.path.as_str())?;
    Some(SearchRow {
        path: path.path(),
        project: path.project,
        folder: path.folder,
        filename: path.filename,
        heading: hit.heading.as_deref(),
        snippet: &hit.snippet,
        score: (hit.score * 10_000.0).round() / 10_000.0,
        metadata: Metadata {
            kind: hit.kind.as_deref(),
            status: hit.status.as_deref(),
            updated: hit.updated.to_string(),
        },
    })
}

/// What the index said. A workspace that is not there holds nothing.
pub fn answered<T: Default>(said: Result<T, SearchError>) -> Result<T, VibeError> {
    match said {
        Ok(said) => Ok(said),
        Err(SearchError::Read(ReadError::TreeMissing | ReadError::Missing)) => Ok(T::default()),
        Err(SearchError::Read(_)) => Err(VibeError::Index { why: "the workspace cannot be read".to_owned() }),
        Err(SearchError::Index(why)) => Err(VibeError::Index { why }),
        Err(SearchError::Cancelled) => Err(VibeError::Index { why: "the call was cancelled".to_owned() }),
    }
}

pub fn reindex() -> Tool {
    Tool {
        effect: ToolEffect::Maintains,
        ..Tool::read(
            ("reindex", "Reindex documents"),
            "Use this if search seems to miss something: compares the index with the files of one project or of all. \
             `full` reads every file again.",
            |args: &ReindexArgs, session: &SessionContext| {
                let place = place(session);
                let path = args.project.as_deref().map(project_path).transpose()?;
                let listing = path.map(|path| needs::project_listing(&place, path));
                let (project, full) = (args.project.clone(), args.full);
                let reindex = ReindexRequest { family: FAMILY, place, project, full };
                Ok((listing, (CurrentTime, reindex, CurrentTime)))
            },
            |seen, args: &ReindexArgs, _| Ok(compared(seen, args)?),
        )
    }
}

type TimedReindex = (Now, Result<ReindexCounts, SearchError>, Now);

fn compared(
    (listed, (before, said, after)): (Option<ProjectListed>, TimedReindex),
    args: &ReindexArgs,
) -> Result<Answer, VibeError> {
    if let (Some(project), Some(listed)) = (&args.project, listed) {
        project_exists(project, listed)?;
    }
    let ReindexCounts { scanned, updated, added, deleted, unchanged } = answered(said)?;
    let duration_ms = after.at.duration_since(before.at).as_millis().max(0) as u64;
    Ok(Answer::object(json!({
        "success": true,
        "project": args.project,
        "stats": {
            "scanned": scanned,
            "updated": updated,
            "added": added,
            "deleted": deleted,
            "unchanged": unchanged,
            "duration_ms": duration_ms,
        },
    })))
}
