//! The text of the prompt `session_start`: how the project stands, and what the one who begins needs for the thing
//! they want to work on. A focus that means no task is looked for; that is never an error.

use jiff::tz::TimeZone;

use super::briefing::{
    NONE, TextsByPath, active_tasks, body, join_or_none, on_one_line, session_notes, status_summary,
};
use super::numbers;
use super::sections::TaskDetails;
use super::task_file::one_line;
use super::workspace::{Project, WorkspaceDocument};
use crate::families::facts::Hit;
use crate::text::folding::fold_word;

/// So many hits are shown for a focus in words.
pub const MAX_RELATED_HITS: usize = 5;

/// What a session is about.
#[derive(Debug, Clone)]
pub enum Focus<'a> {
    /// Nothing in particular.
    None,
    Task(&'a WorkspaceDocument),
    Words(String),
}

impl<'a> Focus<'a> {
    /// What these words mean in this project: a task by name or number, a part of one title, or words.
    pub fn of(words: Option<&str>, project: &Project<'a>) -> Self {
        let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) else { return Self::None };
        match (named_task(project, words), titled(project, words).as_slice()) {
            (Some(task), _) => Self::Task(task),
            (None, [one]) => Self::Task(one),
            (None, _) => Self::Words(words.to_owned()),
        }
    }
}

/// The one task that a number or a file name means.
fn named_task<'a>(project: &Project<'a>, name: &str) -> Option<&'a WorkspaceDocument> {
    let names: Vec<&str> = project.folder("tasks").map(|task| task.path.filename.as_str()).collect();
    let found = numbers::find_task(name, project.name, &names).ok().flatten()?;
    project.folder("tasks").find(|task| task.path.filename == found)
}

/// Tasks in whose title these words are.
fn titled<'a>(project: &Project<'a>, words: &str) -> Vec<&'a WorkspaceDocument> {
    let words = fold_word(words);
    project.folder("tasks").filter(|task| fold_word(task.title()).contains(&words)).collect()
}

/// The documents whose texts the prompt needs.
pub fn needed<'a>(project: &Project<'a>, focus: &Focus<'a>, zone: &TimeZone) -> Vec<&'a WorkspaceDocument> {
    let mut needed = active_tasks(project);
    if let Focus::Task(task) = focus {
        needed.push(task);
    }
    needed.extend(project.sessions(zone).into_iter().take(1));
    needed
}

/// The whole text. The hits are those for a focus in words.
pub fn text(project: &Project<'_>, focus: &Focus<'_>, texts: &TextsByPath, hits: &[Hit], zone: &TimeZone) -> String {
    let title = format!("# Session Start: {}", project.name);
    let mut parts = vec![match focus {
        Focus::None => title,
        Focus::Task(task) => format!("{title}\nFocus: Task {}", task.label()),
        Focus::Words(words) => format!("{title}\nFocus: {}", one_line(words)),
    }];
    parts.extend(status_summary(project, texts));
    match focus {
        Focus::None => {}
        Focus::Task(task) => parts.extend(details(task, texts)),
        Focus::Words(words) => parts.push(format!("## Focus Context\n{}", context(project, words, hits))),
    }
    let works = focus_tasks(project, focus, texts);
    let related = related(project, &works);
    parts.push(format!("## Related Files\n{}", join_or_none(&related, "\n")));
    parts.push(last_session(project, texts, zone));
    let actions = actions(project, focus, &works, !related.is_empty());
    let numbered: Vec<String> = (1..).zip(actions).map(|(number, action)| format!("{number}. {action}")).collect();
    parts.push(format!("## Suggested Actions\n{}", numbered.join("\n")));
    parts.join("\n\n") + "\n"
}

/// The tasks that this is about, with what they say about their work.
fn focus_tasks<'a>(
    project: &Project<'a>,
    focus: &Focus<'a>,
    texts: &TextsByPath,
) -> Vec<(&'a WorkspaceDocument, TaskDetails)> {
    let tasks = match focus {
        Focus::Task(task) => vec![*task],
        Focus::None | Focus::Words(_) => project.tasks("in-progress"),
    };
    tasks.into_iter().map(|task| (task, TaskDetails::of(body(texts, task)))).collect()
}

fn details(task: &WorkspaceDocument, texts: &TextsByPath) -> Vec<String> {
    let work = TaskDetails::of(body(texts, task));
    let status = task.status().unwrap_or(NONE);
    let objective = on_one_line(&task.document.objective);
    vec![
        format!("## Task Details\n**Status:** {status}\n**Objective:** {objective}"),
        format!("### Steps\n{}", join_or_none(&work.steps, "\n")),
    ]
}

fn context(project: &Project<'_>, words: &str, hits: &[Hit]) -> String {
    let shown = |hit: &Hit| {
        let heading = hit.heading.as_deref().map(|heading| heading.trim_start_matches('#').trim());
        let heading = heading.filter(|heading| !heading.is_empty()).map(|heading| format!("{heading}: "));
        format!("- `{}` — {}{}", hit.path, heading.unwrap_or_default(), one_line(&hit.snippet))
    };
    let mut lines: Vec<String> = hits.iter().take(MAX_RELATED_HITS).map(shown).collect();
    lines.extend(titled(project, words).iter().map(|task| format!("- {}", task.label())));
    join_or_none(&lines, "\n")
}

fn related(project: &Project<'_>, works: &[(&WorkspaceDocument, TaskDetails)]) -> Vec<String> {
    let dependency = |text: &String| named_task(project, text).map_or_else(|| format!("- {text}"), described);
    let files = works.iter().flat_map(|(_, work)| work.related.iter().map(|file| format!("- `{file}`")));
    let before = works.iter().flat_map(|(_, work)| work.dependencies.iter().map(dependency));
    let mut lines: Vec<String> = Vec::new();
    for line in files.chain(before) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn described(task: &WorkspaceDocument) -> String {
    let number = numbers::label(&task.path.filename).map(|number| format!("task {number}"));
    let number = number.unwrap_or_else(|| "task".to_owned());
    let status = task.status().unwrap_or("no status");
    format!("- `{}` — {} ({number}, {status})", task.path.path(), task.title())
}

fn last_session(project: &Project<'_>, texts: &TextsByPath, zone: &TimeZone) -> String {
    match project.sessions(zone).first() {
        Some(session) => {
            format!("## Last Session ({})\n{}", session.session_day(zone), session_notes(session, texts))
        }
        None => format!("## Last Session\n{NONE}"),
    }
}

fn actions(
    project: &Project<'_>,
    focus: &Focus<'_>,
    works: &[(&WorkspaceDocument, TaskDetails)],
    has_related: bool,
) -> Vec<String> {
    let mut actions = Vec::new();
    if has_related {
        actions.push("Read the related files for context".to_owned());
    }
    if let Some((task, step)) = works.iter().find_map(|(task, work)| Some((task, work.next.as_ref()?))) {
        let whose = if matches!(focus, Focus::Task(_)) { String::new() } else { format!(" of {}", task.label()) };
        actions.push(format!("Continue with the first open step{whose}: \"{step}\""));
    }
    let labels = |tasks: Vec<&WorkspaceDocument>| tasks.iter().map(|task| task.label()).collect::<Vec<String>>();
    let blocked = labels(project.tasks("blocked"));
    if !blocked.is_empty() {
        actions.push(format!("Resolve the blocked tasks: {}", blocked.join(", ")));
    }
    if let Some(first) = labels(project.tasks("pending")).first() {
        actions.push(format!("Start the first pending task: {first}"));
    }
    actions.push("Log the session with `log_session` when finished".to_owned());
    actions
}

#[cfg(test)]
mod tests {
    use super::super::briefing::tests::project;
    use super::*;

    /// The text from the last part that a briefing has, too.
    fn check(documents: &[(&str, &str)], focus: Option<&str>, hits: &[Hit], first: &str, expected: &str) {
        let (entries, texts) = project(documents);
        let project = Project::of("p", &entries);
        let seen = text(&project, &Focus::of(focus, &project), &texts, hits, &TimeZone::UTC);
        assert!(seen.starts_with(&format!("# Session Start: p\n{first}\n## Current Status\n")), "{seen}");
        let (_, rest) = seen.split_once("## Pending Tasks (next up)\n\n").expect("the common part");
        assert_eq!(rest, expected, "{focus:?}");
    }

    const WORK: &str = "# Task: Definir interfaz\n\nStatus: in-progress\n\n## Objective\nuno\ndos\n\ntres\n\n## Context\n\
                        - Related files: `a.rs`\n- Dependencies: 003, 9-x\n\n## Steps\n1. [x] a\n2. [ ] b c\n";
    const BEFORE: &str = "# Task: Diseñar\n\nStatus: done\n";

    #[test]
    fn a_session_without_focus_follows_the_work() {
        check(
            &[],
            None,
            &[],
            "",
            "(none)\n\n## Related Files\n(none)\n\n## Last Session\n(none)\n\n## Suggested Actions\n\
              1. Log the session with `log_session` when finished\n",
        );
        check(
            &[("tasks/003-d.md", BEFORE), ("tasks/004-i.md", WORK), ("sessions/2025-02-09-x.md", "- hecho\n")],
            Some("  "),
            &[],
            "",
            "(none)\n\n## Related Files\n- `a.rs`\n- `p/tasks/003-d.md` — Diseñar (task 003, done)\n- 9-x\n\n\
             ## Last Session (2025-02-09)\n- hecho\n\n## Suggested Actions\n1. Read the related files for context\n\
             2. Continue with the first open step of 004 - Definir interfaz: \"b c\"\n\
             3. Log the session with `log_session` when finished\n",
        );
    }

    #[test]
    fn a_task_is_meant_by_number_name_or_title() {
        let documents = [("tasks/003-d.md", BEFORE), ("tasks/004-i.md", WORK)];
        let expected = "(none)\n\n## Task Details\n**Status:** done\n**Objective:** (none)\n\n### Steps\n(none)\n\n\
                        ## Related Files\n(none)\n\n## Last Session\n(none)\n\n## Suggested Actions\n\
                        1. Log the session with `log_session` when finished\n";
        for focus in ["3", "003", "003-d", "003-d.md", "DISENAR"] {
            check(&documents, Some(focus), &[], "Focus: Task 003 - Diseñar\n", expected);
        }
        let (entries, _) = project(&documents);
        let project = Project::of("p", &entries);
        assert!(matches!(Focus::of(Some("i"), &project), Focus::Words(_)), "both titles have one");
    }

    #[test]
    fn words_are_looked_for() {
        let rest = "## Related Files\n(none)\n\n## Last Session\n(none)\n\n## Suggested Actions\n1. Start the first pending \
                    task: 001 - One api\n2. Log the session with `log_session` when finished\n";
        let documents = [("tasks/001-a.md", "# One api\n\nStatus: pending"), ("tasks/002-b.md", "# Two API\n")];
        let hit = Hit {
            path: crate::disk::RelativePath::from_components("p/plans/x.md").expect("a path"),
            project: "p".into(),
            folder: "plans".into(),
            heading: Some("## The API".into()),
            snippet: "the\n**api** is".into(),
            score: 1.0,
            kind: None,
            status: None,
            updated: jiff::civil::date(2026, 1, 1),
        };
        let found = "1. 001 - One api\n\n## Focus Context\n- `p/plans/x.md` — The API: the **api** is\n- 001 - One api\n- 002 - Two API\n\n";
        check(&documents, Some("api"), &[hit], "Focus: api\n", &format!("{found}{rest}"));
        let nothing = "1. 001 - One api\n\n## Focus Context\n(none)\n\n";
        check(&documents, Some("ぬ"), &[], "Focus: ぬ\n", &format!("{nothing}{rest}"));
    }
}
