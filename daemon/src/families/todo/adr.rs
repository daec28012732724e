//! Decision records: what a file says about itself, and the three lines that change with its status. Only the head
//! and the last history are read, so that headings inside the texts do no harm.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::lines::{Line, line_end, lines};
use super::model::AdrStatus;
use super::render;
use super::splice::inserted;
use crate::disk::FileModel;
use crate::text::hash::hash_of;
use crate::text::headings::heading;

/// The heading of the history.
pub const HISTORY: &str = "Status History";

/// A record, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adr {
    /// So many bytes are good, if it is no text.
    pub not_text: Option<usize>,
    /// As users see it.
    pub hash: String,
    /// Its first heading, without its number.
    pub title: Option<String>,
    /// How far it is; what says nothing to us is proposed.
    pub status: AdrStatus,
    /// What it says about it, if that says nothing to us.
    pub raw_status: Option<String>,
    /// From its head or its history.
    pub created: Option<Timestamp>,
    /// From its head or its history.
    pub updated: Option<Timestamp>,
}

impl FileModel for Adr {
    fn read(bytes: &[u8]) -> Self {
        let hash = hash_of(bytes);
        match str::from_utf8(bytes) {
            Ok(text) => Self { hash, ..Self::parse(text) },
            Err(error) => Self { hash, not_text: Some(error.valid_up_to()), ..Self::parse("") },
        }
    }

    fn memory_bytes(&self) -> usize {
        let texts = self.title.iter().chain(&self.raw_status).map(String::len).sum::<usize>();
        size_of::<Self>() + texts + self.hash.len()
    }
}

impl Adr {
    /// Of a text that has no hash yet.
    pub fn parse(text: &str) -> Self {
        let parts = Parts::of(text);
        let raw = parts.status.as_ref().map(|span| bare(&text[span.clone()]));
        let status =
            raw.and_then(|raw| AdrStatus::ALL.into_iter().find(|status| raw.eq_ignore_ascii_case(status.word())));
        let told = |key: &str| value_of(text, parts.head.clone(), key).and_then(|span| moment(bare(&text[span])));
        Self {
            not_text: None,
            hash: String::new(),
            title: parts.title,
            raw_status: raw.filter(|raw| status.is_none() && !raw.is_empty()).map(str::to_owned),
            status: status.unwrap_or(AdrStatus::Proposed),
            created: told("Created").or(parts.first),
            updated: told("Updated").or(parts.last),
        }
    }
}

/// The text with another status: its status line, its line of the last update, one line of history.
pub fn with_status(text: &str, old: AdrStatus, new: AdrStatus, reason: Option<&str>, now: &str) -> String {
    let end = line_end(text);
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let event = format!("- {now} {} → {}{reason}{end}", old.word(), new.word());
    let parts = Parts::of(text);
    // From the end to the beginning, so that the places before stay true.
    let mut text = match parts.history {
        Some(at) => inserted(text, at, &event),
        None => inserted(text, text.len(), &format!("{end}{}{end}{event}", render::heading(HISTORY))),
    };
    let updated = value_of(&text, parts.head, "Updated").map(|span| (span, now.to_owned()));
    let status = match parts.status {
        Some(span) => (span, new.word().to_owned()),
        None => (parts.below_title..parts.below_title, format!("{end}- Status: {}{end}", new.word())),
    };
    let mut changes: Vec<(Range<usize>, String)> = updated.into_iter().chain([status]).collect();
    changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, words) in changes {
        if span.is_empty() {
            text = inserted(&text, span.start, &words);
        } else {
            text.replace_range(span, &words);
        }
    }
    text
}

/// Where things are.
struct Parts {
    title: Option<String>,
    /// Where something can be added to the head.
    below_title: usize,
    /// Everything before the first section.
    head: Range<usize>,
    /// The word that says how far it is.
    status: Option<Range<usize>>,
    /// The end of the last history.
    history: Option<usize>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Parts {
    fn of(text: &str) -> Self {
        let all: Vec<Line<'_>> = lines(text).collect();
        let level = |line: &Line<'_>| heading(line.text).map(|(level, _)| level);
        let named = |line: &Line<'_>, name: &str| heading(line.text).is_some_and(|found| found == (2, name));
        let front = front_lines(&all);
        let head_end =
            all.iter().skip(front).position(|line| level(line) == Some(2)).map_or(all.len(), |at| at + front);
        let title_at = (front..head_end).find(|at| level(&all[*at]) == Some(1));
        let title = title_at.and_then(|at| heading(all[at].text)).map(|(_, title)| without_number(title).to_owned());
        let head = 0..all.get(head_end).map_or(text.len(), |line| line.start);
        let below_title = title_at.or(front.checked_sub(1)).map_or(head.start, |at| all[at].next);
        let under_heading = || {
            let at = all.iter().position(|line| named(line, "Status"))?;
            let line = all[at + 1..].iter().take_while(|line| level(line).is_none()).find(|line| !line.is_blank())?;
            Some(value_in(line.text, line.start))
        };
        let status = value_of(text, head.clone(), "Status").or_else(under_heading);
        let section = all.iter().rposition(|line| named(line, HISTORY)).map(|at| {
            let rest = &all[at + 1..];
            let length = rest.iter().position(|line| level(line).is_some_and(|level| level <= 2)).unwrap_or(rest.len());
            let filled = rest[..length].iter().rposition(|line| !line.is_blank());
            (all[at].next, &rest[..filled.map_or(0, |last| last + 1)])
        });
        let moments = || section.iter().flat_map(|(_, lines)| lines.iter()).filter_map(|line| event_moment(line.text));
        Self {
            title,
            below_title,
            head,
            status,
            history: section.map(|(below, lines)| lines.last().map_or(below, |line| line.next)),
            first: moments().next(),
            last: moments().next_back(),
        }
    }
}

/// How many lines of front matter there are.
fn front_lines(all: &[Line<'_>]) -> usize {
    let is_mark = |line: &Line<'_>| line.text.trim_end() == "---";
    if !all.first().is_some_and(is_mark) {
        return 0;
    }
    all.iter().skip(1).position(is_mark).map_or(0, |at| at + 2)
}

fn without_number(title: &str) -> &str {
    let rest = title.get(..4).filter(|word| word.eq_ignore_ascii_case("ADR-")).map(|_| &title[4..]);
    let rest = rest.map(|rest| (rest, rest.trim_start_matches(|letter: char| letter.is_ascii_digit())));
    match rest {
        Some((numbered, rest)) if rest.len() < numbered.len() => rest.strip_prefix(':').map_or(title, str::trim_start),
        _ => title,
    }
}

/// Where the value of the first line `- Key: value` is.
fn value_of(text: &str, within: Range<usize>, key: &str) -> Option<Range<usize>> {
    lines(&text[..within.end]).filter(|line| line.start >= within.start).find_map(|line| {
        let label = line.text.trim_start_matches([' ', '-', '*', '+', '\t']);
        let name = label.get(..key.len()).filter(|name| name.eq_ignore_ascii_case(key))?;
        let rest = label[name.len()..].trim_start_matches(['*', '_', ' ']).strip_prefix(':')?;
        Some(value_in(rest, line.start + line.text.len() - rest.len()))
    })
}

/// The value in the rest of a line, without what decorates it.
fn value_in(rest: &str, at: usize) -> Range<usize> {
    let decoration = |letter: char| letter.is_whitespace() || matches!(letter, '*' | '_' | '`');
    let tail = rest.trim_start_matches(decoration);
    let start = at + rest.len() - tail.len();
    start..start + tail.trim_end_matches(decoration).len()
}

fn bare(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

fn moment(text: &str) -> Option<Timestamp> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    text.parse::<Timestamp>().ok().or_else(day)
}

fn event_moment(line: &str) -> Option<Timestamp> {
    moment(line.trim_start_matches(['-', '*', '+', ' ']).split_whitespace().next()?)
}

#[cfg(test)]
mod tests {
    use super::super::arguments::NewAdr;
    use super::super::model::written;
    use super::*;

    const NOW: &str = "2026-02-01T00:00:00Z";

    /// Title, status, raw status, created, updated.
    fn check(text: &str, expected: (&str, AdrStatus, &str, &str, &str)) {
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let adr = Adr::parse(&text);
            let time = |at: Option<Timestamp>| at.map(written).unwrap_or_default();
            let seen =
                (adr.title.as_deref().unwrap_or_default(), adr.status, adr.raw_status.as_deref().unwrap_or_default());
            assert_eq!(
                (seen.0, seen.1, seen.2, time(adr.created).as_str(), time(adr.updated).as_str()),
                expected,
                "{text}"
            );
        }
    }

    fn ours() -> String {
        let adr = NewAdr {
            title: "Use X".to_owned(),
            context: "## Status History\n- 1999-01-01T00:00:00Z no".to_owned(),
            decision: "- Status: Deprecated".to_owned(),
            rationale: String::new(),
            consequences: "# Title\n```".to_owned(),
            status: AdrStatus::Proposed,
        };
        render::record(1, &adr, "2026-01-28T10:30:00Z")
    }

    #[test]
    fn our_own_records_read_back() {
        let time = "2026-01-28T10:30:00Z";
        check(&ours(), ("Use X", AdrStatus::Proposed, "", time, time));
    }

    #[test]
    fn records_of_people_are_read_leniently() {
        let (proposed, accepted) = (AdrStatus::Proposed, AdrStatus::Accepted);
        check("", ("", proposed, "", "", ""));
        check("# ADR-12: A\n**Status:** accepted\n", ("A", accepted, "", "", ""));
        check("# ADR B\n\n## Status\n\nAccepted\n\n## Context\n", ("ADR B", accepted, "", "", ""));
        check("---\n# no\nstatus: \"accepted\"\n---\n# C\n## D\nStatus: Deprecated", ("C", accepted, "", "", ""));
        check(
            "# E\nStatus: Superseded by 9\nCreated: 2025-01-02\n",
            ("E", proposed, "Superseded by 9", "2025-01-02T00:00:00Z", ""),
        );
        let history = "# F\n## Status History\n- 2025-01-02T00:00:00Z Proposed\n- 2025-01-03T01:00:00+01:00 x\n\n## G\n- 2026-01-01T00:00:00Z";
        check(history, ("F", proposed, "", "2025-01-02T00:00:00Z", "2025-01-03T00:00:00Z"));
    }

    fn check_status(old: &str, new: AdrStatus, reason: Option<&str>, expected: &str) {
        for (old, expected) in
            [(old.to_owned(), expected.to_owned()), (old.replace('\n', "\r\n"), expected.replace('\n', "\r\n"))]
        {
            let status = Adr::parse(&old).status;
            let seen = with_status(&old, status, new, reason, NOW);
            assert_eq!(seen, expected);
            assert_eq!(Adr::parse(&seen).status, new);
        }
    }

    #[test]
    fn three_lines_change_with_a_status() {
        let expected = ours().replacen("- Status: Proposed", "- Status: Accepted", 1).replacen(
            "- Updated: 2026-01-28T10:30:00Z",
            &format!("- Updated: {NOW}"),
            1,
        );
        let expected = format!("{expected}- {NOW} Proposed → Accepted: 理由\n");
        check_status(&ours(), AdrStatus::Accepted, Some("理由"), &expected);
    }

    #[test]
    fn what_is_missing_is_added_and_nothing_else() {
        let event = |old: &str| format!("- {NOW} {old} → Deprecated");
        let new = AdrStatus::Deprecated;
        check_status(
            "# A\ntext",
            new,
            None,
            &format!("# A\n\n- Status: Deprecated\ntext\n\n## Status History\n{}", event("Proposed")),
        );
        check_status(
            "# A\n## Status\n**Accepted**\n## B\n",
            new,
            None,
            &format!("# A\n## Status\n**Deprecated**\n## B\n\n## Status History\n{}\n", event("Accepted")),
        );
        check_status(
            "# A\nStatus: Accepted\n## Status History\n\n## B\n",
            new,
            None,
            &format!("# A\nStatus: Deprecated\n## Status History\n{}\n\n## B\n", event("Accepted")),
        );
    }
}
