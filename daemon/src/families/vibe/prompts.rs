//! The table of prompts: how a project stands, and what a session needs to begin.

use std::collections::BTreeMap;

use super::briefing::{self, Texts};
use super::complete::completion;
use super::layout::{place, project_path};
use super::looks::{self, Listed};
use super::model::shown;
use super::ops::{Seen, SeenBelow, models, project_exists};
use super::search;
use super::session_start::{self, Focus};
use super::workspace::{Entry, Project, entries};
use crate::clock::Now;
use crate::disk::RelativePath;
use crate::families::facts::{Hit, Hits, NoAnswer, SearchFor};
use crate::families::need::{Carried, FileAt, ListingAt, ModelsBelow, Moment, Place, Then};
use crate::tools::{Argument, Prompt, PromptText, Session, halves};

type Given = BTreeMap<String, String>;

/// All prompts.
pub fn table() -> Vec<Prompt> {
    vec![project_briefing(), session_start()]
}

fn project() -> Argument {
    Argument { name: "project", description: "Name of the project.", required: true }
}

fn project_briefing() -> Prompt {
    Prompt {
        name: "project_briefing",
        title: "Project briefing",
        description: "How a project stands: tasks, last sessions, decisions.",
        arguments: vec![project()],
        get: halves(
            |given: &Given, session: &Session| {
                let (place, looked) = looked(given, session)?;
                let name = argument(given, "project");
                Ok(Then(looked, move |(_, seen, now): &Looked| {
                    let documents = seen.as_ref().map(|below| entries(below)).unwrap_or_default();
                    let project = Project::of(&name, &documents);
                    texts(&place, &briefing::needed(&project, &now.zone))
                }))
            },
            |((listed, seen, now), texts), given, _| {
                let name = argument(given, "project");
                project_exists(&name, listed)?;
                let documents = models(seen)?;
                let text = briefing::text(&Project::of(&name, &documents), &read(texts), &now.zone);
                Ok(PromptText { text })
            },
        ),
        complete: Some(completion("project")),
    }
}

fn session_start() -> Prompt {
    let focus = "Task number, file name, part of a title, or words to look for.";
    Prompt {
        name: "session_start",
        title: "Start a session",
        description: "What a session on a project needs to begin, with details of the focus.",
        arguments: vec![project(), Argument { name: "focus", description: focus, required: false }],
        get: halves(
            |given: &Given, session: &Session| {
                let (place, looked) = looked(given, session)?;
                let given = given.clone();
                Ok(Then(looked, move |(_, seen, now): &Looked| {
                    let name = argument(&given, "project");
                    let documents = seen.as_ref().map(|below| entries(below)).unwrap_or_default();
                    let project = Project::of(&name, &documents);
                    let focus = Focus::of(given.get("focus").map(String::as_str), &project);
                    (texts(&place, &session_start::needed(&project, &focus, &now.zone)), words(&place, &name, &focus))
                }))
            },
            |((listed, seen, now), (texts, hits)), given, _| {
                let name = argument(given, "project");
                project_exists(&name, listed)?;
                let documents = models(seen)?;
                let project = Project::of(&name, &documents);
                let focus = Focus::of(given.get("focus").map(String::as_str), &project);
                let text = session_start::text(&project, &focus, &read(texts), &found(hits), &now.zone);
                Ok(PromptText { text })
            },
        ),
        complete: Some(completion("project")),
    }
}

type Look = (ListingAt, ModelsBelow<super::model::Document>, Moment);
type Looked = (Listed, SeenBelow, Now);

/// The project and its documents, at one moment.
fn looked(given: &Given, session: &Session) -> Result<(Place, Look), super::error::VibeError> {
    let path = project_path(&argument(given, "project"))?;
    let place = place(session);
    let looked = (looks::listing(&place, Some(path.clone())), looks::documents(&place, Some(path)), Moment);
    Ok((place, looked))
}

/// A focus in words is looked for.
fn words(place: &Place, project: &str, focus: &Focus<'_>) -> Option<SearchFor> {
    let Focus::Words(words) = focus else { return None };
    Some(search::in_project(place.clone(), project, words, session_start::MOST_HITS))
}

/// An index in trouble is no reason not to begin.
fn found(searched: Option<Result<Hits, NoAnswer>>) -> Vec<Hit> {
    searched.and_then(Result::ok).map(|hits| hits.hits).unwrap_or_default()
}

fn argument(given: &Given, name: &str) -> String {
    given.get(name).cloned().unwrap_or_default()
}

/// Files, each with the path under which its text is kept.
fn texts(place: &Place, entries: &[&Entry]) -> Vec<(Carried<String>, FileAt)> {
    let file = |entry: &&Entry| {
        let path = entry.path.path();
        Some((Carried(path.clone()), looks::file(place, RelativePath::of_names(&path)?)))
    };
    entries.iter().filter_map(file).collect()
}

fn read(texts: Vec<(String, Seen)>) -> Texts {
    texts.into_iter().filter_map(|(path, seen)| Some((path, shown(&seen.ok()?.bytes)))).collect()
}
