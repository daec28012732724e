//! The tool list and the instructions that go with it, from a catalogue.

use std::fmt::Write as _;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};
use trellis_protocol::surface::COMMON_FAMILY;

use crate::families::{Catalogue, FamilyDescriptor, ListedTool, ToolEffect};
use crate::state_files;
use crate::tools::ClientSession;

/// Results of tools that show long texts are cut no earlier by hosts that ask, in characters.
const MAX_RESULT_CHARACTERS: u64 = 60_000;

/// The tools of a surface, in their fixed order.
pub fn tools(catalogue: &Catalogue) -> Vec<Tool> {
    let tool = |(exposed, family, tool): (&ListedTool, &FamilyDescriptor, &crate::families::Tool)| {
        let description = catalogue.speak(family, tool.description).into_owned();
        let schema = catalogue.schema(family, tool);
        let mut listed = Tool::new(exposed.name.clone(), description, Arc::new(schema))
            .with_title(tool.title)
            .with_annotations(annotations(tool.effect));
        let meta = meta(tool);
        if !meta.is_empty() {
            listed = listed.with_meta(MetaObject(meta));
        }
        listed
    };
    catalogue.tools().map(tool).collect()
}

/// What some hosts want to know of a tool before a model sees it.
fn meta(tool: &crate::families::Tool) -> Map<String, Value> {
    let mut meta = Map::new();
    if tool.is_always_loaded {
        meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    }
    if !tool.search_hint.is_empty() {
        meta.insert("anthropic/searchHint".to_owned(), tool.search_hint.into());
    }
    if tool.has_long_results {
        meta.insert("anthropic/maxResultSizeChars".to_owned(), MAX_RESULT_CHARACTERS.into());
    }
    meta
}

/// All four, always: what is left out is taken for the worst.
fn annotations(effect: ToolEffect) -> ToolAnnotations {
    let (read_only, destructive, idempotent) = match effect {
        ToolEffect::Reads => (true, false, true),
        ToolEffect::Writes { destructive, idempotent } => (false, destructive, idempotent),
        ToolEffect::Maintains => (false, false, true),
    };
    ToolAnnotations::from_raw(None, Some(read_only), Some(destructive), Some(idempotent), Some(false))
}

/// Keeps the list where a proxy finds it when there is no daemon to be had; once per surface and daemon.
pub fn remember(session: &ClientSession, tools: &[Tool]) {
    let key = session.catalogue.key();
    if !session.engine.cached_tool_lists.insert(key.to_owned()) {
        return;
    }
    let Ok(text) = serde_json::to_vec(tools) else { return };
    let path = session.engine.process.paths.tool_list_cache(key);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = state_files::replace_if_different(&path, &text) {
            tracing::warn!(%error, "the list of tools could not be kept for later");
        }
    });
}

/// What a host's model reads first: when to use us, and what there is.
pub fn instructions(catalogue: &Catalogue) -> String {
    let names: Vec<&str> = catalogue.tools().map(|(listed, _, _)| listed.name.as_str()).collect();
    let shown = |wanted: &[&str]| -> Vec<String> {
        let is_it = |name: &&&str, wanted: &str| **name == wanted || **name == format!("{COMMON_FAMILY}_{wanted}");
        wanted
            .iter()
            .filter_map(|wanted| names.iter().find(|name| is_it(name, wanted)))
            .map(|name| format!("`{name}`"))
            .collect()
    };
    let first = match shown(&["brief", "recall", "list", "open"]) {
        common if common.len() > 1 => common,
        _ => names.iter().map(|name| format!("`{name}`")).collect(),
    };
    let mut text = format!(
        "Trellis is this person's memory, shared by all their AI tools. Call {} before you start work, to know what was \
         decided and done; write down what the next session should know.\n",
        first.iter().take(2).cloned().collect::<Vec<_>>().join(" or ")
    );
    for (tool, advice) in
        [("claim", "claim an item before you work on it"), ("undo", "take a change back instead of repairing it")]
    {
        if let [name] = shown(&[tool]).as_slice() {
            let _ = writeln!(text, "- {name}: {advice}.");
        }
    }
    for family in catalogue.families() {
        let _ = writeln!(text, "- {}: {}", family.name, catalogue.speak(family, family.about));
    }
    text.push_str(
        "It is plain files: people and other programs edit them, too. Keep the language of the file you write to.",
    );
    text
}

/// One page of a list. The cursor is the place where the page begins.
pub fn page<T>(items: Vec<T>, cursor: Option<&str>, size: usize) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let place = |text: &str| {
        let start = text.parse::<usize>().ok().filter(|start| *start < items.len());
        start.ok_or_else(|| ErrorData::invalid_params(format!("`{text}` is not a cursor of this list"), None))
    };
    let start = cursor.map_or(Ok(0), place)?;
    let end = (start + size).min(items.len());
    let next = (end < items.len()).then(|| end.to_string());
    Ok((items.into_iter().skip(start).take(size).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_a_list_once() {
        let items: Vec<u32> = (0..7).collect();
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (mut page, next) = page(items.clone(), cursor.as_deref(), 3).expect("a good cursor");
            seen.append(&mut page);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, items);
        assert!(page(items.clone(), Some("7"), 3).is_err());
        assert!(page(items, Some("x"), 3).is_err());
        assert_eq!(page(Vec::<u32>::new(), None, 3).expect("an empty list"), (Vec::new(), None));
    }
}
