//! A plan and its tasks as items. A plan is as far as its root; a file that does not read as a plan is one with a
//! warning and without tasks.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::model::{FILE_LIMIT, Graph, Node};
use super::parse::has_magic;
use super::paths::is_vine;
use super::plan::Plan;
use super::statuses::STATUS_WORDS;
use super::whitespace::lines;
use crate::disk::{FileModel as _, SymlinkPolicy, TreeLocation};
use crate::families::facts::Chunk;
use crate::families::item::{
    AddressTarget, FileItems, Item, ItemDetail, ItemDetails, ItemFace, ItemHome, ItemKey, ItemKind, ItemTree,
    RelatedItem, TreeFiles, TreeOwner, one_line,
};
use crate::families::{AddressTemplate, SessionContext, references};
use crate::projects::ProjectSelector;

/// Such a file may be anything, and is shown to nobody.
const NO_PLAN: &str = "it does not begin as a plan does";

/// Of what a task needs, and of what needs it, no more are shown.
const MAX_RELATED: usize = 20;
/// Of what can start, no more is shown.
const MAX_READY: usize = 10;

pub const FACE: ItemFace = ItemFace {
    tree,
    wanted: is_vine,
    items,
    prefix: "",
    alias: None,
    templates: &[AddressTemplate { uri: "vine://{project}/{+path}", name: "item-plan", title: "Plan or its task" }],
    target,
    companion: |_| None,
    resource: |_, _, _| None,
    short_form: |_| None,
    home: |key| is_vine(&key.path).then(|| ItemHome::File(key.path.clone())),
    details,
    size_limit: FILE_LIMIT,
};

fn tree(_: &SessionContext, project: Option<&Path>) -> ItemTree {
    let project = project.map_or(ProjectSelector::Session, |path| ProjectSelector::Named(path.to_owned()));
    let links = SymlinkPolicy::FollowInsideTree;
    let place = TreeLocation::InProject { unless: None, project, below: PathBuf::new(), links };
    ItemTree { place, may_be_link: true, owner: TreeOwner::Project, files: TreeFiles::Walked }
}

/// A fragment is always a node. What the format means can be read as well.
fn target(project: &str, path: &str, fragment: Option<&str>) -> Option<AddressTarget> {
    if project == "spec" && matches!(path, "brief" | "full") && fragment.is_none() {
        return Some(AddressTarget::Resource);
    }
    let key = ItemKey { path: path.to_owned(), fragment: fragment.map(str::to_owned) };
    is_vine(path).then_some(AddressTarget::Item(key, None))
}

fn items(path: &str, bytes: &[u8]) -> FileItems {
    let text = String::from_utf8_lossy(bytes);
    let plan = Plan::read(bytes);
    let graph = match plan.graph() {
        Ok(graph) => graph,
        Err(_) if !has_magic(&text) => {
            return alone(broken(path, &text, NO_PLAN.to_owned()));
        }
        Err(error) => return alone(broken(path, &text, error.to_string())),
    };
    let (ready, warning) = match plan.frontier() {
        Ok((_, frontier)) => (frontier.ready_to_start.clone(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let blocks = blocks(&text, graph);
    let mut items = vec![plan_item(path, &text, graph, warning)];
    items.extend(graph.nodes().iter().zip(blocks).map(|(node, block)| node_item(path, &text, node, block)));
    for at in ready {
        if let Some(item) = items.get_mut(at as usize + 1) {
            item.ready = true;
        }
    }
    FileItems { items, warnings: Vec::new() }
}

fn alone(item: Item) -> FileItems {
    FileItems { items: vec![item], warnings: Vec::new() }
}

fn names(path: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut names = vec![path.to_owned(), name.to_owned(), name.strip_suffix(".vine").unwrap_or(name).to_owned()];
    names.dedup();
    names
}

fn broken(path: &str, text: &str, warning: String) -> Item {
    let names = names(path);
    Item {
        key: ItemKey::path(path),
        kind: ItemKind::Plan,
        title: one_line(names.last().map_or(path, String::as_str)),
        span: 0..text.len(),
        warning: Some(warning),
        names,
        boost: 1.0,
        ..Item::default()
    }
}

fn plan_item(path: &str, text: &str, graph: &Graph, warning: Option<String>) -> Item {
    let root = &graph.nodes()[0];
    let title = graph.head.title.as_deref().filter(|title| !title.trim().is_empty());
    let status = root.status().map(|status| status.word());
    Item {
        key: ItemKey::path(path),
        kind: ItemKind::Plan,
        title: one_line(title.unwrap_or(&root.name)),
        status: status.map(str::to_owned),
        lane: status.and_then(|status| STATUS_WORDS.lane(status)),
        span: 0..text.len(),
        links: references::links(text, path),
        warning,
        names: names(path),
        boost: 1.0,
        ..Item::default()
    }
}

fn node_item(path: &str, text: &str, node: &Node, block: Range<usize>) -> Item {
    let own = &text[block.clone()];
    let status = node.status().map(|status| status.word());
    let below = own.trim_start().find('\n').map_or(block.end, |end| block.end - own.trim_start().len() + end + 1);
    let content = below..block.end;
    let sections = (!text[content.clone()].trim().is_empty()).then_some(Chunk { heading: None, content, boost: 1.0 });
    Item {
        key: ItemKey::within(path, &*node.id),
        kind: ItemKind::Node,
        title: one_line(&node.name),
        status: status.map(str::to_owned),
        lane: status.and_then(|status| STATUS_WORDS.lane(status)),
        links: references::links(own, path),
        names: vec![node.id.to_string()],
        boost: 1.0,
        sections: sections.into_iter().collect(),
        span: block,
        ..Item::default()
    }
}

/// Where the block of each node is, in the order of the nodes.
fn blocks(text: &str, graph: &Graph) -> Vec<Range<usize>> {
    let place = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let (mut in_head, mut is_open) = (true, false);
    for (_, line) in lines(text) {
        let start = place(line);
        let end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
        let ends = if in_head { line == super::model::DELIMITER } else { line == graph.head.delimiter };
        match (ends, in_head, is_open) {
            (true, true, _) => in_head = false,
            (false, true, _) => {}
            (true, false, _) => is_open = false,
            (false, false, true) => blocks.last_mut().into_iter().for_each(|block| block.end = end),
            (false, false, false) => {
                blocks.push(start..end);
                is_open = true;
            }
        }
    }
    blocks
}

fn details(_: &str, bytes: &[u8], item: &Item) -> ItemDetails {
    let plan = Plan::read(bytes);
    if !plan.has_magic {
        return ItemDetails { unreadable: Some(NO_PLAN), ..ItemDetails::default() };
    }
    let Ok((graph, edges)) = plan.validated() else { return ItemDetails::default() };
    let node_key = |at: usize| ItemKey::within(&item.key.path, &*graph.nodes()[at].id);
    let Some(at) = item.key.fragment.as_deref().and_then(|id| graph.position(id)) else {
        let ready = plan.frontier().map(|(_, frontier)| frontier.ready_to_start.as_slice()).unwrap_or_default();
        let ready = ready.iter().take(MAX_READY).map(|at| node_key(*at as usize)).collect();
        return ItemDetails { unreadable: None, text: None, fields: vec![("ready", ItemDetail::Addresses(ready))] };
    };
    let related = |at: usize| {
        let node = &graph.nodes()[at];
        let status = node.status().map(|status| status.word().to_owned());
        RelatedItem { key: node_key(at), title: one_line(&node.name), status }
    };
    let description = json!(graph.nodes()[at].description);
    let fields = vec![
        ("description", ItemDetail::Value(description)),
        ("depends_on", ItemDetail::Related(edges.needs(at).take(MAX_RELATED).map(related).collect())),
        ("needed_by", ItemDetail::Related(edges.needed_by(at).take(MAX_RELATED).map(related).collect())),
    ];
    ItemDetails { unreadable: None, text: None, fields }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::item::ItemLane;

    const PLAN: &str = "vine 1.2.0\ntitle: Launch\n---\n[root] All of it (notstarted)\nwords\n-> a\n-> b/c\n---\n\n[a] First (complete)\n---\nref [b/c] Other (x.vine)\nmore\n";

    #[test]
    fn a_plan_and_each_node_are_items() {
        let file = items("plans/a.vine", PLAN.as_bytes());
        let seen: Vec<_> = file
            .items
            .iter()
            .map(|item| {
                let key = item.key.fragment.clone().unwrap_or_default();
                (key, item.title.as_str(), item.status.as_deref(), item.lane, &PLAN[item.span.clone()])
            })
            .collect();
        let todo = Some(ItemLane::Todo);
        let expected = [
            (String::new(), "Launch", Some("notstarted"), todo, PLAN),
            (
                "root".into(),
                "All of it",
                Some("notstarted"),
                todo,
                "[root] All of it (notstarted)\nwords\n-> a\n-> b/c\n",
            ),
            ("a".into(), "First", Some("complete"), Some(ItemLane::Done), "\n[a] First (complete)\n"),
            ("b/c".into(), "Other", None, None, "ref [b/c] Other (x.vine)\nmore\n"),
        ];
        assert_eq!(seen, expected);
        assert!(file.items.iter().all(|item| !item.ready), "a reference is in the way");
        let ready = items(
            "a.vine",
            PLAN.replace("-> b/c\n", "").replace("ref [b/c] Other (x.vine)", "[b/c] O (planning)").as_bytes(),
        );
        assert_eq!(ready.items.iter().filter(|item| item.ready).count(), 0, "a node that nobody needs is no plan");
    }

    #[test]
    fn what_can_start_is_ready() {
        let text = "vine 1.2.0\n---\n[r] R (started)\n-> a\n---\n[a] A (planning)\n";
        let file = items("a.vine", text.as_bytes());
        let ready: Vec<&str> = file.items.iter().filter(|item| item.ready).map(|item| item.title.as_str()).collect();
        assert_eq!(ready, ["A"]);
        assert_eq!((file.items[0].title.as_str(), file.items[0].lane), ("R", Some(ItemLane::Doing)));
        let details = details("a.vine", text.as_bytes(), &file.items[2]);
        let needed_by =
            RelatedItem { key: ItemKey::within("a.vine", "r"), title: "R".into(), status: Some("started".into()) };
        assert_eq!(details.fields[2], ("needed_by", ItemDetail::Related(vec![needed_by])));
    }

    #[test]
    fn a_broken_plan_says_so() {
        let file = items("x/a.vine", b"vine 1.2.0\n---\n[r R\n");
        assert_eq!(file.items.len(), 1);
        assert_eq!(file.items[0].title, "a");
        assert!(file.items[0].warning.as_deref().is_some_and(|warning| warning.contains("Line 3")));
        let secret = items("a.vine", b"password");
        assert_eq!(secret.items[0].warning.as_deref(), Some("it does not begin as a plan does"));
    }
}
