//! Items of all families: listed, opened by their addresses, found in other projects.

/// What `list` shows, and in which order.
mod list;

/// What `open` shows.
mod open;

/// Spellings of addresses, and which project they mean.
mod addresses;

/// What is seen of changes.
mod freshness;

/// What was changed.
mod recent;

/// Changes taken back.
mod undo;

/// Which tools there are, and what they are called.
mod surfaces;

/// Who is on what.
mod claims;

/// Claims and numbers over the worktrees of a repository.
mod worktrees;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// A project with something of every family.
fn filled() -> Home {
    let home = Home::new();
    home.write(".git/HEAD", "");
    let tasks = "# Task\n\n## API\n- [-] Write the parser #T001\n  - [x] tokens\n  - [ ] tree\n- [ ] Loose end\n- [x] Old one #T002\n- [ ] Next thing #T003\n";
    home.write(".todo/task.md", tasks);
    home.write(".todo/context/T001.md", "# Notes\n\nSee ADR-001 and todo:///T003.\n\n## Next steps\n- finish\n");
    home.write(".todo/adr/adr-001-use-sqlite.md", "# ADR-001: Use SQLite\n- Status: Deprecated\n\n## Context\nsmall\n");
    home.write(
        ".todo/adr/adr-002-use-postgres.md",
        "# ADR-002: Use Postgres\n- Status: Accepted\n\nSupersedes ADR-1\n\n## Context\nbig\n",
    );
    home.write("plans/launch.vine", "vine 1.2.0\ntitle: Launch\n---\n[root] Ship it (notstarted)\n-> build\n---\n[build] Build it (planning)\nWith care.\n");
    home.write("vault/notes/idea.md", "# Bright idea\n\nSee [the plan](other.md).\n");
    home.write("vault/notes/other.md", "no heading\n");
    home.write(".vibe-kanban-bridge.json", r#"{"lanes":{"in_progress":[{"id":"task-9","title":"Card","description":"About todo:///T001","tags":["ui"]}]}}"#);
    let vibe = |path: &str, text: &str| {
        let path = home.path().join(".vibe").join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::write(path, text).expect("a document");
    };
    vibe("project/tasks/001-first.md", "# Task: First\n\nStatus: blocked\n");
    vibe("project/plans/decision-db.md", "---\nstatus: superseded\n---\n# Database\n");
    vibe("project/sessions/2026-01-01.md", "# Session\n\nDid this\n");
    vibe("other/tasks/001-elsewhere.md", "# Elsewhere\n\nStatus: done\n");
    home
}

fn list(host: &mut Client, arguments: Value) -> Value {
    host.call_ok("trellis_list", arguments)
}

fn open(host: &mut Client, uri: &str) -> Value {
    host.call_ok("trellis_open", json!({ "uri": uri }))
}

/// One field of every item.
fn each<'a>(answer: &'a Value, field: &str) -> Vec<&'a str> {
    let items = answer["items"].as_array().expect("items");
    items.iter().map(|item| item[field].as_str().unwrap_or("-")).collect()
}
