//! Items as resources: the whole text behind an address, as each kind is read.

use super::error::TrellisError;
use super::open::FoundItem;
use crate::families::address::AddressedItem;
use crate::families::item_set::{ItemsError, OpenRequest, OpenedItem, OpenedUri};
use crate::families::{self, AddressSpace, ResourceContent, SessionContext, two_phase};

pub fn addresses() -> AddressSpace {
    let read = two_phase(
        |uri: &String, _: &SessionContext| Ok(OpenRequest { uri: uri.clone() }),
        |opened: Result<OpenedUri, ItemsError>, uri: &String, now| {
            let text = match opened.map_err(|error| TrellisError::of(error, uri))? {
                OpenedUri::Resource(resource) => resource.text,
                OpenedUri::Item(opened) => text(&opened, uri, now)?,
            };
            Ok(ResourceContent { text, last_modified: None })
        },
    );
    let templates = families::with_items().flat_map(|(_, face)| face.templates).copied().collect();
    AddressSpace { templates, read }
}

/// As the family shows it, else the text with what belongs to it.
fn text(opened: &OpenedItem, uri: &str, now: &crate::clock::Now) -> Result<String, TrellisError> {
    let found = FoundItem::of(opened, uri)?;
    let has_place = matches!(opened.address.target, AddressedItem::Item { place: Some(_), .. });
    let shown = (found.tree().face.resource)(found.file, found.item(), now).filter(|_| !has_place);
    if let Some(shown) = shown {
        return Ok(shown);
    }
    let (text, _) = found.shown_text(uri)?;
    Ok(match &opened.companion {
        Some(context) => {
            let context = String::from_utf8_lossy(&context.bytes);
            format!("{}\n\n{}", text.trim_end_matches(['\r', '\n']), context.trim_start_matches('\u{feff}'))
        }
        None => text,
    })
}
