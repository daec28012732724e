//! What each argument must be: one table for schemas, for refusals and for what they advise.

use serde_json::{Map, Value, json};

use super::model::{Lane, Priority};

/// The longest title, in characters.
pub const TITLE: usize = 100;
/// The longest description.
pub const DESCRIPTION: usize = 2000;
/// The longest comment.
pub const COMMENT: usize = 500;
/// The longest query.
pub const QUERY: usize = 500;
/// The longest tag or name of a person.
pub const WORD: usize = 100;
/// The most tags of a task.
pub const TAGS: usize = 10;
/// The most tasks of one batch.
pub const BATCH: usize = 100;
/// The most tasks of one answer.
pub const LIMIT: usize = 200;
/// How many tasks an answer holds when nobody says.
pub const DEFAULT_LIMIT: usize = 50;
/// The shortest and the longest estimate.
pub const HOURS: std::ops::RangeInclusive<f64> = 0.5..=40.0;
/// What follows `task-` in an id.
pub const ID_TAIL: std::ops::RangeInclusive<usize> = 1..=45;

/// The rule of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Of a task.
    Title,
    /// Of a task.
    Description,
    /// A lane, or a status, which is the same.
    Lane,
    /// Of a task.
    Priority,
    /// An estimate.
    Hours,
    /// All tags of a task.
    Tags,
    /// One of them.
    Tag,
    /// Who does it.
    Assignee,
    /// On a move.
    Comment,
    /// Of a task.
    Id,
    /// What to search for.
    Query,
    /// How many to show.
    Limit,
    /// Of a batch.
    Tasks,
    /// One of them.
    Item,
    /// Whose board.
    ProjectRoot,
    /// A hash.
    IfMatch,
}

impl Rule {
    /// Its JSON Schema.
    pub fn schema(self) -> Value {
        let kind = match self {
            Self::Hours => json!(["number", "null"]),
            Self::Assignee => json!(["string", "null"]),
            Self::Limit => json!("integer"),
            Self::Tags | Self::Tasks => json!("array"),
            Self::Item => json!("object"),
            _ => json!("string"),
        };
        let mut schema = Map::from_iter([("type".to_owned(), kind)]);
        schema.extend(self.constraint());
        if self == Self::Tags {
            schema.insert("items".to_owned(), Self::Tag.schema());
        }
        Value::Object(schema)
    }

    /// The limits, in the words of JSON Schema.
    pub fn constraint(self) -> Map<String, Value> {
        let limits = match self {
            Self::Title => json!({ "minLength": 1, "maxLength": TITLE }),
            Self::Description => json!({ "maxLength": DESCRIPTION }),
            Self::Lane => json!({ "enum": Lane::ALL.map(Lane::word) }),
            Self::Priority => json!({ "enum": Priority::ALL.map(Priority::word) }),
            Self::Hours => json!({ "minimum": HOURS.start(), "maximum": 40 }),
            Self::Tags => json!({ "maxItems": TAGS }),
            Self::Tag => json!({ "minLength": 1, "maxLength": WORD }),
            Self::Assignee => json!({ "maxLength": WORD }),
            Self::Comment => json!({ "maxLength": COMMENT }),
            Self::Id => json!({ "pattern": "^task-[A-Za-z0-9_-]{1,45}$" }),
            Self::Query => json!({ "minLength": 1, "maxLength": QUERY }),
            Self::Limit => json!({ "minimum": 1, "maximum": LIMIT }),
            Self::Tasks => json!({ "minItems": 1, "maxItems": BATCH }),
            Self::Item | Self::ProjectRoot | Self::IfMatch => json!({}),
        };
        match limits {
            Value::Object(limits) => limits,
            _ => Map::new(),
        }
    }

    /// Follows "must be".
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Lane => "one of `backlog`, `todo`, `in_progress`, `code_review`, `done`, `recovery`",
            Self::Priority => "one of `low`, `medium`, `high`, `critical`",
            Self::Hours => "a number from 0.5 to 40",
            Self::Tags => "a list of texts",
            Self::Id => "an id such as `task-abc123`",
            Self::Limit => "an integer from 1 to 200",
            Self::Tasks => "a list of tasks",
            Self::Item => "an object with a title",
            Self::ProjectRoot => "an absolute path",
            Self::IfMatch => "a hash",
            _ => "a text",
        }
    }

    /// What to do about a value that breaks it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Title => "Send a title of 1 to 100 characters.",
            Self::Description => "Send a description of at most 2000 characters, or leave it out.",
            Self::Lane => "Use one of backlog, todo, in_progress, code_review, done, recovery.",
            Self::Priority => "Use one of low, medium, high, critical.",
            Self::Hours => "Send a number from 0.5 to 40, or null.",
            Self::Tags | Self::Tag => "Send at most 10 tags of 1 to 100 characters each.",
            Self::Assignee => "Send a name of at most 100 characters, or null.",
            Self::Comment => "Send a comment of at most 500 characters, or leave it out.",
            Self::Id => "Take the id from vbm_list_tasks or vbm_search_tasks.",
            Self::Query => "Send a query of 1 to 500 characters.",
            Self::Limit => "Send a limit from 1 to 200, or leave it out for 50.",
            Self::Tasks | Self::Item => "Send a list of 1 to 100 objects, each with a title.",
            Self::ProjectRoot => "Send the absolute path of a project that is open in a session, or leave it out.",
            Self::IfMatch => "Send the hash that vbm_get_board returned, or leave it out.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_holds_the_limits() {
        assert_eq!(Rule::Title.schema(), json!({ "type": "string", "minLength": 1, "maxLength": 100 }));
        assert_eq!(Rule::Hours.schema(), json!({ "type": ["number", "null"], "minimum": 0.5, "maximum": 40 }));
        let tag = json!({ "type": "string", "minLength": 1, "maxLength": 100 });
        assert_eq!(Rule::Tags.schema(), json!({ "type": "array", "maxItems": 10, "items": tag }));
    }

    #[test]
    fn words_and_numbers_agree() {
        for lane in Lane::ALL {
            assert!(Rule::Lane.wanted().contains(lane.word()) && Rule::Lane.hint().contains(lane.word()));
        }
        for priority in Priority::ALL {
            assert!(
                Rule::Priority.wanted().contains(priority.word()) && Rule::Priority.hint().contains(priority.word())
            );
        }
        for (rule, number) in [
            (Rule::Title, TITLE),
            (Rule::Description, DESCRIPTION),
            (Rule::Comment, COMMENT),
            (Rule::Query, QUERY),
            (Rule::Tag, WORD),
            (Rule::Tags, TAGS),
            (Rule::Limit, LIMIT),
            (Rule::Limit, DEFAULT_LIMIT),
            (Rule::Tasks, BATCH),
        ] {
            assert!(rule.hint().contains(&number.to_string()), "{rule:?}");
        }
        assert_eq!(HOURS, 0.5..=40.0);
        assert_eq!(ID_TAIL, 1..=45);
    }
}
