//! What texts say about other items: links to them, and what replaced what. Text comes in, words and links go out as
//! they are written; whether anything is there is for others to find out.

use std::collections::BTreeSet;

use super::item::ItemLink;
use crate::families;
use crate::text::code_fences::lines;
use crate::text::headings::headings;
use crate::text::percent::decoded;

/// More of one text are not kept.
const MAX_LINKS: usize = 100;

/// The links of a text in the file at this path of its tree, each once, in order.
pub fn links(text: &str, path: &str) -> Vec<ItemLink> {
    let mut links = Vec::new();
    let mut known = BTreeSet::new();
    let mut keep = |link: ItemLink| {
        if links.len() < MAX_LINKS && known.insert(link.clone()) {
            links.push(link);
        }
    };
    for (at, mark) in text.char_indices().filter(|(_, letter)| matches!(letter, ':' | '#' | 'A' | ']')) {
        let link = match mark {
            ':' => address_at(text, at),
            '#' => task_at(text, at),
            'A' => decision_at(text, at),
            _ => file_at(text, at, path),
        };
        link.into_iter().for_each(&mut keep);
    }
    links
}

/// An address whose scheme ends at this colon.
fn address_at(text: &str, colon: usize) -> Option<ItemLink> {
    if !text[colon..].starts_with("://") {
        return None;
    }
    let (scheme, rest) = families::with_items().find_map(|(name, face)| {
        let alias = face.alias.and_then(|alias| alias.split_once(':'));
        let beginnings = [Some((name, "//")), alias];
        let is_here =
            |(scheme, rest): &(&str, &str)| text[..colon].ends_with(scheme) && text[colon + 1..].starts_with(rest);
        beginnings.into_iter().flatten().find(is_here)
    })?;
    let start = colon - scheme.len();
    if text[..start].ends_with(|letter: char| letter.is_alphanumeric()) {
        return None;
    }
    let is_end = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '<' | '>' | '"' | '\'' | '`' | ')' | ']' | '}' | '|' | '、' | '。' | '」')
    };
    let line = &text[start..];
    let address = &line[..line.find(is_end).unwrap_or(line.len())];
    let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
    (address.len() > scheme.len() + 1 + rest.len()).then(|| ItemLink::Address(address.to_owned()))
}

/// A task by its id: `#T001`.
fn task_at(text: &str, hash: usize) -> Option<ItemLink> {
    let id = text.get(hash + 1..hash + 5)?;
    let is_id = id.starts_with('T') && id[1..].bytes().all(|byte| byte.is_ascii_digit());
    let is_alone = !text[hash + 5..].starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && !text[..hash].ends_with(|letter: char| letter.is_alphanumeric() || letter == '/');
    (is_id && is_alone).then(|| ItemLink::ShortForm(id.to_owned()))
}

/// A decision by its number: `ADR-001`.
fn decision_at(text: &str, at: usize) -> Option<ItemLink> {
    let number = text[at..].strip_prefix("ADR-")?;
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let is_alone = !text[..at].ends_with(|letter: char| letter.is_alphanumeric())
        && !number[digits..].starts_with(|letter: char| letter.is_alphanumeric());
    let number: u16 = number[..digits].parse().ok().filter(|number| (1..=999).contains(number) && is_alone)?;
    Some(ItemLink::ShortForm(format!("ADR-{number}")))
}

/// `](path "title")`, where the bracket closes the words of a Markdown link.
fn file_at(text: &str, bracket: usize, path: &str) -> Option<ItemLink> {
    let rest = text[bracket..].strip_prefix("](")?;
    let target = match rest.strip_prefix('<') {
        Some(rest) => rest.split_once('>')?.0,
        None => rest[..rest.find([')', '\n'])?].split_whitespace().next()?,
    };
    let target = target.split(['#', '?']).next().filter(|target| !target.is_empty() && !target.starts_with('/'))?;
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let target = decoded(target)?;
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| ItemLink::File(parts.join("/")))
}

/// What replaced a document, as it is written there: a line of its head first, then the end of its history.
pub fn superseded_by(body: &str) -> Vec<String> {
    let head_end = headings(body).find(|heading| heading.level == 2).map_or(body.len(), |heading| heading.start);
    let in_head = lines(&body[..head_end]).filter(|line| !line.is_code).find_map(|line| {
        let (key, value) = unmarked(line.text).split_once(':')?;
        key.trim_end_matches(MARKS).eq_ignore_ascii_case("superseded by").then(|| named(value)).flatten()
    });
    in_head.into_iter().chain(history_end(body).and_then(after_by)).collect()
}

/// What a document replaced, as it is written there.
pub fn supersedes(body: &str) -> Vec<String> {
    let named = |line: &str| {
        let line = unmarked(line);
        let rest =
            line.get(..10).filter(|word| word.eq_ignore_ascii_case("supersedes")).map(|word| &line[word.len()..])?;
        let rest = rest.trim_start_matches(MARKS);
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        (rest.len() < line.len() - 10).then(|| rest.split([',', ';']).filter_map(named).collect::<Vec<_>>())
    };
    lines(body).filter(|line| !line.is_code).filter_map(|line| named(line.text)).flatten().collect()
}

/// The last line of the last section called `Status History`.
fn history_end(body: &str) -> Option<&str> {
    let all: Vec<_> = headings(body).collect();
    let place = all.iter().rposition(|heading| heading.text.eq_ignore_ascii_case("status history"))?;
    let end = all[place + 1..].iter().find(|next| next.level <= all[place].level).map_or(body.len(), |next| next.start);
    body[all[place].end..end].lines().rfind(|line| !line.trim().is_empty())
}

fn after_by(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let words = ["superseded by", "replaced by"];
    let end = words.iter().filter_map(|words| Some(lower.find(words)? + words.len())).min()?;
    named(&line[end..])
}

/// What decorates words in Markdown, and blanks.
const MARKS: [char; 4] = ['*', '_', ' ', '\t'];

fn unmarked(line: &str) -> &str {
    line.trim_start_matches(['-', '*', '+', '>', ' ', '\t', '_'])
}

/// The name of something in the rest of a line: the words of a link, or everything without what decorates it.
fn named(rest: &str) -> Option<String> {
    let rest =
        rest.trim_matches(|letter: char| MARKS.contains(&letter) || matches!(letter, ':' | '`' | '"' | '\'' | '.'));
    let link = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(words, _)| words);
    Some(link.unwrap_or(rest).trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> ItemLink {
        ItemLink::Address(text.to_owned())
    }

    #[track_caller]
    fn check(text: &str, expected: &[ItemLink]) {
        assert_eq!(links(text, "p/plans/a.md"), expected, "{text}");
    }

    #[test]
    fn links_are_found_wherever_they_stand() {
        check(
            "see todo://p/T001, and <vibe://projects/p/a%20b.md>.",
            &[address("todo://p/T001"), address("vibe://projects/p/a%20b.md")],
        );
        check("`vine://p/a.vine#x/y` (board:///task-1)", &[address("vine://p/a.vine#x/y"), address("board:///task-1")]);
        check("file://.todo/adr/adr-001-x.md", &[address("file://.todo/adr/adr-001-x.md")]);
        check("https://a.b/ xtodo://p/T001 todo:// #T0012 #Tabc MADR-1 ADR-1a ADR-0", &[]);
        check(
            "#T001 #T001 (#T002) ADR-001",
            &[
                ItemLink::ShortForm("T001".into()),
                ItemLink::ShortForm("T002".into()),
                ItemLink::ShortForm("ADR-1".into()),
            ],
        );
        check(
            "[a](b.md) [c](<../tasks/x y.md>) [d](./e%20f.md#g \"t\") [x](/abs) [y](https://z) [z](../../../up.md) [](#here)",
            &[
                ItemLink::File("p/plans/b.md".into()),
                ItemLink::File("p/tasks/x y.md".into()),
                ItemLink::File("p/plans/e f.md".into()),
            ],
        );
        check("日本語 todo://p/T001。次", &[address("todo://p/T001")]);
    }

    #[track_caller]
    fn check_superseded(body: &str, by: &[&str], of: &[&str]) {
        assert_eq!(
            (superseded_by(body), supersedes(body)),
            (by.iter().map(|x| (*x).to_owned()).collect(), of.iter().map(|x| (*x).to_owned()).collect()),
            "{body}"
        );
    }

    #[test]
    fn what_replaced_what_is_read_where_people_write_it() {
        check_superseded("# A\n- **Superseded by:** ADR-2\n", &["ADR-2"], &[]);
        check_superseded("# A\nSuperseded by: [ADR-002](adr-002-x.md).\n## B\nSuperseded by: no\n", &["ADR-002"], &[]);
        check_superseded(
            "# A\n## Status History\n- t replaced by 3\n- t x → Deprecated: superseded by ADR-2\n\n## C\nx",
            &["ADR-2"],
            &[],
        );
        check_superseded("# A\nSuperseded by: 2\n## Status History\n- Replaced by b.md\n", &["2", "b.md"], &[]);
        check_superseded(
            "# A\n* *Supersedes* ADR-1, `adr-002-x`\n```\nSupersedes 3\n```\n",
            &[],
            &["ADR-1", "adr-002-x"],
        );
        check_superseded("It supersedes nothing. Supersedesx 3\nSupersedes: 4\n", &[], &["4"]);
    }
}
