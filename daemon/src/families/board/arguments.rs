//! What the tools take, checked argument by argument. Null counts as absent, except where an update takes something
//! away with it; unknown arguments are ignored.

use std::path::PathBuf;

use serde_json::{Map, Number, Value, json};
use trellis_protocol::Failure;

use super::error::BoardError;
use super::given::Given;
use super::model::{Lane, Priority};
use super::rules::{self, Rule};
use crate::tools::Arguments;

type Object = Map<String, Value>;

/// What `vbm_update_task` can change.
pub const CHANGEABLE: [&str; 7] = ["title", "description", "priority", "lane", "estimatedHours", "tags", "assignee"];

/// A task to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// Clean, not empty.
    pub title: String,
    /// May be empty.
    pub description: String,
    /// How much it matters.
    pub priority: Priority,
    /// Where it goes.
    pub lane: Lane,
    /// In hours.
    pub estimate: Option<Number>,
    /// Without duplicates.
    pub tags: Vec<String>,
    /// Who does it.
    pub assignee: Option<String>,
}

/// For `vbm_create_task`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateArgs {
    /// The task.
    pub task: NewTask,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_batch_create`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchArgs {
    /// The tasks; at least one.
    pub tasks: Vec<NewTask>,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_update_task`: what is none stays.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateArgs {
    /// Which task.
    pub id: String,
    /// Clean, not empty.
    pub title: Option<String>,
    /// May be empty.
    pub description: Option<String>,
    /// How much it matters.
    pub priority: Option<Priority>,
    /// Where it goes.
    pub lane: Option<Lane>,
    /// In hours; some none takes the estimate away.
    pub estimate: Option<Option<Number>>,
    /// Without duplicates.
    pub tags: Option<Vec<String>>,
    /// Who does it; some none is nobody.
    pub assignee: Option<Option<String>>,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_move_task`.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveArgs {
    /// Which task.
    pub id: String,
    /// Where it goes.
    pub lane: Lane,
    /// Why.
    pub comment: Option<String>,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_delete_task`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteArgs {
    /// Which task.
    pub id: String,
    /// The hash that the caller has read.
    pub if_match: Option<String>,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_get_task`.
#[derive(Debug, Clone, PartialEq)]
pub struct GetArgs {
    /// Which task.
    pub id: String,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_list_tasks`: all that are given must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct ListArgs {
    /// The lane.
    pub lane: Option<Lane>,
    /// The same under its other name.
    pub status: Option<Lane>,
    /// The priority.
    pub priority: Option<Priority>,
    /// One of its tags.
    pub tag: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_search_tasks`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchArgs {
    /// Not empty.
    pub query: String,
    /// Only here.
    pub lane: Option<Lane>,
    /// At most so many.
    pub limit: usize,
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

/// For `vbm_get_board` and `vbm_get_stats`.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardArgs {
    /// Whose board.
    pub project_root: Option<PathBuf>,
}

impl Arguments for CreateArgs {
    fn schema() -> Value {
        schema(task_properties(), &["title"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        Ok(Self { task: given.new_task()?, project_root: given.project_root()? })
    }
}

impl Arguments for BatchArgs {
    fn schema() -> Value {
        let mut tasks = Rule::Tasks.schema();
        tasks["items"] = json!({ "type": "object", "properties": task_properties(), "required": ["title"] });
        schema(json!({ "tasks": tasks }), &["tasks"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        let tasks = match given.value("tasks") {
            Some(Value::Array(tasks)) => tasks,
            other => return Err(BoardError::wrong("tasks", Rule::Tasks, other).into()),
        };
        let issue = match tasks.len() {
            0 => Some("is empty".to_owned()),
            count if count > rules::BATCH => Some(format!("has {count} items, at most {} are allowed", rules::BATCH)),
            _ => None,
        };
        if let Some(issue) = issue {
            return Err(BoardError::argument("tasks", Rule::Tasks, issue).into());
        }
        let task = |(place, item): (usize, &Value)| match item {
            Value::Object(object) => Given { object, prefix: format!("tasks[{place}].") }.new_task(),
            other => Err(BoardError::wrong(format!("tasks[{place}]"), Rule::Item, Some(other))),
        };
        let tasks = tasks.iter().enumerate().map(task).collect::<Result<_, _>>()?;
        Ok(Self { tasks, project_root: given.project_root()? })
    }
}

impl Arguments for UpdateArgs {
    fn schema() -> Value {
        let mut properties = with_id(json!({}));
        extend(&mut properties, task_properties());
        properties["if_match"] = if_match_schema();
        schema(properties, &["id"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        let emptied = |name: &str| arguments.get(name).is_some_and(Value::is_null);
        let update = Self {
            id: given.id()?,
            title: given.value("title").map(|_| given.title()).transpose()?,
            description: given.description()?,
            priority: given.priority()?,
            lane: given.lane("lane")?,
            estimate: if emptied("estimatedHours") { Some(None) } else { given.hours()?.map(Some) },
            tags: given.tags()?,
            assignee: if emptied("assignee") { Some(None) } else { given.assignee()? },
            if_match: given.if_match()?,
            project_root: given.project_root()?,
        };
        match update.changed().is_empty() {
            true => Err(BoardError::NothingGiven { fields: &CHANGEABLE }.into()),
            false => Ok(update),
        }
    }
}

impl UpdateArgs {
    /// The names of what was given, in the order of the table.
    pub fn changed(&self) -> Vec<&'static str> {
        let given = [
            self.title.is_some(),
            self.description.is_some(),
            self.priority.is_some(),
            self.lane.is_some(),
            self.estimate.is_some(),
            self.tags.is_some(),
            self.assignee.is_some(),
        ];
        CHANGEABLE.into_iter().zip(given).filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

impl Arguments for MoveArgs {
    fn schema() -> Value {
        let properties =
            json!({ "lane": Rule::Lane.schema(), "comment": Rule::Comment.schema(), "if_match": if_match_schema() });
        schema(with_id(properties), &["id", "lane"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        let id = given.id()?;
        let lane = given.lane("lane")?.ok_or_else(|| given.wrong("lane", Rule::Lane))?;
        let comment = given.text("comment", Rule::Comment, rules::COMMENT)?.map(str::trim).map(str::to_owned);
        let comment = comment.filter(|comment| !comment.is_empty());
        Ok(Self { id, lane, comment, if_match: given.if_match()?, project_root: given.project_root()? })
    }
}

impl Arguments for DeleteArgs {
    fn schema() -> Value {
        schema(with_id(json!({ "if_match": if_match_schema() })), &["id"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        Ok(Self { id: given.id()?, if_match: given.if_match()?, project_root: given.project_root()? })
    }
}

impl Arguments for GetArgs {
    fn schema() -> Value {
        schema(with_id(json!({})), &["id"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        Ok(Self { id: given.id()?, project_root: given.project_root()? })
    }
}

impl Arguments for ListArgs {
    fn schema() -> Value {
        let properties = json!({
            "lane": Rule::Lane.schema(),
            "priority": Rule::Priority.schema(),
            "status": { "type": "string", "description": "Same as lane" },
            "tag": { "type": "string" },
            "limit": limit_schema(),
        });
        schema(properties, &[])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        Ok(Self {
            lane: given.lane("lane")?,
            status: given.lane("status")?,
            priority: given.priority()?,
            tag: given.value("tag").map(|value| given.word("tag", Rule::Tag, value, rules::WORD)).transpose()?,
            limit: given.limit()?,
            project_root: given.project_root()?,
        })
    }
}

impl Arguments for SearchArgs {
    fn schema() -> Value {
        let properties = json!({ "query": Rule::Query.schema(), "lane": Rule::Lane.schema(), "limit": limit_schema() });
        schema(properties, &["query"])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        let given = Given::of(arguments);
        let query = given.text("query", Rule::Query, rules::QUERY)?.ok_or_else(|| given.wrong("query", Rule::Query))?;
        if query.trim().is_empty() {
            return Err(given.refused("query", Rule::Query, "is empty").into());
        }
        let (lane, limit) = (given.lane("lane")?, given.limit()?);
        Ok(Self { query: query.to_owned(), lane, limit, project_root: given.project_root()? })
    }
}

impl Arguments for BoardArgs {
    fn schema() -> Value {
        schema(json!({}), &[])
    }

    fn parse(arguments: &Object) -> Result<Self, Failure> {
        Ok(Self { project_root: Given::of(arguments).project_root()? })
    }
}

fn schema(mut properties: Value, required: &[&str]) -> Value {
    properties["project_root"] = json!({ "type": "string", "description": "Absolute path of another project" });
    match required {
        [] => json!({ "type": "object", "properties": properties }),
        required => json!({ "type": "object", "properties": properties, "required": required }),
    }
}

fn task_properties() -> Value {
    json!({
        "title": Rule::Title.schema(),
        "description": Rule::Description.schema(),
        "priority": Rule::Priority.schema(),
        "lane": Rule::Lane.schema(),
        "estimatedHours": Rule::Hours.schema(),
        "tags": Rule::Tags.schema(),
        "assignee": Rule::Assignee.schema(),
    })
}

fn with_id(others: Value) -> Value {
    let mut properties = json!({ "id": Rule::Id.schema() });
    extend(&mut properties, others);
    properties
}

fn extend(properties: &mut Value, others: Value) {
    if let (Value::Object(properties), Value::Object(others)) = (properties, others) {
        properties.extend(others);
    }
}

fn if_match_schema() -> Value {
    json!({ "type": "string", "description": "Only if the board still has this hash of vbm_get_board" })
}

fn limit_schema() -> Value {
    let mut limit = Rule::Limit.schema();
    limit["default"] = rules::DEFAULT_LIMIT.into();
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses; the expected error is the field that it names and what is wrong.
    #[track_caller]
    fn check<A: Arguments>(arguments: Value, seen: impl Fn(A) -> Value, expected: Result<Value, (&str, &str)>) {
        let parsed = A::parse(arguments.as_object().expect("an object")).map(seen);
        let error = |failure: Failure| {
            assert_eq!(failure.code, "1001", "{failure}");
            let part = |name: &str| failure.details[name].as_str().unwrap_or_default().to_owned();
            (part("field"), part("issue"))
        };
        let expected = expected.map_err(|(field, issue)| (field.to_owned(), issue.to_owned()));
        assert_eq!(parsed.map_err(error), expected, "{arguments}");
    }

    #[track_caller]
    fn title(text: &str, expected: Result<&str, &str>) {
        let expected = expected.map(Value::from).map_err(|issue| ("title", issue));
        check::<CreateArgs>(json!({ "title": text }), |args| args.task.title.into(), expected);
    }

    #[test]
    fn titles_are_cleaned_and_measured_in_characters() {
        title("  a\tb\r\nc\u{7}\u{0}d\u{2028}e  ", Ok("a b cd e"));
        title(&"🦀".repeat(100), Ok(&"🦀".repeat(100)));
        title(&format!(" {}\n", "x".repeat(100)), Ok(&"x".repeat(100)));
        title(&"🦀".repeat(101), Err("has 101 characters, at most 100 are allowed"));
        for empty in ["", "  ", "\n\t", "\u{1}\u{7f}"] {
            title(empty, Err("is empty"));
        }
        check::<CreateArgs>(json!({}), |_| json!(0), Err(("title", "is required")));
        check::<CreateArgs>(json!({ "title": 5 }), |_| json!(0), Err(("title", "must be a text, not `5`")));
    }

    #[test]
    fn a_new_task_has_defaults() {
        let all = |args: CreateArgs| {
            let NewTask { title, description, priority, lane, estimate, tags, assignee } = args.task;
            json!([title, description, priority.word(), lane.word(), estimate, tags, assignee, args.project_root])
        };
        let expected = json!(["t", "", "medium", "backlog", null, [], null, null]);
        check(json!({ "title": "t" }), all, Ok(expected.clone()));
        let nulls = json!({ "title": "t", "description": null, "priority": null, "lane": null, "estimatedHours": null, "tags": null, "assignee": null, "project_root": null, "other": 3 });
        check(nulls, all, Ok(expected));
        let given = json!({ "title": "t", "description": " a\nb ", "priority": "HIGH", "lane": "Done", "estimatedHours": 2.5, "tags": [" a ", "b", "a"], "assignee": " Ana ", "project_root": "/p" });
        check(given, all, Ok(json!(["t", " a\nb ", "high", "done", 2.5, ["a", "b"], "Ana", "/p"])));
        check(
            json!({ "title": "t", "assignee": " \n" }),
            all,
            Ok(json!(["t", "", "medium", "backlog", null, [], null, null])),
        );
    }

    #[test]
    fn every_field_has_its_limits() {
        let tags = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
        for (name, value, expected) in [
            ("description", json!("é".repeat(2000)), Ok(())),
            (
                "description",
                json!("é".repeat(2001)),
                Err(("description", "has 2001 characters, at most 2000 are allowed")),
            ),
            ("description", json!(["x"]), Err(("description", "must be a text, not `[\"x\"]`"))),
            (
                "lane",
                json!("review"),
                Err((
                    "lane",
                    "must be one of `backlog`, `todo`, `in_progress`, `code_review`, `done`, `recovery`, not `review`",
                )),
            ),
            (
                "priority",
                json!("urgent"),
                Err(("priority", "must be one of `low`, `medium`, `high`, `critical`, not `urgent`")),
            ),
            ("estimatedHours", json!(0.5), Ok(())),
            ("estimatedHours", json!(40), Ok(())),
            ("estimatedHours", json!(0.49), Err(("estimatedHours", "must be a number from 0.5 to 40, not `0.49`"))),
            ("estimatedHours", json!(40.5), Err(("estimatedHours", "must be a number from 0.5 to 40, not `40.5`"))),
            ("estimatedHours", json!("3"), Err(("estimatedHours", "must be a number from 0.5 to 40, not `3`"))),
            ("tags", json!(tags(10)), Ok(())),
            ("tags", json!(tags(11)), Err(("tags", "has more than 10 tags"))),
            ("tags", json!("a"), Err(("tags", "must be a list of texts, not `a`"))),
            ("tags", json!(["a", " "]), Err(("tags[1]", "is empty"))),
            ("tags", json!([1]), Err(("tags[0]", "must be a text, not `1`"))),
            ("tags", json!(["x".repeat(101)]), Err(("tags[0]", "has 101 characters, at most 100 are allowed"))),
            ("assignee", json!("x".repeat(100)), Ok(())),
            ("assignee", json!("x".repeat(101)), Err(("assignee", "has 101 characters, at most 100 are allowed"))),
            ("project_root", json!("p"), Err(("project_root", "must be an absolute path, not `p`"))),
        ] {
            let expected = expected.map(|()| json!("t"));
            check::<CreateArgs>(json!({ "title": "t", name: value }), |args| args.task.title.into(), expected.clone());
            if name != "project_root" {
                let item = json!({ "tasks": [{ "title": "t" }, { "title": "t", name: value }] });
                let field = expected.as_ref().err().map(|(field, _)| format!("tasks[1].{field}")).unwrap_or_default();
                let expected = expected.clone().map_err(|(_, issue)| (field.as_str(), issue));
                check::<BatchArgs>(item, |args| args.tasks[1].title.clone().into(), expected);
            }
            let update = json!({ "id": "task-1", "title": "t", name: value });
            check::<UpdateArgs>(update, |args| json!(args.title), expected);
        }
    }

    #[test]
    fn a_batch_has_one_to_a_hundred_tasks() {
        let count = |args: BatchArgs| json!(args.tasks.len());
        let tasks = |count: usize| json!({ "tasks": vec![json!({ "title": "t" }); count] });
        check(tasks(100), count, Ok(json!(100)));
        check(tasks(101), count, Err(("tasks", "has 101 items, at most 100 are allowed")));
        check(tasks(0), count, Err(("tasks", "is empty")));
        check(json!({}), count, Err(("tasks", "is required")));
        check(json!({ "tasks": {} }), count, Err(("tasks", "must be a list of tasks, not `{}`")));
        check(json!({ "tasks": [3] }), count, Err(("tasks[0]", "must be an object with a title, not `3`")));
        check(json!({ "tasks": [{ "title": "a" }, {}] }), count, Err(("tasks[1].title", "is required")));
    }

    #[test]
    fn ids_of_older_files_are_taken() {
        let id = |args: GetArgs| json!(args.id);
        for good in ["task-a", "task-1737-aZ_9", &format!("task-{}", "x".repeat(45))] {
            check(json!({ "id": good }), id, Ok(json!(good)));
        }
        for bad in [
            "task-",
            "abc",
            "Task-a",
            " task-a",
            "task-a b",
            "task-é",
            "task-../x",
            &format!("task-{}", "x".repeat(46)),
        ] {
            check(json!({ "id": bad }), id, Err(("id", &format!("must be an id such as `task-abc123`, not `{bad}`"))));
        }
        check(json!({ "id": null }), id, Err(("id", "is required")));
    }

    #[test]
    fn an_update_changes_what_it_names() {
        let changed = |args: UpdateArgs| json!(args.changed());
        check(json!({ "id": "task-1", "assignee": null, "title": "x" }), changed, Ok(json!(["title", "assignee"])));
        check(json!({ "id": "task-1", "estimatedHours": null }), changed, Ok(json!(["estimatedHours"])));
        for nothing in [json!({ "id": "task-1" }), json!({ "id": "task-1", "title": null, "tags": null, "other": 1 })] {
            check(nothing, changed, Err(("", "nothing to change was given")));
        }
        check(json!({ "title": "x" }), changed, Err(("id", "is required")));
    }

    #[test]
    fn filters_and_limits_are_checked() {
        let limit = |args: ListArgs| json!(args.limit);
        for (given, expected) in [(json!(null), 50), (json!(1), 1), (json!(200), 200), (json!(7.0), 7)] {
            check(json!({ "limit": given }), limit, Ok(json!(expected)));
        }
        for bad in [json!(0), json!(201), json!(1.5), json!("5"), json!(-1), json!(1e300)] {
            let shown = bad.as_str().map_or_else(|| bad.to_string(), str::to_owned);
            let issue = format!("must be an integer from 1 to 200, not `{shown}`");
            check(json!({ "limit": bad }), limit, Err(("limit", issue.as_str())));
            check::<SearchArgs>(json!({ "query": "x", "limit": bad }), |_| json!(0), Err(("limit", issue.as_str())));
        }
        check(json!({ "tag": "" }), limit, Err(("tag", "is empty")));
        let wrong = "must be one of `backlog`, `todo`, `in_progress`, `code_review`, `done`, `recovery`, not `x`";
        check(json!({ "status": "x" }), limit, Err(("status", wrong)));
        let query = |args: SearchArgs| json!(args.query);
        check(
            json!({ "query": "x".repeat(501) }),
            query,
            Err(("query", "has 501 characters, at most 500 are allowed")),
        );
        check(json!({ "query": " " }), query, Err(("query", "is empty")));
        check(json!({}), query, Err(("query", "is required")));
    }

    #[test]
    fn a_move_has_a_lane_and_perhaps_a_comment() {
        let seen = |args: MoveArgs| json!([args.lane.word(), args.comment, args.if_match]);
        let call = |comment: &str| json!({ "id": "task-1", "lane": "done", "comment": comment, "if_match": "ab" });
        check(call(" why\n"), seen, Ok(json!(["done", "why", "ab"])));
        check(call(" "), seen, Ok(json!(["done", null, "ab"])));
        check(call(&"x".repeat(501)), seen, Err(("comment", "has 501 characters, at most 500 are allowed")));
        check(json!({ "id": "task-1" }), seen, Err(("lane", "is required")));
        check(
            json!({ "id": "task-1", "lane": "done", "if_match": 1 }),
            seen,
            Err(("if_match", "must be a hash, not `1`")),
        );
    }
}
