//! The table of resources: all projects, one project, one document; each as JSON.

use serde_json::{Value, json};
use trellis_protocol::Failure;

use super::arguments::ReadArgs;
use super::complete::{completion, projects};
use super::edits::absolute;
use super::layout::{place, project_path};
use super::ops::{files, project_exists, read_doc};
use super::workspace::Project;
use super::{needs, uris};
use crate::families::need::Constant;
use crate::families::resource::UriVariables;
use crate::families::{Resource, ResourceContent, SessionContext, two_phase};

const JSON: &str = "application/json";

pub fn table() -> Vec<Resource> {
    vec![all(), one(), document()]
}

fn all() -> Resource {
    let read = two_phase(
        |_: &UriVariables, session: &SessionContext| {
            let place = place(session);
            let looked = (needs::listing(&place, None), needs::files(&place, None));
            Ok((Constant(place.clone()), needs::real_root(&place), looked))
        },
        |(place, root, (listed, seen)), _, now| {
            let files = files(seen)?;
            let summary = |name: &String| {
                let path = absolute(&place, root.clone(), name);
                Project::with_others(name, &files).summary(&path, &now.zone)
            };
            let projects: Vec<Value> = projects(listed).iter().map(summary).collect();
            Ok(contents(&json!({ "projects": projects })))
        },
    );
    Resource::new(
        (uris::PROJECTS, "projects"),
        ("Projects", "All projects of the workspace, with figures."),
        JSON,
        read,
    )
}

fn one() -> Resource {
    let read = two_phase(
        |variables: &UriVariables, session: &SessionContext| {
            let path = project_path(&variable(variables, "name"))?;
            let place = place(session);
            let looked = (needs::project_listing(&place, path.clone()), needs::files(&place, Some(path)));
            Ok((Constant(place.clone()), needs::real_root(&place), looked))
        },
        |(place, root, (listed, seen)), variables, now| {
            let name = variable(variables, "name");
            project_exists(&name, listed)?;
            let files = files(seen)?;
            let path = absolute(&place, root, &name);
            Ok(contents(&Project::with_others(&name, &files).files(&path, &now.zone)))
        },
    );
    let resource = Resource::new(
        (uris::PROJECT, "project"),
        ("Project", "The files of one project, by folder, with dates and the status of tasks."),
        JSON,
        read,
    );
    Resource { complete: Some(completion("name")), ..resource }
}

fn document() -> Resource {
    let read = two_phase(
        |variables: &UriVariables, session: &SessionContext| Ok(needs::reading(&target(variables), session)?),
        |((_, listed), seen), variables, now| {
            Ok::<_, Failure>(contents(&read_doc((listed, seen), &target(variables), now)?))
        },
    );
    let resource = Resource::new(
        (uris::DOCUMENT, "document"),
        ("Document", "One document or text file with its metadata, as it is read by tools."),
        JSON,
        read,
    );
    Resource { complete: Some(completion("name")), ..resource }
}

fn target(variables: &UriVariables) -> ReadArgs {
    let (project, folder) = (variable(variables, "name"), variable(variables, "folder"));
    ReadArgs { project, folder, filename: variable(variables, "file") }
}

fn variable(variables: &UriVariables, name: &str) -> String {
    variables.get(name).cloned().unwrap_or_default()
}

fn contents(value: &Value) -> ResourceContent {
    ResourceContent { text: value.to_string(), last_modified: None }
}
