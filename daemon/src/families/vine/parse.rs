//! Text → graph, or the first problem in the order of the file with its line.
//!
//! One walk over the lines: magic line, head, blocks. Nothing here looks at more than one block at a time; whether the
//! blocks make a sound graph is for `validate`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::header::{self, Header, HeaderValue};
use super::model::{Attachment, Class, DELIMITER, Graph, Head, Index, Node, NodeKind};
use super::nodes::Nodes;
use super::whitespace::{by_units, is_blank, is_space, lines, trim};

/// Why a text is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Line {line}: {message}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl ParseError {
    fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// Reads a whole plan.
pub fn parse(text: &str) -> Result<Graph, ParseError> {
    let mut lines = lines(text);
    let (head, last) = head(&mut lines)?;
    let mut nodes = Nodes::default();
    let mut index = Index::new();
    let mut keep = |block: Block<'_>| {
        let start = block.start;
        let node = block.finish()?;
        let at = u32::try_from(nodes.len()).map_err(|_| ParseError::at(start, "Too many tasks"))?;
        match index.entry(Arc::clone(&node.id)) {
            Entry::Occupied(_) => Err(ParseError::at(start, format!("Duplicate task id \"{}\"", node.id))),
            Entry::Vacant(place) => {
                place.insert(at);
                nodes.push(Arc::new(node));
                Ok(())
            }
        }
    };
    let mut block: Option<Block<'_>> = None;
    for (number, line) in lines {
        if line == head.delimiter {
            block.take().map_or(Ok(()), &mut keep)?;
        } else {
            block.get_or_insert_with(|| Block::at(number)).take(number, line)?;
        }
    }
    block.map_or(Ok(()), &mut keep)?;
    if nodes.is_empty() {
        return Err(ParseError::at(last + 1, "Empty input — no task blocks found"));
    }
    Ok(Graph::indexed(Arc::new(head), nodes, Arc::new(index)))
}

/// Whether a text begins as a plan does.
pub fn has_magic(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, line)| version(line).is_some())
}

/// Reads the head, and the number of the line that ends it.
pub(super) fn head<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<(Head, usize), ParseError> {
    let (mut last, magic) = lines.next().ok_or_else(|| ParseError::at(1, "Empty input — missing magic line"))?;
    let wrong = || ParseError::at(1, format!("Invalid magic line: expected \"vine <version>\", got \"{magic}\""));
    let mut head = Head::new(version(magic).ok_or_else(wrong)?);
    let mut others: HashMap<String, (String, String)> = HashMap::new();
    for (number, line) in lines {
        if line == DELIMITER {
            let mut others: Vec<_> = others.into_iter().collect();
            others.sort_by(|(a, _), (b, _)| by_units(a, b));
            head.others = others.into_iter().map(|(_, as_spelt)| as_spelt).collect();
            return Ok((head, number));
        }
        last = number;
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (trim(key), trim(value).to_owned());
        match key.to_lowercase().as_str() {
            "title" => head.title = Some(value),
            "delimiter" => head.delimiter = value,
            "prefix" => head.prefix = Some(value),
            lower => {
                others.insert(lower.to_owned(), (key.to_owned(), value));
            }
        }
    }
    Err(ParseError::at(last, "Missing preamble terminator \"---\""))
}

fn version(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("vine")?;
    let version = rest.trim_start_matches(is_space);
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let good = version.len() < rest.len() && version.split('.').count() == 3 && version.split('.').all(number);
    good.then_some(version)
}

/// A block while it is read.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    start: usize,
    header: Option<Header<'a>>,
    description: String,
    /// An empty description has either no line or one.
    has_line: bool,
    dependencies: Vec<Arc<str>>,
    decisions: Vec<String>,
    attachments: Vec<Attachment>,
}

impl<'a> Block<'a> {
    /// A block whose first line has this number.
    pub(super) fn at(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    /// Takes the next line.
    pub(super) fn take(&mut self, number: usize, line: &'a str) -> Result<(), ParseError> {
        if self.header.is_some() {
            return self.take_body(number, line);
        }
        let text = trim(line);
        if text.is_empty() {
            return Ok(());
        }
        let wrong = || {
            let sort = if header::is_reference(text) { "reference" } else { "task" };
            ParseError::at(number, format!("Invalid {sort} header: \"{text}\""))
        };
        self.header = Some(header::parse(text).ok_or_else(wrong)?);
        Ok(())
    }

    fn take_body(&mut self, number: usize, line: &str) -> Result<(), ParseError> {
        if is_blank(line) {
            self.describe("");
        } else if let Some(id) = line.strip_prefix("-> ") {
            self.dependencies.push(trim(id).into());
        } else if let Some(text) = line.strip_prefix("> ") {
            self.decisions.push(trim(text).to_owned());
        } else if let Some((class, text)) = attachment(line) {
            if matches!(self.header, Some(Header { what: HeaderValue::Uri(_), .. })) {
                return Err(ParseError::at(number, "Attachments are not allowed on reference nodes"));
            }
            let class_word = class.word();
            let wrong = || {
                let got = format!("@{class_word} {text}");
                ParseError::at(
                    number,
                    format!("Invalid attachment: expected \"@{class_word} <mime> <uri>\", got \"{got}\""),
                )
            };
            let (mime, uri) = text.split_once(' ').filter(|(_, uri)| !uri.is_empty()).ok_or_else(wrong)?;
            self.attachments.push(Attachment { class, mime: mime.to_owned(), uri: uri.to_owned() });
        } else {
            self.describe(line);
        }
        Ok(())
    }

    fn describe(&mut self, line: &str) {
        if self.has_line {
            self.description.push('\n');
        }
        self.has_line = true;
        self.description.push_str(line);
    }

    /// The node, once all lines were taken.
    pub(super) fn finish(self) -> Result<Node, ParseError> {
        let header = self.header.ok_or_else(|| ParseError::at(self.start, "Empty block — no header found"))?;
        let kind = match header.what {
            HeaderValue::Status(status) => NodeKind::Task { status, attachments: self.attachments },
            HeaderValue::Uri(uri) => NodeKind::Ref { vine: uri.to_owned() },
        };
        Ok(Node {
            id: header.id.into(),
            name: header.name.to_owned(),
            description: self.description,
            dependencies: self.dependencies,
            decisions: self.decisions,
            annotations: header.annotations,
            kind,
        })
    }
}

/// The class of an attachment, and what follows it.
fn attachment(line: &str) -> Option<(Class, &str)> {
    let (word, rest) = line.strip_prefix('@')?.split_once(' ')?;
    Some((Class::parse(word)?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::model::Status;
    use super::*;

    fn check_error(text: &str, line: usize, message: &str) {
        assert_eq!(parse(text).expect_err("a problem"), ParseError::at(line, message), "{text:?}");
    }

    fn good(text: &str) -> Graph {
        parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }

    fn only(body: &str) -> Node {
        Node::clone(&good(&format!("vine 1.2.0\n---\n[a] N (started)\n{body}")).nodes()[0])
    }

    #[test]
    fn the_magic_line_is_exact() {
        check_error("", 1, "Empty input — missing magic line");
        for line in
            ["", "vine", "vine 1.2", " vine 1.2.0", "vine 1.2.0 ", "Vine 1.2.0", "\u{feff}vine 1.2.0", "vine1.2.0"]
        {
            let message = format!("Invalid magic line: expected \"vine <version>\", got \"{line}\"");
            check_error(&format!("{line}\n---\n[a] N (started)\n"), 1, &message);
        }
        for (line, version) in
            [("vine 0.0.1", "0.0.1"), ("vine\t \u{3000}01.2.0\r", "01.2.0"), ("vine 9.12.345", "9.12.345")]
        {
            assert_eq!(good(&format!("{line}\n---\n[a] N (started)\n")).head.version, version);
        }
        assert!(has_magic("vine 1.2.0") && !has_magic("root:x:0:0") && !has_magic(""));
    }

    #[test]
    fn the_head_ends_with_three_hyphens() {
        check_error("vine 1.2.0", 1, "Missing preamble terminator \"---\"");
        check_error("vine 1.2.0\ntitle: x\n--- \n\n", 4, "Missing preamble terminator \"---\"");
        check_error("vine 1.2.0\n---\n", 3, "Empty input — no task blocks found");
        check_error("vine 1.2.0\n---\n---\n---\n", 3, "Empty input — no task blocks found");
        let head =
            "vine 1.2.0\n\nnoise\nTITLE : A: b \nPrefix:\nzeta:1\nAlpha: 2\nalpha:3\ntitle: last\n---\n[a] N (started)";
        let head = &good(head).head;
        assert_eq!((head.title.as_deref(), head.prefix.as_deref()), (Some("last"), Some("")));
        assert_eq!(head.delimiter, "---");
        let others = [("alpha", "3"), ("zeta", "1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(head.others, others);
    }

    #[test]
    fn a_delimiter_is_a_whole_line() {
        let text =
            "vine 1.2.0\ndelimiter: ===\n---\n[a] N (started)\n---\n -> b\n===\n===\n[b] M (complete)\n=== \n===\n";
        let graph = good(text);
        assert_eq!(graph.nodes().len(), 2);
        assert_eq!(graph.nodes()[0].description, "---\n -> b");
        assert_eq!(graph.nodes()[1].description, "=== ");
        let graph = good("vine 1.2.0\ndelimiter:\n---\n[a] N (started)\n\n[b] M (complete)\n");
        assert_eq!(graph.position("b"), Some(1));
    }

    #[test]
    fn problems_have_the_line_of_the_first_one() {
        let top = "vine 1.2.0\n---\n[a] N (started)\n---\n";
        check_error(&format!("{top}\n\n"), 5, "Empty block — no header found");
        good(top);
        check_error(&format!("{top}\n  x \n"), 6, "Invalid task header: \"x\"");
        check_error(&format!("{top}ref x"), 5, "Invalid reference header: \"ref x\"");
        check_error(&format!("{top}ref\t[x] N (u)"), 5, "Invalid task header: \"ref\t[x] N (u)\"");
        check_error(&format!("{top}\n[a] M (started)\n---\nbad"), 5, "Duplicate task id \"a\"");
        check_error(
            &format!("{top}[b] M (started)\n@file x"),
            6,
            "Invalid attachment: expected \"@file <mime> <uri>\", got \"@file x\"",
        );
        check_error(
            &format!("{top}[b] M (started)\n@file x "),
            6,
            "Invalid attachment: expected \"@file <mime> <uri>\", got \"@file x \"",
        );
        check_error(&format!("{top}ref [b] M (u)\n@file x"), 6, "Attachments are not allowed on reference nodes");
        good(&format!("{top}ref [b] M (u)\n@note x\n@file"));
    }

    #[test]
    fn lines_of_a_body_are_told_apart() {
        let node = only(
            "first\n-> b \n-> \n> why\n> \n  -> x\n->x\n>\n@note y\n@artifact\n \n@file a/b c d \n@artifact  u\n-> b\nlast",
        );
        assert_eq!(node.description, "first\n  -> x\n->x\n>\n@note y\n@artifact\n\nlast");
        assert_eq!(node.dependencies, ["b", "", "b"].map(Arc::from));
        assert_eq!(node.decisions, ["why", ""]);
        let attachment = |class, mime: &str, uri: &str| Attachment { class, mime: mime.into(), uri: uri.into() };
        let attachments = vec![attachment(Class::File, "a/b", "c d "), attachment(Class::Artifact, "", "u")];
        assert_eq!(node.kind, NodeKind::Task { status: Status::Started, attachments });
    }

    #[test]
    fn blank_lines_are_description() {
        assert_eq!(only("").description, "");
        assert_eq!(only("\n").description, "");
        assert_eq!(only("\n \n").description, "\n");
        assert_eq!(only("x\n\n---\n").description, "x\n");
        assert_eq!(only("x\r\ny\r\n").description, "x\ny");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&String::from_utf8_lossy(&bytes));
            let mut text = b"vine 1.2.0\n---\n".to_vec();
            text.extend(bytes);
            let _ = parse(&String::from_utf8_lossy(&text));
        }

        #[test]
        fn nothing_like_a_plan_makes_it_panic(text in "(vine 1\\.2\\.0|---|\\[a\\]|\\[b/c\\]|ref |\\(started\\)|\\(u\\)|-> |> |@file |@k\\(v\\)| |x|\n|\r\n|\u{2028}){0,40}") {
            let _ = parse(&text);
            let _ = parse(&format!("vine 1.2.0\n---\n{text}"));
        }
    }
}
