//! The table of resources: index, tasks, records and contexts, each under a well-formed URI and under the seed's.
//!
//! The seed's form is no proper URI, so it is matched as it is written. Ids are compared with their patterns after
//! decoding; whatever else stands there names nothing.

use trellis_protocol::Failure;

use super::adr::Adr;
use super::error::TodoError;
use super::ground::{self, Tasks};
use super::index_file;
use super::model::{ADRS, CONTEXTS, INDEX_FILE, TASK_FILE, TaskId, adr_number, in_tree, place, written_ns};
use super::ops::AdrsSeen;
use crate::disk::RelativePath;
use crate::families::edit::Edit;
use crate::families::need::{Carried, Entry, FileAt, FileSeen, IsLink, ModelsBelow, Place, Unseen};
use crate::text::percent::encoded;
use crate::tools::offer::{Variables, no_such_resource};
use crate::tools::{Answer, Contents, Halves, Listed, ListedOn, Notice, Partial, Resource, halves};

/// Well-formed, and listed first.
const OURS: &str = "todo:///";
/// The seed's.
const SEEDS: &str = "file://.todo/";

/// All resources.
pub fn table() -> Vec<Resource> {
    vec![
        fixed("todo:///index.md", "index.md", "Index", INDEX, index()),
        fixed("todo:///task.md", "task.md", "Tasks", TASKS, tasks()),
        fixed("file://.todo/index.md", "seed-index.md", "Index", INDEX, index()),
        fixed("file://.todo/task.md", "seed-task.md", "Tasks", TASKS, tasks()),
        Resource {
            list: Some(listed(ADRS, is_adr)),
            complete: Some(completed(ADRS, is_adr)),
            ..fixed("todo:///adr/{adr_id}.md", "adr", "Decision record", ADR, one("adr_id", adr_path))
        },
        Resource {
            list: Some(listed(CONTEXTS, is_context)),
            complete: Some(completed(CONTEXTS, is_context)),
            ..fixed("todo:///context/{task_id}.md", "context", "Task context", CONTEXT, one("task_id", context_path))
        },
        // The seed's. A variable of a proper template has no hyphen, and some libraries fail on a list with such a one.
        Resource {
            complete: Some(completed(ADRS, is_adr)),
            listed_on: ListedOn::OwnSurface,
            ..fixed("file://.todo/adr/{adr-id}.md", "seed-adr", "Decision record", ADR, one("adr-id", adr_path))
        },
        Resource {
            complete: Some(completed(CONTEXTS, is_context)),
            listed_on: ListedOn::OwnSurface,
            ..fixed(
                "file://.todo/context/{task-id}.md",
                "seed-context",
                "Task context",
                CONTEXT,
                one("task-id", context_path),
            )
        },
    ]
}

const INDEX: &str = "Tasks, contexts and decision records of the project at a glance.";
const TASKS: &str = "All tasks of the project.";
const ADR: &str = "One decision record.";
const CONTEXT: &str = "What is known about one task.";

type Read = Halves<Variables, Contents>;

fn fixed(
    uri: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    read: Read,
) -> Resource {
    let (mime, listed_on) = ("text/markdown", ListedOn::EverySurface);
    Resource { uri, name, title, description, mime, list: None, read, complete: None, listed_on }
}

fn tasks() -> Read {
    halves(
        |_: &Variables, _| {
            let place = place(None);
            Ok((IsLink(place.clone()), ground::file(&place, in_tree(TASK_FILE))))
        },
        |(link, file), _, _| contents(link, file, &in_tree(TASK_FILE)),
    )
}

/// One file, whose path is made of a variable if that is an id.
fn one(variable: &'static str, path: fn(&str) -> Option<RelativePath>) -> Read {
    halves(
        move |variables: &Variables, _| {
            let id = variables.get(variable).map_or("", String::as_str);
            let path = path(id).ok_or_else(|| no_such_resource(id))?;
            let place = place(None);
            Ok((Carried(path.clone()), IsLink(place.clone()), ground::file(&place, path)))
        },
        |(path, link, file), _, _| contents(link, file, &path),
    )
}

fn is_adr(name: &str) -> bool {
    adr_number(name).is_some()
}

fn is_context(name: &str) -> bool {
    TaskId::of_context(name).is_some()
}

fn adr_path(id: &str) -> Option<RelativePath> {
    let name = format!("{id}.md");
    let is_name = !name.contains(['/', '\\', '\0']) && !name.contains("..");
    adr_number(&name).filter(|_| is_name).map(|_| in_tree(&format!("{ADRS}/{name}")))
}

fn context_path(id: &str) -> Option<RelativePath> {
    TaskId::parse(id).map(TaskId::context)
}

fn contents(
    link: Result<bool, Unseen>,
    file: Result<FileSeen, Unseen>,
    path: &RelativePath,
) -> Result<Contents, Failure> {
    ground::is_no_link(link)?;
    // A link is not served, and not worth telling apart from nothing.
    let file = match file {
        Err(Unseen::Link | Unseen::Outside | Unseen::IsDirectory | Unseen::Special) => None,
        seen => ground::there(seen, path)?,
    };
    let file = file.ok_or_else(|| no_such_resource(&format!("{OURS}{path}")))?;
    let text = ground::text(&file, path)?.to_owned();
    Ok(Contents { text, last_modified: Some(written_ns(file.identity.modified_ns)) })
}

/// What the index is made from.
type IndexLook = (ground::Tree, (ModelsBelow<Adr>, FileAt));
type IndexSeen = (ground::TreeSeen, (AdrsSeen, Result<FileSeen, Unseen>));

/// For the index of a project.
pub fn index_look(project_root: Option<&std::path::Path>) -> IndexLook {
    let place = place(project_root);
    (ground::tree(project_root), (ground::adrs(&place), ground::file(&place, in_tree(INDEX_FILE))))
}

/// The tree, the file as it is, and what it should say; none if it is not ours to change.
fn renewed((tree, (adrs, file)): IndexSeen) -> Result<(Place, Option<FileSeen>, Option<String>), TodoError> {
    let tasks = Tasks::of(tree)?;
    let adrs = ground::there(adrs, &in_tree(ADRS))?.unwrap_or_default();
    let adrs: Vec<(&str, &Adr)> = adrs
        .iter()
        .filter_map(|below| Some((below.path.way_and_name().1, &*below.seen.as_ref().ok()?.model)))
        .collect();
    let path = in_tree(INDEX_FILE);
    let file = ground::there(file, &path)?;
    let existing = file.as_ref().map(|file| ground::text(file, &path)).transpose()?;
    let new = index_file::renewed(existing, &tasks.file, &adrs);
    Ok((tasks.place, file, new))
}

fn index() -> Read {
    halves(
        |_: &Variables, _| Ok(index_look(None)),
        |seen, _, _| {
            let (_, file, new) = renewed(seen)?;
            let last_modified = file.as_ref().map(|file| written_ns(file.identity.modified_ns));
            let text = match (new, file) {
                (Some(new), _) => new,
                (None, Some(file)) => ground::text(&file, &in_tree(INDEX_FILE))?.to_owned(),
                (None, None) => return Err(no_such_resource(&format!("{OURS}{INDEX_FILE}"))),
            };
            Ok(Contents { text, last_modified })
        },
    )
}

/// The index as it should be, a moment after something was written.
pub fn index_edit(seen: IndexSeen) -> Result<Edit, TodoError> {
    let (place, file, new) = renewed(seen)?;
    let path = in_tree(INDEX_FILE);
    Ok(match (new, file) {
        (None, _) => Edit::nothing(),
        (Some(new), Some(file)) if file.bytes == new.as_bytes() => Edit::nothing(),
        (Some(new), Some(file)) => Edit::nothing().replace(place, path, ground::LINKS, &file, new.into_bytes()),
        (Some(new), None) => Edit::nothing().create(place, path, ground::LINKS, new.into_bytes()),
    })
}

/// The files of one directory that are wanted.
fn listed(directory: &'static str, wanted: fn(&str) -> bool) -> Halves<(), Vec<Listed>> {
    halves(
        move |(): &(), _| {
            let place = place(None);
            Ok((IsLink(place.clone()), ground::listing(&place, directory)))
        },
        move |(link, entries), (), _| {
            ground::is_no_link(link)?;
            let names = names(ground::listed(entries, directory)?, wanted);
            let listed = |name: String| Listed { uri: uri(directory, &name), name, last_modified: None };
            Ok(names.into_iter().map(listed).collect())
        },
    )
}

fn completed(directory: &'static str, wanted: fn(&str) -> bool) -> Halves<Partial, Vec<String>> {
    halves(
        move |_: &Partial, _| {
            let place = place(None);
            Ok((IsLink(place.clone()), ground::listing(&place, directory)))
        },
        move |(link, entries), partial, _| {
            ground::is_no_link(link)?;
            let names = names(ground::listed(entries, directory)?, wanted);
            let ids = names.into_iter().filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
            Ok(ids.filter(|id| id.starts_with(&partial.value)).collect())
        },
    )
}

fn names(entries: Vec<Entry>, wanted: fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).filter(|name| wanted(name)).collect();
    names.sort();
    names
}

/// A file in a directory, percent-encoded.
fn uri(directory: &str, name: &str) -> String {
    format!("{OURS}{directory}/{}", encoded(name))
}

/// Other tasks, and so another index.
pub fn changed_tasks(answer: Answer) -> Answer {
    changed_index(changed(answer, TASK_FILE))
}

/// Another index.
pub fn changed_index(answer: Answer) -> Answer {
    changed(answer, INDEX_FILE)
}

/// Another context.
pub fn changed_context(answer: Answer, id: TaskId) -> Answer {
    changed(answer, id.context().as_str())
}

/// Another record, and so another index.
pub fn changed_adr(answer: Answer, id: &str) -> Answer {
    let encoded = uri(ADRS, &format!("{id}.md"));
    let encoded = encoded.strip_prefix(OURS).unwrap_or_default().to_owned();
    let plain = format!("{ADRS}/{id}.md");
    let answer = if encoded == plain { answer } else { changed(answer, &encoded) };
    changed_index(changed(answer, &plain))
}

/// Whoever has subscribed under either name hears of it.
fn changed(answer: Answer, path: &str) -> Answer {
    answer.with_notice(Notice::Updated(format!("{OURS}{path}"))).with_notice(Notice::Updated(format!("{SEEDS}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, adr: Option<&str>, context: Option<&str>) {
        assert_eq!(adr_path(id).as_ref().map(RelativePath::as_str), adr, "{id}");
        assert_eq!(context_path(id).as_ref().map(RelativePath::as_str), context, "{id}");
    }

    #[test]
    fn only_ids_name_files() {
        check("adr-001-a", Some("adr/adr-001-a.md"), None);
        check("adr-002-認証", Some("adr/adr-002-認証.md"), None);
        check("T001", None, Some("context/T001.md"));
        for wrong in ["", "..", "adr-001-/../../x", "adr-001-a/b", "adr-001-..", "T1", "T001/", "../T001", "adr-001-\0"]
        {
            check(wrong, None, None);
        }
    }

    #[test]
    fn uris_are_ascii() {
        assert_eq!(uri(ADRS, "adr-001-認 a.md"), "todo:///adr/adr-001-%E8%AA%8D%20a.md");
    }
}
