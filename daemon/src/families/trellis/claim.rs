//! One item taken or given back: which one is meant, and what became of it, as an answer.

use serde_json::{Map, Value, json};

use super::arguments::ClaimArgs;
use super::error::{TrellisError, argument};
use super::model::ShownItem;
use super::open::FoundItem;
use crate::families::Answer;
use crate::families::claim::{ClaimAction, ClaimError, ClaimOutcome, ClaimRequest, ItemClaim, shown_time};
use crate::families::item_set::{ItemsError, OpenedUri};

/// What looking for an item gives, and asking for it if it is there.
pub type ClaimSeen = (Result<OpenedUri, ItemsError>, Option<Result<ClaimOutcome, ClaimError>>);

/// What is asked, if there is such an item.
pub fn request(opened: &Result<OpenedUri, ItemsError>, args: &ClaimArgs) -> Option<ClaimRequest> {
    let Ok(OpenedUri::Item(opened)) = opened else { return None };
    let found = FoundItem::of(opened, &args.uri).ok()?;
    let action = if args.release { ClaimAction::Release } else { ClaimAction::Take { minutes: args.minutes } };
    Some(ClaimRequest { item: found.reference().into(), action })
}

pub fn answer((opened, outcome): ClaimSeen, args: &ClaimArgs) -> Result<Answer, TrellisError> {
    let opened = match opened.map_err(|error| TrellisError::of(error, &args.uri))? {
        OpenedUri::Item(opened) => opened,
        OpenedUri::Resource(_) => return Err(TrellisError::NotAnItem { uri: args.uri.clone() }),
    };
    let found = FoundItem::of(&opened, &args.uri)?;
    let shown = ShownItem::of(found.reference(), &opened.set);
    let not_asked = || Err(ClaimError::NotWritten("nobody was asked".to_owned()));
    let outcome = outcome.unwrap_or_else(not_asked).map_err(|error| refused(error, &shown.uri))?;
    let mut answer = Map::new();
    let ShownItem { uri, kind, title, status, .. } = shown;
    answer.insert("uri".to_owned(), uri.into());
    answer.insert("kind".to_owned(), kind.into());
    answer.insert("title".to_owned(), title.into());
    answer.extend(status.map(|status| ("status".to_owned(), status.into())));
    match outcome {
        ClaimOutcome::Held { claim: ItemClaim { by, session, since, until }, renewed } => {
            let (since, until) = (shown_time(since), shown_time(until));
            let claimed = json!({ "by": by, "session": session, "since": since, "until": until, "mine": true });
            answer.insert("claimed".to_owned(), claimed);
            if renewed {
                answer.insert("renewed".to_owned(), true.into());
            }
        }
        ClaimOutcome::Free { was_held } => drop(answer.insert("changed".to_owned(), was_held.into())),
    }
    Ok(Answer::object(Value::from(answer)))
}

fn refused(error: ClaimError, uri: &str) -> TrellisError {
    match error {
        ClaimError::Held(claim) => TrellisError::Claimed { uri: uri.to_owned(), claim },
        ClaimError::TooMany(_) => argument("uri", "is one claim too many for this session: release one first", uri),
        ClaimError::NotWritten(reason) => TrellisError::NotRecorded { reason },
    }
}
