//! The table of prompts: how a project stands, and what a session needs to begin.

use std::collections::BTreeMap;

use super::briefing::{self, TextsByPath};
use super::complete::completion;
use super::error::VibeError;
use super::layout::{place, project_path};
use super::model::shown;
use super::needs::{self, ProjectListed, ProjectListing};
use super::ops::{DocumentResult, DocumentsResult, models, project_exists};
use super::search;
use super::session_start::{self, Focus};
use super::workspace::{Project, WorkspaceDocument, entries};
use crate::clock::Now;
use crate::disk::{ReadFile, ReadModelsInTree, RelativePath, TreeLocation};
use crate::families::facts::{Hit, Hits, SearchError, SearchRequest};
use crate::families::need::{AndThen, Constant, CurrentTime};
use crate::families::{Prompt, PromptArgument, PromptText, SessionContext, two_phase};

type PromptArguments = BTreeMap<String, String>;

pub fn table() -> Vec<Prompt> {
    vec![project_briefing(), session_start()]
}

fn project() -> PromptArgument {
    PromptArgument { name: "project", description: "Name of the project.", required: true }
}

fn project_briefing() -> Prompt {
    Prompt {
        name: "project_briefing",
        title: "Project briefing",
        description: "How a project stands: tasks, last sessions, decisions.",
        arguments: vec![project()],
        get: two_phase(
            |given: &PromptArguments, session: &SessionContext| {
                let (place, looked) = looked(given, session)?;
                let name = argument(given, "project");
                Ok(AndThen(looked, move |(_, seen, now): &PromptOutput| {
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
        arguments: vec![project(), PromptArgument { name: "focus", description: focus, required: false }],
        get: two_phase(
            |given: &PromptArguments, session: &SessionContext| {
                let (place, looked) = looked(given, session)?;
                let given = given.clone();
                Ok(AndThen(looked, move |(_, seen, now): &PromptOutput| {
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

type PromptNeed = (ProjectListing, ReadModelsInTree<super::model::Document>, CurrentTime);
type PromptOutput = (ProjectListed, DocumentsResult, Now);

/// The project and its documents, at one moment.
fn looked(given: &PromptArguments, session: &SessionContext) -> Result<(TreeLocation, PromptNeed), VibeError> {
    let path = project_path(&argument(given, "project"))?;
    let place = place(session);
    let looked = (needs::project_listing(&place, path.clone()), needs::documents(&place, Some(path)), CurrentTime);
    Ok((place, looked))
}

/// A focus in words is looked for.
fn words(place: &TreeLocation, project: &str, focus: &Focus<'_>) -> Option<SearchRequest> {
    let Focus::Words(words) = focus else { return None };
    Some(search::in_project(place.clone(), project, words, session_start::MAX_RELATED_HITS))
}

/// An index in trouble is no reason not to begin.
fn found(searched: Option<Result<Hits, SearchError>>) -> Vec<Hit> {
    searched.and_then(Result::ok).map(|hits| hits.hits).unwrap_or_default()
}

fn argument(given: &PromptArguments, name: &str) -> String {
    given.get(name).cloned().unwrap_or_default()
}

/// Files, each with the path under which its text is kept.
fn texts(place: &TreeLocation, entries: &[&WorkspaceDocument]) -> Vec<(Constant<String>, ReadFile)> {
    let file = |entry: &&WorkspaceDocument| {
        let path = entry.path.path();
        Some((Constant(path.clone()), needs::file(place, RelativePath::from_components(&path)?)))
    };
    entries.iter().filter_map(file).collect()
}

fn read(texts: Vec<(String, DocumentResult)>) -> TextsByPath {
    texts.into_iter().filter_map(|(path, seen)| Some((path, shown(&seen.ok()?.bytes)))).collect()
}
