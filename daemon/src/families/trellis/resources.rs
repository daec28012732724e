//! Items as resources: the whole text behind an address, as each kind is read.

use super::error::TrellisError;
use super::open::FoundItem;
use crate::families::address::AddressedItem;
use crate::families::item_set::{ItemsError, OpenRequest, OpenedItem, OpenedUri};
use crate::families::{AddressSpace, AddressTemplate, ResourceContent, SessionContext, two_phase};

/// How addresses look, in the order in which they are listed.
const TEMPLATES: [AddressTemplate; 7] = [
    AddressTemplate {
        uri: "vibe://projects/{name}/{+path}",
        name: "item-document",
        title: "Document of the workspace",
    },
    AddressTemplate { uri: "todo://{project}/{id}", name: "item-task", title: "Task" },
    AddressTemplate { uri: "todo://{project}/adr/{number}", name: "item-decision", title: "Decision record" },
    AddressTemplate { uri: "todo://{project}/context/{id}", name: "item-context", title: "Context of a task" },
    AddressTemplate { uri: "vine://{project}/{+path}", name: "item-plan", title: "Plan or its task" },
    AddressTemplate { uri: "vault://{project}/{+path}", name: "item-file", title: "File of the vault" },
    AddressTemplate { uri: "board://{project}/{id}", name: "item-card", title: "Card of the board" },
];

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
    AddressSpace { templates: TEMPLATES.to_vec(), read }
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
