//! The tables of arguments: JSON comes in, a struct for each tool goes out, or the first argument that is wrong, in the
//! order of checks of `docs/contracts/todo.md`: the format of ids first, then everything else. Each table also gives the
//! tool's JSON Schema. It never asks whether something exists: the tools do, once the files were read. Lengths count
//! Unicode scalar values.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::error::TodoError;
use super::model::{AdrStatus, DEFAULT_CATEGORY, MAX_NUMBER, Status, TaskId};
use super::render;
use super::statuses::STATUS_WORDS;
use crate::arguments;
use crate::families::error::ArgumentError;
use crate::families::fields::{Argument, FirstError, Object, ObjectSchema, object, rows_of};
use crate::families::shapes::{Shape, boolean, integer, list, one_of, project_root, shape, text};
use crate::families::statuses;
use crate::text::headings::heading;

/// A task begins with so many sub-tasks at most.
const MAX_NEW_SUBTASKS: usize = 20;

/// So many may be given in place of those that a task has.
const MAX_SUBTASKS: usize = 200;

const TOO_LONG: &str = "CONTENT_TOO_LONG";
const PROJECT_DESCRIPTION: &str = "Path or name of the project, if not the session's own";
const TASKS_HASH_DESCRIPTION: &str = "Only if task.md still has this hash, as `list_tasks` gave it";

arguments! {
    pub struct CreateTask else TodoError {
        title: String = title().required(), "What is to be done, on one line";
        category: String = category_or_default().or(DEFAULT_CATEGORY.to_owned()),
            "Section of task.md (default Default)";
        description: String = text_up_to(500).or(String::new()), "Goes into the task's context file";
        subtasks: Vec<NewSubTask> = first_subtasks().or(Vec::new()), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct NewSubTask {
        title: String = title().required(), "";
        status: Status = status().or(Status::Todo), "";
    }
}

arguments! {
    pub struct UpdateTask else TodoError {
        id as "task_id": TaskId = task_id().required(), "";
        title: Option<String> = title().optional(), "";
        status: Option<Status> = status().optional(), "";
        category: Option<String> = category().or(None), "The task becomes the last one there";
        subtasks: Option<Vec<NewSubTask>> = subtasks().optional(), "Replaces all of them, at most 200; [] removes them";
        if_match: Option<String> = text("a hash").optional(), TASKS_HASH_DESCRIPTION;
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct DeleteTask else TodoError {
        id as "task_id": TaskId = task_id().required(), "";
        if_match: Option<String> = text("a hash").optional(), TASKS_HASH_DESCRIPTION;
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct ReorderTask else TodoError {
        id as "task_id": TaskId = task_id().required(), "";
        position: Position = PositionArguments, "";
        if_match: Option<String> = text("a hash").optional(), TASKS_HASH_DESCRIPTION;
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

/// Where a task moves in its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    First,
    Last,
    /// Right above this one.
    Before(TaskId),
    /// Right below this one.
    After(TaskId),
}

arguments! {
    pub struct ListTasks else TodoError {
        status: Option<Status> = status().optional(), "Only these";
        category: Option<String> = category().or(None), "Only this one, exactly";
        limit: usize = integer::<usize>(1..=100).default(50_usize), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct SearchTasks else TodoError {
        query: String = query().required(), QUERY_DESCRIPTION;
        fields as "search_in": SearchedFields = searched_fields().or(SearchedFields::USUAL),
            "Default title and content; content is sub-tasks and notes in task.md";
        limit: usize = integer::<usize>(1..=50).default(20_usize), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

/// Where a search looks; content is sub-tasks and notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchedFields {
    pub title: bool,
    pub content: bool,
    pub context: bool,
}

impl SearchedFields {
    const USUAL: Self = Self { title: true, content: true, context: false };
}

arguments! {
    pub struct CreateAdr else TodoError {
        adr: NewAdr = rows_of::<NewAdr>(), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct NewAdr {
        title: String = title().required(), "";
        context: String = text_up_to(2000).required(), "Why a decision is needed";
        decision: String = text_up_to(2000).required(), "";
        rationale: String = text_up_to(2000).required(), "";
        consequences: String = text_up_to(2000).or(String::new()), "";
        status: AdrStatus = adr_status().or(AdrStatus::Proposed), "Default Proposed";
    }
}

arguments! {
    pub struct UpdateAdr else TodoError {
        number as "adr_number": u16 = integer::<u16>(1..=MAX_NUMBER.into()).code("INVALID_ADR_NUMBER").required(), "";
        status: AdrStatus = adr_status().required(), "";
        reason: Option<String> = reason().or(None), "Kept in the record's history";
        if_match: Option<String> = text("a hash").optional(), "Only if the record's file still has this SHA-256";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct ListAdrs else TodoError {
        status: Option<AdrStatus> = adr_status().optional(), "Only these";
        limit: usize = integer::<usize>(1..=100).default(50_usize), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct UpdateContext else TodoError {
        id as "task_id": TaskId = task_id().required(), "";
        content: String = text_up_to(10_000).required(), "Markdown; may be empty, to clear what it replaces";
        append: bool = boolean().or(false), "Add to what is there instead of replacing it (default false)";
        section: Option<String> = section().or(None), "Only under this heading, which is added if missing";
        if_match: Option<String> = text("a hash").optional(),
            "Only if the context file still has this hash, as `get_context` gave it";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct GetContext else TodoError {
        id as "task_id": TaskId = task_id().required(), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

arguments! {
    pub struct SearchContexts else TodoError {
        query: String = query().required(), QUERY_DESCRIPTION;
        limit: usize = integer::<usize>(1..=50).default(20_usize), "";
        project_root: Option<PathBuf> = project_root().optional(), PROJECT_DESCRIPTION;
    }
}

const QUERY_DESCRIPTION: &str = "Words that must all occur; case and width do not matter";

/// The `project_root` of any call; none if it is absent or malformed, which the tool itself has reported.
pub fn project_argument(arguments: &Object) -> Option<PathBuf> {
    project_root().optional().read(arguments, "project_root", &mut FirstError::default()).flatten()
}

/// Each begins open.
fn first_subtasks() -> impl Shape<Value = Vec<NewSubTask>> {
    let open =
        |titles: Vec<String>| titles.into_iter().map(|title| NewSubTask { title, status: Status::Todo }).collect();
    list(title(), "a list", |count| at_most(MAX_NEW_SUBTASKS, count))
        .with("maxItems", MAX_NEW_SUBTASKS)
        .then(move |titles| Ok(open(titles)))
}

fn subtasks() -> impl Shape<Value = Vec<NewSubTask>> {
    let subtask = object::<NewSubTask>("an object with a title");
    list(subtask, "a list", |count| at_most(MAX_SUBTASKS, count)).with("maxItems", MAX_SUBTASKS)
}

fn at_most(most: usize, count: usize) -> Result<(), ArgumentError> {
    let too_many = || ArgumentError::must_be(format!("a list of at most {most}")).code(TOO_LONG);
    if count > most { Err(too_many()) } else { Ok(()) }
}

fn task_id() -> impl Shape<Value = TaskId> {
    let schema = || json!({ "type": "string", "pattern": "^T[0-9]{3}$" });
    let wanted = "`T` and three digits, such as `T001`";
    shape(schema, wanted, |value| TaskId::parse(value.as_str()?)).code("INVALID_TASK_ID")
}

fn status() -> impl Shape<Value = Status> {
    let words = Status::ALL.map(Status::word);
    let named = |word: &str| Status::named(STATUS_WORDS.meant(word)?);
    one_of(words, "`todo`, `in_progress` or `done`", named).code("INVALID_STATUS")
}

fn adr_status() -> impl Shape<Value = AdrStatus> {
    let words = AdrStatus::ALL.map(AdrStatus::word);
    let named = |word: &str| AdrStatus::named(statuses::decision_meant(word)?);
    one_of(words, "`Proposed`, `Accepted` or `Deprecated`", named).code("INVALID_STATUS")
}

/// A text on one line that is not empty.
fn title() -> impl Shape<Value = String> {
    let schema = || json!({ "type": "string", "minLength": 1, "maxLength": 100 });
    let title = |value: &Value| value.as_str().map(one_line).filter(|title| !title.is_empty());
    shape(schema, "a text that is not empty", title)
        .then(|title| fits(title, 100).map_err(|error| error.code(TOO_LONG)))
}

/// A text of limited length, as it is.
fn text_up_to(most: usize) -> impl Shape<Value = String> {
    let text = text("a text").with("maxLength", most);
    text.then(move |text| fits(text, most).map_err(|error| error.code(TOO_LONG)))
}

/// On one line; an empty one counts as absent.
fn reason() -> impl Shape<Value = Option<String>> {
    text_up_to(500).then(|reason| Ok(Some(one_line(&reason)).filter(|reason| !reason.is_empty())))
}

/// Something other than blanks, and not too much of it.
fn query() -> impl Shape<Value = String> {
    let schema = || json!({ "type": "string", "minLength": 1, "maxLength": 200 });
    let query = |value: &Value| value.as_str().filter(|query| !query.trim().is_empty()).map(str::to_owned);
    shape(schema, "a text that is not empty", query).then(|query| fits(query, 200))
}

fn fits(text: String, most: usize) -> Result<String, ArgumentError> {
    let too_long = || ArgumentError::must_be(format!("at most {most} characters long"));
    if text.chars().count() > most { Err(too_long()) } else { Ok(text) }
}

/// An empty name counts as absent.
fn category() -> impl Shape<Value = Option<String>> {
    const CODE: &str = "INVALID_CATEGORY";
    heading_name(CODE, |name| name.starts_with('#')).code(CODE)
}

/// The same; an absent one is the default.
fn category_or_default() -> impl Shape<Value = String> {
    category().then(|name| Ok(name.unwrap_or_else(|| DEFAULT_CATEGORY.to_owned())))
}

/// An empty name counts as absent.
fn section() -> impl Shape<Value = Option<String>> {
    heading_name(TOO_LONG, |_| false)
}

/// What a heading of second level may say, on one line.
fn heading_name(too_long: &'static str, has_forbidden_start: fn(&str) -> bool) -> impl Shape<Value = Option<String>> {
    text("a text").with("maxLength", 50).then(move |text| {
        let name = text.trim();
        let survives_round_trip = || heading(&render::heading(name)) == Some((2, name));
        match () {
            () if text.is_empty() => Ok(None),
            () if name.is_empty() => Err(ArgumentError::must_be("more than blanks")),
            () if name.chars().count() > 50 => Err(ArgumentError::must_be("at most 50 characters long").code(too_long)),
            () if name.contains(is_break) => Err(ArgumentError::must_be("one line without control characters")),
            () if has_forbidden_start(name) => Err(ArgumentError::must_be("a name that does not begin with `#`")),
            () if !survives_round_trip() => Err(ArgumentError::must_be("a name that does not end with `#`")),
            () => Ok(Some(name.to_owned())),
        }
    })
}

fn is_break(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Line breaks and other control characters, however many in a row, become one space.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(is_break).filter(|part| !part.is_empty()).collect();
    words.join(" ").trim().to_owned()
}

fn searched_fields() -> impl Shape<Value = SearchedFields> {
    let schema = || json!({ "type": "array", "items": { "type": "string", "enum": ["title", "content", "context"] } });
    shape(schema, "a list", |value| value.as_array().cloned()).then(|words| {
        let mut fields = SearchedFields { title: false, content: false, context: false };
        for word in &words {
            match word.as_str() {
                Some("title") => fields.title = true,
                Some("content") => fields.content = true,
                Some("context") => fields.context = true,
                _ => {
                    let wanted = "a list of `title`, `content` and `context`";
                    return Err(ArgumentError::must_be(wanted).value(word.clone()));
                }
            }
        }
        Ok(if words.is_empty() { SearchedFields::USUAL } else { fields })
    })
}

/// `position` and `reference_task_id`, which belong together.
struct PositionArguments;

impl PositionArguments {
    const REFERENCE: &str = "reference_task_id";

    fn word() -> impl Shape<Value = String> {
        let words = ["first", "last", "before", "after"];
        let named = move |word: &str| words.contains(&word).then(|| word.to_owned());
        one_of(words, "`first`, `last`, `before` or `after`", named).code("INVALID_POSITION")
    }

    fn needs_no_reference(arguments: &Object) -> bool {
        matches!(arguments.get("position").and_then(Value::as_str), Some("first" | "last"))
    }
}

impl Argument for PositionArguments {
    type Value = Position;

    fn describe(&self, name: &str, about: &str, schema: &mut ObjectSchema) {
        Self::word().required().describe(name, about, schema);
        let about = "Needed for before and after; a task of the same category";
        task_id().optional().describe(Self::REFERENCE, about, schema);
    }

    fn read(&self, object: &Object, name: &str, errors: &mut FirstError) -> Option<Position> {
        let reference =
            task_id().optional().ignored_if(Self::needs_no_reference).read(object, Self::REFERENCE, errors)?;
        let word = Self::word().required().read(object, name, errors)?;
        let id = task_id().optional().read(object, "task_id", &mut FirstError::default())?;
        let wrong = |wanted| ArgumentError::must_be(wanted).of(Self::REFERENCE).code("INVALID_POSITION");
        let position = match (word.as_str(), reference) {
            ("first", _) => Ok(Position::First),
            ("last", _) => Ok(Position::Last),
            (_, None) => Err(wrong("the id of a task to move beside")),
            (_, Some(other)) if id == Some(other) => Err(wrong("another task").value(other.to_string())),
            ("before", Some(other)) => Ok(Position::Before(other)),
            (_, Some(other)) => Ok(Position::After(other)),
        };
        errors.keep(position, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Arguments;

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

    #[test]
    fn categories_are_one_line_and_read_back() {
        let check = |value: Value, expected: Result<Option<&str>, Option<&str>>| {
            let seen = category().read(&value).map_err(|error| error.code);
            assert_eq!(seen, expected.map(|name| name.map(str::to_owned)), "{value}");
        };
        check(json!(""), Ok(None));
        check(json!(" 設計 "), Ok(Some("設計")));
        check(json!("あ".repeat(50)), Ok(Some(&"あ".repeat(50))));
        check(json!("C#"), Ok(Some("C#")));
        for wrong in ["  ", "a\nb", "a\tb", "#a", "a #", "a ##", &"あ".repeat(51), "a\u{2028}b"] {
            check(json!(wrong), Err(Some("INVALID_CATEGORY")));
        }
        check(json!(7), Err(Some("INVALID_CATEGORY")));
    }

    #[test]
    fn titles_become_one_line() {
        for (text, expected) in
            [(" a ", "a"), ("a\r\nb", "a b"), ("a\tb\u{7}c", "a b c"), ("\n", ""), ("a\n\n\nb", "a b"), ("　x　", "x")]
        {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_task_moves_beside_another_one() {
        let reorder = |position: &str, reference: Value| json!({ "task_id": "T001", "position": position, "reference_task_id": reference });
        for alone in ["first", "last"] {
            check::<ReorderTask>(reorder(alone, json!("nonsense")), Ok(()));
        }
        for beside in ["before", "after"] {
            check::<ReorderTask>(reorder(beside, json!("T002")), Ok(()));
            check::<ReorderTask>(reorder(beside, json!("T2")), Err(("INVALID_TASK_ID", json!("T2"))));
            check::<ReorderTask>(reorder(beside, json!("T001")), Err(("INVALID_POSITION", json!("T001"))));
            check::<ReorderTask>(reorder(beside, json!(null)), Err(("INVALID_POSITION", json!(null))));
        }
        check::<ReorderTask>(reorder("up", json!("T2")), Err(("INVALID_TASK_ID", json!("T2"))));
        check::<ReorderTask>(reorder("up", json!("T002")), Err(("INVALID_POSITION", json!("up"))));
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        let call = json!({ "task_id": 7, "subtasks": [{ "title": "a" }, { "titel": "b" }], "sessionId": 1 });
        let failure = UpdateTask::parse(call.as_object().expect("an object")).expect_err("a refusal");
        let details = json!({
            "field": "subtasks[1].titel",
            "nearest": "subtasks[1].title",
            "arguments": ["subtasks[1].title", "subtasks[1].status"],
        });
        assert_eq!((failure.code.as_ref(), failure.details), ("INVALID_INPUT", details));
    }
}
