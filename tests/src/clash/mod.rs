//! A second family for tests, with a tool whose name clashes with one of the fixture family.

use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, FailureKind};
use trellisd::families::{Answer, Arguments, SessionContext, Tool};
use trellisd::families::{ErrorFormat, Family, ToolNaming};

#[derive(Debug)]
pub struct ClashFamily;

impl Family for ClashFamily {
    const NAME: &'static str = "clash";
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Success;
    const TOOL_NAMING: ToolNaming = ToolNaming::Prefixed;
    const INSTRUCTION: &'static str = "whoever knows the lines when somebody is ill.";

    fn tools() -> Vec<Tool> {
        vec![
            Tool::read(
                ("get_line", "Get a line from memory"),
                "Use this to hear the one line that the clash remembers.",
                |_: &NoArgs, _: &SessionContext| Ok(()),
                |(), _: &NoArgs, _| Ok(Answer::object(json!({ "text": "Line?" }))),
            ),
            Tool::read(
                ("prompt", "Prompt"),
                "Use this to hear what comes next.",
                |_: &NoArgs, _: &SessionContext| Ok(()),
                |(), _: &NoArgs, _| Ok(Answer::object(json!({ "text": "To be" }))),
            ),
        ]
    }

    fn read_only() -> Failure {
        Failure::new("PERMISSION_DENIED", FailureKind::Refused, "this session is read-only")
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
