//! The table of tools: name, sentences, what each needs to look at, and its op.

use std::path::Path;

use super::arguments::{ExpandArgs, NextArgs, ReadArgs, WriteArgs};
use super::model::FILE_LIMIT;
use super::ops::{self, OpenPlan, PlanRead, Targets};
use super::paths::{PlanLookup, PlanSearchPaths};
use super::plan::Plan;
use crate::disk::{
    FirstExisting, PathExists, ReadFile, ReadFileModel, RelativePath, ResolvedPath, SymlinkPolicy, TreeLocation,
};
use crate::families::need::{AndThen, Constant, Need};
use crate::families::{SessionContext, Tool, ToolEffect};

/// Words that people use and the names have not.
const SEARCH_HINTS: [(&str, &str); 4] = [
    ("vine_read", "plan graph dependencies tree"),
    ("vine_next", "what can start now plan ready"),
    ("vine_write", "plan status task dependency graph"),
    ("vine_expand", "plan reference subplan import"),
];

/// All tools, in the order in which they are listed.
pub fn table() -> Vec<Tool> {
    Tool::all_found_by(rows(), &SEARCH_HINTS)
}

fn rows() -> Vec<Tool> {
    vec![
        Tool::read(
            ("vine_read", "Read plan"),
            "Use this to look into a .vine task graph. `action`: summary (counts), list (all tasks; narrow with status or \
             query), task (one by id), context (a task with its dependencies, their decisions and attachments, and its \
             dependants), descendants (all that depends on a task), search, refs (other plans), validate. The resource \
             vine://spec/brief explains the format.",
            |args: &ReadArgs, session: &SessionContext| Ok(file(&args.file, session)),
            |(lookup, looked), args: &ReadArgs, _| Ok(ops::read(&OpenPlan::of(&lookup, looked)?, args)?),
        ),
        Tool::read(
            ("vine_next", "Next tasks"),
            "Use this to find out what can be worked on now in a .vine task graph. Returns ready_to_start, \
             ready_to_complete (reviewed and already used by others), blocked, needs_expansion (refs for vine_expand) and \
             progress.",
            |args: &NextArgs, session: &SessionContext| Ok(file(&args.file, session)),
            |(lookup, looked), _: &NextArgs, _| Ok(ops::next(&OpenPlan::of(&lookup, looked)?)?),
        ),
        Tool::write(
            ("vine_write", "Change plan"),
            "Use this to create a .vine task graph or to change tasks, statuses and dependencies. All operations are \
             applied in order, checked once at the end and written together, or nothing is. Status: complete, started, \
             reviewing, planning, notstarted, blocked. Take a task with claim (exclusive: true refuses one that somebody \
             has begun). Returns a summary, the new frontier and claimed tasks with their dependencies.",
            ToolEffect::Writes { destructive: true, idempotent: false },
            |args: &WriteArgs, session: &SessionContext| {
                let targets = Targets::of(args, &PlanSearchPaths::of(session))?;
                let old = targets.lookup.clone().map(plan_at);
                let new = targets.new.as_ref().and_then(|(_, path)| path.clone()).map(PathExists);
                Ok((Constant(targets), old, new))
            },
            |(targets, looked, is_taken), args: &WriteArgs, _| {
                Ok(ops::write(&targets, looked, is_taken.unwrap_or(false), args)?)
            },
        ),
        Tool::write(
            ("vine_expand", "Expand reference"),
            "Use this to replace a reference in a .vine task graph by the tasks of the plan that it stands for. Ids of the \
             child get the reference's id, or the child's own prefix, in front. The child file stays as it is.",
            ToolEffect::Writes { destructive: true, idempotent: false },
            |args: &ExpandArgs, session: &SessionContext| {
                let search_paths = PlanSearchPaths::of(session);
                let parent = PlanLookup::of(&args.file, &search_paths);
                let child = PlanLookup::of(&args.child_file, &search_paths);
                Ok((Constant(parent.clone()), both(parent, child)))
            },
            |(parent, (parent_looked, (child, child_looked))), args: &ExpandArgs, _| {
                Ok(ops::expand((&parent, &child), (parent_looked, child_looked), args)?)
            },
        ),
    ]
}

/// A plan, wherever the session's directories have it.
fn file(argument: &str, session: &SessionContext) -> (Constant<PlanLookup>, impl Need<Output = PlanRead> + use<>) {
    let lookup = PlanLookup::of(argument, &PlanSearchPaths::of(session));
    (Constant(lookup.clone()), plan_at(lookup))
}

/// The first of the candidates that exists; if none does, what stands in the way of the one that was meant.
fn plan_at(lookup: PlanLookup) -> impl Need<Output = PlanRead> {
    let reported_path = lookup.reported_path;
    AndThen(FirstExisting(lookup.candidates), move |found: &Option<ResolvedPath>| match found {
        Some(ResolvedPath { file, .. }) => file.clone().ok().map(model),
        None => reported_path.as_deref().and_then(split).map(model),
    })
}

/// A plan, and then another that may lie beside it.
fn both(parent: PlanLookup, child: PlanLookup) -> impl Need<Output = (PlanRead, (PlanLookup, PlanRead))> {
    let candidates = parent.candidates.clone();
    AndThen(plan_at(parent), move |(found, _): &PlanRead| {
        let directory = found.as_ref().and_then(|found| candidates.get(found.which)?.parent());
        let child = match directory {
            Some(directory) => child.or_relative_to(directory),
            None => child,
        };
        (Constant(child.clone()), plan_at(child))
    })
}

fn model((place, path): (TreeLocation, RelativePath)) -> ReadFileModel<Plan> {
    ReadFileModel::of(ReadFile { place, path, links: SymlinkPolicy::Refuse, size_limit: FILE_LIMIT })
}

fn split(path: &Path) -> Option<(TreeLocation, RelativePath)> {
    let name = RelativePath::from_components(path.file_name()?.to_str()?)?;
    Some((TreeLocation::Fixed(path.parent()?.to_owned()), name))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::{Value, json};
    use tempfile::TempDir;
    use trellis_protocol::Failure;

    use super::*;
    use crate::clock::Now;
    use crate::disk::Expected;
    use crate::families::edit::{Edit, Replacement};
    use crate::families::need::with_context;
    use crate::families::{Answer, Body, ToolRun};

    const PLAN: &str = "vine 1.2.0\n---\n[root] Root (started)\n-> a\n-> r\n---\n[a] Alpha (reviewing) @k(v)\nwords\n> why\n@file m u\n---\n\
                        ref [r] More (child.vine)\n-> a\n";
    const CHILD: &str = "vine 1.2.0\n---\n[top] Top (planning)\n";

    /// A working directory `w`, a root `r`, and plans in both.
    fn home() -> TempDir {
        let home = TempDir::new().expect("a temporary directory");
        let at = |name: &str| home.path().join(name);
        for name in ["w/hides", "w/sub", "r"] {
            fs::create_dir_all(at(name)).expect("a directory");
        }
        let plan = |name: &str| PLAN.replace("Root", name);
        for (name, text) in [
            ("w/plan.vine", plan("Here")),
            ("r/plan.vine", plan("There")),
            ("r/only", plan("Only")),
            ("w/hides.vine", plan("Hidden")),
            ("w/sub/main.vine", plan("Main")),
            ("w/sub/child.vine", CHILD.to_owned()),
            ("w/secret.txt", "password: 1234\n".to_owned()),
            ("w/other.txt", plan("Other")),
            ("w/broken.vine", "oops\n".to_owned()),
            ("w/round.vine", "vine 1.2.0\n---\n[r] R (started)\n-> r\n".to_owned()),
        ] {
            fs::write(at(name), text).expect("a file");
        }
        fs::write(at("w/bytes.vine"), b"vine 1.2.0\n---\n[a] N\xff (started)\n").expect("a file");
        symlink("secret.txt", at("w/link.vine")).expect("a link");
        symlink("plan.vine", at("w/alias")).expect("a link");
        symlink("nowhere", at("w/dangling.vine")).expect("a link");
        home
    }

    fn called(home: &Path, name: &str, arguments: &Value) -> Result<(Answer, Option<Edit>), Failure> {
        let session = SessionContext { directory: Some(home.join("w")), ..SessionContext::default() };
        session.set_roots(vec![home.join("r")]);
        let tool = table().into_iter().find(|tool| tool.name == name).expect("the tool");
        let arguments = arguments.as_object().expect("an object");
        let now = Now::read(&session.zone.0);
        with_context(&session, |context| match &tool.run {
            ToolRun::Read(two_phase) => two_phase.run(arguments, context, &now).map(|answer| (answer, None)),
            ToolRun::Write(two_phase) => two_phase
                .run(arguments, context, &now)
                .map(|(answer, edit)| (edit.add_deferred_meta(answer), Some(edit))),
        })
    }

    /// The answer as text, or the words of the refusal; `~` stands for the directory of it all.
    #[track_caller]
    fn check(name: &str, arguments: Value, expected: Result<&str, &str>) {
        let home = home();
        let real = home.path().to_string_lossy().into_owned();
        let arguments: Value = serde_json::from_str(&arguments.to_string().replace('~', &real)).expect("JSON");
        let outcome = called(home.path(), name, &arguments).map(|(answer, _)| match answer.body {
            Body::Text(text) => text,
            Body::Pretty(json) => json.indented(),
            Body::Object(_) => panic!("never so"),
        });
        let outcome = outcome.map_err(|failure| crate::present::sentence(&failure).replace(&real, "~"));
        assert_eq!(outcome, expected.map(str::to_owned).map_err(str::to_owned), "{name} {arguments}");
    }

    fn read(file: &str, action: &str) -> Value {
        json!({ "file": file, "action": action })
    }

    #[test]
    fn sentences_are_short() {
        for tool in table() {
            let first = tool.description.split(". ").next().unwrap_or_default();
            assert!(first.len() <= 120 && tool.description.len() < 600, "{}: {}", tool.name, tool.description.len());
            assert!(tool.title.len() <= 30);
        }
    }

    #[test]
    fn plans_are_found_by_name() {
        let summary = |root: &str| {
            format!(
                "Root: {root} (root)\nTotal tasks: 3\nLeaf tasks: 1\n\nStatus breakdown:\n  complete: 0\n  started: 1\n  \
                 reviewing: 1\n  planning: 0\n  notstarted: 0\n  blocked: 0"
            )
        };
        for (file, root) in [
            ("plan", "Here"),
            ("plan.vine", "Here"),
            ("./sub/../plan.vine", "Here"),
            ("~/r/plan", "There"),
            ("only", "Only"),
            ("alias", "Here"),
            ("other.txt", "Other"),
        ] {
            check("vine_read", read(file, "summary"), Ok(&summary(root)));
        }
        check("vine_read", read("plan", "validate"), Ok("Valid — 3 task(s)."));
    }

    #[test]
    fn what_is_not_there_is_named_with_its_place() {
        for (file, words) in [
            ("none", "File not found: none (resolved to ~/w/none)"),
            ("~/none.vine", "File not found: ~/none.vine"),
            ("~/w/../none.vine", "File not found: ~/w/../none.vine (resolved to ~/none.vine)"),
            ("no/such/plan.vine", "File not found: no/such/plan.vine (resolved to ~/w/no/such/plan.vine)"),
            ("dangling.vine", "File not found: dangling.vine (resolved to ~/w/dangling.vine)"),
            ("hides", "Is a directory: hides (resolved to ~/w/hides)"),
            ("secret.txt", "Not a .vine file: secret.txt"),
            ("link.vine", "Not a .vine file: link.vine"),
            ("broken", "Parse error (line 1): Line 1: Invalid magic line: expected \"vine <version>\", got \"oops\""),
            (
                "round",
                "Validation error [no-cycles]: Cycle detected: r → r.\nDetails: {\"constraint\":\"no-cycles\",\"cycle\":[\"r\"]}",
            ),
        ] {
            check("vine_read", read(file, "task"), Err(words));
            check("vine_next", json!({ "file": file }), Err(words));
        }
    }

    #[test]
    fn actions_say_what_they_lack() {
        for action in ["task", "context", "descendants"] {
            let words = format!("id is required for action \"{action}\".");
            check("vine_read", read("plan", action), Err(&words));
            check("vine_read", json!({ "file": "plan", "action": action, "id": "" }), Err(&words));
            check("vine_read", json!({ "file": "plan", "action": action, "id": "x" }), Err("Task not found: x"));
        }
        check("vine_read", read("plan", "search"), Err("query is required for action \"search\"."));
        let words = "Invalid status \"\". Valid values: complete, started, reviewing, planning, notstarted, blocked";
        check("vine_read", json!({ "file": "plan", "action": "list", "status": "", "query": "x" }), Err(words));
        check("vine_read", json!({ "action": "list" }), Err("file must be a string."));
        check("vine_read", json!({ "file": 1, "action": "list" }), Err("file must be a string."));
        let words = "action must be one of summary, list, task, context, descendants, search, refs, validate.";
        check("vine_read", read("plan", "all"), Err(words));
        for operations in [json!([]), json!("x"), json!([1]), json!(null)] {
            let words = "operations must be an array of at least one object.";
            check("vine_write", json!({ "file": "plan", "operations": operations }), Err(words));
        }
    }

    #[test]
    fn answers_have_their_keys_in_order() {
        let alpha = "{\n  \"id\": \"a\",\n  \"kind\": \"task\",\n  \"shortName\": \"Alpha\",\n  \"description\": \"words\",\n  \
                     \"dependencies\": [],\n  \"decisions\": [\n    \"why\"\n  ],\n  \"status\": \"reviewing\",\n  \"attachments\": [\n    \
                     {\n      \"class\": \"file\",\n      \"mime\": \"m\",\n      \"uri\": \"u\"\n    }\n  ]\n}";
        check("vine_read", json!({ "file": "plan", "action": "task", "id": "a" }), Ok(alpha));
        let refs = json!([{ "id": "r", "shortName": "More", "vine": "child.vine", "dependencies": ["a"] }]);
        check("vine_read", read("plan", "refs"), Ok(&format!("{refs:#}")));
        let below = json!([{ "id": "root", "shortName": "Here" }, { "id": "r", "shortName": "More" }]);
        check("vine_read", json!({ "file": "plan", "action": "descendants", "id": "a" }), Ok(&format!("{below:#}")));
        check("vine_read", json!({ "file": "plan", "action": "list", "status": "blocked", "query": "a" }), Ok("[]"));
        let alpha: Value = serde_json::from_str(alpha).expect("JSON");
        for narrowed in [json!({ "status": "reviewing" }), json!({ "query": "ALPHA" })] {
            let mut call = read("plan", "list");
            call.as_object_mut().expect("an object").extend(narrowed.as_object().cloned().unwrap_or_default());
            check("vine_read", call, Ok(&format!("{:#}", json!([alpha]))));
        }
        let mut context = json!({
            "id": "r", "kind": "ref", "shortName": "More", "description": "", "dependencies": ["a"], "decisions": [],
            "vine": "child.vine",
        });
        context["resolved_dependencies"] = json!([{
            "id": "a", "shortName": "Alpha", "kind": "task", "status": "reviewing", "decisions": ["why"],
            "attachments": [{ "class": "file", "mime": "m", "uri": "u" }],
        }]);
        context["dependant_tasks"] =
            json!([{ "id": "root", "shortName": "Here", "kind": "task", "status": "started" }]);
        check("vine_read", json!({ "file": "plan", "action": "context", "id": "r" }), Ok(&format!("{context:#}")));
        let next = json!({
            "ready_to_start": [], "ready_to_complete": [alpha], "blocked": [], "needs_expansion": refs,
            "progress": {
                "total": 3, "complete": 0, "percentage": 0, "ready_count": 0, "root_id": "root", "root_status": "started",
                "by_status": { "complete": 0, "notstarted": 0, "planning": 0, "blocked": 0, "started": 1, "reviewing": 1 },
            },
        });
        check("vine_next", json!({ "file": "plan" }), Ok(&format!("{next:#}")));
    }

    #[test]
    fn hashes_guard_writes() {
        let home = home();
        let hash = |answer: &Answer| answer.meta["trellis/hash"].as_str().expect("a hash").to_owned();
        let seen = hash(&called(home.path(), "vine_next", &json!({ "file": "plan" })).expect("an answer").0);
        let claim = json!([{ "op": "claim", "id": "a" }]);
        let write = |if_match: &str| {
            called(home.path(), "vine_write", &json!({ "file": "plan", "operations": claim, "if_match": if_match }))
        };
        let (answer, edit) = write(&seen).expect("an edit");
        let edit = edit.expect("an edit");
        let Replacement::Content(bytes, Some(_)) = &edit.files[0].new else { panic!("bytes and their model") };
        assert_ne!(hash(&answer), seen);
        assert!(String::from_utf8_lossy(bytes).contains("[a] Alpha (started) @k(v)"));
        let conflict = write(&hash(&answer)).expect_err("a conflict");
        assert_eq!((conflict.code.as_ref(), &conflict.details["actual_hash"]), ("CONFLICT", &json!(seen)));
        let expand = json!({ "file": "sub/main", "ref_id": "r", "child_file": "sub/child", "if_match": "x" });
        assert_eq!(called(home.path(), "vine_expand", &expand).expect_err("a conflict").code, "CONFLICT");
    }

    #[test]
    fn bytes_that_are_no_text_can_be_read_but_not_written() {
        check("vine_read", read("bytes", "validate"), Ok("Valid — 1 task(s)."));
        let call = json!({ "file": "bytes", "operations": [{ "op": "claim", "id": "a" }] });
        check("vine_write", call, Err("File is not valid UTF-8: bytes"));
    }

    #[test]
    fn new_plans_never_take_a_place() {
        let create = |file: &str| json!({ "file": file, "operations": [{ "op": "create" }, { "op": "add_task", "id": "a", "name": "A" }] });
        check("vine_write", create("plan"), Err("File already exists: ~/w/plan.vine"));
        check("vine_write", create("dangling"), Err("File already exists: ~/w/dangling.vine"));
        check("vine_write", create("new.txt"), Err("Not a .vine file: new.txt"));
        let home = home();
        let (_, edit) = called(home.path(), "vine_write", &create("deep/er/new")).expect("an edit");
        let file = &edit.expect("an edit").files[0];
        assert_eq!(
            (&file.place, file.path.as_str()),
            (&TreeLocation::Fixed(home.path().join("w/deep/er")), "new.vine")
        );
        assert_eq!(file.old, Expected::Absent);
        let extract =
            json!({ "file": "plan", "operations": [{ "op": "extract_to_ref", "id": "a", "vine": "hides.vine" }] });
        check("vine_write", extract, Err("File already exists: ~/w/hides.vine"));
    }

    #[test]
    fn a_child_may_lie_beside_its_parent() {
        let expand = |file: &str, child: &str| json!({ "file": file, "ref_id": "r", "child_file": child });
        check("vine_expand", expand("sub/main", "child.vine"), Ok("Ref \"r\" expanded."));
        check("vine_expand", expand("sub/main", "./child"), Ok("Ref \"r\" expanded."));
        let missing = "File not found: child.vine (resolved to ~/w/child.vine)";
        check("vine_expand", expand("plan", "child.vine"), Err(missing));
        check("vine_expand", expand("none", "none2"), Err("File not found: none (resolved to ~/w/none)"));
        check("vine_expand", expand("sub/main", "secret.txt"), Err("Not a .vine file: secret.txt"));
        let home = home();
        let (_, edit) = called(home.path(), "vine_expand", &expand("sub/main", "child")).expect("an edit");
        let edit = edit.expect("an edit");
        let Replacement::Content(bytes, Some(_)) = &edit.files[0].new else { panic!("bytes and their model") };
        assert!(String::from_utf8_lossy(bytes).ends_with("---\n[r] Top (planning)\n-> a\n"));
    }
}
