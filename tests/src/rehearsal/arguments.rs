//! What the tools take: JSON comes in, typed arguments or the family's own error go out.

use serde_json::{Map, Value, json};
use trellis_protocol::Failure;
use trellisd::disk::RelativePath;
use trellisd::tools::Arguments;

use super::error::RehearsalError;

/// Longer texts are not declaimed, whoever asks.
const LONGEST: u64 = 128 << 20;

/// A tool that takes nothing.
#[derive(Debug)]
pub struct NoArgs;

/// Which line of which play.
#[derive(Debug)]
pub struct ReciteArgs {
    /// Its name.
    pub play: String,
    /// From 1.
    pub line: u64,
}

/// A play's new text.
#[derive(Debug)]
pub struct ReviseArgs {
    /// Its name.
    pub play: String,
    /// What it is to say.
    pub text: String,
}

/// What to wait for.
#[derive(Debug)]
pub struct WaitArgs {
    /// The cue that ends the wait.
    pub cue: String,
    /// How many steps are reported before it.
    pub steps: u64,
}

/// A cue.
#[derive(Debug)]
pub struct CueArgs {
    /// Its name.
    pub cue: String,
}

/// What to stumble over.
#[derive(Debug)]
pub struct StumbleArgs {
    /// What is on the lips at that moment.
    pub line: String,
}

/// How much to say.
#[derive(Debug)]
pub struct DeclaimArgs {
    /// Letters of the text.
    pub letters: usize,
}

/// Two purses and a word for their books.
#[derive(Debug)]
pub struct PursesArgs {
    /// The one that gives.
    pub one: RelativePath,
    /// The one that takes.
    pub other: RelativePath,
    /// Goes into both books.
    pub word: String,
}

impl Arguments for PursesArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "one": { "type": "string", "description": "The purse that gives, below `stage/`." },
                "other": { "type": "string", "description": "The purse that takes." },
                "word": { "type": "string", "description": "What is written into both books." },
            },
            "required": ["one", "other", "word"],
        })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let path = |field| {
            let given = text(arguments, field)?;
            RelativePath::parse(&given).map_err(|_| wrong(field, "a path below `stage/`", Some(&given.into())))
        };
        Ok(Self { one: path("one")?, other: path("other")?, word: text(arguments, "word")? })
    }
}

impl Arguments for NoArgs {
    fn schema() -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn parse(_: &Map<String, Value>) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl Arguments for ReciteArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "play": { "type": "string", "description": "Name of the play." },
                "line": { "type": "integer", "minimum": 1, "default": 1, "description": "Which line, from 1." },
            },
            "required": ["play"],
        })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let line = number(arguments, "line", "an integer of at least 1")?.unwrap_or(1);
        Ok(Self { play: text(arguments, "play")?, line })
    }
}

impl Arguments for ReviseArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "play": { "type": "string", "description": "Name of the play." },
                "text": { "type": "string", "description": "What it is to say." },
            },
            "required": ["play", "text"],
        })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        Ok(Self { play: text(arguments, "play")?, text: text(arguments, "text")? })
    }
}

impl Arguments for WaitArgs {
    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "cue": { "type": "string", "description": "The cue that ends the wait." },
                "steps": { "type": "integer", "minimum": 0, "default": 0, "description": "Steps reported before it." },
            },
            "required": ["cue"],
        })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let steps = number(arguments, "steps", "an integer of at least 0")?.unwrap_or(0);
        Ok(Self { cue: text(arguments, "cue")?, steps })
    }
}

impl Arguments for CueArgs {
    fn schema() -> Value {
        let cue = json!({ "type": "string", "description": "Name of the cue." });
        json!({ "type": "object", "properties": { "cue": cue }, "required": ["cue"] })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        Ok(Self { cue: text(arguments, "cue")? })
    }
}

impl Arguments for StumbleArgs {
    fn schema() -> Value {
        let line = json!({ "type": "string", "description": "What is said at that moment." });
        json!({ "type": "object", "properties": { "line": line }, "required": ["line"] })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        Ok(Self { line: text(arguments, "line")? })
    }
}

impl Arguments for DeclaimArgs {
    fn schema() -> Value {
        let letters = json!({ "type": "integer", "minimum": 0, "description": "Letters of the text." });
        json!({ "type": "object", "properties": { "letters": letters }, "required": ["letters"] })
    }

    fn parse(arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let letters = number(arguments, "letters", "an integer")?.unwrap_or(0).min(LONGEST);
        Ok(Self { letters: letters as usize })
    }
}

fn text(arguments: &Map<String, Value>, field: &'static str) -> Result<String, Failure> {
    match arguments.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        given => Err(wrong(field, "a text", given)),
    }
}

fn number(arguments: &Map<String, Value>, field: &'static str, wanted: &'static str) -> Result<Option<u64>, Failure> {
    match arguments.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(given) => given.as_u64().map(Some).ok_or_else(|| wrong(field, wanted, Some(given))),
    }
}

fn wrong(field: &'static str, wanted: &'static str, given: Option<&Value>) -> Failure {
    RehearsalError::Argument { field, wanted, given: given.cloned().unwrap_or_default() }.into()
}
