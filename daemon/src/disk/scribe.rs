//! The only hand that writes users' files: temps flushed → journal flushed → renames → directories
//! flushed. Then, and only then, a write may be acknowledged.
//!
//! Several files are written all or not at all: if one of them is not what was seen, those that were put
//! in place already change back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dashmap::{DashMap, DashSet};
use parking_lot::Mutex;
use serde_json::Value;

use super::calls::Calls;
use super::journal::{CallId, Entry, EntryFile, Journal};
use super::keeper::{Keeper, Told};
use super::temp::{DaemonId, TempName};
use super::write::{Displaced, Prepared, Target, Unwritten};
use super::{Digest, Identity, own};
use crate::clock;
use crate::families::edit::Old;

/// A file younger than this may be half-written by an editor that truncates and writes.
const YOUNG: Duration = Duration::from_millis(30);
/// How long we wait before we look at it again, and how often.
const BREATH: Duration = Duration::from_millis(10);
const BREATHS: u32 = 5;
/// How many of our own files we recognise at most.
const MOST_OURS: usize = 4096;

/// The file with the paths of the trees in which something was ever written.
const TREES: &str = "trees";
/// The file with the ids of the daemons that used this journal.
const DAEMONS: &str = "daemons";
/// How many of them are remembered.
const MOST_DAEMONS: usize = 1000;

/// A file that is to be written.
#[derive(Debug)]
pub struct Wanted {
    /// Where.
    pub target: Target,
    /// The path of the target's tree.
    pub tree: PathBuf,
    /// What was seen there.
    pub old: Old,
    /// What shall be there.
    pub new: Vec<u8>,
}

/// What the journal remembers of a write besides its files.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Which call it was, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    /// What is answered.
    pub answer: Value,
}

/// The only hand that writes users' files.
#[derive(Debug)]
pub struct Scribe {
    calls: Arc<dyn Calls>,
    id: DaemonId,
    journal: Arc<Journal>,
    keeper: Keeper,
    ours: DashMap<(u64, u64), Identity>,
    directory: PathBuf,
    noted: DashSet<PathBuf>,
    noting: Mutex<()>,
}

impl Scribe {
    /// A scribe whose journal is in this directory.
    pub fn new(directory: &Path, id: DaemonId, calls: Arc<dyn Calls>, told: Arc<Told>) -> io::Result<Self> {
        let journal = Arc::new(Journal::open(directory, &id.to_string(), Arc::clone(&calls))?);
        remember_daemon(directory, id)?;
        let keeper = Keeper::start(Arc::clone(&journal), Arc::clone(&calls), told)?;
        let directory = directory.to_owned();
        let noted = own::read(&directory.join(TREES)).unwrap_or_default().lines().map(PathBuf::from).collect();
        let (ours, noting) = (DashMap::new(), Mutex::default());
        Ok(Self { calls, id, journal, keeper, ours, directory, noted, noting })
    }

    /// Whether a temp file is one of an earlier daemon of this journal.
    pub fn is_of_earlier_daemon(&self, temp: &TempName) -> bool {
        let daemons = own::read(&self.directory.join(DAEMONS)).unwrap_or_default();
        !temp.is_of(self.id) && daemons.lines().any(|id| temp.as_str().contains(&format!("-{id}-")))
    }

    /// What was done before, and for whom.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Which daemon's temp files are ours.
    pub fn id(&self) -> DaemonId {
        self.id
    }

    /// Trees in which something was ever written: where temp files may lie after a crash.
    pub fn trees(&self) -> Vec<PathBuf> {
        self.noted.iter().map(|tree| tree.clone()).collect()
    }

    /// Writes all of the files, or none. [`Unwritten::Moved`]: one of them is not what was seen.
    pub fn write(&self, files: &[Wanted], remembered: &Remembered, umask: u32) -> Result<(), Unwritten> {
        for wanted in files {
            self.note(&wanted.tree)?;
            self.let_editors_finish(wanted);
        }
        let mut prepared = Vec::with_capacity(files.len());
        for wanted in files {
            let temp = self.id.name();
            prepared.push(Prepared::new(&self.calls, &wanted.target, wanted.old, &wanted.new, temp, umask)?);
        }
        for prepared in &prepared {
            if !prepared.is_expected()? {
                return Err(Unwritten::Moved);
            }
        }
        self.journal.append(&entry(files, &prepared, remembered))?;
        let displaced = self.apply(&mut prepared)?;
        prepared.iter().try_for_each(Prepared::flush)?;
        for wanted in files {
            self.recognise(wanted);
        }
        displaced.into_iter().for_each(|displaced| self.keeper.keep(displaced));
        Ok(())
    }

    fn apply(&self, prepared: &mut [Prepared]) -> Result<Vec<Displaced>, Unwritten> {
        let mut displaced = Vec::new();
        for place in 0..prepared.len() {
            match prepared[place].apply() {
                Ok(old) => displaced.extend(old),
                Err(error) => {
                    // The journal must know before the temp files are gone: else it would look done.
                    self.journal.append(&void(prepared[0].temp().as_str()))?;
                    prepared[..place].iter_mut().rev().for_each(Prepared::take_back);
                    return Err(error);
                }
            }
        }
        Ok(displaced)
    }

    /// Finishes what is still in our charge; nothing is written afterwards.
    pub fn finish(&self) {
        self.keeper.finish();
    }

    /// Before the first write in a tree, its path is noted: a sweep must find what a crash leaves there.
    fn note(&self, tree: &Path) -> io::Result<()> {
        if self.noted.contains(tree) {
            return Ok(());
        }
        let _one = self.noting.lock();
        self.noted.insert(tree.to_owned());
        let mut lines: Vec<String> = self.noted.iter().map(|tree| tree.display().to_string()).collect();
        lines.sort();
        own::replace(&self.directory.join(TREES), lines.join("\n").as_bytes())
    }

    /// Some editors empty a file and then write it. One that is empty or very young, and not our own
    /// work, gets a moment.
    fn let_editors_finish(&self, wanted: &Wanted) {
        if wanted.old == Old::Absent {
            return;
        }
        for _ in 0..BREATHS {
            let Ok(file) = wanted.target.root.open_file(&wanted.target.path, wanted.target.links) else { return };
            let identity = file.identity();
            let key = (identity.device, identity.inode);
            let is_ours = self.ours.get(&key).is_some_and(|ours| *ours == identity);
            if is_ours || (identity.size > 0 && file.age() >= YOUNG) {
                return;
            }
            std::thread::sleep(BREATH);
        }
    }

    fn recognise(&self, wanted: &Wanted) {
        if self.ours.len() > MOST_OURS {
            self.ours.clear();
        }
        if let Ok(file) = wanted.target.root.open_file(&wanted.target.path, wanted.target.links) {
            let identity = file.identity();
            self.ours.insert((identity.device, identity.inode), identity);
        }
    }
}

/// Daemons are known by their ids: temp files of earlier ones may be removed at once.
fn remember_daemon(directory: &Path, id: DaemonId) -> io::Result<()> {
    let path = directory.join(DAEMONS);
    let known = own::read(&path).unwrap_or_default();
    let mut ids: Vec<String> = known.lines().map(str::to_owned).chain([id.to_string()]).collect();
    let old = ids.len().saturating_sub(MOST_DAEMONS);
    ids.drain(..old);
    own::replace(&path, ids.join("\n").as_bytes())
}

fn entry(files: &[Wanted], prepared: &[Prepared], remembered: &Remembered) -> Entry {
    let file = |(wanted, prepared): (&Wanted, &Prepared)| EntryFile {
        root: wanted.tree.clone(),
        path: wanted.target.path.as_str().to_owned(),
        temp: prepared.temp().as_str().to_owned(),
        old: match wanted.old {
            Old::Absent => None,
            Old::Content(digest) => Some(digest),
        },
        new: Digest::of(&wanted.new),
    };
    Entry {
        call: remembered.call.clone(),
        key: remembered.key.clone(),
        at: clock::milliseconds(),
        answer: remembered.answer.clone(),
        files: files.iter().zip(prepared).map(file).collect(),
        voids: None,
    }
}

/// The write with this temp file did not happen after all.
fn void(temp: &str) -> Entry {
    let voids = Some(temp.to_owned());
    Entry { call: None, key: None, at: clock::milliseconds(), answer: Value::Null, files: Vec::new(), voids }
}
