//! What the tools take, checked in the contract's order: the shapes of ids first, then everything else. Whether
//! something exists is for the ops, once the files were seen. Unknown arguments are ignored.

use std::path::PathBuf;

use serde_json::{Value, json};
use trellis_protocol::Failure;

use super::error::{Rule, TodoError};
use super::model::{AdrStatus, DEFAULT_CATEGORY, Status, TaskId};
use super::render::{NewAdr, NewSubTask};
use super::values::{self, Object, given};
use crate::tools::Arguments;

/// A task begins with so many sub-tasks at most.
const FIRST_SUBTASKS: usize = 20;

/// So many may be given in place of those that a task has.
const SUBTASKS: usize = 200;

/// For `create_task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTask {
    /// On one line.
    pub title: String,
    /// Where it goes.
    pub category: String,
    /// For its context.
    pub description: String,
    /// Below it.
    pub subtasks: Vec<NewSubTask>,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `update_task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateTask {
    /// Which.
    pub id: TaskId,
    /// On one line.
    pub title: Option<String>,
    /// How far it is.
    pub status: Option<Status>,
    /// Where it goes.
    pub category: Option<String>,
    /// All of them.
    pub subtasks: Option<Vec<NewSubTask>>,
    /// The hash of `task.md` that the caller has read.
    pub if_match: Option<String>,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `delete_task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteTask {
    /// Which.
    pub id: TaskId,
    /// The hash of `task.md` that the caller has read.
    pub if_match: Option<String>,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `reorder_task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReorderTask {
    /// Which.
    pub id: TaskId,
    /// Where to.
    pub position: Position,
    /// The hash of `task.md` that the caller has read.
    pub if_match: Option<String>,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// Where a task moves in its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Above all others.
    First,
    /// Below all others.
    Last,
    /// Right above this one.
    Before(TaskId),
    /// Right below this one.
    After(TaskId),
}

/// For `list_tasks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTasks {
    /// Only these.
    pub status: Option<Status>,
    /// Only these.
    pub category: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `search_tasks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTasks {
    /// As it was typed.
    pub query: String,
    /// Where to look.
    pub fields: Fields,
    /// At most so many.
    pub limit: usize,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// Where a search looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// In titles.
    pub title: bool,
    /// In sub-tasks and notes.
    pub content: bool,
    /// In context files.
    pub context: bool,
}

/// For `create_adr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateAdr {
    /// All it says.
    pub adr: NewAdr,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `update_adr_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateAdr {
    /// Which.
    pub number: u16,
    /// How far it is.
    pub status: AdrStatus,
    /// Why, on one line.
    pub reason: Option<String>,
    /// The hash of its file that the caller has read.
    pub if_match: Option<String>,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `list_adrs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListAdrs {
    /// Only these.
    pub status: Option<AdrStatus>,
    /// At most so many.
    pub limit: usize,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

/// For `update_context`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateContext {
    /// Whose context.
    pub id: TaskId,
    /// What is written.
    pub content: String,
    /// Whether what is there stays.
    pub append: bool,
    /// Only there.
    pub section: Option<String>,
    /// The hash of the context that the caller has read.
    pub if_match: Option<String>,
    /// Whose project.
    pub project_root: Option<PathBuf>,
}

/// For `get_context`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetContext {
    /// Whose context.
    pub id: TaskId,
    /// Whose project.
    pub project_root: Option<PathBuf>,
}

/// For `search_contexts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchContexts {
    /// As it was typed.
    pub query: String,
    /// At most so many.
    pub limit: usize,
    /// Whose.
    pub project_root: Option<PathBuf>,
}

impl Arguments for CreateTask {
    fn schema() -> Value {
        schema(
            json!({
                "title": text_schema(1, 100, "What is to be done, on one line"),
                "category": text_schema(0, 50, "Section of task.md (default Default)"),
                "description": text_schema(0, 500, "Goes into the task's context file"),
                "subtasks": { "type": "array", "maxItems": FIRST_SUBTASKS, "items": { "type": "string", "minLength": 1, "maxLength": 100 } },
            }),
            &["title"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let title = values::title(arguments, "title".into())?;
        let category = values::category(arguments)?.unwrap_or_else(|| DEFAULT_CATEGORY.to_owned());
        let description = values::text(arguments, "description", 500)?.unwrap_or_default();
        let mut subtasks = Vec::new();
        for (number, value) in values::list(arguments, "subtasks", FIRST_SUBTASKS)?.into_iter().flatten().enumerate() {
            let title = values::title_of(Some(value), format!("subtasks[{number}]").into())?;
            subtasks.push(NewSubTask { title, status: Status::Todo });
        }
        let project_root = values::project_root(arguments)?;
        Ok(Self { title, category, description, subtasks, project_root })
    }
}

impl Arguments for UpdateTask {
    fn schema() -> Value {
        let subtask = json!({
            "type": "object",
            "properties": { "title": text_schema(1, 100, ""), "status": task_status_schema("") },
            "required": ["title"],
        });
        schema(
            json!({
                "task_id": id_schema(),
                "title": text_schema(1, 100, ""),
                "status": task_status_schema(""),
                "category": text_schema(0, 50, "The task becomes the last one there"),
                "subtasks": { "type": "array", "maxItems": SUBTASKS, "items": subtask, "description": "Replaces all of them, at most 200; [] removes them" },
                "if_match": if_match_schema("task.md", "list_tasks"),
            }),
            &["task_id"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let id = values::task_id(arguments, "task_id")?;
        let title = given(arguments, "title").map(|value| values::title_of(Some(value), "title".into())).transpose()?;
        let status = values::status(arguments)?;
        let category = values::category(arguments)?;
        let subtasks = match values::list(arguments, "subtasks", SUBTASKS)? {
            None => None,
            Some(items) => Some(items.iter().enumerate().map(subtask).collect::<Result<_, _>>()?),
        };
        let if_match = values::if_match(arguments)?;
        let project_root = values::project_root(arguments)?;
        Ok(Self { id, title, status, category, subtasks, if_match, project_root })
    }
}

fn subtask((number, value): (usize, &Value)) -> Result<NewSubTask, TodoError> {
    let field = format!("subtasks[{number}]");
    let Some(object) = value.as_object() else {
        return Err(TodoError::argument(Rule::Input, field, "an object with a title", Some(value)));
    };
    let title = values::title(object, format!("{field}.title").into())?;
    let status = values::status_at(object, format!("{field}.status").into())?.unwrap_or(Status::Todo);
    Ok(NewSubTask { title, status })
}

impl Arguments for DeleteTask {
    fn schema() -> Value {
        schema(json!({ "task_id": id_schema(), "if_match": if_match_schema("task.md", "list_tasks") }), &["task_id"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let id = values::task_id(arguments, "task_id")?;
        let if_match = values::if_match(arguments)?;
        Ok(Self { id, if_match, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for ReorderTask {
    fn schema() -> Value {
        schema(
            json!({
                "task_id": id_schema(),
                "position": { "type": "string", "enum": ["first", "last", "before", "after"] },
                "reference_task_id": { "type": "string", "pattern": "^T[0-9]{3}$", "description": "Needed for before and after; a task of the same category" },
                "if_match": if_match_schema("task.md", "list_tasks"),
            }),
            &["task_id", "position"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        const REFERENCE: &str = "reference_task_id";
        let id = values::task_id(arguments, "task_id")?;
        let value = given(arguments, "position");
        let word = value.and_then(Value::as_str).unwrap_or_default();
        let is_alone = matches!(word, "first" | "last");
        let reference = given(arguments, REFERENCE).filter(|_| !is_alone);
        let reference = reference.map(|_| values::task_id(arguments, REFERENCE)).transpose()?;
        let wrong = |field: &'static str, wanted: &'static str, value: Option<&Value>| {
            TodoError::argument(Rule::Position, field, wanted, value)
        };
        let position = match (word, reference) {
            ("first", _) => Position::First,
            ("last", _) => Position::Last,
            ("before" | "after", None) => return Err(wrong(REFERENCE, "the id of a task to move beside", None).into()),
            ("before" | "after", Some(other)) if other == id => {
                return Err(wrong(REFERENCE, "another task", given(arguments, REFERENCE)).into());
            }
            ("before", Some(other)) => Position::Before(other),
            ("after", Some(other)) => Position::After(other),
            _ => return Err(wrong("position", "`first`, `last`, `before` or `after`", value).into()),
        };
        let if_match = values::if_match(arguments)?;
        Ok(Self { id, position, if_match, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for ListTasks {
    fn schema() -> Value {
        schema(
            json!({
                "status": task_status_schema("Only these"),
                "category": text_schema(0, 50, "Only this one, exactly"),
                "limit": limit_schema(100, 50),
            }),
            &[],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let status = values::status(arguments)?;
        let category = values::category(arguments)?;
        let limit = values::limit(arguments, 100, 50)?;
        Ok(Self { status, category, limit, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for SearchTasks {
    fn schema() -> Value {
        schema(
            json!({
                "query": query_schema(),
                "search_in": {
                    "type": "array",
                    "items": { "type": "string", "enum": ["title", "content", "context"] },
                    "description": "Default title and content; content is sub-tasks and notes in task.md",
                },
                "limit": limit_schema(50, 20),
            }),
            &["query"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let query = query(arguments)?;
        let mut fields = Fields { title: false, content: false, context: false };
        for value in values::list(arguments, "search_in", usize::MAX)?.into_iter().flatten() {
            match value.as_str() {
                Some("title") => fields.title = true,
                Some("content") => fields.content = true,
                Some("context") => fields.context = true,
                _ => {
                    let wanted = "a list of `title`, `content` and `context`";
                    return Err(TodoError::argument(Rule::Input, "search_in", wanted, Some(value)).into());
                }
            }
        }
        if !(fields.title || fields.content || fields.context) {
            fields = Fields { title: true, content: true, context: false };
        }
        let limit = values::limit(arguments, 50, 20)?;
        Ok(Self { query, fields, limit, project_root: values::project_root(arguments)? })
    }
}

/// Something other than blanks, and not too much of it.
fn query(arguments: &Object) -> Result<String, TodoError> {
    let value = given(arguments, "query");
    let query = value.and_then(Value::as_str).filter(|query| !query.trim().is_empty());
    let query = query.ok_or_else(|| TodoError::argument(Rule::Input, "query", "a text that is not empty", value))?;
    if query.chars().count() > 200 {
        return Err(TodoError::argument(Rule::Input, "query", "at most 200 characters long", value));
    }
    Ok(query.to_owned())
}

impl Arguments for CreateAdr {
    fn schema() -> Value {
        schema(
            json!({
                "title": text_schema(1, 100, ""),
                "context": text_schema(0, 2000, "Why a decision is needed"),
                "decision": text_schema(0, 2000, ""),
                "rationale": text_schema(0, 2000, ""),
                "consequences": text_schema(0, 2000, ""),
                "status": adr_status_schema("Default Proposed"),
            }),
            &["title", "context", "decision", "rationale"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let adr = NewAdr {
            title: values::title(arguments, "title".into())?,
            context: values::needed_text(arguments, "context", 2000)?,
            decision: values::needed_text(arguments, "decision", 2000)?,
            rationale: values::needed_text(arguments, "rationale", 2000)?,
            consequences: values::text(arguments, "consequences", 2000)?.unwrap_or_default(),
            status: values::adr_status(arguments)?.unwrap_or(AdrStatus::Proposed),
        };
        Ok(Self { adr, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for UpdateAdr {
    fn schema() -> Value {
        schema(
            json!({
                "adr_number": { "type": "integer", "minimum": 1, "maximum": 999 },
                "status": adr_status_schema(""),
                "reason": text_schema(0, 500, "Kept in the record's history"),
                "if_match": { "type": "string", "description": "Only if the record's file still has this SHA-256" },
            }),
            &["adr_number", "status"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let number = values::adr_number(arguments)?;
        let status = values::adr_status(arguments)?.ok_or_else(|| {
            TodoError::argument(Rule::Status, "status", "`Proposed`, `Accepted` or `Deprecated`", None)
        })?;
        let reason = values::text(arguments, "reason", 500)?.map(|reason| values::one_line(&reason));
        let reason = reason.filter(|reason| !reason.is_empty());
        let if_match = values::if_match(arguments)?;
        Ok(Self { number, status, reason, if_match, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for ListAdrs {
    fn schema() -> Value {
        schema(json!({ "status": adr_status_schema("Only these"), "limit": limit_schema(100, 50) }), &[])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let status = values::adr_status(arguments)?;
        let limit = values::limit(arguments, 100, 50)?;
        Ok(Self { status, limit, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for UpdateContext {
    fn schema() -> Value {
        schema(
            json!({
                "task_id": id_schema(),
                "content": text_schema(0, 10_000, "Markdown; may be empty, to clear what it replaces"),
                "append": { "type": "boolean", "description": "Add to what is there instead of replacing it (default false)" },
                "section": text_schema(0, 50, "Only under this heading, which is added if missing"),
                "if_match": if_match_schema("the context file", "get_context"),
            }),
            &["task_id", "content"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let id = values::task_id(arguments, "task_id")?;
        let content = values::needed_text(arguments, "content", 10_000)?;
        let append = values::flag(arguments, "append")?;
        let section = values::section(arguments)?;
        let if_match = values::if_match(arguments)?;
        Ok(Self { id, content, append, section, if_match, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for GetContext {
    fn schema() -> Value {
        schema(json!({ "task_id": id_schema() }), &["task_id"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let id = values::task_id(arguments, "task_id")?;
        Ok(Self { id, project_root: values::project_root(arguments)? })
    }
}

impl Arguments for SearchContexts {
    fn schema() -> Value {
        schema(json!({ "query": query_schema(), "limit": limit_schema(50, 20) }), &["query"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let query = query(arguments)?;
        let limit = values::limit(arguments, 50, 20)?;
        Ok(Self { query, limit, project_root: values::project_root(arguments)? })
    }
}

/// An object with these properties, and the project.
fn schema(mut properties: Value, required: &[&str]) -> Value {
    properties["project_root"] =
        json!({ "type": "string", "description": "Absolute path of the project, if not the session's own" });
    match required {
        [] => json!({ "type": "object", "properties": properties }),
        required => json!({ "type": "object", "properties": properties, "required": required }),
    }
}

fn text_schema(least: usize, most: usize, description: &str) -> Value {
    let mut schema = json!({ "type": "string" });
    if least > 0 {
        schema["minLength"] = least.into();
    }
    schema["maxLength"] = most.into();
    described(schema, description)
}

fn described(mut schema: Value, description: &str) -> Value {
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    schema
}

fn id_schema() -> Value {
    json!({ "type": "string", "pattern": "^T[0-9]{3}$" })
}

fn task_status_schema(description: &str) -> Value {
    described(json!({ "type": "string", "enum": Status::ALL.map(Status::word) }), description)
}

fn adr_status_schema(description: &str) -> Value {
    described(json!({ "type": "string", "enum": AdrStatus::ALL.map(AdrStatus::word) }), description)
}

fn limit_schema(most: usize, default: usize) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": most, "default": default })
}

fn query_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 200, "description": "Words that must all occur; case and width do not matter" })
}

fn if_match_schema(file: &str, tool: &str) -> Value {
    json!({ "type": "string", "description": format!("Only if {file} still has this hash, as {tool} gave it") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected error is its code and the value in its details.
    fn check<A: Arguments>(arguments: Value, expected: Result<(), (&str, Value)>) {
        let seen = A::parse(arguments.as_object().expect("an object"));
        let seen = seen.map(drop).map_err(|failure| (failure.code.to_string(), failure.details["value"].clone()));
        assert_eq!(seen, expected.map_err(|(code, value)| (code.to_owned(), value)), "{arguments}");
    }

    #[test]
    fn a_task_begins_with_few_sub_tasks_and_may_get_many() {
        let new = |count| json!({ "title": "a", "subtasks": vec!["s"; count] });
        check::<CreateTask>(new(20), Ok(()));
        check::<CreateTask>(new(21), Err(("CONTENT_TOO_LONG", json!(21))));
        let all = |count| json!({ "task_id": "T001", "subtasks": vec![json!({ "title": "s" }); count] });
        check::<UpdateTask>(all(200), Ok(()));
        check::<UpdateTask>(all(201), Err(("CONTENT_TOO_LONG", json!(201))));
        let most = |schema: Value| schema["properties"]["subtasks"]["maxItems"].clone();
        assert_eq!((most(CreateTask::schema()), most(UpdateTask::schema())), (json!(20), json!(200)));
    }

    #[test]
    fn a_context_may_become_empty() {
        check::<UpdateContext>(json!({ "task_id": "T001", "content": "" }), Ok(()));
        check::<UpdateContext>(json!({ "task_id": "T001" }), Err(("INVALID_INPUT", Value::Null)));
        assert_eq!(UpdateContext::schema()["properties"]["content"].get("minLength"), None);
    }
}
