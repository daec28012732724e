//! The verbs that change decision records and contexts: what was seen and the arguments come in, an answer and an
//! edit go out. Pure; what a record or a context says besides stays byte for byte.

use serde_json::json;

use super::adr::{self, Adr};
use super::arguments::{CreateAdr, UpdateAdr, UpdateContext};
use super::context;
use super::edits::{Edited, stored};
use super::error::TodoError;
use super::ground::{self, CountedSeen, LINKS, Tasks, TreeSeen};
use super::ids::Numbers;
use super::model::{ADRS, CONTEXTS, STATE_FILE, adr_number, in_tree, shown, written};
use super::ops::warned;
use super::render;
use super::resources;
use super::slug::slug;
use crate::clock::Now;
use crate::families::edit::Edit;
use crate::families::need::{Entry, FileSeen, Place, Unseen};
use crate::tools::{Answer, Notice};

/// A new record.
pub fn create_adr((tree, counted): (TreeSeen, CountedSeen), args: &CreateAdr, now: &Now) -> Edited {
    let tasks = Tasks::of(tree)?;
    let (state, contexts, adrs) = counted;
    let state = ground::there(state, &in_tree(STATE_FILE))?;
    let (contexts, adrs) = (ground::listed(contexts, CONTEXTS)?, ground::listed(adrs, ADRS)?);
    let bytes = state.as_ref().map(|state| state.bytes.as_slice());
    let mut numbers = Numbers::of(bytes, &tasks.file.tasks, &contexts, &adrs);
    let existing = adrs.iter().filter(|entry| adr_number(&entry.name).is_some()).count();
    let number = numbers.next_adr(existing).map_err(|why| TodoError::AdrsFull { why })?;
    let id = format!("adr-{number:03}-{}", slug(&args.adr.title));
    let path = in_tree(&format!("{ADRS}/{id}.md"));
    let created = written(now.at);
    let record = render::record(number, &args.adr, &created);
    let edit = Edit::nothing().alone_in(tasks.place.clone(), in_tree(ADRS)).create(
        tasks.place.clone(),
        path.clone(),
        LINKS,
        record.into_bytes(),
    );
    let edit = stored(edit, &tasks.place, state.as_ref(), &numbers);
    let answer = json!({ "adr_id": id, "file_path": shown(&path), "created_at": created });
    let answer = resources::changed_index(Answer::object(answer)).with_notice(Notice::ResourcesChanged);
    Ok((answer, edit))
}

/// What `update_adr_status` looks at: the names of all records, and the one that is meant if there is just one.
pub type RecordSeen = (Result<Vec<Entry>, Unseen>, Option<Result<FileSeen, Unseen>>);

/// The names of the files with this number.
pub fn with_number(entries: &[Entry], number: u16) -> Vec<String> {
    let mut names: Vec<String> = entries
        .iter()
        .filter(|entry| adr_number(&entry.name) == Some(number))
        .map(|entry| entry.name.clone())
        .collect();
    names.sort();
    names
}

/// Another status for a record.
pub fn update_adr(
    (place, link, (names, file)): (Place, Result<bool, Unseen>, RecordSeen),
    args: &UpdateAdr,
    now: &Now,
) -> Edited {
    ground::is_no_link(link)?;
    let number = args.number;
    let names = with_number(&ground::listed(names, ADRS)?, number);
    let name = match names.as_slice() {
        [] => return Err(TodoError::AdrNotFound { number }),
        [name] => name,
        _ => return Err(TodoError::AdrTwice { number, names }),
    };
    let path = in_tree(&format!("{ADRS}/{name}"));
    let file = file.map(|file| ground::there(file, &path)).transpose()?.flatten();
    let file = file.ok_or(TodoError::AdrNotFound { number })?;
    let text = ground::text(&file, &path)?;
    ground::is_still(&path, &ground::hash(&file), args.if_match.as_ref())?;
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
    let id = name.strip_suffix(".md").unwrap_or(name);
    Ok((resources::changed_adr(answer, id), edit))
}

/// Other text in a context, or in one section of it.
pub fn update_context(
    (tree, context): (TreeSeen, Result<FileSeen, Unseen>),
    args: &UpdateContext,
    now: &Now,
) -> Edited {
    let tasks = Tasks::of(tree)?;
    tasks.task(args.id)?;
    let path = args.id.context();
    let file = ground::there(context, &path)?;
    let old = file.as_ref().map(|file| ground::text(file, &path)).transpose()?;
    let hash = file.as_ref().map(ground::hash).unwrap_or_default();
    ground::is_still(&path, &hash, args.if_match.as_ref())?;
    let text = old.unwrap_or_default();
    let new = match (&args.section, args.append) {
        (None, false) => args.content.clone(),
        (None, true) => context::appended(text, &args.content),
        (Some(section), true) => context::appended_to(text, section, &args.content),
        (Some(section), false) => context::replaced_in(text, section, &args.content),
    };
    let mut answer = json!({
        "task_id": args.id.to_string(),
        "file_path": shown(&path),
        "updated_at": written(now.at),
    });
    warned(&mut answer, tasks.warnings());
    let answer = Answer::object(answer);
    if file.as_ref().is_some_and(|file| file.bytes == new.as_bytes()) {
        return Ok((answer, Edit::nothing()));
    }
    let answer = resources::changed_context(answer, args.id);
    match file {
        Some(file) => {
            let edit = Edit::nothing().replace(tasks.place, path, LINKS, &file, new.into_bytes());
            Ok((answer, edit))
        }
        None => {
            let edit = Edit::nothing().create(tasks.place, path, LINKS, new.into_bytes());
            Ok((answer.with_notice(Notice::ResourcesChanged), edit))
        }
    }
}
