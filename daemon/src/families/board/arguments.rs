//! What the tools take, checked argument by argument. Null counts as absent, except where an update takes something
//! away with it. Lengths count characters.

use std::path::PathBuf;

use serde_json::{Number, Value, json};

use super::error::BoardError;
use super::model::{Lane, Priority};
use super::statuses::STATUS_WORDS;
use crate::arguments;
use crate::families::error::ArgumentError;
use crate::families::fields::{object, rows_of};
use crate::families::shapes::{Shape, integer, list, one_of, project_root, shape, text};

/// The most tags of a task.
const TAGS: usize = 10;
/// The most tasks of one batch.
const BATCH: usize = 100;
/// How many tasks an answer holds when nobody says.
const USUAL_TASKS: usize = 50;

/// What `vbm_update_task` can change.
const CHANGEABLE: [&str; 7] = ["title", "description", "priority", "lane", "estimatedHours", "tags", "assignee"];

const HASH: &str = "Only if the board still has this hash of vbm_get_board";
const PROJECT: &str = "Path or name of another project";

arguments! {
    pub struct NewTask {
        title: String = title().required(), "";
        description: String = description().or(String::new()), "";
        priority: Priority = priority().or(Priority::Medium), "";
        lane: Lane = lane().or(Lane::Backlog), "";
        estimate as "estimatedHours": Option<Number> = hours().or(None), "";
        tags: Vec<String> = tags().or(Vec::new()), "";
        assignee: Option<String> = assignee().or(None), "";
    }
}

arguments! {
    pub struct CreateArgs else BoardError {
        task: NewTask = rows_of::<NewTask>(), "";
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    pub struct BatchArgs else BoardError {
        tasks: Vec<NewTask> = tasks().required(), "";
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    /// What is none stays; some none takes it away.
    pub struct UpdateArgs else BoardError {
        id: String = id().required(), "";
        title: Option<String> = title().optional(), "";
        description: Option<String> = description().optional(), "";
        priority: Option<Priority> = priority().optional(), "";
        lane: Option<Lane> = lane().optional(), "";
        estimate as "estimatedHours": Option<Option<Number>> = hours().optional().takes_null(), "";
        tags: Option<Vec<String>> = tags().optional(), "";
        assignee: Option<Option<String>> = assignee().optional().takes_null(), "";
        if_match: Option<String> = hash().optional(), HASH;
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

impl UpdateArgs {
    /// The names of what was given, in the order of the table; there must be one.
    pub fn changed(&self) -> Result<Vec<&'static str>, BoardError> {
        let given = [
            self.title.is_some(),
            self.description.is_some(),
            self.priority.is_some(),
            self.lane.is_some(),
            self.estimate.is_some(),
            self.tags.is_some(),
            self.assignee.is_some(),
        ];
        let changed = CHANGEABLE.into_iter().zip(given).filter(|(_, given)| *given).map(|(name, _)| name);
        match changed.collect::<Vec<_>>() {
            none if none.is_empty() => Err(BoardError::NothingGiven { fields: &CHANGEABLE }),
            changed => Ok(changed),
        }
    }
}

arguments! {
    pub struct MoveArgs else BoardError {
        id: String = id().required(), "";
        lane: Lane = lane().required(), "";
        comment: Option<String> = comment().or(None), "";
        if_match: Option<String> = hash().optional(), HASH;
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    pub struct DeleteArgs else BoardError {
        id: String = id().required(), "";
        if_match: Option<String> = hash().optional(), HASH;
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    pub struct GetArgs else BoardError {
        id: String = id().required(), "";
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    /// All that are given must hold; the status is the lane under its other name.
    pub struct ListArgs else BoardError {
        lane: Option<Lane> = lane().optional().first(), "";
        priority: Option<Priority> = priority().optional(), "";
        status: Option<Lane> = lane().bare().optional().first(), "Same as lane";
        tag: Option<String> = tag().bare().optional(), "";
        limit: usize = limit().default(USUAL_TASKS), "";
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    pub struct SearchArgs else BoardError {
        query: String = query().required(), "";
        lane: Option<Lane> = lane().optional(), "";
        limit: usize = limit().default(USUAL_TASKS), "";
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

arguments! {
    pub struct BoardArgs else BoardError {
        project_root: Option<PathBuf> = project().optional(), PROJECT;
    }
}

fn title() -> impl Shape<Value = String> {
    word().hint("Send a title of 1 to 100 characters.")
}

fn description() -> impl Shape<Value = String> {
    text_up_to(2000).hint("Send a description of at most 2000 characters, or leave it out.")
}

fn lane() -> impl Shape<Value = Lane> {
    let wanted = "one of `backlog`, `todo`, `in_progress`, `code_review`, `done`, `recovery`";
    let named = |word: &str| Lane::named(STATUS_WORDS.meant(word)?);
    one_of(Lane::ALL.map(Lane::word), wanted, named)
        .hint("Use one of backlog, todo, in_progress, code_review, done, recovery.")
}

fn priority() -> impl Shape<Value = Priority> {
    one_of(Priority::ALL.map(Priority::word), "one of `low`, `medium`, `high`, `critical`", Priority::named)
        .hint("Use one of low, medium, high, critical.")
}

/// None takes the estimate away.
fn hours() -> impl Shape<Value = Option<Number>> {
    let schema = || json!({ "type": "number", "minimum": 0.5, "maximum": 40 });
    let hours = |value: &Value| match value {
        Value::Null => Some(None),
        Value::Number(hours) => {
            hours.as_f64().filter(|hours| (0.5..=40.0).contains(hours)).map(|_| Some(hours.clone()))
        }
        _ => None,
    };
    shape(schema, "a number from 0.5 to 40", hours).hint("Send a number from 0.5 to 40, or null.")
}

/// Duplicates go before the tags are counted.
fn tags() -> impl Shape<Value = Vec<String>> {
    let tags = list(word(), "a list of texts", |_| Ok(())).with("maxItems", TAGS).then(|all| {
        let mut tags: Vec<String> = Vec::new();
        for tag in all {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        let too_many = || ArgumentError::is(format!("has more than {TAGS} tags"));
        if tags.len() > TAGS { Err(too_many()) } else { Ok(tags) }
    });
    tags.hint(TAGS_HINT)
}

const TAGS_HINT: &str = "Send at most 10 tags of 1 to 100 characters each.";

fn tag() -> impl Shape<Value = String> {
    word().hint(TAGS_HINT)
}

/// None is nobody, also said with an empty name.
fn assignee() -> impl Shape<Value = Option<String>> {
    let schema = || json!({ "type": "string", "maxLength": 100 });
    let name = |value: &Value| match value {
        Value::Null => Some(String::new()),
        value => value.as_str().map(on_one_line),
    };
    let assignee =
        shape(schema, "a text", name).then(|name| Ok(Some(fits(name, 100)?).filter(|name| !name.is_empty())));
    assignee.hint("Send a name of at most 100 characters, or null.")
}

fn comment() -> impl Shape<Value = Option<String>> {
    let comment = text_up_to(500).then(|text| Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())));
    comment.hint("Send a comment of at most 500 characters, or leave it out.")
}

/// Also of the form that older files hold.
fn id() -> impl Shape<Value = String> {
    let schema = || json!({ "type": "string", "pattern": "^task-[A-Za-z0-9_-]{1,45}$" });
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let id = move |value: &Value| {
        let tail = value.as_str()?.strip_prefix("task-")?;
        ((1..=45).contains(&tail.len()) && tail.bytes().all(plain)).then(|| format!("task-{tail}"))
    };
    shape(schema, "an id such as `task-abc123`", id).hint("Take the id from vbm_list_tasks or vbm_search_tasks.")
}

fn query() -> impl Shape<Value = String> {
    let query = text("a text").with("minLength", 1).with("maxLength", 500).then(|query| fits(query, 500));
    let some = |query: String| if query.trim().is_empty() { Err(ArgumentError::is("is empty")) } else { Ok(query) };
    let query = query.then(some);
    query.hint("Send a query of 1 to 500 characters.")
}

fn limit() -> impl Shape<Value = usize> {
    integer(1..=200).hint("Send a limit from 1 to 200, or leave it out for 50.")
}

fn tasks() -> impl Shape<Value = Vec<NewTask>> {
    let tasks = list(object::<NewTask>("an object with a title"), "a list of tasks", |count| match count {
        0 => Err(ArgumentError::is("is empty")),
        count if count > BATCH => Err(ArgumentError::is(format!("has {count} items, at most {BATCH} are allowed"))),
        _ => Ok(()),
    });
    let tasks = tasks.with("minItems", 1).with("maxItems", BATCH);
    tasks.hint("Send a list of 1 to 100 objects, each with a title.")
}

fn hash() -> impl Shape<Value = String> {
    text("a hash")
        .then(|hash| Ok(hash.trim().to_owned()))
        .hint("Send the hash that vbm_get_board returned, or leave it out.")
}

fn project() -> impl Shape<Value = PathBuf> {
    project_root().hint("Send the path or the name of a known project, or leave it out.")
}

/// A text of one line that is not empty.
fn word() -> impl Shape<Value = String> {
    text("a text").with("minLength", 1).with("maxLength", 100).then(|text| match on_one_line(&text) {
        empty if empty.is_empty() => Err(ArgumentError::is("is empty")),
        line => fits(line, 100),
    })
}

/// A text, taken as it is.
fn text_up_to(most: usize) -> impl Shape<Value = String> {
    text("a text").with("maxLength", most).then(move |text| fits(text, most))
}

fn fits(text: String, most: usize) -> Result<String, ArgumentError> {
    match text.chars().count() {
        count if count > most => Err(ArgumentError::is(format!("has {count} characters, at most {most} are allowed"))),
        _ => Ok(text),
    }
}

/// Trimmed, line breaks and tabs as blanks, without other control characters.
fn on_one_line(text: &str) -> String {
    let breaks = |c: char| matches!(c, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let text = text.replace("\r\n", " ");
    let line = text.chars().map(|c| if breaks(c) { ' ' } else { c }).filter(|c| !c.is_control()).collect::<String>();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Failure;

    use super::*;
    use crate::families::Arguments;

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
        let nulls = json!({ "title": "t", "description": null, "priority": null, "lane": null, "estimatedHours": null, "tags": null, "assignee": null, "project_root": null, "_other": 3 });
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
                json!("someday"),
                Err((
                    "lane",
                    "must be one of `backlog`, `todo`, `in_progress`, `code_review`, `done`, `recovery`, not `someday`",
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
            (
                "project_root",
                json!(7),
                Err(("project_root", "must be a path, `~/…` or the name of a project, not `7`")),
            ),
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
        let changed = |args: UpdateArgs| json!(args.changed().unwrap_or_default());
        check(json!({ "id": "task-1", "assignee": null, "title": "x" }), changed, Ok(json!(["title", "assignee"])));
        check(json!({ "id": "task-1", "estimatedHours": null }), changed, Ok(json!(["estimatedHours"])));
        for nothing in [json!({ "id": "task-1" }), json!({ "id": "task-1", "title": null, "tags": null })] {
            check(nothing, changed, Ok(json!([])));
        }
        check(json!({ "title": "x" }), changed, Err(("id", "is required")));
    }

    #[test]
    fn unknown_names_are_refused_before_all_else() {
        let count = |args: BatchArgs| json!(args.tasks.len());
        let issue = "is no argument, but `tasks[1].title` is: there are `tasks[1].title`, `tasks[1].description`, \
                     `tasks[1].priority`, `tasks[1].lane`, `tasks[1].estimatedHours`, `tasks[1].tags`, `tasks[1].assignee`";
        check(json!({ "tasks": [{}, { "titel": "b" }] }), count, Err(("tasks[1].titel", issue)));
        check(json!({ "tasks": [{ "title": "a", "_x": 1 }], "tool": 1 }), count, Ok(json!(1)));
        let issue = "is no argument: there are `project_root`";
        check::<BoardArgs>(json!({ "board": 1 }), |_| json!(0), Err(("board", issue)));
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

    #[test]
    fn a_line_is_a_line() {
        for (text, expected) in [
            ("  a b ", "a b"),
            ("a\r\nb\nc\td", "a b c d"),
            ("\u{0}a\u{1b}\u{7f}\u{9f}b", "ab"),
            ("a\u{85}b\u{2028}c\u{2029}d\u{b}e", "a b c d e"),
            ("\u{3000}あ\u{a0}", "あ"),
            ("👨\u{200d}👩", "👨\u{200d}👩"),
            (" \n\u{2028}", ""),
        ] {
            assert_eq!(on_one_line(text), expected, "{text:?}");
        }
    }
}
