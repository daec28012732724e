//! A tool: its name, its sentence, its arguments and its two halves; and what it answers.

use serde::Serialize;
use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::{Halves, Session, halves};
use crate::clock::Now;
use crate::families::edit::Edit;
use crate::families::need::{Carried, Look};
use crate::text::json::Json;

/// One row of a family's table of tools.
#[derive(Debug)]
pub struct Tool {
    /// The family's own name for it, `^[a-z][a-z0-9_]{0,39}$`.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For models: the first sentence says when to use it.
    pub description: &'static str,
    /// JSON Schema of the arguments; an object.
    pub schema: Map<String, Value>,
    /// What it does to the user's files.
    pub effect: Effect,
    /// What it does.
    pub run: Run,
}

/// What a tool does: it answers, or it answers and wants files changed.
#[derive(Debug)]
pub enum Run {
    /// Changes nothing.
    Read(Halves<Map<String, Value>, Answer>),
    /// Returns an edit with its answer; it is carried out before the answer goes out.
    Write(Halves<Map<String, Value>, (Answer, Edit)>),
}

/// What a tool does to the user's files; read-only sessions and annotations follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// Changes them.
    Writes {
        /// May remove or replace something.
        destructive: bool,
        /// The same call again changes nothing more.
        idempotent: bool,
    },
    /// Nothing, but it makes the daemon work: stays in read-only sessions.
    Administers,
}

/// What a tool takes. Families parse by themselves, so that every mistake gets their own code.
pub trait Arguments: Sized {
    /// JSON Schema of the arguments; an object.
    fn schema() -> Value;

    /// Reads them. Unknown ones are ignored; null counts as absent where the contract says so.
    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure>;
}

impl Tool {
    /// A tool that changes nothing.
    pub fn read<A, L>(
        (name, title): (&'static str, &'static str),
        description: &'static str,
        needs: impl Fn(&A, &Session) -> Result<L, Failure> + Send + Sync + 'static,
        op: impl Fn(L::Seen, &A, &Now) -> Result<Answer, Failure> + Send + Sync + 'static,
    ) -> Self
    where
        A: Arguments + 'static,
        L: Look,
    {
        let Value::Object(schema) = A::schema() else { unreachable!("the schema of {name} is an object") };
        Self { name, title, description, schema, effect: Effect::Reads, run: Run::Read(parsed(needs, op)) }
    }

    /// A tool that changes files.
    pub fn write<A, L>(
        (name, title): (&'static str, &'static str),
        description: &'static str,
        effect: Effect,
        needs: impl Fn(&A, &Session) -> Result<L, Failure> + Send + Sync + 'static,
        op: impl Fn(L::Seen, &A, &Now) -> Result<(Answer, Edit), Failure> + Send + Sync + 'static,
    ) -> Self
    where
        A: Arguments + 'static,
        L: Look,
    {
        let Value::Object(schema) = A::schema() else { unreachable!("the schema of {name} is an object") };
        Self { name, title, description, schema, effect, run: Run::Write(parsed(needs, op)) }
    }
}

/// Puts the parsing of arguments in front of the halves. They travel with what was seen, so that they
/// are parsed once.
fn parsed<A, L, O>(
    needs: impl Fn(&A, &Session) -> Result<L, Failure> + Send + Sync + 'static,
    op: impl Fn(L::Seen, &A, &Now) -> Result<O, Failure> + Send + Sync + 'static,
) -> Halves<Map<String, Value>, O>
where
    A: Arguments + 'static,
    L: Look,
{
    halves(
        move |raw: &Map<String, Value>, session: &Session| {
            let arguments = A::parse(raw)?;
            let look = needs(&arguments, session)?;
            Ok((Carried(arguments), look))
        },
        move |(arguments, seen), _, now| op(seen, &arguments, now),
    )
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The result.
    pub body: Body,
    /// What is no part of the family's fixed result: `trellis/…`.
    pub meta: Map<String, Value>,
    /// What others should hear about.
    pub notices: Vec<Notice>,
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

/// Something that sessions may have asked to hear about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The content of a resource changed.
    Updated(String),
    /// There are other resources than before.
    ResourcesChanged,
    /// There are other prompts than before.
    PromptsChanged,
    /// There are other tools than before.
    ToolsChanged,
}

impl Answer {
    /// A JSON object. Anything else is a mistake in the family, and goes out as its text.
    pub fn object(value: impl Serialize) -> Self {
        let json = Json::of(&value);
        let body = if json.is_object() { Body::Object(json) } else { Body::Text(json.text().to_owned()) };
        Self { body, meta: Map::new(), notices: Vec::new() }
    }

    /// JSON that people read, too.
    pub fn pretty(value: impl Serialize) -> Self {
        Self { body: Body::Pretty(Json::of(&value)), meta: Map::new(), notices: Vec::new() }
    }

    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { body: Body::Text(text.into()), meta: Map::new(), notices: Vec::new() }
    }

    /// With something that is no part of the family's fixed result.
    #[must_use]
    pub fn with_meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(name.to_owned(), value.into());
        self
    }

    /// With something that others should hear about.
    #[must_use]
    pub fn with_notice(mut self, notice: Notice) -> Self {
        self.notices.push(notice);
        self
    }
}
