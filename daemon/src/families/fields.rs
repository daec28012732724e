//! Arguments are said once: a table per tool gives its JSON Schema, its reader and its refusals.
//!
//! JSON comes in; a struct whose fields keep their rules goes out, or the one argument that is reported. What no table
//! names is refused before any value is looked at. Null counts as absent.

use std::marker::PhantomData;

use serde_json::{Map, Value, json};
use trellis_protocol::{Coded, Failure};

use super::error::{ArgumentError, Problem};
use super::shapes::{Leaf, Shape, limited, read_limited};
use crate::text::nearest::nearest;

pub type Object = Map<String, Value>;

/// Names that hosts add to every call, whatever the tool (n8n does).
const ADDED_BY_HOSTS: [&str; 5] = ["toolCallId", "sessionId", "chatInput", "action", "tool"];

/// Makes a struct of a table. A row is `field: Type = what it takes, "its description";`, and `field as "name"` where
/// the argument has another name. Rows stand in the order of the schema; of several wrong arguments the first one is
/// reported, unless [`Row::first`] or [`Row::last`] says otherwise. `else` names the error of the family; a table
/// without it is a part of others.
#[macro_export]
macro_rules! arguments {
    ($(#[$meta:meta])* $visibility:vis struct $table:ident $(else $error:ty)? {
        $($field:ident $(as $name:literal)?: $value:ty = $row:expr, $about:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $visibility struct $table { $(pub(crate) $field: $value,)* }

        impl $crate::families::fields::Fields for $table {
            fn describe(_schema: &mut $crate::families::fields::ObjectSchema) {
                $($crate::families::fields::Argument::describe(&$row, $crate::arguments!(@name $field $($name)?), $about, _schema);)*
            }

            fn read(
                _object: &$crate::families::fields::Object,
                _errors: &mut $crate::families::fields::FirstError,
            ) -> Option<Self> {
                Some(Self {
                    $($field: $crate::families::fields::Argument::read(&$row, _object, $crate::arguments!(@name $field $($name)?), _errors)?,)*
                })
            }

            fn check(
                _object: &$crate::families::fields::Object,
                _errors: &mut $crate::families::fields::FirstError,
            ) {
                $(let _ = $crate::families::fields::Argument::read(&$row, _object, $crate::arguments!(@name $field $($name)?), _errors);)*
            }
        }

        $(impl $crate::families::Arguments for $table {
            fn schema() -> serde_json::Value {
                $crate::families::fields::ObjectSchema::of::<Self>().into()
            }

            fn parse(arguments: &$crate::families::fields::Object) -> Result<Self, trellis_protocol::Failure> {
                static SCHEMA: std::sync::LazyLock<serde_json::Value> =
                    std::sync::LazyLock::new(<$table as $crate::families::Arguments>::schema);
                $crate::families::fields::parse::<Self, $error>(arguments, &SCHEMA)
            }
        })?
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}

/// The argument that is reported, of those that are wrong.
#[derive(Debug, Default)]
pub struct FirstError(Option<(i8, ArgumentError)>);

impl FirstError {
    /// Remembers an error of this rank, unless there is one of a lower rank or an earlier one of the same.
    pub fn keep<T>(&mut self, read: Result<T, ArgumentError>, rank: i8) -> Option<T> {
        read.map_err(|error| {
            let rank = rank + i8::from(error.is_late());
            if self.0.as_ref().is_none_or(|(first, _)| rank < *first) {
                self.0 = Some((rank, error));
            }
        })
        .ok()
    }

    fn into_error(self) -> ArgumentError {
        self.0.map_or_else(|| ArgumentError::must_be("another"), |(_, error)| error)
    }
}

/// What [`crate::arguments`] makes of a table.
pub trait Fields: Sized {
    fn describe(schema: &mut ObjectSchema);

    /// Stops at the first row that is wrong.
    fn read(object: &Object, errors: &mut FirstError) -> Option<Self>;

    /// Looks at every row, for the error that is to be reported.
    fn check(object: &Object, errors: &mut FirstError);
}

/// The error of a family, as far as arguments go.
pub trait FamilyError: From<ArgumentError> + Coded {
    /// Whether an object takes names that its schema lacks. An empty field is the arguments themselves.
    fn is_open(_field: &str) -> bool {
        false
    }
}

/// Reads the arguments of a call.
pub fn parse<T: Fields, E: FamilyError>(arguments: &Object, schema: &Value) -> Result<T, Failure> {
    let takes_any = E::is_open("");
    let unknown = if takes_any { None } else { unknown(arguments, schema, &ADDED_BY_HOSTS, &E::is_open) };
    unknown.map_or_else(|| read::<T>(arguments), Err).map_err(|error| E::from(error).into())
}

fn read<T: Fields>(object: &Object) -> Result<T, ArgumentError> {
    let mut errors = FirstError::default();
    T::read(object, &mut errors).ok_or_else(|| {
        T::check(object, &mut errors);
        errors.into_error()
    })
}

/// The first name that the schema lacks, here or inside of what it describes.
fn unknown(object: &Object, schema: &Value, ignored: &[&str], is_open: &dyn Fn(&str) -> bool) -> Option<ArgumentError> {
    let known = schema["properties"].as_object()?;
    let is_unknown =
        |name: &&String| !known.contains_key(*name) && !name.starts_with('_') && !ignored.contains(&name.as_str());
    if let Some(name) = object.keys().filter(is_unknown).min() {
        let nearest = nearest(name, known.keys().map(String::as_str)).map(str::to_owned);
        let arguments = known.keys().cloned().collect();
        return Some(ArgumentError::new(Problem::Unknown { nearest, arguments }).of(name));
    }
    known.iter().filter(|(name, _)| !is_open(name)).find_map(|(name, schema)| {
        let inner = match object.get(name)? {
            Value::Object(inner) => unknown(inner, schema, &[], is_open),
            Value::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
                unknown(item.as_object()?, &schema["items"], &[], is_open)
                    .map(|error| error.below(&format!("[{place}]")))
            }),
            _ => None,
        };
        inner.map(|error| error.below(name))
    })
}

/// The JSON Schema of a table.
#[derive(Debug, Default)]
pub struct ObjectSchema {
    properties: Object,
    required: Vec<Value>,
}

impl ObjectSchema {
    pub fn of<T: Fields>() -> Object {
        let mut schema = Self::default();
        T::describe(&mut schema);
        let mut object = object_of(json!({ "type": "object", "properties": schema.properties }));
        if !schema.required.is_empty() {
            object.insert("required".to_owned(), schema.required.into());
        }
        object
    }
}

pub(super) fn object_of(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// What reads one argument of a call, or several that belong together.
pub trait Argument {
    type Value;

    fn describe(&self, name: &str, about: &str, schema: &mut ObjectSchema);

    fn read(&self, object: &Object, name: &str, errors: &mut FirstError) -> Option<Self::Value>;
}

/// An argument, and what it is when it is absent; none if it must be there.
#[derive(Debug)]
pub struct Row<S: Shape, T> {
    shape: S,
    present: fn(S::Value) -> T,
    absent: Option<T>,
    pub(super) is_required: bool,
    takes_null: bool,
    is_ignored: fn(&Object) -> bool,
    pub(super) default: Option<Value>,
    rank: i8,
}

impl<S: Shape, T> Row<S, T> {
    pub(super) fn of(shape: S, present: fn(S::Value) -> T, absent: Option<T>) -> Self {
        let is_ignored = |_: &Object| false;
        Self { shape, present, absent, is_required: false, takes_null: false, is_ignored, default: None, rank: 0 }
    }

    /// Reported before the others.
    #[must_use]
    pub fn first(self) -> Self {
        Self { rank: -1, ..self }
    }

    /// Reported after the others.
    #[must_use]
    pub fn last(self) -> Self {
        Self { rank: 1, ..self }
    }

    /// Null is a value of it.
    #[must_use]
    pub fn takes_null(self) -> Self {
        Self { takes_null: true, ..self }
    }

    /// Counts as absent beside some other arguments.
    #[must_use]
    pub fn ignored_if(self, is_ignored: fn(&Object) -> bool) -> Self {
        Self { is_ignored, ..self }
    }
}

impl<S: Shape, T: Clone> Argument for Row<S, T> {
    type Value = T;

    fn describe(&self, name: &str, about: &str, schema: &mut ObjectSchema) {
        let mut property = self.shape.schema();
        property.extend(self.default.clone().map(|default| ("default".to_owned(), default)));
        let about = with_limits(about, &property);
        if !about.is_empty() {
            // The fields of an object stand last.
            let place = if property.contains_key("properties") { 1 } else { property.len() };
            property.shift_insert(place, "description".to_owned(), about.into());
        }
        schema.properties.insert(name.to_owned(), property.into());
        schema.required.extend(self.is_required.then(|| name.into()));
    }

    fn read(&self, object: &Object, name: &str, errors: &mut FirstError) -> Option<T> {
        let given = object.get(name).filter(|value| self.takes_null || !value.is_null());
        let read = match given.filter(|_| !(self.is_ignored)(object)) {
            Some(value) => read_limited(&self.shape, value).map(self.present),
            None => self.absent.clone().ok_or_else(|| limited(&self.shape, self.shape.missing())),
        };
        errors.keep(read.map_err(|error| error.below(name)), self.rank)
    }
}

/// A description that says the limits, too: some hosts take the keywords out of a schema.
fn with_limits(about: &str, property: &Object) -> String {
    let keyword =
        |object: &Object, name: &str| object.get(name).filter(|value| value.is_number()).map(Value::to_string);
    let at_least = |minimum: Option<String>| minimum.filter(|minimum| minimum != "0" && minimum != "1");
    let of = |object: &Object| {
        let numbers = match (at_least(keyword(object, "minimum")), keyword(object, "maximum")) {
            (Some(least), Some(most)) => Some(format!("{least}-{most}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, None) => None,
        };
        let shortest = at_least(keyword(object, "minLength")).map(|least| format!("at least {least} characters"));
        let longest = keyword(object, "maxLength").map(|most| format!("at most {most} characters"));
        let fewest = at_least(keyword(object, "minItems")).map(|least| format!("at least {least} entries"));
        let most = keyword(object, "maxItems").map(|most| format!("at most {most} entries"));
        [numbers, shortest, longest, fewest, most].into_iter().flatten().collect::<Vec<_>>()
    };
    let each = property.get("items").and_then(Value::as_object).map(of).unwrap_or_default();
    let limits = of(property).into_iter().chain(each.into_iter().map(|limit| format!("each {limit}")));
    // What a description says in its own words is not repeated.
    let is_said = |limit: &String| {
        let number = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit());
        let said = |number: &str| {
            about.split(|letter: char| !letter.is_ascii_digit() && letter != '.').any(|word| word == number)
        };
        limit.split([' ', '-']).filter(number).all(said)
    };
    let limits: Vec<String> = limits.filter(|limit| !is_said(limit)).collect();
    match (about, limits.join(", ")) {
        (about, limits) if limits.is_empty() => about.to_owned(),
        ("", limits) => format!("{}{}", limits[..1].to_uppercase(), &limits[1..]),
        (about, limits) => format!("{about} ({limits})"),
    }
}

/// The rows of another table stand here.
pub fn rows_of<T: Fields>() -> impl Argument<Value = T> {
    Rows(PhantomData)
}

struct Rows<T>(PhantomData<T>);

impl<T: Fields> Argument for Rows<T> {
    type Value = T;

    fn describe(&self, _: &str, _: &str, schema: &mut ObjectSchema) {
        T::describe(schema);
    }

    fn read(&self, object: &Object, _: &str, errors: &mut FirstError) -> Option<T> {
        let table = T::read(object, errors);
        if table.is_none() {
            T::check(object, errors);
        }
        table
    }
}

/// An object with the fields of a table.
pub fn object<T: Fields>(wanted: &'static str) -> impl Shape<Value = T> {
    let schema = || ObjectSchema::of::<T>().into();
    Leaf { schema, wanted: move || wanted.into(), read: |value: &Value| value.as_object().map(read::<T>) }
}

#[cfg(test)]
mod tests {
    use trellis_protocol::{ErrorInfo, FailureKind};

    use super::*;
    use crate::families::Arguments;
    use crate::families::shapes::{any_object, boolean, integer, list, one_of, shape, text};

    #[derive(Debug, thiserror::Error)]
    #[error("{} {}", .0.field, .0.issue())]
    struct TestError(ArgumentError);

    impl From<ArgumentError> for TestError {
        fn from(error: ArgumentError) -> Self {
            Self(error)
        }
    }

    impl FamilyError for TestError {
        fn is_open(field: &str) -> bool {
            field == "free"
        }
    }

    impl Coded for TestError {
        fn info(&self) -> ErrorInfo {
            let details = json!({ "details": self.0.details(), "limits": self.0.limits });
            ErrorInfo::without_hint(self.0.code.unwrap_or("WRONG"), FailureKind::Input, details)
        }
    }

    arguments! {
        struct All else TestError {
            name: String = text("a text").then(not_empty).required(), "Its name";
            count as "howMany": usize = integer::<usize>(1..=9).code("COUNT").default(3_usize), "";
            lines: Option<Lines> = object::<Lines>("an object").optional().ignored_if(is_whole), "Some lines";
            whole: bool = boolean().or(false), "";
            words: Vec<String> = list(word(), "a list", at_most_two).with("maxItems", 2).or(Vec::new()), "";
            color: Option<Option<String>> = nullable().optional().takes_null(), "";
            free: Option<Object> = any_object().optional(), "";
            last: Option<bool> = boolean().optional().last(), "";
            first: Option<bool> = boolean().optional().first(), "";
            more: More = rows_of::<More>(), "";
        }
    }

    arguments! {
        struct Lines {
            start: i64 = integer::<i64>(1..=i64::MAX).required(), "";
            end: Option<i64> = integer::<i64>(1..=i64::MAX).optional(), "The last one";
        }
    }

    arguments! {
        struct More {
            late: Option<bool> = boolean().optional(), "";
            early: Option<bool> = boolean().optional().first(), "";
        }
    }

    arguments! {
        struct Nothing else TestError {}
    }

    fn not_empty(text: String) -> Result<String, ArgumentError> {
        if text.is_empty() { Err(ArgumentError::must_be("more").late()) } else { Ok(text) }
    }

    fn at_most_two(count: usize) -> Result<(), ArgumentError> {
        if count > 2 { Err(ArgumentError::is("has too many")) } else { Ok(()) }
    }

    fn word() -> impl Shape<Value = String> {
        one_of(["a", "b"], "`a` or `b`", |word| matches!(word, "a" | "b").then(|| word.to_owned()))
    }

    fn nullable() -> impl Shape<Value = Option<String>> {
        shape(
            || json!({ "type": ["string", "null"] }),
            "a text",
            |value| match value {
                Value::Null => Some(None),
                value => value.as_str().map(|text| Some(text.to_owned())),
            },
        )
    }

    fn is_whole(object: &Object) -> bool {
        object.get("whole") == Some(&json!(true))
    }

    fn parsed(arguments: &Value) -> Result<All, Failure> {
        All::parse(arguments.as_object().expect("an object"))
    }

    /// The message of the one error that is reported.
    #[track_caller]
    fn check(arguments: Value, message: &str) {
        assert_eq!(parsed(&arguments).expect_err("a refusal").message, message, "{arguments}");
    }

    #[test]
    fn a_table_gives_a_schema_in_its_order() {
        let lines = json!({
            "type": "object",
            "description": "Some lines",
            "properties": {
                "start": { "type": "integer", "minimum": 1 },
                "end": { "type": "integer", "minimum": 1, "description": "The last one" },
            },
            "required": ["start"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "Its name" },
                "howMany": { "type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "At most 9" },
                "lines": lines,
                "whole": { "type": "boolean" },
                "words": {
                    "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["a", "b"] },
                    "description": "At most 2 entries",
                },
                "color": { "type": ["string", "null"] },
                "free": { "type": "object" },
                "last": { "type": "boolean" },
                "first": { "type": "boolean" },
                "late": { "type": "boolean" },
                "early": { "type": "boolean" },
            },
            "required": ["name"],
        });
        assert_eq!(All::schema().to_string(), expected.to_string());
        assert_eq!(Nothing::schema(), json!({ "type": "object", "properties": {} }));
        assert!(Nothing::parse(&Object::new()).is_ok());
    }

    #[test]
    fn limits_are_said_in_words_once() {
        let check = |about: &str, property: Value, expected: &str| {
            assert_eq!(with_limits(about, property.as_object().expect("an object")), expected);
        };
        check("", json!({ "type": "string", "minLength": 1, "maxLength": 100 }), "At most 100 characters");
        check("A title", json!({ "maxLength": 100 }), "A title (at most 100 characters)");
        check("Hours", json!({ "minimum": 0.5, "maximum": 40 }), "Hours (0.5-40)");
        check("1-50", json!({ "minimum": 1, "maximum": 50 }), "1-50");
        check(
            "",
            json!({ "maxItems": 5, "items": { "maxLength": 50 } }),
            "At most 5 entries, each at most 50 characters",
        );
        check("Words", json!({ "minimum": 0 }), "Words");
    }

    #[test]
    fn what_is_absent_or_null_has_its_default() {
        let bare = parsed(&json!({ "name": "n", "howMany": null, "lines": null, "words": null })).expect("arguments");
        assert_eq!((bare.count, &bare.lines, bare.words.len(), &bare.color), (3, &None, 0, &None));
        let full = json!({
            "name": "n", "howMany": 5.0, "lines": { "start": 2e0, "end": null }, "words": ["a"], "color": null,
            "free": { "any": 1 }, "late": true,
        });
        let full = parsed(&full).expect("arguments");
        assert_eq!((full.count, full.lines, full.more.late), (5, Some(Lines { start: 2, end: None }), Some(true)));
        assert_eq!((full.words, full.color), (vec!["a".to_owned()], Some(None)), "null is a colour");
        let whole = parsed(&json!({ "name": "n", "whole": true, "lines": "anything" })).expect("arguments");
        assert_eq!(whole.lines, None, "beside `whole` lines are not looked at");
    }

    #[test]
    fn an_error_says_where_and_what() {
        check(json!({}), "name is missing: it must be a text");
        check(json!({ "name": ["x"] }), "name must be a text, not `[\"x\"]`");
        check(
            json!({ "name": "n", "lines": { "end": 1 } }),
            "lines.start is missing: it must be an integer of at least 1",
        );
        check(json!({ "name": "n", "lines": 7 }), "lines must be an object, not `7`");
        check(json!({ "name": "n", "words": ["a", "c"] }), "words[1] must be `a` or `b`, not `c`");
        check(json!({ "name": "n", "words": ["a", "c", "d"] }), "words has too many");
        let long = parsed(&json!({ "name": "n", "words": "é".repeat(200) })).expect_err("a refusal");
        assert!(long.message.ends_with(&format!("{}…`", "é".repeat(80))), "{}", long.message);
        assert_eq!(long.details["details"]["value"].as_str().map(|value| value.chars().count()), Some(81));
        let count = parsed(&json!({ "name": "n", "howMany": 10 })).expect_err("a refusal");
        let details = json!({ "field": "howMany", "value": 10 });
        let expected = json!({ "details": details, "limits": { "minimum": 1, "maximum": 9 } });
        assert_eq!((count.code.as_ref(), count.details), ("COUNT", expected));
    }

    #[test]
    fn one_error_is_reported_by_rank_and_then_by_place() {
        let mut arguments = json!({
            "name": "", "howMany": 0, "words": 1, "last": 1, "first": 1, "late": 1, "early": 1,
        });
        for (field, right) in [
            ("first", json!(true)),
            ("early", json!(true)),
            ("howMany", json!(1)),
            ("words", json!([])),
            ("late", json!(true)),
            ("name", json!("n")),
            ("last", json!(true)),
        ] {
            let failure = parsed(&arguments).expect_err("a refusal");
            assert_eq!(failure.details["details"]["field"], field);
            arguments[field] = right;
        }
        parsed(&arguments).expect("arguments");
    }

    #[test]
    fn unknown_names_come_before_everything() {
        let details = |arguments: Value| parsed(&arguments).expect_err("a refusal").details["details"].clone();
        let all = ["name", "howMany", "lines", "whole", "words", "color", "free", "last", "first", "late", "early"];
        let known = json!({ "field": "colour", "nearest": "color", "arguments": all });
        assert_eq!(details(json!({ "zeta": 1, "colour": null, "name": 7 })), known);
        assert_eq!(details(json!({ "zeta": 1 })), json!({ "field": "zeta", "arguments": all }));
        let nested = json!({ "field": "lines.stop", "arguments": ["lines.start", "lines.end"] });
        assert_eq!(details(json!({ "lines": { "stop": 1 } })), nested);
        check(
            json!({ "lines": { "ends": 1 } }),
            "lines.ends is no argument, but `lines.end` is: there are `lines.start`, `lines.end`",
        );
        let nothing = Nothing::parse(json!({ "x": 1 }).as_object().expect("an object")).expect_err("a refusal");
        assert_eq!(nothing.message, "x is no argument: there are none");
        let added = json!({
            "name": "n", "_x": 1, "lines": { "start": 1, "_y": 1 }, "free": { "any": { "thing": 1 } },
            "toolCallId": 1, "sessionId": 1, "chatInput": 1, "action": 1, "tool": 1,
        });
        parsed(&added).expect("arguments");
        check(json!({ "lines": { "action": 1 } }), "lines.action is no argument: there are `lines.start`, `lines.end`");
    }
}
