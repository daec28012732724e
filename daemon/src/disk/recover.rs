//! After a crash: finishes what was begun, takes back what was void, and removes what was left lying.
//!
//! A temp file that still holds the new text says that its rename has not happened; one that is gone,
//! or holds the old text, says that it has. A write of several files is rolled forward once one of its
//! renames has happened, or back if somebody has changed the others since: it was never acknowledged.
//! Being cut off here does no harm; the next one goes through the same again.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::alone::Alone;
use super::calls::{self, Calls, is_unsupported};
use super::journal::{Entry, EntryFile};
use super::keeper::{Told, settle};
use super::scribe::Scribe;
use super::temp::{DaemonId, TempName};
use super::write::{Displaced, Unwritten, Whose, digest_of};
use super::{Digest, RelativePath, Root};
use crate::clock;
use crate::families::need::{EntryKind, Links, Unseen};

/// Temp files of a daemon that we do not know may belong to one that lives; older ones do not.
const FOREIGN_AGE: Duration = Duration::from_secs(60);
/// A sweep looks at so many directories at most.
const MOST_DIRECTORIES: usize = 20_000;
/// Entries whose answers may still be asked for.
const ANSWERS_LAST: Duration = Duration::from_secs(24 * 60 * 60);
/// A write that could not be brought to an end is not tried for ever.
const TRIED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long the journal remembers.
const JOURNAL_DAYS: u64 = 30;
/// How much it remembers.
const JOURNAL_BYTES: u64 = 256 << 20;

/// What became of the writes of earlier daemons, for those who ask again. Oldest first.
#[derive(Debug, Default)]
pub struct Recovered {
    /// They have happened, with the answer that they have.
    pub happened: Vec<Entry>,
    /// Nobody can tell: the files cannot be reached.
    pub unknown: Vec<Entry>,
}

/// Opens the journal in a directory and brings to an end what earlier daemons had begun.
pub fn take_up(
    directory: &Path,
    calls: &Arc<dyn Calls>,
    told: &Arc<Told>,
    now: SystemTime,
) -> io::Result<(Scribe, Recovered)> {
    let scribe = Scribe::new(directory, DaemonId::new(), Arc::clone(calls), Arc::clone(told))?;
    let recovered = recover(&scribe, calls.as_ref(), told.as_ref(), now)?;
    scribe.journal().prune(now, JOURNAL_DAYS, JOURNAL_BYTES)?;
    Ok((scribe, recovered))
}

/// Goes through the journal of earlier daemons.
fn recover(scribe: &Scribe, calls: &dyn Calls, told: &Told, now: SystemTime) -> io::Result<Recovered> {
    let journal = scribe.journal();
    let since = now.checked_sub(ANSWERS_LAST).unwrap_or(std::time::UNIX_EPOCH);
    let settled = journal.settled(since)?;
    let unsettled = journal.unsettled()?;
    let voids = settled.iter().chain(&unsettled).filter_map(|entry| entry.voids.clone());
    let void: HashSet<String> = voids.collect();
    let is_void = |entry: &Entry| entry.name().is_none_or(|name| void.contains(name));
    // One that could not be brought to an end stands in the journal again.
    let again: HashSet<&str> = unsettled.iter().filter_map(Entry::name).collect();
    let is_done = |entry: &Entry| !is_void(entry) && entry.name().is_none_or(|name| !again.contains(name));
    let mut recovered = Recovered { happened: settled.into_iter().filter(is_done).collect(), ..Recovered::default() };
    let mut hand = Hand { scribe, calls, told, now: clock::milliseconds(), flushed: HashSet::new() };
    let mut may_settle = true;
    for entry in unsettled.iter().filter(|entry| entry.name().is_some()) {
        let end = hand.bring_to_an_end(entry, is_void(entry)).unwrap_or_else(|error| {
            tracing::error!(?error, "a write of an earlier daemon could not be brought to an end");
            scribe.spare(entry);
            may_settle &= journal.append(entry).is_ok();
            End::Unknown
        });
        match end {
            End::Happened => recovered.happened.push(entry.clone()),
            End::Nothing => {}
            End::Unknown => recovered.unknown.push(entry.clone()),
        }
    }
    // What could not be told to our own journal must stay in the old one; the rest comes to the same end again.
    if may_settle {
        journal.settle()?;
    }
    Ok(recovered)
}

/// How a write ended.
enum End {
    Happened,
    Nothing,
    Unknown,
}

/// What recovery takes.
struct Hand<'a> {
    scribe: &'a Scribe,
    calls: &'a dyn Calls,
    told: &'a Told,
    now: i64,
    /// Directories that have been flushed already.
    flushed: HashSet<(u64, u64)>,
}

/// A file of an entry, with the directories on its way open, innermost last.
struct Open<'a> {
    file: &'a EntryFile,
    root: Root,
    temp: TempName,
    way: Vec<Arc<OwnedFd>>,
    name: String,
    stage: Stage,
}

/// How far the write of one file had come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its rename has not happened.
    Before,
    /// It has; the old text may lie under the temp name.
    After,
    /// The old and the new text are the same: nobody can tell, and nobody needs to.
    Same,
}

impl<'a> Open<'a> {
    /// [`Unseen::Missing`]: there is no such directory any more, so nothing can lie in it.
    fn new(file: &'a EntryFile) -> Result<Self, Unwritten> {
        let path = RelativePath::of_names(&file.path).ok_or(Unseen::Missing)?;
        let temp = TempName::parse(&file.temp).ok_or(Unseen::Missing)?;
        let (steps, name) = path.way_and_name();
        let root = Root::open(&file.root)?;
        let mut way = vec![Arc::new(root.handle()?)];
        for step in steps {
            let next = super::confine::step_into(way[way.len() - 1].as_fd(), OsStr::new(step))?;
            way.push(Arc::new(next));
        }
        let mut open = Self { file, root, temp, way, name: name.to_owned(), stage: Stage::Same };
        open.stage = open.look()?;
        Ok(open)
    }

    fn directory(&self) -> &Arc<OwnedFd> {
        &self.way[self.way.len() - 1]
    }

    fn beside(&self) -> Result<Option<Digest>, Unwritten> {
        digest_of(self.directory(), self.temp.as_os_str())
    }

    fn there(&self) -> Result<Option<Digest>, Unwritten> {
        digest_of(self.directory(), OsStr::new(&self.name))
    }

    fn look(&self) -> Result<Stage, Unwritten> {
        if self.file.old == Some(self.file.new) {
            return Ok(Stage::Same);
        }
        let is_before = self.beside()? == Some(self.file.new) && !self.is_linked();
        Ok(if is_before { Stage::Before } else { Stage::After })
    }

    /// Where a new file cannot be renamed into place it gets a second name, and then loses the first.
    fn is_linked(&self) -> bool {
        let number = |name: &OsStr| {
            let file = super::confine::open_here(self.directory().as_fd(), name).ok()?;
            let metadata = std::fs::File::from(file).metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        };
        let there = number(OsStr::new(&self.name));
        there.is_some() && there == number(self.temp.as_os_str())
    }

    fn is_as_seen(&self) -> Result<bool, Unwritten> {
        Ok(self.there()? == self.file.old)
    }

    /// Whether it could change back as if nothing had happened.
    fn can_be_taken_back(&self) -> Result<bool, Unwritten> {
        let (beside, there) = (self.beside()?, self.there()?);
        if self.file.removes {
            return Ok(there.is_none() && beside == self.file.old);
        }
        Ok(there == Some(self.file.new) && (beside == self.file.old || self.is_linked()))
    }

    /// Puts the new text in place. With `Ok(false)` somebody else was there first, and is there still.
    fn finish(&self, calls: &dyn Calls) -> Result<bool, Unwritten> {
        let (directory, temp, name) = (self.directory().as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        let Some(old) = self.file.old else {
            return match calls::appear(calls, directory, temp, name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                done => Ok(done.map(|()| true)?),
            };
        };
        let done =
            if self.file.removes { calls.rename(directory, name, temp) } else { calls.exchange(directory, temp, name) };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) if is_unsupported(&error) => {
                // The old file stays under another name of ours, for the sweep.
                calls.link(directory, name, self.temp.twin().as_os_str())?;
                return Ok(calls.rename(directory, temp, name).map(|()| true)?);
            }
            done => done?,
        }
        if matches!(self.beside(), Ok(Some(digest)) if digest == old) {
            return Ok(true);
        }
        self.take_back(calls)?;
        Ok(false)
    }

    /// The same, whoever is there: what is displaced becomes a conflict copy.
    fn insist(&self, calls: &dyn Calls) -> Result<(), Unwritten> {
        let (directory, temp, name) = (self.directory().as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        match self.there()? {
            // What marks the place is swept.
            None if self.file.removes => {}
            Some(_) if self.file.removes => calls.rename(directory, name, temp)?,
            None => calls::appear(calls, directory, temp, name)?,
            Some(_) => calls.exchange(directory, temp, name)?,
        }
        Ok(())
    }

    fn take_back(&self, calls: &dyn Calls) -> Result<(), Unwritten> {
        let (directory, temp, name) = (self.directory().as_fd(), self.temp.as_os_str(), OsStr::new(&self.name));
        match self.file.old {
            Some(_) if self.file.removes => calls::appear(calls, directory, temp, name)?,
            Some(_) => calls.exchange(directory, temp, name)?,
            None => calls.rename(directory, name, temp)?,
        }
        Ok(())
    }

    /// What lies under the temp name in the end goes where it belongs.
    fn tidy(&self, hand: &Hand<'_>) -> Result<(), Unwritten> {
        let (digest, whose) = match (self.beside()?, self.file.old) {
            (None, _) => return Ok(()),
            (Some(beside), Some(old)) if beside == old => (old, Whose::Old),
            // Anything but the new text is somebody's words.
            _ => (self.file.new, Whose::Ours),
        };
        let (parent, temp, name) = (Arc::clone(self.directory()), self.temp.clone(), self.name.clone().into());
        let displaced = Displaced { parent, temp, name, digest, whose, made: Vec::new() };
        Ok(settle(&displaced, hand.scribe.journal(), hand.calls, hand.told)?)
    }
}

impl Hand<'_> {
    /// An error means that the next daemon may try again.
    fn bring_to_an_end(&mut self, entry: &Entry, is_void: bool) -> Result<End, Unwritten> {
        let (mut files, mut missing) = (Vec::new(), false);
        for file in &entry.files {
            match Open::new(file) {
                Ok(open) => files.push(open),
                Err(Unwritten::Unseen(Unseen::Missing | Unseen::NoTree)) => missing = true,
                Err(_) if entry.at < self.now - TRIED_FOR.as_millis() as i64 => missing = true,
                Err(error) => return Err(error),
            }
        }
        let _alone = Alone::in_trees(files.iter().map(|file| &file.root));
        let end = match () {
            () if is_void => self.void(&files)?,
            () if missing => rest(&files),
            () => self.end(&files)?,
        };
        match end {
            End::Happened => self.flush(&files)?,
            // Told before the temp files go: one that is gone would look like a rename.
            End::Nothing | End::Unknown if !is_void => {
                self.scribe.journal().append(&Entry::void(entry.name().unwrap_or_default()))?;
            }
            End::Nothing | End::Unknown => {}
        }
        if let Err(error) = files.iter().try_for_each(|file| file.tidy(self)) {
            // The end is the same; what lies under a temp name may be somebody's words and waits for the next daemon.
            tracing::warn!(?error, "an old text could not be put away");
            self.scribe.spare(entry);
            self.scribe.journal().append(entry)?;
        }
        Ok(end)
    }

    /// It did not happen. What of it reached the disk although it was taken back goes back now; where no temp
    /// file lies any more, whatever is there is somebody else's work.
    fn void(&self, files: &[Open<'_>]) -> Result<End, Unwritten> {
        for file in files {
            if file.file.old.is_some() && file.stage == Stage::After && file.can_be_taken_back()? {
                file.take_back(self.calls)?;
            }
        }
        Ok(End::Nothing)
    }

    fn end(&self, files: &[Open<'_>]) -> Result<End, Unwritten> {
        let (before, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.stage == Stage::Before);
        let after: Vec<&Open<'_>> = others.into_iter().filter(|file| file.stage == Stage::After).collect();
        let happened = self.forward(&before)? || !self.back(&after, &before)?;
        Ok(if happened { End::Happened } else { End::Nothing })
    }

    /// Finishes what is before its rename, if all of it is as it was seen. Else nothing of it is done.
    fn forward(&self, before: &[&Open<'_>]) -> Result<bool, Unwritten> {
        for file in before {
            if !file.is_as_seen()? {
                return Ok(false);
            }
        }
        for (place, file) in before.iter().enumerate() {
            if !file.finish(self.calls)? {
                for done in &before[..place] {
                    done.take_back(self.calls)?;
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Somebody has changed a file since: the write never happened, and the call runs again on what is there
    /// now. If it cannot be taken back, it is rolled forward all the same.
    fn back(&self, after: &[&Open<'_>], before: &[&Open<'_>]) -> Result<bool, Unwritten> {
        for file in after {
            if !file.can_be_taken_back()? {
                before.iter().try_for_each(|file| file.insist(self.calls))?;
                return Ok(false);
            }
        }
        after.iter().try_for_each(|file| file.take_back(self.calls))?;
        Ok(true)
    }

    /// The answer will be given again: what it says must last.
    fn flush(&mut self, files: &[Open<'_>]) -> Result<(), Unwritten> {
        for directory in files.iter().flat_map(|file| &file.way).rev() {
            let stat = rustix::fs::fstat(directory).map_err(io::Error::from)?;
            if self.flushed.insert((stat.st_dev, stat.st_ino)) {
                self.calls.flush_directory(directory.as_fd())?;
            }
        }
        Ok(())
    }
}

/// A directory of a write is gone, with whatever was in it: the other files stay as they are.
fn rest(files: &[Open<'_>]) -> End {
    if files.iter().any(|file| file.stage == Stage::After) { End::Happened } else { End::Unknown }
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
                path.as_ref().map_or_else(|| RelativePath::of_names(&entry.name), |path| path.join(&entry.name));
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
    if temp.is_of(scribe.id()) || scribe.is_spared(temp) {
        return false;
    }
    // Since its last rename: a displaced text is as old as it was under its own name.
    let now = i128::from(clock::milliseconds()) * 1_000_000;
    let since = now - FOREIGN_AGE.as_nanos() as i128;
    let is_old = || root.open_file(path, Links::Never).is_ok_and(|file| file.identity().changed_ns < since);
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
