//! A second family that exists only in tests: it shares the name of one tool with the first.
//!
//! It takes nothing and always gives the same line; it looks at nothing.

use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, Kind};
use trellisd::families::{Envelope, Family, InUnion};
use trellisd::tools::{Answer, Arguments, Session, Tool};

/// The family.
#[derive(Debug)]
pub struct Understudy;

impl Family for Understudy {
    const NAME: &'static str = "understudy";
    const ENVELOPE: Envelope = Envelope::Success;
    const IN_UNION: InUnion = InUnion::Prefixed;
    const ABOUT: &'static str = "whoever knows the lines when somebody is ill.";

    fn tools() -> Vec<Tool> {
        vec![
            Tool::read(
                ("recite", "Recite from memory"),
                "Use this to hear the one line that the understudy remembers.",
                |_: &NoArgs, _: &Session| Ok(()),
                |(), _: &NoArgs, _| Ok(Answer::object(json!({ "text": "Line?" }))),
            ),
            Tool::read(
                ("prompt", "Prompt"),
                "Use this to hear what comes next.",
                |_: &NoArgs, _: &Session| Ok(()),
                |(), _: &NoArgs, _| Ok(Answer::object(json!({ "text": "To be" }))),
            ),
        ]
    }

    fn read_only() -> Failure {
        Failure::new("PERMISSION_DENIED", Kind::Refused, "this session is read-only")
    }
}

#[derive(Debug)]
struct NoArgs;

impl Arguments for NoArgs {
    fn schema() -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn parse(_: &Map<String, Value>) -> Result<Self, Failure> {
        Ok(Self)
    }
}
