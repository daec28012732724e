//! The tools that ask the index: `search` and `reindex`.

use serde::Serialize;
use serde_json::json;

use super::arguments::{ReindexArgs, SearchArgs};
use super::error::VibeError;
use super::layout::{DocumentPath, place, project_path};
use super::looks::{self, Listed};
use super::ops::project_exists;
use crate::clock::Now;
use crate::families::facts::{Compared, Hit, Hits, NoAnswer, Reindex, SearchFor};
use crate::families::need::{Moment, Place, Unseen};
use crate::tools::{Answer, Effect, Session, Tool};

/// Whose documents these are.
const FAMILY: &str = "vibe";

/// `search`.
pub fn search() -> Tool {
    Tool::read(
        ("search", "Search documents"),
        "Use this to find documents of all projects by their words, best first, with the place of each match. Words must \
         all occur if they can; accents and case do not matter.",
        |args: &SearchArgs, session: &Session| {
            let place = place(session);
            let project = args.project.as_deref().map(project_path).transpose()?;
            let listing = project.map(|project| looks::listing(&place, Some(project)));
            let asks = looks::searchable(args.folder.as_deref()).is_ok();
            let search = asks.then(|| search_for(place, &args.query, args));
            Ok((listing, search))
        },
        |seen, args: &SearchArgs, _| Ok(found(seen, args)?),
    )
}

fn search_for(place: Place, query: &str, args: &SearchArgs) -> SearchFor {
    SearchFor {
        family: FAMILY,
        place,
        query: query.to_owned(),
        project: args.project.clone(),
        folder: args.folder.clone(),
        limit: args.limit,
    }
}

/// Some words in one project.
pub fn in_project(place: Place, project: &str, words: &str, limit: usize) -> SearchFor {
    let (query, project) = (words.to_owned(), Some(project.to_owned()));
    SearchFor { family: FAMILY, place, query, project, folder: None, limit }
}

type Searched = Option<Result<Hits, NoAnswer>>;

fn found((listed, searched): (Option<Listed>, Searched), args: &SearchArgs) -> Result<Answer, VibeError> {
    if let (Some(project), Some(listed)) = (&args.project, listed) {
        project_exists(project, listed)?;
    }
    looks::searchable(args.folder.as_deref())?;
    let hits = answered(searched.unwrap_or_else(|| Ok(Hits::default())))?;
    let results = hits.hits.iter().filter_map(result).collect();
    let rebuilding = hits.rebuilding.map(|(done, total)| Rebuilding { done, total });
    Ok(Answer::object(Searching { query: &args.query, total_matches: hits.total, results, rebuilding }))
}

/// What `search` answers.
#[derive(Serialize)]
struct Searching<'a> {
    query: &'a str,
    total_matches: usize,
    results: Vec<Shown<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rebuilding: Option<Rebuilding>,
}

#[derive(Serialize)]
struct Rebuilding {
    done: usize,
    total: usize,
}

#[derive(Serialize)]
struct Shown<'a> {
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

fn result(hit: &Hit) -> Option<Shown<'_>> {
    let path = DocumentPath::of(hit.path.as_str())?;
    Some(Shown {
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
pub fn answered<T: Default>(said: Result<T, NoAnswer>) -> Result<T, VibeError> {
    match said {
        Ok(said) => Ok(said),
        Err(NoAnswer::Unseen(Unseen::NoTree | Unseen::Missing)) => Ok(T::default()),
        Err(NoAnswer::Unseen(_)) => Err(VibeError::Index { why: "the workspace cannot be read".to_owned() }),
        Err(NoAnswer::Index(why)) => Err(VibeError::Index { why }),
        Err(NoAnswer::Cancelled) => Err(VibeError::Index { why: "the call was cancelled".to_owned() }),
    }
}

/// `reindex`.
pub fn reindex() -> Tool {
    Tool {
        effect: Effect::Administers,
        ..Tool::read(
            ("reindex", "Reindex documents"),
            "Use this if search seems to miss something: compares the index with the files of one project or of all. \
             `full` reads every file again.",
            |args: &ReindexArgs, session: &Session| {
                let place = place(session);
                let path = args.project.as_deref().map(project_path).transpose()?;
                let listing = path.map(|path| looks::listing(&place, Some(path)));
                let (project, full) = (args.project.clone(), args.full);
                let reindex = Reindex { family: FAMILY, place, project, full };
                Ok((listing, (Moment, reindex, Moment)))
            },
            |seen, args: &ReindexArgs, _| Ok(compared(seen, args)?),
        )
    }
}

type Timed = (Now, Result<Compared, NoAnswer>, Now);

fn compared((listed, (before, said, after)): (Option<Listed>, Timed), args: &ReindexArgs) -> Result<Answer, VibeError> {
    if let (Some(project), Some(listed)) = (&args.project, listed) {
        project_exists(project, listed)?;
    }
    let Compared { scanned, updated, added, deleted, unchanged } = answered(said)?;
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
