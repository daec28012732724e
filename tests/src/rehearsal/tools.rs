//! The table of tools: name, sentences, what each needs to look at, and its op.

use trellis_protocol::Failure;
use trellisd::tools::{Answer, Arguments, Effect, Session, Tool};

use super::arguments::{CueArgs, DeclaimArgs, NoArgs, PursesArgs, ReciteArgs, ReviseArgs, StumbleArgs, WaitArgs};
use super::ops;
use super::purses;
use super::stage::{STAGE, Wait};

/// All tools, in the order in which they are listed.
pub fn table() -> Vec<Tool> {
    vec![
        Tool::read(
            ("recite", "Recite a line"),
            "Use this to hear one line of a play. Lines count from 1.",
            nothing::<ReciteArgs>,
            |(), args: &ReciteArgs, _| Ok(ops::recite(args)?),
        ),
        Tool {
            effect: Effect::Writes { destructive: true, idempotent: true },
            ..Tool::read(
                ("revise", "Revise a play"),
                "Use this to say that a play has changed. Everybody who listens is told.",
                nothing::<ReviseArgs>,
                |(), args: &ReviseArgs, _| Ok(ops::revise(args)?),
            )
        },
        Tool::read(
            ("wait", "Wait for a cue"),
            "Use this to wait until a cue is given. Reports its steps if it is asked to.",
            |args: &WaitArgs, _: &Session| Ok(Wait { cue: args.cue.clone(), steps: args.steps }),
            |(), args: &WaitArgs, _| Ok(ops::told(&args.cue, STAGE.cue(&args.cue))),
        ),
        Tool {
            effect: Effect::Administers,
            ..Tool::read(
                ("cue", "Give a cue"),
                "Use this to end every wait for a cue, now and later.",
                nothing::<CueArgs>,
                |(), args: &CueArgs, _| {
                    STAGE.give(&args.cue);
                    Ok(ops::told(&args.cue, STAGE.cue(&args.cue)))
                },
            )
        },
        Tool::read(
            ("wings", "Look into the wings"),
            "Use this to see who waits for a cue, and who has given up.",
            nothing::<CueArgs>,
            |(), args: &CueArgs, _| Ok(ops::told(&args.cue, STAGE.cue(&args.cue))),
        ),
        Tool::read(
            ("stumble", "Stumble"),
            "Use this to see what a fault in a tool does to everybody else: nothing.",
            nothing::<StumbleArgs>,
            |(), args: &StumbleArgs, _| panic!("stumbled over `{}`", args.line),
        ),
        Tool::read(
            ("collapse", "Collapse"),
            "Use this to see the same where the disk would have been asked.",
            |_: &StumbleArgs, _: &Session| Ok(None::<Wait>),
            |_, args: &StumbleArgs, _| panic!("collapsed over `{}`", args.line),
        ),
        Tool::read(
            ("declaim", "Declaim a long text"),
            "Use this to get an answer of any size.",
            nothing::<DeclaimArgs>,
            |(), args: &DeclaimArgs, _| Ok(ops::declaim(args)),
        ),
        Tool::write(
            ("purse_pair", "Make two purses"),
            "Use this to make two full purses below `stage/`, both or none.",
            Effect::Writes { destructive: false, idempotent: false },
            |args: &PursesArgs, _: &Session| Ok(purses::both(args)),
            |seen, args: &PursesArgs, _| Ok(purses::pair(seen, args)?),
        ),
        Tool::write(
            ("purse_pay", "Pay a coin"),
            "Use this to move a coin from one purse to another and to write a word into both books, both or none.",
            Effect::Writes { destructive: true, idempotent: false },
            |args: &PursesArgs, _: &Session| Ok(purses::both(args)),
            |seen, args: &PursesArgs, _| Ok(purses::pay(seen, args)?),
        ),
        Tool::write(
            ("purse_pour", "Pour a purse"),
            "Use this to pour one purse into another: the empty one goes, both or none.",
            Effect::Writes { destructive: true, idempotent: false },
            |args: &PursesArgs, _: &Session| Ok(purses::both(args)),
            |seen, args: &PursesArgs, _| Ok(purses::pour(seen, args)?),
        ),
        Tool::read(("bow", "Bow"), "Use this to say nothing at all.", nothing::<NoArgs>, |(), _: &NoArgs, _| {
            Ok(Answer::text("(bows)"))
        }),
    ]
}

/// For a tool that needs to look at nothing.
fn nothing<A: Arguments>(_: &A, _: &Session) -> Result<(), Failure> {
    Ok(())
}
