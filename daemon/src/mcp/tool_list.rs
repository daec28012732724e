//! The tool list and the instructions that go with it, from a catalogue.

use std::fmt::Write as _;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{Tool, ToolAnnotations};

use crate::families::{Catalogue, ToolEffect};
use crate::state_files;
use crate::tools::ClientSession;

/// The tools of a surface, in their fixed order.
pub fn tools(catalogue: &Catalogue) -> Vec<Tool> {
    let tool = |(exposed, _, tool): (&crate::families::ListedTool, _, &crate::families::Tool)| {
        Tool::new(exposed.name.clone(), tool.description, Arc::new(tool.schema.clone()))
            .with_title(tool.title)
            .with_annotations(annotations(tool.effect))
    };
    catalogue.tools().map(tool).collect()
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
    let mut text = String::from(
        "Trellis keeps this person's memory and tasks in plain files on their own machine, shared by all their AI \
         tools. Look here before you start work, so that you know what was decided and done before; write down what \
         the next session should know.\n",
    );
    for family in catalogue.families() {
        let _ = writeln!(text, "- {}: {}", family.name, family.about);
    }
    text.push_str("Text may be in English, Spanish or Japanese: keep the language of the file you write to.");
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
