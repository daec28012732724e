//! The verbs.

use serde_json::json;
use trellisd::tools::{Answer, Notice};

use super::arguments::{DeclaimArgs, ReciteArgs, ReviseArgs};
use super::error::RehearsalError;
use super::model::{Play, play, play_uri};
use super::stage::Cue;

/// One line of a play.
pub fn recite(args: &ReciteArgs) -> Result<Answer, RehearsalError> {
    let play = named(&args.play)?;
    let index = usize::try_from(args.line).ok().and_then(|line| line.checked_sub(1));
    match index.and_then(|index| play.lines.get(index)) {
        Some(text) => Ok(Answer::object(json!({ "play": play.name, "line": args.line, "text": text }))),
        None => Err(RehearsalError::NoSuchLine { name: play.name, line: args.line, lines: play.lines.len() }),
    }
}

/// Tells everybody that a play has changed. There is no file behind it.
pub fn revise(args: &ReviseArgs) -> Result<Answer, RehearsalError> {
    let play = named(&args.play)?;
    Ok(Answer::object(json!({ "play": play.name, "letters": args.text.chars().count() }))
        .with_notice(Notice::Updated(play_uri(play.name)))
        .with_notice(Notice::ResourcesChanged))
}

/// How a cue stands.
pub fn told(name: &str, cue: Cue) -> Answer {
    let Cue { given, begun, waiting, cancelled } = cue;
    let waits = json!({ "begun": begun, "waiting": waiting, "cancelled": cancelled });
    Answer::object(json!({ "cue": name, "given": given, "waits": waits }))
}

/// A long text.
pub fn declaim(args: &DeclaimArgs) -> Answer {
    Answer::object(json!({ "text": "o".repeat(args.letters) }))
}

fn named(name: &str) -> Result<&'static Play, RehearsalError> {
    play(name).ok_or_else(|| RehearsalError::NoSuchPlay { name: name.to_owned() })
}
