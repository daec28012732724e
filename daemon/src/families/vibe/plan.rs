//! What a plan says about its tasks: its overview, and how many of them are how far.

use serde_json::{Value, json};

use super::lists::item;
use super::metadata::normalised;
use crate::text::fences::lines;
use crate::text::outline::section;

/// Names of the section with the overview.
const OVERVIEW: [&str; 3] = ["Overview", "Resumen", "概要"];
/// What stands for nothing.
const NOTHING: [&str; 6] = ["", "-", "–", "—", "none", "(none)"];

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

impl Plan {
    /// Reads a plan's body.
    pub fn of(body: &str) -> Self {
        let mut plan = Self { overview: section(body, &OVERVIEW).unwrap_or_default().to_owned(), ..Self::default() };
        let status = section(body, &["Current Status"]).unwrap_or_default();
        for line in lines(status).filter(|line| !line.is_code) {
            let Some((label, items)) = item(line.text).and_then(labelled) else { continue };
            let count = match label.as_str() {
                "pending" => &mut plan.pending,
                "in-progress" => &mut plan.in_progress,
                "done" => &mut plan.done,
                "blocked" => &mut plan.blocked,
                _ => continue,
            };
            *count = apart(items).iter().map(|item| weight(item)).fold(*count, u64::saturating_add);
        }
        plan
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
}

/// Label and items of `**Label**: items`, `**Label:** items` or `Label: items`.
fn labelled(item: &str) -> Option<(String, &str)> {
    let (label, items) = item.split_once(':')?;
    let label = label.trim().trim_start_matches("**").trim_end_matches("**");
    Some((normalised(label), items.trim_start_matches("**")))
}

/// Items between commas; commas in parentheses are part of one.
fn apart(items: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut parts = Vec::new();
    for (place, character) in items.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&items[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&items[start..]);
    parts
}

/// How many tasks an item means.
fn weight(item: &str) -> u64 {
    let item = item.trim();
    if NOTHING.contains(&item.to_lowercase().as_str()) {
        return 0;
    }
    range(item).unwrap_or(1)
}

/// `001-006`, perhaps with words behind it.
fn range(item: &str) -> Option<u64> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (first, rest) = item.split_at(digits(item));
    let rest = rest.strip_prefix(['-', '–'])?;
    let (last, rest) = rest.split_at(digits(rest));
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '(']);
    if ends && first <= last { Some((last - first).saturating_add(1)) } else { None }
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
            "- **Pending**: 001, 002\n- **In Progress**: 003\n- **Done:** 004, 005, 006\n* Blocked: 7\n",
            [2, 1, 3, 1],
        );
        check("- **pending**: 001 (a, b), 002 (c)\n- in-progress: -\n- DONE: none\n- Blocked: (none)", [2, 0, 0, 0]);
        check(
            "- Pending: 001-006\n- Done: 003-disenar, 004-2024-x\n- Blocked: —\n- In_Progress: 7-8 (both), ",
            [6, 2, 2, 0],
        );
        check("- Pending: 1\n- Pending: 2, 3\n- Done: 9-3\n", [3, 0, 1, 0]);
        check("Pending: 1\n```\n- Done: 1\n```\n- Other: 1\n- Pending 2\n", [0, 0, 0, 0]);
        check("", [0, 0, 0, 0]);
    }

    #[test]
    fn other_languages_have_overviews_too() {
        assert_eq!(Plan::of("## Resumen\nuno").overview, "uno");
        assert_eq!(Plan::of("## 概要\n一").overview, "一");
        assert_eq!(Plan::of("# nothing"), Plan::default());
    }
}
