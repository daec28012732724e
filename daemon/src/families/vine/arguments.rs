//! What the tools take. Types are checked here, and the shape of every operation; whether values suit the plan is for
//! the ops. Names that nobody knows are ignored, as the reference does.

use serde_json::{Value, json};

use super::error::VineError;
use super::operations::Operation;
use crate::arguments;
use crate::families::error::ArgumentError;
use crate::families::fields::Object;
use crate::families::shapes::{Shape, shape, text};

const FILE: &str = "Path of the .vine file, absolute or relative; .vine may be left out";
const HASH: &str = "Only if this is still the hash of file";
const OPERATIONS: &str = "Each with op and its fields: create {version?} (first); add_task {id, name, status?, \
                          description?, dependsOn?, annotations?}; remove_task {id}; set_status {id, status}; claim {id, \
                          exclusive?}; update {id, name?, description?, decisions?, attachments?: [{class, mime, uri}], \
                          annotations?}; add_dep, remove_dep {taskId, depId}; add_ref {id, name, vine, description?, \
                          dependsOn?, decisions?}; update_ref_uri {id, uri}; extract_to_ref {id, vine, refName?}";

arguments! {
    /// The status is checked once the plan was read.
    pub struct ReadArgs else VineError {
        file: String = text("a string").required(), FILE;
        action: Action = action().required().first(), "";
        id: Option<String> = text("a string").optional(), "Task id, for task, context and descendants";
        status: Option<String> = text("a string").optional(), "For list: only tasks with this status";
        query: Option<String> = text("a string").optional(), "For search and list: words in id, name or description";
    }
}

arguments! {
    pub struct NextArgs else VineError {
        file: String = text("a string").required(), FILE;
    }
}

arguments! {
    /// At least one operation.
    pub struct WriteArgs else VineError {
        file: String = text("a string").required(), FILE;
        operations: Vec<Operation> = operations().required(), OPERATIONS;
        if_match: Option<String> = text("a string").optional(), HASH;
    }
}

arguments! {
    pub struct ExpandArgs else VineError {
        file: String = text("a string").required(), FILE;
        ref_id: String = text("a string").required(), "Id of the reference in file";
        child_file: String = text("a string").required(), "Path of the plan to put in its place";
        if_match: Option<String> = text("a string").optional(), HASH;
    }
}

/// What `vine_read` may tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Summary,
    List,
    Task,
    /// One node and its neighbours.
    Context,
    /// Whatever depends on a node.
    Descendants,
    Search,
    Refs,
    Validate,
}

impl Action {
    const ALL: [(&str, Self); 8] = [
        ("summary", Self::Summary),
        ("list", Self::List),
        ("task", Self::Task),
        ("context", Self::Context),
        ("descendants", Self::Descendants),
        ("search", Self::Search),
        ("refs", Self::Refs),
        ("validate", Self::Validate),
    ];
}

fn action() -> impl Shape<Value = Action> {
    let schema = || json!({ "type": "string", "enum": Action::ALL.map(|(word, _)| word) });
    shape(schema, "a string", |value| value.as_str().map(str::to_owned)).then(|word| {
        let action = Action::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, action)| action);
        let wanted = "one of summary, list, task, context, descendants, search, refs, validate";
        action.ok_or_else(|| ArgumentError::must_be(wanted).late())
    })
}

fn operations() -> impl Shape<Value = Vec<Operation>> {
    let schema = || {
        let item = json!({ "type": "object", "properties": { "op": { "type": "string" } }, "required": ["op"] });
        json!({ "type": "array", "minItems": 1, "items": item })
    };
    let objects = |value: &Value| -> Option<Vec<Object>> {
        let list = value.as_array().filter(|list| !list.is_empty())?;
        list.iter().map(|one| one.as_object().cloned()).collect()
    };
    shape(schema, "an array of at least one object", objects)
        .then(|objects| Operation::parse_all(&objects).map_err(|error| ArgumentError::is(error.to_string())))
}

/// Whether a call names a relative path, so that the host's roots matter.
pub fn names_relative_path(given: &Object) -> bool {
    let named = ["file", "child_file"].into_iter().filter_map(|field| given.get(field)?.as_str());
    named.into_iter().any(|path| !path.starts_with('/'))
}
