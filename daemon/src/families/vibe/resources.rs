//! The table of resources: all projects, one project, one document; each as JSON.

use serde_json::{Value, json};
use trellis_protocol::Failure;

use super::arguments::ReadArgs;
use super::complete::{completion, projects};
use super::edits::absolute;
use super::layout::{place, project_path};
use super::ops::{files, project_exists, read_doc};
use super::workspace::Project;
use super::{looks, uris};
use crate::families::need::Carried;
use crate::tools::offer::Variables;
use crate::tools::{Contents, ListedOn, Resource, Session, halves};

/// All resources.
pub fn table() -> Vec<Resource> {
    vec![all(), one(), document()]
}

fn all() -> Resource {
    Resource {
        uri: uris::PROJECTS,
        name: "projects",
        title: "Projects",
        description: "All projects of the workspace, with figures.",
        mime: "application/json",
        list: None,
        read: halves(
            |_: &Variables, session: &Session| {
                let place = place(session);
                let looked = (looks::listing(&place, None), looks::files(&place, None));
                Ok((Carried(place.clone()), looks::real_root(&place), looked))
            },
            |(place, root, (listed, seen)), _, now| {
                let files = files(seen)?;
                let summary = |name: &String| {
                    let path = absolute(&place, root.clone(), name);
                    Project::with_others(name, &files).summary(path.as_str().unwrap_or_default(), &now.zone)
                };
                let projects: Vec<Value> = projects(listed).iter().map(summary).collect();
                Ok(contents(&json!({ "projects": projects })))
            },
        ),
        complete: None,
        listed_on: ListedOn::EverySurface,
    }
}

fn one() -> Resource {
    Resource {
        uri: uris::PROJECT,
        name: "project",
        title: "Project",
        description: "The files of one project, by folder, with dates and the status of tasks.",
        mime: "application/json",
        list: None,
        read: halves(
            |variables: &Variables, session: &Session| {
                let path = project_path(&variable(variables, "name"))?;
                let place = place(session);
                let looked = (looks::listing(&place, Some(path.clone())), looks::files(&place, Some(path)));
                Ok((Carried(place.clone()), looks::real_root(&place), looked))
            },
            |(place, root, (listed, seen)), variables, now| {
                let name = variable(variables, "name");
                project_exists(&name, listed)?;
                let files = files(seen)?;
                let path = absolute(&place, root, &name);
                let path = path.as_str().unwrap_or_default();
                Ok(contents(&Project::with_others(&name, &files).files(path, &now.zone)))
            },
        ),
        complete: Some(completion("name")),
        listed_on: ListedOn::EverySurface,
    }
}

fn document() -> Resource {
    Resource {
        uri: uris::DOCUMENT,
        name: "document",
        title: "Document",
        description: "One document or text file with its metadata, as read_doc gives it.",
        mime: "application/json",
        list: None,
        read: halves(
            |variables: &Variables, session: &Session| Ok(looks::reading(&target(variables), session)?),
            |((_, listed), seen), variables, now| {
                Ok::<_, Failure>(contents(&read_doc((listed, seen), &target(variables), now)?))
            },
        ),
        complete: Some(completion("name")),
        listed_on: ListedOn::EverySurface,
    }
}

fn target(variables: &Variables) -> ReadArgs {
    let (project, folder) = (variable(variables, "name"), variable(variables, "folder"));
    ReadArgs { project, folder, filename: variable(variables, "file") }
}

fn variable(variables: &Variables, name: &str) -> String {
    variables.get(name).cloned().unwrap_or_default()
}

fn contents(value: &Value) -> Contents {
    Contents { text: value.to_string(), last_modified: None }
}
