//! The table of resources: index, tasks, records and contexts, each under a well-formed URI and under the seed's.
//!
//! The seed's form is no proper URI, so it is matched as it is written. Ids are compared with their patterns after
//! decoding; whatever else stands there names nothing.

use std::path::Path;

use trellis_protocol::Failure;

use super::adr::Adr;
use super::error::TodoError;
use super::index_file;
use super::model::{ADRS, CONTEXTS, INDEX_FILE, TASK_FILE, TaskId, adr_number, in_tree, place, written_ns};
use super::needs::{self, Tasks};
use super::ops::AdrsSeen;
use crate::disk::{FileContent, ReadError, ReadFile, ReadModelsInTree, RelativePath, TreeIsSymlink, TreeLocation};
use crate::families::Notice;
use crate::families::edit::Edit;
use crate::families::need::Constant;
use crate::families::resource::{UriVariables, no_such_resource};
use crate::families::{CompletionRequest, ListedOn, Resource, ResourceContent, ResourceEntry, TwoPhase, two_phase};
use crate::text::percent::encoded;
use crate::trees::ChangeKind;

/// Well-formed, and listed first.
const OURS: &str = "todo:///";
const SEEDS: &str = "file://.todo/";

pub fn table() -> Vec<Resource> {
    vec![
        Resource::new(("todo:///index.md", "index.md"), ("Index", INDEX), MARKDOWN, index()),
        Resource::new(("todo:///task.md", "task.md"), ("Tasks", TASKS), MARKDOWN, one("", task_path)),
        Resource::new(("file://.todo/index.md", "seed-index.md"), ("Index", INDEX), MARKDOWN, index()),
        Resource::new(("file://.todo/task.md", "seed-task.md"), ("Tasks", TASKS), MARKDOWN, one("", task_path)),
        Resource {
            list: Some(listed(ADRS, is_adr)),
            complete: Some(completed(ADRS, is_adr)),
            ..Resource::new(
                ("todo:///adr/{adr_id}.md", "adr"),
                ("Decision record", ADR),
                MARKDOWN,
                one("adr_id", adr_path),
            )
        },
        Resource {
            list: Some(listed(CONTEXTS, is_context)),
            complete: Some(completed(CONTEXTS, is_context)),
            ..Resource::new(
                ("todo:///context/{task_id}.md", "context"),
                ("Task context", CONTEXT),
                MARKDOWN,
                one("task_id", context_path),
            )
        },
        // The seed's. A variable of a proper template has no hyphen, and some libraries fail on a list with such a one.
        Resource {
            complete: Some(completed(ADRS, is_adr)),
            listed_on: ListedOn::OwnSurface,
            ..Resource::new(
                ("file://.todo/adr/{adr-id}.md", "seed-adr"),
                ("Decision record", ADR),
                MARKDOWN,
                one("adr-id", adr_path),
            )
        },
        Resource {
            complete: Some(completed(CONTEXTS, is_context)),
            listed_on: ListedOn::OwnSurface,
            ..Resource::new(
                ("file://.todo/context/{task-id}.md", "seed-context"),
                ("Task context", CONTEXT),
                MARKDOWN,
                one("task-id", context_path),
            )
        },
    ]
}

const INDEX: &str = "Tasks, contexts and decision records of the project at a glance.";
const TASKS: &str = "All tasks of the project.";
const ADR: &str = "One decision record.";
const CONTEXT: &str = "What is known about one task.";

const MARKDOWN: &str = "text/markdown";

type ReadResource = TwoPhase<UriVariables, ResourceContent>;

/// One file, whose path is made of a variable if that is an id.
fn one(variable: &'static str, path: fn(&str) -> Option<RelativePath>) -> ReadResource {
    two_phase(
        move |variables: &UriVariables, _| {
            let id = variables.get(variable).map_or("", String::as_str);
            let path = path(id).ok_or_else(|| no_such_resource(id))?;
            let place = place(None);
            Ok((Constant(path.clone()), TreeIsSymlink(place.clone()), needs::file(&place, path)))
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

fn task_path(_: &str) -> Option<RelativePath> {
    Some(in_tree(TASK_FILE))
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
    link: Result<bool, ReadError>,
    file: needs::FileSeen,
    path: &RelativePath,
) -> Result<ResourceContent, Failure> {
    needs::refuse_symlink(link)?;
    // A link is not served, and not worth telling apart from nothing.
    let file = match file {
        Err(ReadError::SymlinkRefused | ReadError::OutsideTree | ReadError::IsDirectory | ReadError::NotRegular) => {
            None
        }
        seen => needs::optional(seen, path)?,
    };
    let file = file.ok_or_else(|| no_such_resource(&format!("{OURS}{path}")))?;
    let text = needs::text(&file, path)?.to_owned();
    Ok(ResourceContent { text, last_modified: Some(written_ns(file.stamp.modified_ns)) })
}

/// What the index is made from.
type IndexLook = (needs::TodoNeed, (ReadModelsInTree<Adr>, ReadFile));
type IndexSeen = (needs::TodoFiles, (AdrsSeen, needs::FileSeen));

/// For the index of a project.
pub fn index_look(project_root: Option<&std::path::Path>) -> IndexLook {
    let place = place(project_root);
    (needs::tree(project_root), (needs::adrs(&place), needs::file(&place, in_tree(INDEX_FILE))))
}

/// The tree, the file as it is, and what it should say; none if it is not ours to change.
fn regenerated_index(
    (tree, (adrs, file)): IndexSeen,
) -> Result<(TreeLocation, Option<FileContent>, Option<String>), TodoError> {
    let tasks = Tasks::of(tree)?;
    let adrs = needs::optional(adrs, &in_tree(ADRS))?.unwrap_or_default();
    let adrs: Vec<(&str, &Adr)> = adrs
        .iter()
        .filter_map(|below| Some((below.path.split_parent().1, &*below.seen.as_ref().ok()?.model)))
        .collect();
    let path = in_tree(INDEX_FILE);
    let file = needs::optional(file, &path)?;
    let existing = file.as_ref().map(|file| needs::text(file, &path)).transpose()?;
    let new = index_file::regenerate(existing, &tasks.file, &adrs);
    Ok((tasks.place, file, new))
}

fn index() -> ReadResource {
    two_phase(
        |_: &UriVariables, _| Ok(index_look(None)),
        |seen, _, _| {
            let (_, file, new) = regenerated_index(seen)?;
            let last_modified = file.as_ref().map(|file| written_ns(file.stamp.modified_ns));
            let text = match (new, file) {
                (Some(new), _) => new,
                (None, Some(file)) => needs::text(&file, &in_tree(INDEX_FILE))?.to_owned(),
                (None, None) => return Err(no_such_resource(&format!("{OURS}{INDEX_FILE}"))),
            };
            Ok(ResourceContent { text, last_modified })
        },
    )
}

/// The index as it should be, a moment after something was written.
pub fn index_edit(seen: IndexSeen) -> Result<Edit, TodoError> {
    let (place, file, new) = regenerated_index(seen)?;
    let path = in_tree(INDEX_FILE);
    Ok(match (new, file) {
        (None, _) => Edit::nothing(),
        (Some(new), Some(file)) if file.bytes == new.as_bytes() => Edit::nothing(),
        (Some(new), file) => {
            Edit::nothing().create_or_replace(place, path, needs::LINKS, file.as_ref(), new.into_bytes())
        }
    })
}

fn listed(directory: &'static str, wanted: fn(&str) -> bool) -> TwoPhase<(), Vec<ResourceEntry>> {
    let listed = |name: String| ResourceEntry { uri: uri(directory, &name), name, last_modified: None };
    with_names(directory, wanted, move |names, ()| names.into_iter().map(listed).collect())
}

fn completed(directory: &'static str, wanted: fn(&str) -> bool) -> TwoPhase<CompletionRequest, Vec<String>> {
    with_names(directory, wanted, |names, partial: &CompletionRequest| {
        let ids = names.into_iter().filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
        ids.filter(|id| id.starts_with(&partial.value)).collect()
    })
}

/// What follows from the names of one directory that are wanted.
fn with_names<I, O>(
    directory: &'static str,
    wanted: fn(&str) -> bool,
    answer: impl Fn(Vec<String>, &I) -> O + Send + Sync + 'static,
) -> TwoPhase<I, O> {
    two_phase(
        move |_: &I, _| Ok((TreeIsSymlink(place(None)), needs::listing(&place(None), directory))),
        move |(link, entries), input, _| {
            needs::refuse_symlink(link)?;
            let names = needs::listed(entries, directory)?.into_iter().map(|entry| entry.name);
            let mut names: Vec<String> = names.filter(|name| wanted(name)).collect();
            names.sort();
            Ok(answer(names, input))
        },
    )
}

/// A file in a directory, percent-encoded.
fn uri(directory: &str, name: &str) -> String {
    format!("{OURS}{directory}/{}", encoded(name))
}

/// Whoever has subscribed to a changed file under either name hears of it; so does who reads the index of it.
pub fn notices(path: &Path, kind: ChangeKind) -> Vec<Notice> {
    let Some(path) = path.to_str() else { return Vec::new() };
    let id = |name: &str| name.strip_suffix(".md").map(str::to_owned);
    let changed = match path.split_once('/') {
        None if path == TASK_FILE => vec![TASK_FILE.to_owned(), INDEX_FILE.to_owned()],
        Some((ADRS, name)) if id(name).and_then(|id| adr_path(&id)).is_some() => {
            vec![path.to_owned(), format!("{ADRS}/{}", encoded(name)), INDEX_FILE.to_owned()]
        }
        Some((CONTEXTS, name)) if id(name).and_then(|id| context_path(&id)).is_some() => vec![path.to_owned()],
        _ => return Vec::new(),
    };
    Notice::of(changed.iter().flat_map(|path| [OURS, SEEDS].map(|scheme| format!("{scheme}{path}"))), kind)
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
