//! What an argument takes: its JSON Schema and its reader in one value, which further rules can be put on; and the
//! shapes that several families have, of texts, numbers, words and projects.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::error::ArgumentError;
use super::fields::{Object, Row, object_of};
use crate::text::json::whole_number;

/// What an argument takes. Null and absence are for [`Row`].
pub trait Shape: Sized {
    type Value;

    fn schema(&self) -> Object;

    fn missing(&self) -> ArgumentError;

    fn read(&self, value: &Value) -> Result<Self::Value, ArgumentError>;

    /// With another rule; its error gets the value.
    fn then<T>(self, then: impl Fn(Self::Value) -> Result<T, ArgumentError>) -> impl Shape<Value = T> {
        let read =
            move |shape: &Self, value: &Value| then(shape.read(value)?).map_err(|error| error.value(value.clone()));
        Adapted { shape: self, schema: |schema| schema, error: |error| error, read }
    }

    /// With a keyword in its schema.
    fn with(self, keyword: &'static str, limit: impl Into<Value> + Clone) -> impl Shape<Value = Self::Value> {
        let schema = move |mut schema: Object| {
            // The items of a list stand last.
            let place = schema.len() - usize::from(schema.contains_key("items"));
            schema.shift_insert(place, keyword.to_owned(), limit.clone().into());
            schema
        };
        Adapted { shape: self, schema, error: |error| error, read: Self::read }
    }

    /// Its schema says no more than its type.
    fn bare(self) -> impl Shape<Value = Self::Value> {
        let schema = |mut schema: Object| {
            schema.retain(|keyword, _| keyword == "type");
            schema
        };
        Adapted { shape: self, schema, error: |error| error, read: read_limited }
    }

    /// With a code for every error that has none.
    fn code(self, code: &'static str) -> impl Shape<Value = Self::Value> {
        let error = move |error: ArgumentError| error.code(code);
        Adapted { shape: self, schema: |schema| schema, error, read: Self::read }
    }

    /// With advice for every error that has none.
    fn hint(self, hint: &'static str) -> impl Shape<Value = Self::Value> {
        let error = move |error: ArgumentError| error.hint(hint);
        Adapted { shape: self, schema: |schema| schema, error, read: Self::read }
    }

    fn required(self) -> Row<Self, Self::Value> {
        let mut row = Row::of(self, |value| value, None);
        row.is_required = true;
        row
    }

    fn optional(self) -> Row<Self, Option<Self::Value>> {
        Row::of(self, Some, Some(None))
    }

    /// Optional; the schema does not say what it is then.
    fn or(self, default: Self::Value) -> Row<Self, Self::Value> {
        Row::of(self, |value| value, Some(default))
    }

    /// Optional; the schema says what it is then.
    fn default(self, default: impl Into<Self::Value> + Into<Value> + Clone) -> Row<Self, Self::Value> {
        let mut row = self.or(default.clone().into());
        row.default = Some(default.into());
        row
    }
}

pub(super) fn read_limited<S: Shape>(shape: &S, value: &Value) -> Result<S::Value, ArgumentError> {
    shape.read(value).map_err(|error| if error.field.is_empty() { limited(shape, error) } else { error })
}

/// With what the schema says about limits.
pub(super) fn limited(shape: &impl Shape, mut error: ArgumentError) -> ArgumentError {
    if error.limits.is_empty() {
        *error.limits = shape.schema();
        error.limits.retain(|keyword, _| !matches!(keyword.as_str(), "type" | "items" | "properties" | "required"));
    }
    error
}

/// Reads a value by itself: `read` gives none for one of the wrong type.
pub(super) struct Leaf<S, W, R> {
    pub(super) schema: S,
    pub(super) wanted: W,
    pub(super) read: R,
}

impl<T, S, W, R> Shape for Leaf<S, W, R>
where
    S: Fn() -> Value,
    W: Fn() -> Cow<'static, str>,
    R: Fn(&Value) -> Option<Result<T, ArgumentError>>,
{
    type Value = T;

    fn schema(&self) -> Object {
        object_of((self.schema)())
    }

    fn missing(&self) -> ArgumentError {
        ArgumentError::must_be((self.wanted)())
    }

    fn read(&self, value: &Value) -> Result<T, ArgumentError> {
        (self.read)(value).unwrap_or_else(|| Err(self.missing().value(value.clone())))
    }
}

/// A shape with another schema, other errors or more rules.
struct Adapted<S, D, E, R> {
    shape: S,
    schema: D,
    error: E,
    read: R,
}

impl<T, S, D, E, R> Shape for Adapted<S, D, E, R>
where
    S: Shape,
    D: Fn(Object) -> Object,
    E: Fn(ArgumentError) -> ArgumentError,
    R: Fn(&S, &Value) -> Result<T, ArgumentError>,
{
    type Value = T;

    fn schema(&self) -> Object {
        (self.schema)(self.shape.schema())
    }

    fn missing(&self) -> ArgumentError {
        (self.error)(self.shape.missing())
    }

    fn read(&self, value: &Value) -> Result<T, ArgumentError> {
        (self.read)(&self.shape, value).map_err(&self.error)
    }
}

struct List<S, C> {
    item: S,
    wanted: &'static str,
    check: C,
}

impl<S: Shape, C: Fn(usize) -> Result<(), ArgumentError>> Shape for List<S, C> {
    type Value = Vec<S::Value>;

    fn schema(&self) -> Object {
        object_of(json!({ "type": "array", "items": self.item.schema() }))
    }

    fn missing(&self) -> ArgumentError {
        ArgumentError::must_be(self.wanted)
    }

    fn read(&self, value: &Value) -> Result<Self::Value, ArgumentError> {
        let items = value.as_array().ok_or_else(|| self.missing().value(value.clone()))?;
        (self.check)(items.len()).map_err(|error| error.value(items.len()))?;
        let read = |(place, item)| read_limited(&self.item, item).map_err(|error| error.below(&format!("[{place}]")));
        items.iter().enumerate().map(read).collect()
    }
}

/// Anything that one function reads.
pub fn shape<T>(
    schema: impl Fn() -> Value,
    wanted: impl Into<Cow<'static, str>>,
    read: impl Fn(&Value) -> Option<T>,
) -> impl Shape<Value = T> {
    let wanted = wanted.into();
    Leaf { schema, wanted: move || wanted.clone(), read: move |value: &Value| read(value).map(Ok) }
}

/// A list; an item's error gets its place. `check` looks at how many there are before any of them is read.
pub fn list<S: Shape>(
    item: S,
    wanted: &'static str,
    check: impl Fn(usize) -> Result<(), ArgumentError>,
) -> impl Shape<Value = Vec<S::Value>> {
    List { item, wanted, check }
}

pub fn text(wanted: &'static str) -> impl Shape<Value = String> {
    shape(|| json!({ "type": "string" }), wanted, |value| value.as_str().map(str::to_owned))
}

pub fn boolean() -> impl Shape<Value = bool> {
    shape(|| json!({ "type": "boolean" }), "true or false", Value::as_bool)
}

/// A whole number; nothing is said of an upper end that is the largest number of all.
pub fn integer<T: TryFrom<i64>>(range: RangeInclusive<i64>) -> impl Shape<Value = T> {
    let (least, most) = range.into_inner();
    let schema = move || match most {
        i64::MAX => json!({ "type": "integer", "minimum": least }),
        _ => json!({ "type": "integer", "minimum": least, "maximum": most }),
    };
    let wanted = move || match most {
        i64::MAX => format!("an integer of at least {least}").into(),
        _ => format!("an integer from {least} to {most}").into(),
    };
    let read = move |value: &Value| {
        let number = whole_number(value).filter(|number| (least..=most).contains(number))?;
        T::try_from(number).ok().map(Ok)
    };
    Leaf { schema, wanted, read }
}

/// One of these words, or what else `named` takes for one.
pub fn one_of<T>(
    words: impl Into<Vec<&'static str>>,
    wanted: impl Into<Cow<'static, str>>,
    named: impl Fn(&str) -> Option<T>,
) -> impl Shape<Value = T> {
    let words = words.into();
    let schema = move || json!({ "type": "string", "enum": words });
    shape(schema, wanted, move |value| named(value.as_str()?))
}

/// A project that the caller names.
pub fn project_root() -> impl Shape<Value = PathBuf> {
    let named = |value: &Value| value.as_str().filter(|name| !name.trim().is_empty()).map(PathBuf::from);
    shape(|| json!({ "type": "string" }), "a path, `~/…` or the name of a project", named)
}

/// An object with any fields.
pub fn any_object() -> impl Shape<Value = Object> {
    shape(|| json!({ "type": "object" }), "an object", |value| value.as_object().cloned())
}
