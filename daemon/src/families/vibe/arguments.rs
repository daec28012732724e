//! What the tools take: types and values that are wrong by themselves. Names and folders are checked later, in the
//! contract's order. Null counts as absent; unknown arguments are ignored.

use serde_json::{Map, Value, json};
use trellis_protocol::Failure;

use super::error::VibeError;
use super::layout::MAIN_PLAN;
use super::model::STATUSES;
use super::task_file::NewTask;
use crate::text::json::whole_number;
use crate::tools::Arguments;

type Object = Map<String, Value>;

/// More hits are not given.
const MOST_HITS: usize = 200;
/// So many when nobody says how many.
const USUAL_HITS: usize = 20;

/// For `search`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchArgs {
    /// As it was typed.
    pub query: String,
    /// Only there.
    pub project: Option<String>,
    /// Only there.
    pub folder: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// For `read_doc`, and where a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadArgs {
    /// Whose.
    pub project: String,
    /// Empty for the project itself.
    pub folder: String,
    /// Its name.
    pub filename: String,
}

/// For `list_tasks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListArgs {
    /// Only there.
    pub project: Option<String>,
    /// Only those that are so far.
    pub status: Option<String>,
    /// With their texts.
    pub include_content: bool,
}

/// For `get_plan`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanArgs {
    /// Whose.
    pub project: String,
    /// Which.
    pub filename: String,
}

/// For `create_doc` and `update_doc`.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteArgs {
    /// Where.
    pub target: ReadArgs,
    /// The whole text.
    pub content: String,
    /// Goes over the text's own front matter.
    pub frontmatter: Option<Object>,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
}

/// For `create_doc`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateArgs(pub WriteArgs);

/// For `update_doc`.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateArgs(pub WriteArgs);

/// For `create_task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskArgs {
    /// Whose.
    pub project: String,
    /// What it says.
    pub task: NewTask,
}

/// For `update_task_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusArgs {
    /// Whose.
    pub project: String,
    /// A name or a number.
    pub task: String,
    /// How far it is now.
    pub status: String,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
}

/// For `create_plan`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlanArgs {
    /// Whose.
    pub project: String,
    /// The whole text.
    pub content: String,
    /// Which.
    pub filename: String,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
}

/// For `log_session`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogArgs {
    /// Whose.
    pub project: String,
    /// The note.
    pub content: String,
    /// What the note is about, for its name.
    pub suffix: Option<String>,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
}

/// For `reindex`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReindexArgs {
    /// Only there.
    pub project: Option<String>,
    /// Whatever the files' times say.
    pub full: bool,
}

/// For `init_project`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitArgs {
    /// The new name.
    pub project: String,
}

impl Arguments for SearchArgs {
    fn schema() -> Value {
        schema(
            json!({
                "query": { "type": "string", "description": "Words; \"phrase\", prefix*, OR, -without" },
                "project": text_schema("Only this project"),
                "folder": text_schema("Only this folder"),
                "limit": { "type": "integer", "minimum": 1, "default": USUAL_HITS },
            }),
            &["query"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let query = text(arguments, "query")?;
        let project = optional_text(arguments, "project")?;
        let folder = optional_text(arguments, "folder")?;
        let limit = match given(arguments, "limit") {
            None => USUAL_HITS,
            Some(value) => {
                let limit = whole_number(value).filter(|limit| *limit >= 1);
                let limit =
                    limit.ok_or_else(|| VibeError::argument("limit", "an integer of at least 1", Some(value)))?;
                usize::try_from(limit).unwrap_or(MOST_HITS).min(MOST_HITS)
            }
        };
        if query.trim().is_empty() {
            return Err(VibeError::InvalidQuery.into());
        }
        Ok(Self { query, project, folder, limit })
    }
}

impl Arguments for ReadArgs {
    fn schema() -> Value {
        schema(document_schema(), &["project", "folder", "filename"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        Ok(target(arguments)?)
    }
}

impl Arguments for ListArgs {
    fn schema() -> Value {
        schema(
            json!({
                "project": text_schema("Only this project"),
                "status": status_schema(),
                "include_content": { "type": "boolean", "default": false },
            }),
            &[],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let project = optional_text(arguments, "project")?;
        let include_content = boolean(arguments, "include_content")?;
        Ok(Self { project, status: status(arguments)?, include_content })
    }
}

impl Arguments for PlanArgs {
    fn schema() -> Value {
        schema(json!({ "project": text_schema("Project"), "filename": plan_schema() }), &["project"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        Ok(Self { project: text(arguments, "project")?, filename: plan(arguments)? })
    }
}

impl Arguments for CreateArgs {
    fn schema() -> Value {
        let mut properties = document_schema();
        properties["content"] = text_schema("The whole text");
        properties["frontmatter"] = json!({ "type": "object", "description": "YAML front matter to write" });
        schema(properties, &["project", "folder", "filename", "content"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let (target, content) = (target(arguments)?, text(arguments, "content")?);
        let frontmatter = object(arguments, "frontmatter")?.cloned();
        Ok(Self(WriteArgs { target, content, frontmatter, if_match: None }))
    }
}

impl Arguments for UpdateArgs {
    fn schema() -> Value {
        let mut properties = document_schema();
        properties["content"] = text_schema("The whole new text");
        properties["frontmatter"] = json!({ "type": "object", "description": "Keys to merge; null removes one" });
        properties["if_match"] = if_match_schema();
        schema(properties, &["project", "folder", "filename", "content"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let (target, content) = (target(arguments)?, text(arguments, "content")?);
        let frontmatter = object(arguments, "frontmatter")?.cloned();
        Ok(Self(WriteArgs { target, content, frontmatter, if_match: optional_text(arguments, "if_match")? }))
    }
}

impl Arguments for TaskArgs {
    fn schema() -> Value {
        let list = || json!({ "type": "array", "items": { "type": "string" } });
        schema(
            json!({
                "project": text_schema("Project"),
                "title": text_schema("Title"),
                "objective": text_schema("One paragraph"),
                "steps": list(),
                "acceptance_criteria": list(),
                "context": { "type": "object", "properties": { "related_files": list(), "dependencies": list() } },
                "notes": { "type": "string" },
                "status": { "type": "string", "enum": STATUSES, "default": "pending" },
                "tags": list(),
            }),
            &["project", "title", "objective", "steps", "acceptance_criteria"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let project = text(arguments, "project")?;
        let title = text(arguments, "title")?;
        let objective = text(arguments, "objective")?;
        let steps = texts(arguments, "steps")?;
        let acceptance_criteria = texts(arguments, "acceptance_criteria")?;
        let (related_files, dependencies) = match object(arguments, "context")? {
            None => (Vec::new(), Vec::new()),
            Some(context) => (loose_texts(context, "related_files")?, loose_texts(context, "dependencies")?),
        };
        let notes = optional_text(arguments, "notes")?.unwrap_or_default();
        let tags = given(arguments, "tags").map(|_| texts(arguments, "tags")).transpose()?.unwrap_or_default();
        if title.trim().is_empty() {
            return Err(VibeError::argument("title", "a text that is not blank", given(arguments, "title")).into());
        }
        let status = status(arguments)?.unwrap_or_else(|| STATUSES[0].to_owned());
        let task =
            NewTask { title, objective, steps, acceptance_criteria, related_files, dependencies, notes, status, tags };
        Ok(Self { project, task })
    }
}

impl Arguments for StatusArgs {
    fn schema() -> Value {
        schema(
            json!({
                "project": text_schema("Project"),
                "task": text_schema("Number or file name, such as 004"),
                "status": status_schema(),
                "if_match": if_match_schema(),
            }),
            &["project", "task", "status"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let (project, task) = (text(arguments, "project")?, text(arguments, "task")?);
        let if_match = optional_text(arguments, "if_match")?;
        let status = status(arguments)?.ok_or_else(|| VibeError::argument("status", "a status", None))?;
        Ok(Self { project, task: task.trim().to_owned(), status, if_match })
    }
}

impl Arguments for NewPlanArgs {
    fn schema() -> Value {
        let properties = json!({
            "project": text_schema("Project"),
            "content": text_schema("The whole plan"),
            "filename": plan_schema(),
            "if_match": if_match_schema(),
        });
        schema(properties, &["project", "content"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let (project, content) = (text(arguments, "project")?, text(arguments, "content")?);
        let (filename, if_match) = (plan(arguments)?, optional_text(arguments, "if_match")?);
        Ok(Self { project, content, filename, if_match })
    }
}

impl Arguments for LogArgs {
    fn schema() -> Value {
        schema(
            json!({
                "project": text_schema("Project"),
                "content": text_schema("The note, in Markdown"),
                "suffix": text_schema("Topic for the file name"),
                "append": { "type": "boolean", "default": false, "description": "Not needed: a note is always added to" },
                "if_match": if_match_schema(),
            }),
            &["project", "content"],
        )
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let (project, content) = (text(arguments, "project")?, text(arguments, "content")?);
        let suffix = optional_text(arguments, "suffix")?.filter(|suffix| !suffix.trim().is_empty());
        // Whatever it says, a note is added to; but it must be a truth value.
        boolean(arguments, "append")?;
        Ok(Self { project, content, suffix, if_match: optional_text(arguments, "if_match")? })
    }
}

impl Arguments for ReindexArgs {
    fn schema() -> Value {
        let full = json!({ "type": "boolean", "default": false, "description": "Read every file again" });
        schema(json!({ "project": text_schema("Only this project"), "full": full }), &[])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        Ok(Self { project: optional_text(arguments, "project")?, full: boolean(arguments, "full")? })
    }
}

impl Arguments for InitArgs {
    fn schema() -> Value {
        schema(json!({ "project": text_schema("Letters, digits, - and _") }), &["project"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        Ok(Self { project: text(arguments, "project")? })
    }
}

fn schema(properties: Value, required: &[&str]) -> Value {
    match required {
        [] => json!({ "type": "object", "properties": properties }),
        _ => json!({ "type": "object", "properties": properties, "required": required }),
    }
}

fn text_schema(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn document_schema() -> Value {
    json!({
        "project": text_schema("Project"),
        "folder": text_schema("tasks, plans, sessions, …; empty for the project itself"),
        "filename": text_schema("Such as notes.md or data.json"),
    })
}

fn plan_schema() -> Value {
    json!({ "type": "string", "default": MAIN_PLAN })
}

fn status_schema() -> Value {
    json!({ "type": "string", "enum": STATUSES })
}

fn if_match_schema() -> Value {
    text_schema("Only if the file still has this hash")
}

fn given<'a>(arguments: &'a Object, field: &str) -> Option<&'a Value> {
    arguments.get(field).filter(|value| !value.is_null())
}

fn text(arguments: &Object, field: &'static str) -> Result<String, VibeError> {
    match given(arguments, field) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => Err(VibeError::argument(field, "a text", other)),
    }
}

fn optional_text(arguments: &Object, field: &'static str) -> Result<Option<String>, VibeError> {
    given(arguments, field).map(|_| text(arguments, field)).transpose()
}

fn boolean(arguments: &Object, field: &'static str) -> Result<bool, VibeError> {
    match given(arguments, field) {
        None => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        other => Err(VibeError::argument(field, "true or false", other)),
    }
}

fn object<'a>(arguments: &'a Object, field: &'static str) -> Result<Option<&'a Object>, VibeError> {
    match given(arguments, field) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        other => Err(VibeError::argument(field, "an object", other)),
    }
}

fn texts(arguments: &Object, field: &'static str) -> Result<Vec<String>, VibeError> {
    let value = given(arguments, field);
    let texts = value.and_then(Value::as_array).map(|values| values.iter().map(Value::as_str).collect::<Vec<_>>());
    let texts: Option<Vec<&str>> = texts.and_then(|texts| texts.into_iter().collect());
    let texts = texts.ok_or_else(|| VibeError::argument(field, "a list of texts", value))?;
    Ok(texts.into_iter().map(str::to_owned).collect())
}

/// One text counts as a list of one.
fn loose_texts(arguments: &Object, field: &'static str) -> Result<Vec<String>, VibeError> {
    match given(arguments, field) {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(_) => texts(arguments, field),
    }
}

fn target(arguments: &Object) -> Result<ReadArgs, VibeError> {
    let (project, folder) = (text(arguments, "project")?, text(arguments, "folder")?);
    Ok(ReadArgs { project, folder, filename: text(arguments, "filename")? })
}

fn plan(arguments: &Object) -> Result<String, VibeError> {
    Ok(optional_text(arguments, "filename")?.unwrap_or_else(|| MAIN_PLAN.to_owned()))
}

/// One of the four, exactly.
fn status(arguments: &Object) -> Result<Option<String>, VibeError> {
    match optional_text(arguments, "status")? {
        Some(status) if !STATUSES.contains(&status.as_str()) => Err(VibeError::InvalidStatus { status }),
        status => Ok(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected error is its code and the field in its details.
    fn check<A: Arguments + PartialEq + std::fmt::Debug>(arguments: Value, expected: Result<A, (&str, &str)>) {
        let seen = A::parse(arguments.as_object().expect("an object"));
        let error = |failure: Failure| (failure.code.to_string(), failure.details["field"].as_str().map(str::to_owned));
        let expected = expected.map_err(|(code, field)| (code.to_owned(), Some(field.to_owned())));
        assert_eq!(seen.map_err(error), expected, "{arguments}");
    }

    #[test]
    fn searches_need_words() {
        let search = |limit| Ok(SearchArgs { query: "a".into(), project: None, folder: None, limit });
        check(json!({ "query": "a" }), search(20));
        check(json!({ "query": "a", "limit": 1000, "project": null, "other": 1 }), search(200));
        check(json!({ "query": "a", "limit": 7.0 }), search(7));
        check(json!({ "query": "a", "limit": 1e300 }), search(200));
        check::<SearchArgs>(json!({}), Err(("INVALID_ARGUMENT", "query")));
        check::<SearchArgs>(json!({ "query": " \n" }), Err(("INVALID_QUERY", "query")));
        for limit in [json!(0), json!(-1), json!(1.5), json!("3"), json!(true)] {
            check::<SearchArgs>(json!({ "query": " ", "limit": limit }), Err(("INVALID_ARGUMENT", "limit")));
        }
    }

    #[test]
    fn statuses_are_the_four_words() {
        let list = |status: Option<&str>| {
            Ok(ListArgs { project: None, status: status.map(Into::into), include_content: false })
        };
        check(json!({}), list(None));
        check(json!({ "status": null }), list(None));
        for status in STATUSES {
            check(json!({ "status": status }), list(Some(status)));
        }
        for status in ["", "Done", "in progress", "open"] {
            check::<ListArgs>(json!({ "status": status }), Err(("INVALID_STATUS", "status")));
        }
        check::<ListArgs>(json!({ "status": 1 }), Err(("INVALID_ARGUMENT", "status")));
        check::<StatusArgs>(json!({ "project": "p", "task": "4" }), Err(("INVALID_ARGUMENT", "status")));
        check::<StatusArgs>(json!({ "project": "p", "task": 4, "status": "x" }), Err(("INVALID_ARGUMENT", "task")));
    }

    #[test]
    fn tasks_have_five_required_parts() {
        let whole =
            json!({ "project": "p", "title": "t", "objective": "o", "steps": ["s"], "acceptance_criteria": [] });
        let bare = NewTask {
            title: "t".into(),
            objective: "o".into(),
            steps: vec!["s".into()],
            status: "pending".into(),
            ..NewTask::default()
        };
        check(whole.clone(), Ok(TaskArgs { project: "p".into(), task: bare.clone() }));
        let mut more = whole.clone();
        more["context"] = json!({ "related_files": "a", "dependencies": ["b"], "x": 1 });
        let task = NewTask { related_files: vec!["a".into()], dependencies: vec!["b".into()], ..bare };
        check(more, Ok(TaskArgs { project: "p".into(), task }));
        for field in ["project", "title", "objective", "steps", "acceptance_criteria"] {
            let mut less = whole.clone();
            less[field] = json!(null);
            check::<TaskArgs>(less, Err(("INVALID_ARGUMENT", field)));
        }
        for (field, value) in [
            ("title", json!(" \n")),
            ("steps", json!("one")),
            ("steps", json!([1])),
            ("tags", json!("a")),
            ("context", json!("a")),
            ("notes", json!(1)),
        ] {
            let mut wrong = whole.clone();
            wrong[field] = value;
            check::<TaskArgs>(wrong, Err(("INVALID_ARGUMENT", field)));
        }
    }

    #[test]
    fn the_rest_is_text_and_truth() {
        check(json!({ "project": "p" }), Ok(PlanArgs { project: "p".into(), filename: "execution-plan.md".into() }));
        check::<ReadArgs>(json!({ "project": "p", "filename": "x" }), Err(("INVALID_ARGUMENT", "folder")));
        check::<LogArgs>(
            json!({ "project": "p", "content": "x", "append": "yes" }),
            Err(("INVALID_ARGUMENT", "append")),
        );
        check::<ReindexArgs>(json!({ "full": 1 }), Err(("INVALID_ARGUMENT", "full")));
        let write = json!({ "project": "p", "folder": "", "filename": "x", "content": "", "frontmatter": [] });
        check::<CreateArgs>(write.clone(), Err(("INVALID_ARGUMENT", "frontmatter")));
        check::<UpdateArgs>(write, Err(("INVALID_ARGUMENT", "frontmatter")));
    }
}
