//! What a plan says about its tasks: its overview, and how many of them are how far.
//!
//! A body comes in, four counts go out. People write them as lines with a label, as tables, or as lists under a label;
//! what is written in another way counts nothing.

use serde_json::{Value, json};

use super::lists::item;
use super::metadata::normalised;
use crate::text::code_fences::lines;
use crate::text::headings::{heading, section};

/// Names of the section with the overview.
const OVERVIEW: [&str; 3] = ["Overview", "Resumen", "概要"];
/// What stands for nothing.
const EMPTY_VALUES: [&str; 6] = ["", "-", "–", "—", "none", "(none)"];
/// Behind a number these say that it is a count.
const TASKS: [&str; 4] = ["task", "tasks", "tarea", "tareas"];
/// A plain number with more digits is the number of a task.
const COUNT_DIGITS: usize = 2;

/// A plan, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What it is about.
    pub overview: String,
    /// Tasks that wait.
    pub pending: u64,
    /// Tasks that are worked on.
    pub in_progress: u64,
    /// Tasks that are done.
    pub done: u64,
    /// Tasks that cannot go on.
    pub blocked: u64,
}

/// How far some tasks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Pending,
    InProgress,
    Done,
    Blocked,
}

/// A label whose tasks are the items of a list below it.
#[derive(Debug)]
struct Group {
    label: Label,
    /// Its items stand deeper than this: the indentation of the label, if that is an item itself.
    above: Option<usize>,
    /// The indentation of its first item; what stands deeper are details.
    level: Option<usize>,
}

/// Reads the lines of a status one after the other.
#[derive(Debug, Default)]
struct Reader {
    plan: Plan,
    group: Option<Group>,
    /// The labels in the head of a table, by column.
    columns: Vec<Option<Label>>,
}

impl Plan {
    /// Reads a plan's body.
    pub fn of(body: &str) -> Self {
        let overview = section(body, &OVERVIEW).unwrap_or_default().to_owned();
        let status = section(body, &["Current Status"]).unwrap_or_default();
        let mut reader = Reader::default();
        lines(status).filter(|line| !line.is_code).for_each(|line| reader.line(line.text));
        Self { overview, ..reader.plan }
    }

    /// As a reader sees it.
    pub fn json(&self) -> Value {
        let counts = [self.pending, self.in_progress, self.done, self.blocked];
        json!({
            "overview": self.overview,
            "task_count": counts.into_iter().fold(0, u64::saturating_add),
            "pending": self.pending,
            "in_progress": self.in_progress,
            "done": self.done,
            "blocked": self.blocked,
        })
    }

    fn add(&mut self, label: Label, tasks: u64) {
        let count = match label {
            Label::Pending => &mut self.pending,
            Label::InProgress => &mut self.in_progress,
            Label::Done => &mut self.done,
            Label::Blocked => &mut self.blocked,
        };
        *count = count.saturating_add(tasks);
    }
}

impl Label {
    /// A text that is a label and nothing else; marks around it do not matter.
    fn of(text: &str) -> Option<Self> {
        let text = text.trim_matches(|character: char| !character.is_alphanumeric());
        match normalised(text).as_str() {
            "pending" => Some(Self::Pending),
            "in-progress" => Some(Self::InProgress),
            "done" => Some(Self::Done),
            "blocked" => Some(Self::Blocked),
            _ => None,
        }
    }

    /// Label and value of `**Label**: value`, `**Label:** value` or `Label: value`.
    fn and_value(text: &str) -> Option<(Self, &str)> {
        let (label, value) = text.split_once(':')?;
        Some((Self::of(label)?, bare(value)))
    }
}

impl Reader {
    fn line(&mut self, line: &str) {
        if line.trim_start().starts_with('|') {
            return self.row(line);
        }
        self.columns.clear();
        if line.trim().is_empty() {
            return;
        }
        let indentation = line.len() - line.trim_start().len();
        let (title, item) = match heading(line) {
            Some((_, title)) => (Some(title), None),
            None => (None, item(line)),
        };
        let text = title.or(item).unwrap_or(line.trim());
        let pairs = pairs(text);
        let stands_alone = title.is_some() || is_bold(text);
        let label = match pairs.as_slice() {
            [(label, "")] => Some(*label),
            [] if stands_alone => Label::of(without_remark(text)),
            _ => None,
        };
        if let Some(label) = label {
            self.group = Some(Group { label, above: item.map(|_| indentation), level: None });
        } else if !pairs.is_empty() {
            self.group = None;
            pairs.iter().for_each(|(label, value)| self.plan.add(*label, count(value)));
        } else if let Some(item) = item {
            self.item(item, indentation);
        } else if stands_alone || (indentation == 0 && self.group.as_ref().is_some_and(|group| group.level.is_some())) {
            // Text between a label and its list belongs to them; text behind the list does not.
            self.group = None;
        }
    }

    fn item(&mut self, item: &str, indentation: usize) {
        let Some(group) = &mut self.group else { return };
        if group.above.is_some_and(|above| indentation <= above) {
            self.group = None;
            return;
        }
        if indentation <= *group.level.get_or_insert(indentation) {
            let item = bare(item);
            let tasks =
                if EMPTY_VALUES.contains(&item.to_lowercase().as_str()) { 0 } else { whole_range(item).unwrap_or(1) };
            self.plan.add(group.label, tasks);
        }
    }

    /// A row of a table: a label and its value, a value for each label in the head, or a label and value in each cell.
    fn row(&mut self, line: &str) {
        let line = line.trim();
        let line = line.strip_prefix('|').unwrap_or(line);
        let cells: Vec<&str> = line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect();
        let labels: Vec<Option<Label>> = cells.iter().map(|cell| Label::of(cell)).collect();
        match (labels.as_slice(), cells.as_slice()) {
            _ if labels.iter().flatten().count() > 1 => self.columns = labels,
            ([Some(label), ..], [_, value, ..]) => self.plan.add(*label, count(value)),
            _ if cells.iter().all(|cell| cell.bytes().all(|byte| matches!(byte, b'-' | b':'))) => {}
            _ if self.columns.is_empty() => {
                let pairs = cells.iter().filter_map(|cell| Label::and_value(cell));
                pairs.for_each(|(label, value)| self.plan.add(label, count(value)));
            }
            _ => {
                let columns = self.columns.iter().zip(&cells).filter_map(|(label, cell)| Some(((*label)?, cell)));
                columns.for_each(|(label, cell)| self.plan.add(label, count(cell)));
            }
        }
    }
}

/// Labels and values on one line, between `/`, `|`, `,` or `;`; none if the line does not begin with a label.
fn pairs(text: &str) -> Vec<(Label, &str)> {
    if Label::and_value(text).is_none() {
        return Vec::new();
    }
    let begins = |rest: &str| Label::and_value(rest).is_some();
    cut(text, |rest| rest.starts_with(['/', '|', ',', ';']) && begins(&rest[1..]))
        .into_iter()
        .filter_map(Label::and_value)
        .collect()
}

/// Whether a whole line is bold, perhaps with a colon or a remark in parentheses behind it.
fn is_bold(text: &str) -> bool {
    let text = without_remark(text.trim()).trim_end_matches(':');
    let within = text.strip_prefix("**").and_then(|text| text.strip_suffix("**"));
    within.is_some_and(|text| !text.contains("**"))
}

/// Without what stands in parentheses at the end.
fn without_remark(text: &str) -> &str {
    match text.trim_end().strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        Some((text, _)) => text.trim_end(),
        None => text,
    }
}

/// Without blanks and marks of emphasis around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || matches!(character, '*' | '_' | '`'))
}

/// The parts of a text; it is cut at characters outside of parentheses, when the rest from there says so.
fn cut(text: &str, is_cut: impl Fn(&str) -> bool) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (place, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_cut(&text[place..]) => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// How many tasks a value means: items between commas, or a number by itself.
fn count(value: &str) -> u64 {
    let items = cut(value, |rest| rest.starts_with(',')).into_iter().map(bare);
    let items: Vec<&str> = items.filter(|item| !EMPTY_VALUES.contains(&item.to_lowercase().as_str())).collect();
    let tasks = |item: &str| range(item).unwrap_or(1);
    match items.as_slice() {
        [item] => number(item).unwrap_or_else(|| tasks(item)),
        items => items.iter().map(|item| tasks(item)).fold(0, u64::saturating_add),
    }
}

/// `5`, or a number with the word that says what is counted. With a zero in front it is the number of a task.
fn number(item: &str) -> Option<u64> {
    let (digits, rest) = item.split_at(digits(item));
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    let word = rest.trim_start().split(|character: char| !character.is_alphabetic()).next().unwrap_or_default();
    let is_plain = matches!(rest, "" | ".") && digits.len() <= COUNT_DIGITS;
    let is_count = is_plain || (rest.starts_with([' ', '\t']) && TASKS.contains(&word.to_lowercase().as_str()));
    if is_count { digits.parse().ok() } else { None }
}

/// `001-006`, perhaps with words behind it.
fn range(item: &str) -> Option<u64> {
    let (tasks, rest) = range_and_rest(item)?;
    if rest.is_empty() || rest.starts_with([' ', '\t', '(']) { Some(tasks) } else { None }
}

/// The same with nothing but a remark in parentheses behind it: in a list of titles, `10-20 users` is one of them.
fn whole_range(item: &str) -> Option<u64> {
    let (tasks, rest) = range_and_rest(item)?;
    if without_remark(rest).trim().is_empty() { Some(tasks) } else { None }
}

fn range_and_rest(item: &str) -> Option<(u64, &str)> {
    let (first, rest) = item.split_at(digits(item));
    let rest = rest.strip_prefix(['-', '–'])?;
    let (last, rest) = rest.split_at(digits(rest));
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    if first <= last { Some(((last - first).saturating_add(1), rest)) } else { None }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: pending, in progress, done, blocked.
    fn check(status: &str, expected: [u64; 4]) {
        let plan = Plan::of(&format!("# P\n\n## Overview\nall\n\n## Current Status\n{status}\n## Next\n- Done: 9\n"));
        assert_eq!([plan.pending, plan.in_progress, plan.done, plan.blocked], expected, "{status:?}");
        assert_eq!(plan.json()["task_count"], expected.iter().sum::<u64>());
        assert_eq!(plan.overview, "all");
    }

    #[test]
    fn items_are_counted_by_label() {
        check(
            "- **Pending**: 001, 002\n- **In Progress**: 003\n- **Done:** 004, 005, 006\n* Blocked: 007\n",
            [2, 1, 3, 1],
        );
        check("- **pending**: 001 (a, b), 002 (c)\n- in-progress: -\n- DONE: none\n- Blocked: (none)", [2, 0, 0, 0]);
        check(
            "- Pending: 001-006\n- Done: 003-disenar, 004-2024-x\n- Blocked: —\n- In_Progress: 7-8 (both), ",
            [6, 2, 2, 0],
        );
        check("- Pending: 1\n- Pending: 2, 3\n- Done: 9-3\n", [3, 0, 1, 0]);
        check("```\n- Done: 1\n```\n- Other: 1\n- Pending 2\nPending\n- 3\nIt is done: 4\n", [0, 0, 0, 0]);
        check("", [0, 0, 0, 0]);
    }

    #[test]
    fn a_single_small_number_is_a_count() {
        check("- Pending: 5\n- **In Progress**: 1\n- **Done:** 6\n- Blocked: 0\n", [5, 1, 6, 0]);
        check(
            "- Pending: **12**\n- In Progress: 1 task\n- Done: 6 tasks (001-006)\n- Blocked: 3 Tareas.\n",
            [12, 1, 6, 3],
        );
        check("- Pending: 120 tasks\n- Done: 99.\n", [120, 0, 99, 0]);
        check("- Pending: 005\n- In Progress: 120\n- Done: 5, 6\n- Blocked: 7 (waits)\n", [1, 1, 2, 1]);
        check("- Pending: 5 tasksets\n- Done: 05\n- Blocked: 99999999999999999999 tasks", [1, 0, 1, 1]);
    }

    #[test]
    fn several_labels_share_a_line() {
        check("Pending: 5 / In Progress: 1 / Done: 6\n", [5, 1, 6, 0]);
        check("- **Pending**: 5 | **In-Progress:** 1 | Done: 6 tasks | Blocked: none\n", [5, 1, 6, 0]);
        check("Pending: 5, In Progress: 1; Done: 6\n", [5, 1, 6, 0]);
        check("**Pending:** 001, 002 (a / done: b) / **Done**: docs/done, 004-x/y\n", [2, 0, 2, 0]);
        check("See Pending: 5 / Done: 6\n", [0, 0, 0, 0]);
    }

    #[test]
    fn lines_need_no_bullet() {
        check("Pending: 5\n**In Progress**: 005\n  Done: 001-004\n**Blocked: 2**\n", [5, 1, 4, 2]);
        check("⏳ Pending: 2\n> done: 3\n### Blocked: 4", [2, 0, 3, 4]);
    }

    #[test]
    fn rows_of_tables_are_read() {
        check(
            "| Status | Count |\n|---|---:|\n| Pending | 5 |\n| **In Progress** | 1 |\n| Done | 6 | x |\n",
            [5, 1, 6, 0],
        );
        check("| Pending | 006, 007 |\n| Blocked | – |\n| Done | |\n| Other | 9 |\n", [2, 0, 0, 0]);
        check("|Phase|Pending|Done|\n|:-:|---|---|\n|one|5|001-003|\n|two|1|—|\n\n| Blocked | 2 |\n", [6, 0, 3, 2]);
        check("| Pending: 5 | Done: 6 |\n", [5, 0, 6, 0]);
        check("|\n||\n| Done\n", [0, 0, 0, 0]);
    }

    #[test]
    fn lists_below_a_label_are_counted() {
        check(
            "### Pending\n- 006 Write, test and ship\n  - a detail\n- 10-20 users\n\n### In Progress (1)\n1. 005\n\n\
             #### Done\nAll of it:\n* 001-004\n* [x] 7\n### Blocked\n- (none)\n### Next\n- no\n",
            [2, 1, 5, 0],
        );
        check(
            "**Pending**\n- a\n- **b**\n\n**Done:**\n\n- c\nmore of c\n\nOther words\n- no\n**Notes**\n- no\n",
            [2, 0, 1, 0],
        );
        check("- **Pending**:\n  - a\n  - b\n- Other\n  - no\n- **Blocked**\n    - c\n      more\n", [2, 0, 0, 1]);
        check("Pending:\n- a\n- b: c\n- Done: 3\n- no\nIn Progress:\n", [2, 0, 3, 0]);
    }

    #[test]
    fn other_languages_have_overviews_too() {
        assert_eq!(Plan::of("## Resumen\nuno").overview, "uno");
        assert_eq!(Plan::of("## 概要\n一").overview, "一");
        assert_eq!(Plan::of("# nothing"), Plan::default());
    }
}
