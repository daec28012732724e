//! What the tools take. Types are checked here, and the shape of every operation; whether values suit the plan is for
//! the ops. Null counts as absent; unknown arguments are ignored.

use serde_json::{Map, Value, json};
use trellis_protocol::Failure;

use super::error::VineError;
use super::operations::Operation;
use crate::tools::Arguments;

type Given = Map<String, Value>;

/// For `vine_read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadArgs {
    /// The plan.
    pub file: String,
    /// What to tell.
    pub action: Action,
    /// About whom.
    pub id: Option<String>,
    /// With which status; checked once the plan was read.
    pub status: Option<String>,
    /// With which words.
    pub query: Option<String>,
}

/// What `vine_read` may tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Counts.
    Summary,
    /// Nodes.
    List,
    /// One node.
    Task,
    /// One node and its neighbours.
    Context,
    /// Whatever depends on a node.
    Descendants,
    /// Nodes with some words.
    Search,
    /// References.
    Refs,
    /// Whether it is sound.
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

/// For `vine_next`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextArgs {
    /// The plan.
    pub file: String,
}

/// For `vine_write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteArgs {
    /// The plan.
    pub file: String,
    /// What to do, in order; at least one.
    pub operations: Vec<Operation>,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
}

/// For `vine_expand`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandArgs {
    /// The plan.
    pub file: String,
    /// The reference in it.
    pub ref_id: String,
    /// The plan that takes its place.
    pub child_file: String,
    /// The hash of `file` that the caller has read.
    pub if_match: Option<String>,
}

impl Arguments for ReadArgs {
    fn schema() -> Value {
        let actions = Action::ALL.map(|(word, _)| word);
        json!({
            "type": "object",
            "properties": {
                "file": file_schema(),
                "action": { "type": "string", "enum": actions },
                "id": { "type": "string", "description": "Task id, for task, context and descendants" },
                "status": { "type": "string", "description": "For list: only tasks with this status" },
                "query": { "type": "string", "description": "For search and list: words in id, name or description" },
            },
            "required": ["file", "action"],
        })
    }

    fn parse(given: &Given) -> Result<Self, Failure> {
        let word = required(given, "action")?;
        let action = Action::ALL.iter().find(|(known, _)| *known == word).map(|(_, action)| *action);
        let wanted = "one of summary, list, task, context, descendants, search, refs, validate";
        Ok(Self {
            file: required(given, "file")?,
            action: action.ok_or(VineError::Argument { field: "action", wanted })?,
            id: optional(given, "id")?,
            status: optional(given, "status")?,
            query: optional(given, "query")?,
        })
    }
}

impl Arguments for NextArgs {
    fn schema() -> Value {
        json!({ "type": "object", "properties": { "file": file_schema() }, "required": ["file"] })
    }

    fn parse(given: &Given) -> Result<Self, Failure> {
        Ok(Self { file: required(given, "file")? })
    }
}

impl Arguments for WriteArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "file": file_schema(),
                "operations": {
                    "type": "array",
                    "minItems": 1,
                    "items": { "type": "object", "properties": { "op": { "type": "string" } }, "required": ["op"] },
                    "description": "Each with op and its fields: create {version?} (first); add_task {id, name, status?, \
                        description?, dependsOn?, annotations?}; remove_task {id}; set_status {id, status}; claim {id, \
                        exclusive?}; update {id, name?, description?, decisions?, attachments?: [{class, mime, uri}], \
                        annotations?}; add_dep, remove_dep {taskId, depId}; add_ref {id, name, vine, description?, \
                        dependsOn?, decisions?}; update_ref_uri {id, uri}; extract_to_ref {id, vine, refName?}",
                },
                "if_match": if_match_schema(),
            },
            "required": ["file", "operations"],
        })
    }

    fn parse(given: &Given) -> Result<Self, Failure> {
        let file = required(given, "file")?;
        let list = given.get("operations").and_then(Value::as_array).filter(|list| !list.is_empty());
        let objects: Option<Vec<Given>> =
            list.and_then(|list| list.iter().map(|one| one.as_object().cloned()).collect());
        let wrong = VineError::Argument { field: "operations", wanted: "an array of at least one object" };
        let operations = Operation::parse_all(&objects.ok_or(wrong)?)?;
        Ok(Self { file, operations, if_match: optional(given, "if_match")? })
    }
}

impl Arguments for ExpandArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "file": file_schema(),
                "ref_id": { "type": "string", "description": "Id of the reference in file" },
                "child_file": { "type": "string", "description": "Path of the plan to put in its place" },
                "if_match": if_match_schema(),
            },
            "required": ["file", "ref_id", "child_file"],
        })
    }

    fn parse(given: &Given) -> Result<Self, Failure> {
        Ok(Self {
            file: required(given, "file")?,
            ref_id: required(given, "ref_id")?,
            child_file: required(given, "child_file")?,
            if_match: optional(given, "if_match")?,
        })
    }
}

/// Whether a call names a relative path, so that the host's roots matter.
pub fn names_relative_path(given: &Given) -> bool {
    let named = ["file", "child_file"].into_iter().filter_map(|field| given.get(field)?.as_str());
    named.into_iter().any(|path| !path.starts_with('/'))
}

fn required(given: &Given, field: &'static str) -> Result<String, VineError> {
    optional(given, field)?.ok_or(VineError::Argument { field, wanted: "a string" })
}

fn optional(given: &Given, field: &'static str) -> Result<Option<String>, VineError> {
    match given.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(VineError::Argument { field, wanted: "a string" }),
    }
}

fn file_schema() -> Value {
    json!({ "type": "string", "description": "Path of the .vine file, absolute or relative; .vine may be left out" })
}

fn if_match_schema() -> Value {
    json!({ "type": "string", "description": "Only if this is still the hash of file" })
}
