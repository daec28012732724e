//! The table of tools.

use super::arguments::{ClaimArgs, Lenient, ListArgs, OpenArgs, RecallArgs, RecentArgs, UndoArgs};
use super::error::TrellisError;
use super::ops::{self, Below};
use super::{claim, model, open, recall, recent, undo};
use crate::families::changes::RecentChanges;
use crate::families::feed::{ChangeRequest, PastChange};
use crate::families::item_set::{ItemScope, ItemSet, ItemsError, ItemsRequest, OpenRequest, OpenedUri};
use crate::families::need::AndThen;
use crate::families::recall::{RecallError, Recalled};
use crate::families::{Answer, Tool, ToolEffect};

/// Words that people use and the names have not.
const SEARCH_HINTS: [(&str, &str); 6] = [
    ("recall", "search memory remember find note decision task why"),
    ("open", "read note task decision memory by address"),
    ("list", "what tasks decisions notes memory work next"),
    ("recent", "history who changed what log activity since"),
    ("undo", "revert restore take back rollback mistake"),
    ("claim", "take reserve lock start task who works on it"),
];

pub fn table() -> Vec<Tool> {
    Tool::all_with_long_results(Tool::all_found_by(rows(), &SEARCH_HINTS), &["open"])
}

fn rows() -> Vec<Tool> {
    vec![
        Tool::read(
            ("recall", "Recall"),
            "Search everything that was ever noted, decided or planned, in all projects, by words or as a question. Hits \
             carry the address to open, the status, and what replaced them.",
            |Lenient(args): &Lenient<RecallArgs>, _| Ok(recall::request(args)?),
            |recalled: Result<Recalled, RecallError>, Lenient(args), _| {
                let recalled = recalled.map_err(TrellisError::recall)?;
                Ok(recall::answer(&recalled, args)?)
            },
        )
        .always_loaded(),
        Tool::read(
            ("open", "Open an item"),
            "Read one task, decision, plan, note, card or file by its address, with its status, links and context. Long \
             texts come in pages; #heading or #L10-20 reads a part.",
            |Lenient(args): &Lenient<OpenArgs>, _| Ok(OpenRequest { uri: args.uri.clone() }),
            |opened: Result<OpenedUri, ItemsError>, Lenient(args), _| match opened
                .map_err(|error| TrellisError::of(error, &args.uri))?
            {
                OpenedUri::Item(opened) => Ok(open::open(&opened, args)?),
                OpenedUri::Resource(resource) => Ok(model::resource(&resource, args)?),
            },
        ),
        Tool::read(
            ("list", "List items"),
            "List what there is to do, decide or read: tasks, decisions, plans, notes and cards of this project or all. \
             Work in progress comes first; filter by kind, lane, tag or text.",
            |Lenient(args): &Lenient<ListArgs>, _| {
                let below = args.under.as_deref().map(Below::parse).transpose()?;
                // An address says in which project it is.
                let scope = match (&below, &args.project) {
                    (Some(below), ItemScope::Own) => below.scope(),
                    (_, scope) => scope.clone(),
                };
                Ok(ItemsRequest { scope })
            },
            |set: Result<ItemSet, ItemsError>, Lenient(args), _| -> Result<Answer, _> {
                let below = args.under.as_deref().map(Below::parse).transpose()?;
                let set = set.map_err(|error| TrellisError::of(error, ""))?;
                Ok(ops::list(&set, args, below.as_ref())?)
            },
        )
        .with_minor_arguments(&["family", "tag", "text", "ready", "sort", "budget"]),
        Tool::read(
            ("recent", "Recent changes"),
            "See what was changed lately, by whom and when: by you, other assistants or by hand. Each change has an id \
             that can be undone.",
            |Lenient(args): &Lenient<RecentArgs>, _| Ok(recent::request(args)?),
            |recent: Result<RecentChanges, ItemsError>, Lenient(args), _| {
                let uri = args.uri.as_deref().unwrap_or_default();
                Ok(recent::answer(&recent.map_err(|error| TrellisError::of(error, uri))?, args)?)
            },
        )
        .with_minor_arguments(&["by", "change", "diff", "budget"]),
        Tool::write(
            ("undo", "Undo a change"),
            "Take back a change of yours or of anybody by its id, to the byte, instead of repairing it by hand. Without \
             an id: the newest change of this session. An undo can be undone.",
            ToolEffect::Writes { destructive: true, idempotent: false },
            |args: &UndoArgs, _| {
                Ok((ChangeRequest { change: args.change }, ItemsRequest { scope: ItemScope::Every }))
            },
            |(past, set): (Option<PastChange>, Result<ItemSet, ItemsError>), args, _| {
                // Without items the files are put back all the same.
                Ok(undo::undo(past.as_ref(), &set.unwrap_or_default(), args)?)
            },
        ),
        claiming(),
    ]
}

/// Writes no user's file, so that a session may claim that may write nothing.
fn claiming() -> Tool {
    let tool = Tool::read(
        ("claim", "Claim an item"),
        "Say that you are on an item before you start, so that other sessions choose another one. It ends with your \
         session, after `minutes`, or with `release`; calling again renews it. It stops nobody from changing the item.",
        |args: &ClaimArgs, _| {
            let (asked, uri) = (args.clone(), args.uri.clone());
            Ok(AndThen(OpenRequest { uri }, move |opened: &Result<OpenedUri, ItemsError>| {
                claim::request(opened, &asked)
            }))
        },
        |seen, args: &ClaimArgs, _| Ok(claim::answer(seen, args)?),
    );
    Tool { effect: ToolEffect::Maintains, ..tool }
}
