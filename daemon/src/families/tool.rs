//! A tool: its name, its sentence, its arguments and its two phases; and what it answers.

use serde::Serialize;
use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::{SessionContext, TwoPhase, two_phase};
use crate::clock::Now;
use crate::families::edit::Edit;
use crate::families::need::{Constant, Need};
use crate::text::json::Json;

/// One row of a family's table of tools.
#[derive(Debug)]
pub struct Tool {
    /// The family's own name for it, `^[a-z][a-z0-9_]{0,39}$`.
    pub name: &'static str,
    /// Shown to people, not to models.
    pub title: &'static str,
    /// For models: the first sentence says when to use it.
    pub description: &'static str,
    /// JSON Schema of the arguments; an object.
    pub schema: Map<String, Value>,
    /// Words by which hosts find it that show names alone; none of them is in its name.
    pub search_hint: &'static str,
    /// Whether hosts should show it before anybody looks for it.
    pub is_always_loaded: bool,
    /// Whether its results may be long texts.
    pub has_long_results: bool,
    /// Arguments that are taken but not told where few words matter.
    pub minor_arguments: &'static [&'static str],
    /// What it does to the user's files.
    pub effect: ToolEffect,
    /// What it does.
    pub run: ToolRun,
}

/// What a tool does: it answers, or it answers and wants files changed.
#[derive(Debug)]
pub enum ToolRun {
    Read(TwoPhase<Map<String, Value>, Answer>),
    /// Returns an edit with its answer; it is carried out before the answer goes out.
    Write(TwoPhase<Map<String, Value>, (Answer, Edit)>),
}

/// What a tool does to the user's files; read-only sessions and annotations follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing at all.
    Reads,
    /// Destructive ones may remove or replace something; of idempotent ones the same call again changes nothing more.
    Writes { destructive: bool, idempotent: bool },
    /// Nothing, but it makes the daemon work or take note of something: stays in read-only sessions.
    Maintains,
}

/// What a tool takes: [`crate::arguments`] makes it of a table, so that every mistake gets the family's own code.
pub trait Arguments: Sized {
    /// JSON Schema of the arguments; an object.
    fn schema() -> Value;

    /// Reads them. Null counts as absent where the contract says so.
    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure>;
}

impl Tool {
    /// A tool that changes nothing.
    pub fn read<A, L>(
        (name, title): (&'static str, &'static str),
        description: &'static str,
        needs: impl Fn(&A, &SessionContext) -> Result<L, Failure> + Send + Sync + 'static,
        op: impl Fn(L::Output, &A, &Now) -> Result<Answer, Failure> + Send + Sync + 'static,
    ) -> Self
    where
        A: Arguments + 'static,
        L: Need,
    {
        let Value::Object(schema) = A::schema() else { unreachable!("the schema of {name} is an object") };
        Self::new((name, title), description, schema, ToolEffect::Reads, ToolRun::Read(parsed(needs, op)))
    }

    /// A tool that changes files.
    pub fn write<A, L>(
        (name, title): (&'static str, &'static str),
        description: &'static str,
        effect: ToolEffect,
        needs: impl Fn(&A, &SessionContext) -> Result<L, Failure> + Send + Sync + 'static,
        op: impl Fn(L::Output, &A, &Now) -> Result<(Answer, Edit), Failure> + Send + Sync + 'static,
    ) -> Self
    where
        A: Arguments + 'static,
        L: Need,
    {
        let Value::Object(schema) = A::schema() else { unreachable!("the schema of {name} is an object") };
        Self::new((name, title), description, schema, effect, ToolRun::Write(parsed(needs, op)))
    }
}

impl Tool {
    fn new(
        (name, title): (&'static str, &'static str),
        description: &'static str,
        schema: Map<String, Value>,
        effect: ToolEffect,
        run: ToolRun,
    ) -> Self {
        let (is_always_loaded, has_long_results) = (false, false);
        let (search_hint, minor_arguments) = ("", [].as_slice());
        Self {
            name,
            title,
            description,
            schema,
            search_hint,
            is_always_loaded,
            has_long_results,
            minor_arguments,
            effect,
            run,
        }
    }

    /// Shown by hosts before anybody looks for it.
    #[must_use]
    pub fn always_loaded(self) -> Self {
        Self { is_always_loaded: true, ..self }
    }

    /// Takes arguments that few need.
    #[must_use]
    pub fn with_minor_arguments(self, minor_arguments: &'static [&'static str]) -> Self {
        Self { minor_arguments, ..self }
    }

    /// Every tool of a table with the words by which it can be found; those without a row have none.
    pub fn all_found_by(mut tools: Vec<Self>, words: &[(&str, &'static str)]) -> Vec<Self> {
        for tool in &mut tools {
            tool.search_hint = words.iter().find(|(name, _)| *name == tool.name).map_or("", |(_, words)| *words);
        }
        tools
    }

    /// A table in which these tools show long texts.
    pub fn all_with_long_results(mut tools: Vec<Self>, names: &[&str]) -> Vec<Self> {
        tools.iter_mut().filter(|tool| names.contains(&tool.name)).for_each(|tool| tool.has_long_results = true);
        tools
    }

    /// Its schema in few words: without minor arguments and without descriptions of fields.
    pub fn core_schema(&self) -> Map<String, Value> {
        let mut schema = self.schema.clone();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !self.minor_arguments.contains(&name.as_str()));
            for field in properties.values_mut().filter_map(Value::as_object_mut) {
                field.shift_remove("description");
            }
        }
        schema
    }
}

/// Puts the parsing of arguments in front of the phases. They travel with what was seen, so that they
/// are parsed once.
fn parsed<A, L, O>(
    needs: impl Fn(&A, &SessionContext) -> Result<L, Failure> + Send + Sync + 'static,
    op: impl Fn(L::Output, &A, &Now) -> Result<O, Failure> + Send + Sync + 'static,
) -> TwoPhase<Map<String, Value>, O>
where
    A: Arguments + 'static,
    L: Need,
{
    two_phase(
        move |raw: &Map<String, Value>, session: &SessionContext| {
            let arguments = A::parse(raw)?;
            let look = needs(&arguments, session)?;
            Ok((Constant(arguments), look))
        },
        move |(arguments, seen), _, now| op(seen, &arguments, now),
    )
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub body: Body,
    /// What is no part of the family's fixed result: `trellis/…`.
    pub meta: Map<String, Value>,
}

/// The result in the form that the family's contract fixes.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// An object: goes out as structured content, and as the same JSON in the text.
    Object(Json),
    /// Goes out as text alone.
    Text(String),
    /// Goes out as indented JSON; an object also as structured content.
    Pretty(Json),
}

impl Answer {
    /// A JSON object. Anything else is a mistake in the family, and goes out as its text.
    pub fn object(value: impl Serialize) -> Self {
        let json = Json::of(&value);
        let body = if json.is_object() { Body::Object(json) } else { Body::Text(json.text().to_owned()) };
        Self { body, meta: Map::new() }
    }

    /// JSON that people read, too.
    pub fn pretty(value: impl Serialize) -> Self {
        Self { body: Body::Pretty(Json::of(&value)), meta: Map::new() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self { body: Body::Text(text.into()), meta: Map::new() }
    }

    /// The same as text alone.
    #[must_use]
    pub fn as_text(self) -> Self {
        let body = match self.body {
            Body::Object(json) => Body::Text(json.text().to_owned()),
            Body::Pretty(json) => Body::Text(json.indented()),
            Body::Text(text) => Body::Text(text),
        };
        Self { body, ..self }
    }

    /// An object with one field more, at its end.
    #[must_use]
    pub fn with_field(mut self, name: &str, value: &Value) -> Self {
        if let Body::Object(json) = &self.body {
            self.body = Body::Object(json.with_field(name, value));
        }
        self
    }

    /// With something that is no part of the family's fixed result.
    #[must_use]
    pub fn with_meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(name.to_owned(), value.into());
        self
    }
}
