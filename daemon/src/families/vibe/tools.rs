//! The table of tools: name, sentences, what each needs to look at, and its op.

use trellis_protocol::Failure;

use super::arguments::{
    CreateArgs, InitArgs, ListArgs, LogArgs, NewPlanArgs, PlanArgs, ReadArgs, StatusArgs, TaskArgs, UpdateArgs,
};
use super::layout::{place, project_path};
use super::{edits, needs, ops, search};
use crate::families::need::{AndThen, Constant, CurrentTime};
use crate::families::{Answer, SessionContext, Tool, ToolEffect};

/// Makes something new.
const CREATES: ToolEffect = ToolEffect::Writes { destructive: false, idempotent: false };
/// Replaces something; once more is no more.
const REPLACES: ToolEffect = ToolEffect::Writes { destructive: true, idempotent: true };

/// Words that people use and the names have not.
const SEARCH_HINTS: [(&str, &str); 12] = [
    ("search", "memory remember find notes recall what did we"),
    ("read_doc", "note document memory show content"),
    ("list_tasks", "todo work open pending status"),
    ("get_plan", "roadmap steps progress"),
    ("create_doc", "note remember write save memory new"),
    ("update_doc", "edit overwrite rewrite note"),
    ("create_task", "todo new work ticket"),
    ("update_task_status", "done finish block start progress"),
    ("create_plan", "roadmap steps milestones"),
    ("log_session", "diary journal summary remember handover"),
    ("reindex", "search stale rebuild refresh"),
    ("init_project", "start new workspace folder"),
];

/// All tools, in the order in which they are listed.
pub fn table() -> Vec<Tool> {
    Tool::all_with_long_results(Tool::all_found_by(rows(), &SEARCH_HINTS), &["read_doc", "get_plan"])
}

fn rows() -> Vec<Tool> {
    let mut tools = vec![search::search(), read_doc(), list_tasks(), get_plan()];
    tools.extend([create_doc(), update_doc(), create_task(), update_task_status(), create_plan(), log_session()]);
    tools.extend([search::reindex(), init_project()]);
    tools
}

fn read_doc() -> Tool {
    Tool::read(
        ("read_doc", "Read document"),
        "Use this to read one whole document, or another text file, of a project. `metadata` has type, status, date, tags \
         and owner; `hash` can be passed as `if_match` when writing.",
        |args: &ReadArgs, session: &SessionContext| Ok(needs::reading(args, session)?),
        |((_, listed), seen), args: &ReadArgs, now| Ok(Answer::object(ops::read_doc((listed, seen), args, now)?)),
    )
}

fn list_tasks() -> Tool {
    Tool::read(
        ("list_tasks", "List tasks"),
        "Use this to see the tasks of a project, or of all projects, with title, status and objective. `status` \
         filters; `include_content` adds the whole texts.",
        |args: &ListArgs, session: &SessionContext| {
            let place = place(session);
            let project = args.project.as_deref().map(project_path).transpose()?;
            let listing = project.clone().map(|project| needs::project_listing(&place, project));
            let tasks = needs::tasks(&place, project.as_ref());
            let args = args.clone();
            Ok((listing, AndThen(tasks, move |seen: &_| ops::task_texts(&place, &args, seen))))
        },
        |seen, args: &ListArgs, now| Ok(ops::list_tasks(seen, args, now)?),
    )
}

fn get_plan() -> Tool {
    Tool::read(
        ("get_plan", "Read plan"),
        "Use this to read a project's execution plan and how many of its tasks are pending, in progress, done or \
         blocked. `exists` is false if there is none.",
        |args: &PlanArgs, session: &SessionContext| Ok(needs::reading(&ops::plan_target(args), session)?),
        |((_, listed), seen), args: &PlanArgs, now| Ok(ops::get_plan((listed, seen), args, now)?),
    )
}

fn create_doc() -> Tool {
    Tool::write(
        ("create_doc", "Create document"),
        "Use this to write a new file into a folder of a project. Never overwrites: an existing file is `FILE_EXISTS`. \
         `.md` is added to a name without a known extension such as .json or .txt; only Markdown can be searched.",
        CREATES,
        |args: &CreateArgs, session: &SessionContext| Ok(needs::creating(args, session)?),
        |((ground, root), around), args: &CreateArgs, _| Ok(edits::create_doc((ground, root, around), args)?),
    )
}

fn update_doc() -> Tool {
    Tool::write(
        ("update_doc", "Replace document"),
        "Use this to replace the whole text of an existing file. Its front matter stays unless `content` begins with a \
         block of its own; `frontmatter` is merged into it.",
        REPLACES,
        |args: &UpdateArgs, session: &SessionContext| Ok(needs::changing(&args.target, session)?),
        |seen, args: &UpdateArgs, _| Ok(edits::update_doc(seen, args)?),
    )
}

fn create_task() -> Tool {
    Tool::write(
        ("create_task", "Create task"),
        "Use this to add a task to a project. It gets the next number and the standard form: objective, context, steps, \
         acceptance criteria, notes.",
        CREATES,
        |args: &TaskArgs, session: &SessionContext| Ok(needs::numbering(&args.project, session)?),
        |seen, args: &TaskArgs, _| Ok(edits::create_task(seen, args)?),
    )
}

fn update_task_status() -> Tool {
    Tool::write(
        ("update_task_status", "Set task status"),
        "Use this to say how far a task is. Only its status changes in the file.",
        REPLACES,
        |args: &StatusArgs, session: &SessionContext| {
            let ((Constant(place), project), tasks) = needs::numbering(&args.project, session)?;
            let (tree, args) = (place.clone(), args.clone());
            let task = AndThen(tasks, move |tasks: &_| needs::task_file(&args, &tree, tasks));
            Ok(((Constant(place), project), task))
        },
        |seen, args: &StatusArgs, now| Ok(edits::update_task_status(seen, args, now)?),
    )
}

fn create_plan() -> Tool {
    Tool::write(
        ("create_plan", "Write plan"),
        "Use this to write a project's execution plan, new or in place of the one that is there. `action` says which.",
        REPLACES,
        |args: &NewPlanArgs, session: &SessionContext| Ok(needs::making(&edits::plan_target(args), session)?),
        |seen, args: &NewPlanArgs, _| Ok(edits::create_plan(seen, args)?),
    )
}

fn log_session() -> Tool {
    Tool::write(
        ("log_session", "Log session"),
        "Use this to write down what was done today, in a note named after the day. If there is one it goes behind what \
         is there; nothing is overwritten. `action` says which.",
        CREATES,
        |args: &LogArgs, session: &SessionContext| {
            needs::may_write(session)?;
            let (Constant(place), project) = needs::ground(&args.project, session)?;
            let (tree, args) = (place.clone(), args.clone());
            let today = AndThen(CurrentTime, move |now: &_| needs::session_file(&args, &tree, now));
            Ok(((Constant(place), project), today))
        },
        |seen, args: &LogArgs, _| Ok(edits::log_session(seen, args)?),
    )
}

fn init_project() -> Tool {
    Tool::write(
        ("init_project", "Create project"),
        "Use this to make a new project with its eight folders and a status.md.",
        CREATES,
        |args: &InitArgs, session: &SessionContext| {
            needs::may_write(session)?;
            let place = place(session);
            let project = edits::project_name(&args.project).map_err(Failure::from)?;
            let beside = needs::listing(&place, None);
            let files = needs::files(&place, Some(project.clone()));
            let listed = (needs::listing(&place, Some(project)), files, beside);
            Ok((Constant(place.clone()), needs::real_root(&place), listed))
        },
        |seen, args: &InitArgs, _| Ok(edits::init_project(seen, args)?),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_s_tools_are_all_there_and_cheap() {
        let tools = table();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        let expected = [
            "search",
            "read_doc",
            "list_tasks",
            "get_plan",
            "create_doc",
            "update_doc",
            "create_task",
            "update_task_status",
            "create_plan",
            "log_session",
            "reindex",
            "init_project",
        ];
        assert_eq!(names, expected);
        for tool in tools {
            let first = tool.description.split(". ").next().unwrap_or_default();
            assert!(first.len() <= 130 && tool.description.len() <= 400, "{}: {}", tool.name, first.len());
            assert!(tool.title.len() <= 30);
        }
    }
}
