//! What the tools take: types and values that are wrong by themselves. Names and folders are checked later, in the
//! contract's order.

use serde_json::{Value, json};

use super::error::VibeError;
use super::layout::MAIN_PLAN;
use super::model::STATUSES;
use super::statuses::STATUS_WORDS;
use crate::arguments;
use crate::families::error::ArgumentError;
use crate::families::fields::{Object, object, rows_of};
use crate::families::shapes::{Shape, any_object, boolean, integer, shape, text};

/// More hits are not given.
const MAX_HITS: usize = 200;
/// So many when nobody says how many.
const DEFAULT_HITS: usize = 20;

const HASH: &str = "Only if the file still has this hash";

arguments! {
    pub struct SearchArgs else VibeError {
        query: String = text("a text").then(some_words).required(), "Words; \"phrase\", prefix*, OR, -without";
        project: Option<String> = text("a text").optional(), "Only this project";
        folder: Option<String> = text("a text").optional(), "Only this folder";
        limit: usize = limit().default(DEFAULT_HITS), "";
    }
}

arguments! {
    /// Where a document is.
    pub struct ReadArgs else VibeError {
        project: String = text("a text").required(), "Project";
        folder: String = text("a text").required(), "tasks, plans, sessions, …; empty for the project itself";
        filename: String = text("a text").required(), "Such as notes.md or data.json";
    }
}

arguments! {
    pub struct ListArgs else VibeError {
        project: Option<String> = text("a text").optional(), "Only this project";
        status: Option<String> = status().optional().last(), "";
        include_content: bool = boolean().default(false), "";
    }
}

arguments! {
    pub struct PlanArgs else VibeError {
        project: String = text("a text").required(), "Project";
        filename: String = text("a text").default(MAIN_PLAN), "";
    }
}

arguments! {
    pub struct CreateArgs else VibeError {
        target: ReadArgs = rows_of::<ReadArgs>(), "";
        content: String = text("a text").required(), "The whole text";
        frontmatter: Option<Object> = any_object().optional(), "YAML front matter to write";
    }
}

arguments! {
    pub struct UpdateArgs else VibeError {
        target: ReadArgs = rows_of::<ReadArgs>(), "";
        content: String = text("a text").required(), "The whole new text";
        frontmatter: Option<Object> = any_object().optional(), "Keys to merge; null removes one";
        if_match: Option<String> = text("a text").optional(), HASH;
    }
}

arguments! {
    pub struct TaskArgs else VibeError {
        project: String = text("a text").required(), "Project";
        task: NewTask = rows_of::<NewTask>(), "";
    }
}

arguments! {
    #[derive(Default)]
    pub struct NewTask {
        title: String = text("a text").then(not_blank).required(), "Title";
        objective: String = text("a text").required(), "One paragraph";
        steps: Vec<String> = texts().required(), "";
        acceptance_criteria: Vec<String> = texts().required(), "";
        context: TaskContext = object::<TaskContext>("an object").or(TaskContext::default()), "";
        notes: String = text("a text").or(String::new()), "";
        status: String = status().default(STATUSES[0]).last(), "";
        tags: Vec<String> = texts().or(Vec::new()), "";
    }
}

arguments! {
    #[derive(Default)]
    pub struct TaskContext {
        related_files: Vec<String> = loose_texts().or(Vec::new()), "";
        dependencies: Vec<String> = loose_texts().or(Vec::new()), "";
    }
}

arguments! {
    pub struct StatusArgs else VibeError {
        project: String = text("a text").required(), "Project";
        task: String = text("a text").then(|task| Ok(task.trim().to_owned())).required(),
            "Number or file name, such as 004";
        status: String = status().required().last(), "";
        if_match: Option<String> = text("a text").optional(), HASH;
    }
}

arguments! {
    pub struct NewPlanArgs else VibeError {
        project: String = text("a text").required(), "Project";
        content: String = text("a text").required(), "The whole plan";
        filename: String = text("a text").default(MAIN_PLAN), "";
        if_match: Option<String> = text("a text").optional(), HASH;
    }
}

arguments! {
    pub struct LogArgs else VibeError {
        project: String = text("a text").required(), "Project";
        content: String = text("a text").required(), "The note, in Markdown";
        suffix: Option<String> = suffix().or(None), "Topic for the file name";
        _append as "append": bool = boolean().default(false), "Not needed: a note is always added to";
        if_match: Option<String> = text("a text").optional(), HASH;
    }
}

arguments! {
    pub struct ReindexArgs else VibeError {
        project: Option<String> = text("a text").optional(), "Only this project";
        full: bool = boolean().default(false), "Read every file again";
    }
}

arguments! {
    pub struct InitArgs else VibeError {
        project: String = text("a text").required(), "Letters, digits, - and _";
    }
}

fn limit() -> impl Shape<Value = usize> {
    integer::<usize>(1..=i64::MAX).then(|limit| Ok(limit.min(MAX_HITS)))
}

/// A blank one counts as absent.
fn suffix() -> impl Shape<Value = Option<String>> {
    text("a text").then(|suffix| Ok(Some(suffix).filter(|suffix| !suffix.trim().is_empty())))
}

fn some_words(query: String) -> Result<String, ArgumentError> {
    let blank = || ArgumentError::is("is blank").code("INVALID_QUERY").late();
    if query.trim().is_empty() { Err(blank()) } else { Ok(query) }
}

fn not_blank(title: String) -> Result<String, ArgumentError> {
    let blank = || ArgumentError::must_be("a text that is not blank").late();
    if title.trim().is_empty() { Err(blank()) } else { Ok(title) }
}

/// One of the four, or another word for it.
fn status() -> impl Shape<Value = String> {
    let schema = || json!({ "type": "string", "enum": STATUSES });
    shape(schema, "a status", |value| value.as_str().map(str::to_owned)).then(|status| {
        let meant = STATUS_WORDS.meant(&status).map(str::to_owned);
        meant.ok_or_else(|| ArgumentError::is("is not a status").code("INVALID_STATUS"))
    })
}

fn texts() -> impl Shape<Value = Vec<String>> {
    shape(texts_schema, "a list of texts", all_texts)
}

/// One text counts as a list of one.
fn loose_texts() -> impl Shape<Value = Vec<String>> {
    let loose = |value: &Value| match value {
        Value::String(text) => Some(vec![text.clone()]),
        other => all_texts(other),
    };
    shape(texts_schema, "a list of texts", loose)
}

fn texts_schema() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn all_texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Failure;

    use super::*;
    use crate::families::Arguments;

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
        check(json!({ "query": "a", "limit": 1000, "project": null, "_other": 1 }), search(200));
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
        for (word, status) in [("Done", "done"), ("in progress", "in-progress"), ("open", "pending"), ("hecha", "done")]
        {
            check(json!({ "status": word }), list(Some(status)));
        }
        for status in ["", "review", "someday"] {
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
        let context = TaskContext { related_files: vec!["a".into()], dependencies: vec!["b".into()] };
        let task = NewTask { context, ..bare };
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
    #[test]
    fn unknown_names_are_refused_before_all_else() {
        let target = json!({ "project": "p", "folder": "references", "filename": "a.md" });
        let with = |name: &str, value: Value| {
            let mut arguments = target.clone();
            arguments[name] = value;
            arguments
        };
        check::<UpdateArgs>(with("append", json!(true)), Err(("INVALID_ARGUMENT", "append")));
        check::<ReadArgs>(
            with("sessionId", json!(7)),
            ReadArgs::parse(target.as_object().expect("an object")).map_err(|_| ("", "")),
        );
        let update = with("frontmatter", json!({ "anything": { "goes": 1 } }));
        check::<UpdateArgs>(update, Err(("INVALID_ARGUMENT", "content")));
    }
}
