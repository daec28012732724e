//! The verbs that change decision records and contexts: what was seen and the arguments come in, an answer and an
//! edit go out. Pure; what a record or a context says besides stays byte for byte.

use serde_json::json;

use super::adr::{self, Adr};
use super::arguments::{CreateAdr, UpdateAdr, UpdateContext};
use super::context;
use super::edits::{NumberedFiles, WriteResult, with_counters};
use super::error::TodoError;
use super::ids::IdCounters;
use super::model::{ADRS, adr_number, in_tree, shown, written};
use super::needs::{self, EntriesSeen, FileSeen, LINKS, Tasks, TodoFiles};
use super::ops::with_warnings;
use super::render;
use super::slug::slug;
use super::worktrees;
use crate::clock::Now;
use crate::disk::{DirectoryEntry, ReadError, TreeLocation};
use crate::families::Answer;
use crate::families::edit::Edit;
use crate::text::hash::hash_of;

/// A new record.
pub fn create_adr(((tree, counted), (worktrees, others)): NumberedFiles, args: &CreateAdr, now: &Now) -> WriteResult {
    let tasks = Tasks::of(tree)?;
    let (state, contexts, adrs) = needs::number_files(counted)?;
    let bytes = state.as_ref().map(|state| state.bytes.as_slice());
    let numbers = IdCounters::of(bytes, &tasks.file.tasks, &contexts, &adrs);
    let mut numbers = numbers.at_least(worktrees::highest(&others));
    let existing = adrs.iter().filter(|entry| adr_number(&entry.name).is_some()).count();
    let number = numbers.next_adr(existing).map_err(|why| TodoError::AdrsFull { why })?;
    let id = format!("adr-{number:03}-{}", slug(&args.adr.title));
    let path = in_tree(&format!("{ADRS}/{id}.md"));
    let created = written(now.at);
    let record = render::record(number, &args.adr, &created);
    let edit = worktrees::locked(Edit::nothing(), &worktrees);
    let edit = edit.locked_directories(tasks.place.clone(), in_tree(ADRS));
    let edit = edit.create(tasks.place.clone(), path.clone(), LINKS, record.into_bytes());
    let edit = with_counters(edit, &tasks.place, state.as_ref(), &numbers);
    let answer = json!({ "adr_id": id, "file_path": shown(&path), "created_at": created });
    Ok((Answer::object(answer), edit))
}

/// What `update_adr_status` looks at: the names of all records, and the one that is meant if there is just one.
pub type RecordSeen = (EntriesSeen, Option<FileSeen>);

/// The names of the files with this number.
pub fn with_number(entries: &[DirectoryEntry], number: u16) -> Vec<String> {
    let numbered = entries.iter().filter(|entry| adr_number(&entry.name) == Some(number));
    let mut names: Vec<String> = numbered.map(|entry| entry.name.clone()).collect();
    names.sort();
    names
}

/// Another status for a record.
pub fn update_adr(
    (place, link, (names, file)): (TreeLocation, Result<bool, ReadError>, RecordSeen),
    args: &UpdateAdr,
    now: &Now,
) -> WriteResult {
    needs::refuse_symlink(link)?;
    let number = args.number;
    let names = with_number(&needs::listed(names, ADRS)?, number);
    let name = match names.as_slice() {
        [] => return Err(TodoError::AdrNotFound { number }),
        [name] => name,
        _ => return Err(TodoError::DuplicateAdrNumber { number, names }),
    };
    let path = in_tree(&format!("{ADRS}/{name}"));
    let file = file.map(|file| needs::optional(file, &path)).transpose()?.flatten();
    let file = file.ok_or(TodoError::AdrNotFound { number })?;
    let text = needs::text(&file, &path)?;
    needs::check_if_match(&path, &hash_of(&file.bytes), args.if_match.as_ref())?;
    let (old, now) = (Adr::parse(text).status, written(now.at));
    let answer = Answer::object(json!({
        "adr_number": number,
        "old_status": old.word(),
        "new_status": args.status.word(),
        "updated_at": now,
    }));
    // Saying the same again is worth a line only if there is something to say.
    if old == args.status && args.reason.is_none() {
        return Ok((answer, Edit::nothing()));
    }
    let new = adr::with_status(text, old, args.status, args.reason.as_deref(), &now);
    let edit = Edit::nothing().replace(place, path, LINKS, &file, new.into_bytes());
    Ok((answer, edit))
}

/// Other text in a context, or in one section of it.
pub fn update_context((tree, context): (TodoFiles, FileSeen), args: &UpdateContext, now: &Now) -> WriteResult {
    let tasks = Tasks::of(tree)?;
    tasks.task(args.id)?;
    let path = args.id.context();
    let file = needs::optional(context, &path)?;
    let old = file.as_ref().map(|file| needs::text(file, &path)).transpose()?;
    let hash = file.as_ref().map(|file| hash_of(&file.bytes)).unwrap_or_default();
    needs::check_if_match(&path, &hash, args.if_match.as_ref())?;
    let text = old.unwrap_or_default();
    let new = match (&args.section, args.append) {
        (None, false) => args.content.clone(),
        (None, true) => context::appended(text, &args.content),
        (Some(section), true) => context::appended_to(text, section, &args.content),
        (Some(section), false) => context::replaced_in(text, section, &args.content),
    };
    let answer = json!({ "task_id": args.id.to_string(), "file_path": shown(&path), "updated_at": written(now.at) });
    let answer = Answer::object(with_warnings(answer, tasks.warnings()));
    if file.as_ref().is_some_and(|file| file.bytes == new.as_bytes()) {
        return Ok((answer, Edit::nothing()));
    }
    let edit = Edit::nothing().create_or_replace(tasks.place, path, LINKS, file.as_ref(), new.into_bytes());
    Ok((answer, edit))
}
