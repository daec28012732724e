//! After a crash: finishes what was begun, takes back what was void, and removes what was left lying.
//!
//! A temp file that still holds the new text says that its rename has not happened; one that is gone,
//! or holds the old text, says that it has. A write of several files is rolled forward once one of its
//! renames has happened.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::calls::Calls;
use super::journal::{CallId, Entry, EntryFile, Journal};
use super::keeper::{Told, settle};
use super::scribe::Scribe;
use super::temp::TempName;
use super::write::{Displaced, digest_of};
use super::{Digest, RelativePath, Root};
use crate::families::need::{EntryKind, Links};

/// Temp files of a daemon that we do not know may belong to one that lives; older ones do not.
const FOREIGN_AGE: Duration = Duration::from_secs(60);
/// A sweep looks at so many directories at most.
const MOST_DIRECTORIES: usize = 20_000;
/// Entries whose answers may still be asked for.
const ANSWERS_LAST: Duration = Duration::from_secs(24 * 60 * 60);
/// How many of them are kept.
const MOST_ANSWERS: usize = 10_000;

/// What earlier daemons answered to writes, for those who ask again.
#[derive(Debug, Default, PartialEq)]
pub struct Answers {
    /// By the session's number of the request.
    pub by_call: HashMap<CallId, Value>,
    /// By the caller's own name for it.
    pub by_key: HashMap<String, Value>,
}

/// Goes through the journal of earlier daemons.
pub fn recover(scribe: &Scribe, calls: &dyn Calls, told: &Told, now: std::time::SystemTime) -> io::Result<Answers> {
    let journal = scribe.journal();
    let since = now.checked_sub(ANSWERS_LAST).unwrap_or(std::time::UNIX_EPOCH);
    let mut answers = Answers::default();
    for entry in journal.settled(since)? {
        remember(entry, &mut answers);
    }
    let entries = journal.unsettled()?;
    let void: HashSet<&str> = entries.iter().filter_map(|entry| entry.voids.as_deref()).collect();
    let mut happened = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.files.is_empty()) {
        let is_void = entry.files.first().is_some_and(|file| void.contains(file.temp.as_str()));
        let done = Open::all(entry).is_none_or(|files| bring_to_an_end(&files, is_void, journal, calls, told));
        if done && !is_void {
            happened.push(entry.clone());
        }
    }
    happened.into_iter().for_each(|entry| remember(entry, &mut answers));
    journal.settle()?;
    Ok(answers)
}

fn remember(entry: Entry, answers: &mut Answers) {
    if answers.by_call.len() >= MOST_ANSWERS || answers.by_key.len() >= MOST_ANSWERS || entry.files.is_empty() {
        return;
    }
    if let Some(key) = entry.key {
        answers.by_key.insert(key, entry.answer.clone());
    }
    if let Some(call) = entry.call {
        answers.by_call.insert(call, entry.answer);
    }
}

/// A file of an entry, with its directory open.
struct Open<'a> {
    file: &'a EntryFile,
    temp: TempName,
    directory: Arc<OwnedFd>,
    name: String,
}

/// How far the write of one file had come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its rename has not happened.
    Before,
    /// It has; the old text may lie under the temp name.
    After,
}

impl<'a> Open<'a> {
    /// All files of an entry; none if the trees cannot be reached, and then nothing can be wrong in them.
    fn all(entry: &'a Entry) -> Option<Vec<Self>> {
        entry.files.iter().map(Self::new).collect()
    }

    fn new(file: &'a EntryFile) -> Option<Self> {
        let path = RelativePath::parse(&file.path).ok()?;
        let (way, name) = path.way_and_name();
        let mut directory = Root::open(&file.root).ok()?.handle().ok()?;
        for step in way {
            directory = super::confine::step_into(directory.as_fd(), OsStr::new(step)).ok()?;
        }
        let temp = TempName::parse(&file.temp)?;
        Some(Self { file, temp, directory: Arc::new(directory), name: name.to_owned() })
    }

    fn beside(&self) -> Option<Digest> {
        digest_of(&self.directory, self.temp.as_os_str()).ok().flatten()
    }

    fn there(&self) -> Option<Digest> {
        digest_of(&self.directory, OsStr::new(&self.name)).ok().flatten()
    }

    fn stage(&self) -> Stage {
        // An edit that changes nothing has the same bytes on both sides, and both stages are the same.
        if self.beside() == Some(self.file.new) { Stage::Before } else { Stage::After }
    }

    fn is_as_seen(&self) -> bool {
        self.there() == self.file.old
    }

    fn finish(&self, calls: &dyn Calls) -> io::Result<()> {
        let (directory, temp, name) = (self.directory.as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        match self.there() {
            None => calls.place(directory, temp, name)?,
            Some(_) => calls.exchange(directory, temp, name)?,
        }
        calls.flush_directory(directory)
    }

    fn take_back(&self, calls: &dyn Calls) -> io::Result<()> {
        let (directory, temp, name) = (self.directory.as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        if self.there() == Some(self.file.new) {
            match self.file.old {
                Some(old) if self.beside() == Some(old) => calls.exchange(directory, temp, name)?,
                None if self.beside().is_none() => calls.rename(directory, name, temp)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn put_away(&self, journal: &Journal, calls: &dyn Calls, told: &Told) {
        let Some(digest) = self.file.old else { return };
        let displaced = Displaced {
            parent: Arc::clone(&self.directory),
            temp: self.temp.clone(),
            name: self.name.clone().into(),
            digest,
        };
        if let Err(error) = settle(&displaced, journal, calls, told) {
            tracing::warn!(%error, "an old text could not be put away");
        }
    }

    fn remove(&self, calls: &dyn Calls) {
        let _ = calls.remove(self.directory.as_fd(), self.temp.as_os_str());
    }
}

/// Whether the write has happened in the end.
fn bring_to_an_end(files: &[Open<'_>], is_void: bool, journal: &Journal, calls: &dyn Calls, told: &Told) -> bool {
    if is_void {
        for file in files {
            if let Err(error) = file.take_back(calls) {
                tracing::error!(%error, "a file could not be changed back");
            }
            file.remove(calls);
        }
        return false;
    }
    let stages: Vec<Stage> = files.iter().map(Open::stage).collect();
    let begun = stages.contains(&Stage::After);
    if !begun && !files.iter().all(Open::is_as_seen) {
        // Somebody changed a file meanwhile: the call runs again, on what is there now.
        files.iter().for_each(|file| file.remove(calls));
        return false;
    }
    for (file, _) in files.iter().zip(&stages).filter(|(_, stage)| **stage == Stage::Before) {
        if let Err(error) = file.finish(calls) {
            tracing::error!(%error, "a write could not be finished");
        }
    }
    files.iter().for_each(|file| file.put_away(journal, calls, told));
    true
}

/// Removes temp files of earlier daemons wherever something was ever written.
pub fn sweep(scribe: &Scribe, calls: &dyn Calls) {
    for tree in scribe.trees() {
        if let Ok(root) = Root::open(&tree) {
            sweep_tree(&root, scribe, calls);
        }
    }
}

fn sweep_tree(root: &Root, scribe: &Scribe, calls: &dyn Calls) {
    let mut waiting: Vec<Option<RelativePath>> = vec![None];
    let mut looked = 0;
    while let Some(path) = waiting.pop() {
        looked += 1;
        if looked > MOST_DIRECTORIES {
            return;
        }
        let Ok(entries) = root.list(path.as_ref(), Links::Never) else { continue };
        for entry in entries {
            let below =
                path.as_ref().map_or_else(|| RelativePath::parse(&entry.name).ok(), |path| path.join(&entry.name));
            match (entry.kind, below, TempName::parse(&entry.name)) {
                (EntryKind::Directory, Some(below), _) => waiting.push(Some(below)),
                (EntryKind::File, Some(below), Some(temp)) if is_litter(root, &below, &temp, scribe) => {
                    remove(root, path.as_ref(), &temp, calls);
                }
                _ => {}
            }
        }
    }
}

fn is_litter(root: &Root, path: &RelativePath, temp: &TempName, scribe: &Scribe) -> bool {
    if temp.is_of(scribe.id()) {
        return false;
    }
    let is_old = || root.open_file(path, Links::Never).is_ok_and(|file| file.age() >= FOREIGN_AGE);
    scribe.is_of_earlier_daemon(temp) || is_old()
}

fn remove(root: &Root, directory: Option<&RelativePath>, temp: &TempName, calls: &dyn Calls) {
    let Ok(mut handle) = root.handle() else { return };
    for step in directory.into_iter().flat_map(RelativePath::parts) {
        match super::confine::step_into(handle.as_fd(), OsStr::new(step)) {
            Ok(next) => handle = next,
            Err(_) => return,
        }
    }
    let _ = calls.remove(handle.as_fd(), temp.as_os_str());
}
