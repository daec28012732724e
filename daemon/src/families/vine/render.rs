//! Graph → text in the canonical form, the inverse of `parse`.
//!
//! Blocks that are known to read back as their nodes are copied from the text they were written in; only what is new
//! is put into words and read back. A text that would not read back as what was meant is refused here, before any
//! file is touched.

use std::ops::Range;
use std::sync::Arc;

use super::error::VineError;
use super::model::{Annotations, Attachment, Class, DELIMITER, Graph, Head, Node, NodeKind};
use super::nodes::Nodes;
use super::parse::{self, Block};
use super::whitespace::{by_units, lines, trim};

/// A text of ours, and where each node's block is in it. Every block reads back as its node.
#[derive(Debug, Clone)]
pub struct RenderedPlan {
    /// The whole file.
    pub text: String,
    /// Of each node, with the end of its last line.
    blocks: Vec<Span>,
}

/// A node's block in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
    /// Whether the node that it reads back as is written just so: blanks around a name, say, are not.
    is_settled: bool,
}

impl RenderedPlan {
    /// About how many bytes it takes.
    pub fn memory_bytes(&self) -> usize {
        self.text.len() + size_of::<Span>() * self.blocks.len()
    }
}

/// What was written before, to copy from.
#[derive(Debug, Clone, Copy)]
pub struct PreviousRendering<'a> {
    /// What was read back then.
    pub graph: &'a Graph,
    pub written: &'a RenderedPlan,
}

/// The text of a graph, and the graph that this text reads back as: lists in the order of the file.
pub fn render(graph: &Graph, before: Option<PreviousRendering<'_>>) -> Result<(RenderedPlan, Graph), VineError> {
    let before = before.filter(|before| before.graph.head == graph.head);
    let mut text = String::with_capacity(before.map_or(0, |before| before.written.text.len()) + 512);
    write_head(&graph.head, &mut text);
    let head = match before {
        Some(before) => Arc::clone(&before.graph.head),
        None => Arc::new(head_read_back(&text, &graph.head)?),
    };
    let joint = format!("{}\n", graph.head.delimiter);
    let mut blocks: Vec<Span> = Vec::with_capacity(graph.nodes().len());
    let mut nodes = graph.nodes().clone();
    while let Some(node) = graph.nodes().get(blocks.len()) {
        let at = blocks.len();
        if at > 0 {
            text.push_str(&joint);
        }
        let start = text.len();
        match before.and_then(|before| Some((before, run(graph.nodes(), at, before)?))) {
            // Nodes that stand together as they did: one copy for all of them.
            Some((before, same)) => {
                let old = &before.written.blocks[same.clone()];
                let from = old.first().map_or(0, |span| span.start);
                let to = old.last().map_or(0, |span| span.end);
                text.push_str(&before.written.text[from as usize..to as usize]);
                let moved = |place: u32| place - from + start as u32;
                let span = |old: &Span| Span { start: moved(old.start), end: moved(old.end), ..*old };
                blocks.extend(old.iter().map(span));
            }
            None => {
                write_block(node, &mut text);
                let read = block_read_back(&text[start..], node, &graph.head.delimiter)?;
                let mut again = String::new();
                write_block(&read, &mut again);
                let is_settled = again == text[start..];
                blocks.push(Span { start: start as u32, end: text.len() as u32, is_settled });
                if let Some(place) = nodes.get_mut(at) {
                    *place = Arc::new(read);
                }
            }
        }
    }
    let read_back = Graph::indexed(head, nodes, Arc::clone(graph.index()));
    Ok((RenderedPlan { text, blocks }, read_back))
}

/// How many of the nodes from a place on stand as they are in what was written before, and where.
fn run(nodes: &Nodes, from: usize, before: PreviousRendering<'_>) -> Option<Range<usize>> {
    let at = before.graph.position(&nodes.get(from)?.id)?;
    let same = nodes.common(from, before.graph.nodes(), at);
    let count = before.written.blocks[at..at + same].iter().take_while(|span| span.is_settled).count();
    (count > 0).then_some(at..at + count)
}

fn write_head(head: &Head, text: &mut String) {
    let mut entries: Vec<(String, &str, &str)> =
        head.others.iter().map(|(key, value)| (key.to_lowercase(), key.as_str(), value.as_str())).collect();
    text.push_str(&format!("vine {}\n", head.version));
    let delimiter = Some(head.delimiter.as_str()).filter(|delimiter| *delimiter != DELIMITER);
    for (key, value) in [("delimiter", delimiter), ("prefix", head.prefix.as_deref()), ("title", head.title.as_deref())]
    {
        if let Some(value) = value {
            entries.push((key.to_owned(), key, value));
        }
    }
    entries.sort_by(|(a, ..), (b, ..)| by_units(a, b));
    for (_, key, value) in entries {
        text.push_str(&format!("{key}: {value}\n"));
    }
    text.push_str(DELIMITER);
    text.push('\n');
}

fn head_read_back(text: &str, meant: &Head) -> Result<Head, VineError> {
    let lost = |why: String| VineError::Lost { what: "the head of the file".to_owned(), why };
    let (head, _) = parse::head(&mut lines(text)).map_err(|error| lost(error.message))?;
    let title = |head: &Head| head.title.as_deref().map(|title| trim(title).to_owned());
    let same = (&head.version, &head.delimiter, &head.prefix, &head.others)
        == (&meant.version, &meant.delimiter, &meant.prefix, &meant.others)
        && title(&head) == title(meant);
    // What ends early would leave lines that nobody meant as blocks.
    if same && lines(text).count() == lines_of_head(&head) {
        Ok(head)
    } else {
        Err(lost("it would not read back the same".into()))
    }
}

fn lines_of_head(head: &Head) -> usize {
    let known = [head.delimiter != DELIMITER, head.prefix.is_some(), head.title.is_some()];
    2 + known.iter().filter(|there| **there).count() + head.others.len()
}

fn write_block(node: &Node, text: &mut String) {
    let in_parentheses = match &node.kind {
        NodeKind::Task { status, .. } => status.word(),
        NodeKind::Ref { vine } => {
            text.push_str("ref ");
            vine
        }
    };
    for part in ["[", &node.id, "] ", &node.name, " (", in_parentheses, ")"] {
        text.push_str(part);
    }
    let mut annotations: Vec<(&String, &Vec<String>)> = node.annotations.iter().collect();
    annotations.sort_by(|(a, _), (b, _)| by_units(a, b));
    for (key, values) in annotations {
        text.push_str(&format!(" @{key}({})", values.join(",")));
    }
    text.push('\n');
    let mut line = |start: &str, rest: &str| {
        text.push_str(start);
        text.push_str(rest);
        text.push('\n');
    };
    if !node.description.is_empty() {
        line("", &node.description);
    }
    let mut dependencies: Vec<&Arc<str>> = node.dependencies.iter().collect();
    dependencies.sort_by(|a, b| by_units(a, b));
    dependencies.into_iter().for_each(|id| line("-> ", id));
    node.decisions.iter().for_each(|decision| line("> ", decision));
    if let NodeKind::Task { attachments, .. } = &node.kind {
        for class in Class::ALL {
            for Attachment { mime, uri, .. } in attachments.iter().filter(|attachment| attachment.class == class) {
                line(&format!("@{} ", class.word()), &format!("{mime} {uri}"));
            }
        }
    }
}

/// Reads one block alone. As no line of it is the delimiter, it reads the same in its file.
fn block_read_back(text: &str, meant: &Node, delimiter: &str) -> Result<Node, VineError> {
    let lost = |why: String| VineError::Lost { what: format!("task \"{}\"", meant.id), why };
    let mut block = Block::at(1);
    for (number, line) in lines(text) {
        if line == delimiter {
            return Err(lost(format!("a line of it is the delimiter \"{delimiter}\"")));
        }
        block.take(number, line).map_err(|error| lost(error.message))?;
    }
    let read = block.finish().map_err(|error| lost(error.message))?;
    match difference(meant, &read) {
        Some(field) => Err(lost(format!("its {field} would not read back the same"))),
        None => Ok(read),
    }
}

/// What was meant and would be lost. A description may read back as decisions or attachments in front of those that
/// were meant; white space at the ends of values goes.
fn difference(meant: &Node, read: &Node) -> Option<&'static str> {
    let mut dependencies: Vec<&str> = meant.dependencies.iter().map(|id| trim(id)).collect();
    dependencies.sort_by(|a, b| by_units(a, b));
    let same_kind = match (&meant.kind, &read.kind) {
        (NodeKind::Task { status: meant, .. }, NodeKind::Task { status: read, .. }) => meant == read,
        (NodeKind::Ref { vine: meant }, NodeKind::Ref { vine: read }) => meant == read,
        _ => false,
    };
    let ends_as_meant = || {
        let decisions: Vec<&str> = meant.decisions.iter().map(|decision| trim(decision)).collect();
        let skipped = read.decisions.len().checked_sub(decisions.len());
        skipped.is_some_and(|skipped| read.decisions[skipped..] == decisions)
    };
    match () {
        () if meant.id != read.id => Some("id"),
        () if !same_kind && meant.is_ref() => Some("uri"),
        () if !same_kind => Some("status"),
        () if !read.dependencies.iter().map(|id| &**id).eq(dependencies) => Some("dependency list"),
        () if trim(&meant.name) != trim(&read.name) => Some("name"),
        () if !ends_as_meant() => Some("decisions"),
        () if normal(&meant.annotations) != read.annotations => Some("annotations"),
        () if !attachments_end_as_meant(meant, read) => Some("attachments"),
        () => None,
    }
}

fn normal(annotations: &Annotations) -> Annotations {
    let values = |values: &Vec<String>| {
        values.iter().map(|value| trim(value)).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    };
    annotations.iter().map(|(key, given)| (key.clone(), values(given))).collect()
}

fn attachments_end_as_meant(meant: &Node, read: &Node) -> bool {
    let (NodeKind::Task { attachments: meant, .. }, NodeKind::Task { attachments: read, .. }) =
        (&meant.kind, &read.kind)
    else {
        return true;
    };
    let grouped: Vec<&Attachment> =
        Class::ALL.iter().flat_map(|class| meant.iter().filter(move |attachment| attachment.class == *class)).collect();
    let skipped = read.len().checked_sub(grouped.len());
    skipped.is_some_and(|skipped| read[skipped..].iter().eq(grouped))
}

#[cfg(test)]
mod tests {
    use super::super::model::Status;
    use super::*;

    fn check_same(text: &str) {
        check(text, text);
    }

    fn check(text: &str, expected: &str) {
        let graph = parse::parse(text).expect("a graph");
        let (written, read_back) = render(&graph, None).expect("a text");
        assert_eq!(written.text, expected);
        assert_eq!(parse::parse(expected).expect("a graph"), read_back);
        let again =
            render(&read_back, Some(PreviousRendering { graph: &read_back, written: &written })).expect("a text");
        assert_eq!((again.0.text, again.0.blocks, again.1), (written.text, written.blocks, read_back));
    }

    #[test]
    fn the_canonical_form_stays() {
        check_same("vine 1.2.0\n---\n[a] N (started)\n");
        check_same("vine 1.2.0\ntitle: \n---\n[a]   (complete) @a() @b(1,2)\nx\n\n---\nref [b] M (u)\n> \n");
        check_same(
            "vine 0.1.2\nAuthor: me\ndelimiter: ==\nkind: x\nprefix: \ntitle: t\nzz: \n---\n[a] N (started)\n---\n==\n[b] M (blocked)\n",
        );
        check_same("vine 1.2.0\ndelimiter: \n---\n[a] N (started)\n\n[b] M (blocked)\n");
    }

    #[test]
    fn anything_else_becomes_canonical() {
        let text = "vine\t1.2.0\r\nTitle:T\r\nnoise\r\n---\r\n---\r\n\r\n  [a]  N  (started)  @z(1 , 2) @a(x)\r\n@file f 1\n-> b\n> why \n-> B\n\
                    -> b\n@artifact a 2\n text \n---\n[B] M (blocked)\n\n---\n---\n[b] L (planning)\n \n\n---\n";
        let expected = "vine 1.2.0\ntitle: T\n---\n[a] N (started) @a(x) @z(1,2)\n text \n-> B\n-> b\n-> b\n> why\n@artifact a 2\n@file f 1\n---\n\
                        [B] M (blocked)\n---\n[b] L (planning)\n\n\n";
        check(text, expected);
    }

    fn check_lost(change: impl FnOnce(&mut Node), why: &str) {
        let mut graph = parse::parse("vine 1.2.0\n---\n[a] N (started)\n").expect("a graph");
        let mut node = Node::clone(&graph.nodes()[0]);
        change(&mut node);
        graph = Graph::new(Arc::clone(&graph.head), [Arc::new(node)].into_iter().collect());
        let error = render(&graph, None).expect_err("a refusal").to_string();
        assert!(error.starts_with("Nothing was written: ") && error.contains(why), "{error}");
    }

    #[test]
    fn what_would_not_read_back_is_refused() {
        check_lost(|node| node.id = "bad id!".into(), "Invalid task header");
        check_lost(|node| node.id = "".into(), "Invalid task header");
        check_lost(|node| node.name = String::new(), "Invalid task header");
        check_lost(|node| node.name = "a\nb".into(), "Invalid task header");
        check_lost(|node| node.name = "a (started) @b(".into(), "name");
        check_lost(|node| node.description = "x\n---\ny".into(), "the delimiter");
        check_lost(|node| node.description = "-> ghost".into(), "dependency list");
        check_lost(|node| node.description = "@file x".into(), "Invalid attachment");
        check_lost(|node| node.dependencies.push("b\nx".into()), "dependency list");
        check_lost(|node| node.decisions.push("a\nb".into()), "decisions");
        check_lost(|node| drop(node.annotations.insert("a b".into(), vec![])), "Invalid task header");
        check_lost(|node| drop(node.annotations.insert("a".into(), vec!["x)".into()])), "Invalid task header");
        check_lost(|node| drop(node.annotations.insert("a".into(), vec!["x,y".into()])), "annotations");
        check_lost(|node| node.kind = NodeKind::Ref { vine: "a b".into() }, "Invalid reference header");
        check_lost(|node| node.kind = NodeKind::Ref { vine: String::new() }, "Invalid reference header");
        let attached = |mime: &str, uri: &str| {
            let attachment = Attachment { class: Class::File, mime: mime.into(), uri: uri.into() };
            NodeKind::Task { status: Status::Started, attachments: vec![attachment] }
        };
        check_lost(|node| node.kind = attached("m", ""), "Invalid attachment");
        check_lost(|node| node.kind = attached("m n", "u"), "attachments");
        check_lost(|node| node.kind = attached("m", "u\nv"), "attachments");
    }

    #[test]
    fn a_head_that_would_not_read_back_is_refused() {
        let nodes = || parse::parse("vine 1.2.0\n---\n[a] N (started)\n").expect("a graph").nodes().clone();
        for version in ["two", "1.2", "1.2.0\n---", ""] {
            let graph = Graph::new(Arc::new(Head::new(version)), nodes());
            assert!(render(&graph, None).is_err(), "{version:?}");
        }
        let head = Head { title: Some(" ".into()), ..Head::new("1.2.0") };
        let (written, graph) = render(&Graph::new(Arc::new(head), nodes()), None).expect("a text");
        assert_eq!((graph.head.title.as_deref(), written.text.lines().nth(1)), (Some(""), Some("title:  ")));
    }
}
