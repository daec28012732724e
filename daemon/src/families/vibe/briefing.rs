//! The text of the prompt `project_briefing`: how a project stands, in one page.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::lists;
use super::sections::{self, TaskDetails};
use super::task_file::one_line;
use super::workspace::{Project, WorkspaceDocument};
use crate::text::front_matter;

/// So many pending tasks are named.
const MAX_PENDING_TASKS: usize = 10;
/// So many sessions are told.
const MAX_SESSIONS: usize = 3;
/// So many decisions are told.
const MAX_DECISIONS: usize = 10;
/// A longer objective is cut, in characters.
const OBJECTIVE_CHARS: usize = 200;
/// What stands for nothing.
pub const NONE: &str = "(none)";

/// Texts that were read, by the path of their document.
pub type TextsByPath = BTreeMap<String, String>;

/// The body of a document that was read; empty if it was not.
pub fn body<'a>(texts: &'a TextsByPath, entry: &WorkspaceDocument) -> &'a str {
    let text = texts.get(&entry.path.path()).map_or("", String::as_str);
    &text[front_matter::split(text).body..]
}

/// The documents whose texts a briefing needs.
pub fn needed<'a>(project: &Project<'a>, zone: &TimeZone) -> Vec<&'a WorkspaceDocument> {
    let mut needed = active_tasks(project);
    needed.extend(project.sessions(zone).into_iter().take(MAX_SESSIONS));
    needed.extend(project.decisive(zone).into_iter().take(MAX_DECISIONS));
    needed
}

/// Tasks that are worked on, and those that cannot go on.
pub fn active_tasks<'a>(project: &Project<'a>) -> Vec<&'a WorkspaceDocument> {
    project.tasks("in-progress").into_iter().chain(project.tasks("blocked")).collect()
}

/// The whole text.
pub fn text(project: &Project<'_>, texts: &TextsByPath, zone: &TimeZone) -> String {
    let mut parts = vec![format!("# Project Briefing: {}", project.name)];
    parts.extend(status_summary(project, texts));
    parts.push(format!("## Recent Sessions\n\n{}", join_or_none(&recent_sessions(project, texts, zone), "\n\n")));
    parts.push(format!("## Recent Decisions\n\n{}", join_or_none(&recent_decisions(project, texts, zone), "\n")));
    parts.join("\n\n") + "\n"
}

/// The parts that both prompts have: figures, and tasks by how far they are.
pub fn status_summary(project: &Project<'_>, texts: &TextsByPath) -> Vec<String> {
    let pending = project.tasks("pending");
    let in_progress = project.tasks("in-progress");
    let last = project.last_updated();
    let status = format!(
        "## Current Status\n- **Total documents:** {}\n- **Open tasks:** {} ({} in-progress, {} pending)\n- **Last updated:** {}",
        project.entries.len(),
        pending.len() + in_progress.len(),
        in_progress.len(),
        pending.len(),
        last.as_deref().and_then(|last| last.get(..10)).unwrap_or(NONE),
    );
    let blocks = |tasks: &[&WorkspaceDocument]| tasks.iter().map(|task| block(task, texts)).collect::<Vec<String>>();
    let mut next: Vec<String> = pending
        .iter()
        .take(MAX_PENDING_TASKS)
        .enumerate()
        .map(|(index, task)| format!("{}. {}", index + 1, task.label()))
        .collect();
    if pending.len() > MAX_PENDING_TASKS {
        next.push(format!("...and {} more", pending.len() - MAX_PENDING_TASKS));
    }
    vec![
        status,
        format!("## Active Tasks (in-progress)\n\n{}", join_or_none(&blocks(&in_progress), "\n\n")),
        format!("## Blocked Tasks\n\n{}", join_or_none(&blocks(&project.tasks("blocked")), "\n\n")),
        format!("## Pending Tasks (next up)\n\n{}", join_or_none(&next, "\n")),
    ]
}

/// One task in three lines.
fn block(task: &WorkspaceDocument, texts: &TextsByPath) -> String {
    let work = TaskDetails::of(body(texts, task));
    let objective = objective_line(&task.document.objective);
    let progress = format!("{}/{} steps completed", work.checked, work.all);
    format!("### {}\n**Objective:** {objective}\n**Progress:** {progress}", task.label())
}

/// The first paragraph on one line, cut if it is long.
fn objective_line(objective: &str) -> String {
    let paragraph: Vec<&str> = objective.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let line = paragraph.join(" ");
    match line.char_indices().nth(OBJECTIVE_CHARS) {
        Some((end, _)) => format!("{}...", line[..end].trim_end()),
        None if line.is_empty() => NONE.to_owned(),
        None => line,
    }
}

/// What a session's note says, in short.
pub fn session_notes(session: &WorkspaceDocument, texts: &TextsByPath) -> String {
    let notes: Vec<String> = lists::notes(body(texts, session)).into_iter().map(str::to_owned).collect();
    join_or_none(&notes, "\n")
}

fn recent_sessions(project: &Project<'_>, texts: &TextsByPath, zone: &TimeZone) -> Vec<String> {
    let sessions = project.sessions(zone).into_iter().take(MAX_SESSIONS);
    sessions.map(|entry| format!("### {}\n{}", entry.path.full_stem(), session_notes(entry, texts))).collect()
}

fn recent_decisions(project: &Project<'_>, texts: &TextsByPath, zone: &TimeZone) -> Vec<String> {
    let entries = project.decisive(zone).into_iter().take(MAX_DECISIONS);
    let lines = entries.flat_map(|entry| sections::decisions(body(texts, entry)));
    lines.take(MAX_DECISIONS).map(str::to_owned).collect()
}

/// Several parts, or a word for nothing.
pub fn join_or_none(parts: &[String], between: &str) -> String {
    if parts.is_empty() { NONE.to_owned() } else { parts.join(between) }
}

/// A whole text on one line.
pub fn on_one_line(text: &str) -> String {
    let line = one_line(text);
    if line.is_empty() { NONE.to_owned() } else { line }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::workspace::tests::entry;
    use super::*;

    /// Documents of project `p` and their texts.
    pub(crate) fn project(documents: &[(&str, &str)]) -> (Vec<WorkspaceDocument>, TextsByPath) {
        let entries = documents.iter().map(|(path, text)| entry(&format!("p/{path}"), text, 0)).collect();
        let texts = documents.iter().map(|(path, text)| (format!("p/{path}"), (*text).to_owned())).collect();
        (entries, texts)
    }

    fn check(documents: &[(&str, &str)], expected: &str) {
        let (entries, texts) = project(documents);
        assert_eq!(text(&Project::of("p", &entries), &texts, &TimeZone::UTC), expected);
    }

    #[test]
    fn an_empty_project_has_nothing_of_everything() {
        check(
            &[],
            "# Project Briefing: p\n\n## Current Status\n- **Total documents:** 0\n- **Open tasks:** 0 (0 in-progress, 0 \
             pending)\n- **Last updated:** (none)\n\n## Active Tasks (in-progress)\n\n(none)\n\n## Blocked Tasks\n\n(none)\n\n\
             ## Pending Tasks (next up)\n\n(none)\n\n## Recent Sessions\n\n(none)\n\n## Recent Decisions\n\n(none)\n",
        );
    }

    #[test]
    fn a_project_is_told_on_one_page() {
        let work = "# Task: Definir\n\nStatus: in-progress\n\n## Objective\nuno\ndos\n\ntres\n\n## Steps\n1. [x] a\n2. [ ] b\n";
        check(
            &[
                ("tasks/004-x.md", work),
                ("tasks/005-y.md", "# Task: Probar\n\nStatus: blocked\n"),
                ("tasks/006-z.md", "Status: pending\n"),
                ("tasks/free.md", "# Task: Libre\n\nStatus: pending\n"),
                ("sessions/2025-02-08.md", "one\n\n# no\ntwo\nthree\nfour\n"),
                ("sessions/2025-02-09-api.md", "## Hecho\n- a\n- b\n"),
                ("plans/decision-1.md", "# D\n\n## Decisiones\n- **Base:** SQLite\n"),
            ],
            "# Project Briefing: p\n\n## Current Status\n- **Total documents:** 7\n- **Open tasks:** 3 (1 in-progress, 2 \
             pending)\n- **Last updated:** 2026-01-01\n\n## Active Tasks (in-progress)\n\n### 004 - Definir\n\
             **Objective:** uno dos\n**Progress:** 1/2 steps completed\n\n## Blocked Tasks\n\n### 005 - Probar\n\
             **Objective:** (none)\n**Progress:** 0/0 steps completed\n\n## Pending Tasks (next up)\n\n1. 006 - z\n2. Libre\n\n\
             ## Recent Sessions\n\n### 2025-02-09-api\n- a\n- b\n\n### 2025-02-08\none\ntwo\nthree\n\n\
             ## Recent Decisions\n\n- **Base:** SQLite\n",
        );
    }

    #[test]
    fn long_things_are_cut() {
        let objective = "あ".repeat(201);
        assert_eq!(objective_line(&objective), format!("{}...", "あ".repeat(200)));
        let names: Vec<String> = (1..=12).map(|number| format!("tasks/{number:03}-t.md")).collect();
        let documents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "Status: pending")).collect();
        let (entries, texts) = project(&documents);
        let parts = status_summary(&Project::of("p", &entries), &texts);
        assert!(parts[3].ends_with("10. 010 - t\n...and 2 more"), "{}", parts[3]);
    }
}
