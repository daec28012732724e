//! The only hand that writes users' files: temps flushed → journal flushed → renames → directories
//! flushed. Then, and only then, a write may be acknowledged.
//!
//! Several files are written all or not at all: if one of them is not what was seen, those that were put
//! in place already change back. Only then the journal is told that nothing happened, and only then the
//! temp files go: whenever we are cut off, what lies on the disk says how far we had come.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dashmap::{DashMap, DashSet};
use parking_lot::Mutex;

use super::alone::Alone;
use super::beside::beside;
use super::calls::Calls;
use super::journal::{CallId, Entry, EntryFile, Journal, Recorded};
use super::keeper::{Keeper, Told};
use super::temp::{DaemonId, TempName};
use super::write::{Displaced, Made, Prepared, Target, Unwritten, make_directories, unmake};
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
/// How often we try to tell the journal that a write did not happen, each time in another lane.
const VOIDS: usize = 3;

/// A file that is to be written.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// Where.
    pub target: Target,
    /// The path of the target's tree.
    pub tree: PathBuf,
    /// What was seen there.
    pub old: Old,
    /// In which state it was then, if that is known.
    pub seen: Option<Identity>,
    /// What was seen, if it is in memory.
    pub held: Option<Bytes>,
    /// What shall be there; none if the file goes.
    pub new: Option<&'a [u8]>,
}

/// A file as it was left: in which state, and with which bytes.
pub type Left = (Identity, Digest);

/// What came of a write.
#[derive(Debug)]
pub struct Written {
    /// How each file was left, as far as it is ours.
    pub left: Vec<Option<Left>>,
    /// What the journal has.
    pub remembered: Option<Remembered>,
}

/// What the journal remembers of a write besides its files.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Which call it was, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    /// What is answered.
    pub answer: Recorded,
}

/// The only hand that writes users' files.
#[derive(Debug)]
pub struct Scribe {
    calls: Arc<dyn Calls>,
    id: DaemonId,
    journal: Arc<Journal>,
    keeper: Keeper,
    ours: DashMap<(u64, u64), Identity>,
    spared: DashSet<String>,
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
        let (ours, spared, noting) = (DashMap::new(), DashSet::new(), Mutex::default());
        Ok(Self { calls, id, journal, keeper, ours, spared, directory, noted, noting })
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

    /// Temp files that a sweep must not touch: they tell what became of a write that nobody could finish.
    pub fn spare(&self, entry: &Entry) {
        for file in &entry.files {
            self.spared.insert(file.temp.clone());
        }
    }

    /// Whether a sweep must not touch it.
    pub fn is_spared(&self, temp: &TempName) -> bool {
        self.spared.contains(temp.as_str())
    }

    /// Writes all of the files, or none. The directories are there afterwards, too. [`Unwritten::Moved`]: one of the
    /// files is not what was seen. What is to be remembered is computed while the disk works. What nobody will ask for
    /// again is not remembered: a crash leaves the old text or the new one, and nobody to tell which.
    pub fn write(
        &self,
        files: &[Wanted],
        directories: &[Target],
        remember: Option<&(dyn Fn() -> Remembered + Sync)>,
        umask: u32,
    ) -> Result<Written, Unwritten> {
        for wanted in files {
            self.note(&wanted.tree)?;
            self.let_editors_finish(&wanted.target, wanted.old);
        }
        let mut made = MadeForNow { calls: self.calls.as_ref(), made: Vec::new() };
        for directory in directories {
            made.made.extend(make_directories(self.calls.as_ref(), directory, umask)?);
        }
        let mut all = All(Vec::with_capacity(files.len()));
        for wanted in files {
            let temp = self.id.name();
            all.0.push(Prepared::new(&self.calls, &wanted.target, (wanted.old, wanted.seen), wanted.new, temp, umask)?);
        }
        let digests = || files.iter().zip(&all.0).map(|(wanted, prepared)| prepared.digest_of(wanted.new)).collect();
        let flushed = || all.0.iter().try_for_each(Prepared::make_safe);
        let size = size(files);
        let remembered = || remember.map(|remember| remember());
        let (remembered, (digests, flushed)): (_, (Vec<Digest>, _)) =
            beside(size, remembered, || beside(size, digests, flushed));
        flushed?;
        all.0.iter_mut().zip(digests).for_each(|(prepared, digest)| prepared.note_digest(digest));
        let room = remembered.as_ref().map(|remembered| self.journal.make_room(&entry(files, &all.0, remembered)));
        let room = room.transpose()?;
        let is_remembered = room.is_some();
        let written = room.map_or(Ok(()), |room| self.journal.add(room)).map_err(Unwritten::from);
        match written.and_then(|()| put_in_place(files, &mut all.0)) {
            Ok(displaced) => {
                made.made.clear();
                displaced.into_iter().for_each(|displaced| self.keeper.keep(displaced));
                let left = files.iter().zip(&all.0);
                let left = left.map(|(wanted, prepared)| Some((self.recognise(wanted)?, prepared.digest())));
                Ok(Written { left: left.collect(), remembered })
            }
            Err(why) => Err(self.call_off(all, why, is_remembered)),
        }
    }

    /// Takes everything back. A journal that has the entry, or may have it although its flush failed, must
    /// know before the temp files are gone: else the write would look done.
    fn call_off(&self, mut all: All, why: Unwritten, is_remembered: bool) -> Unwritten {
        all.0.iter_mut().rev().for_each(Prepared::take_back);
        let void = all.0.first().map(|first| Entry::void(first.temp().as_str()));
        let is_known =
            || !is_remembered || void.is_some_and(|void| (0..VOIDS).any(|_| self.journal.append(&void).is_ok()));
        if !all.0.iter().all(Prepared::is_undone) || !is_known() {
            tracing::error!("a write could neither be finished nor taken back; the next start decides");
            all.0.iter_mut().for_each(Prepared::leave);
            return Unwritten::Unknown;
        }
        while let Some(prepared) = all.0.pop() {
            prepared.taken_back().into_iter().for_each(|displaced| self.keeper.keep(displaced));
        }
        why
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
        let mut lines: Vec<String> = self.noted.iter().map(|tree| tree.display().to_string()).collect();
        lines.push(tree.display().to_string());
        lines.sort();
        lines.dedup();
        own::replace(&self.directory.join(TREES), lines.join("\n").as_bytes())?;
        // Only now: another writer in this tree must not go on before it is noted.
        self.noted.insert(tree.to_owned());
        Ok(())
    }

    /// Some editors empty a file and then write it. One that is empty or very young, and not our own
    /// work, gets a moment.
    pub fn let_editors_finish(&self, target: &Target, old: Old) {
        if old == Old::Absent {
            return;
        }
        for _ in 0..BREATHS {
            let Ok(file) = target.root.open_file(&target.path, target.links) else { return };
            let identity = file.identity();
            let key = (identity.device, identity.inode);
            let is_ours = self.ours.get(&key).is_some_and(|ours| *ours == identity);
            if is_ours || (identity.size > 0 && file.age() >= YOUNG) {
                return;
            }
            std::thread::sleep(BREATH);
        }
    }

    fn recognise(&self, wanted: &Wanted) -> Option<Identity> {
        if self.ours.len() > MOST_OURS {
            self.ours.clear();
        }
        wanted.new?;
        let identity = wanted.target.root.open_file(&wanted.target.path, wanted.target.links).ok()?.identity();
        self.ours.insert((identity.device, identity.inode), identity);
        Some(identity)
    }
}

/// Directories that go again, unless the write that wanted them comes to its end.
struct MadeForNow<'a> {
    calls: &'a dyn Calls,
    made: Made,
}

impl Drop for MadeForNow<'_> {
    fn drop(&mut self) {
        unmake(&self.made, self.calls);
    }
}

/// The prepared texts of one write. Dropped innermost first, so that directories made on the way are empty
/// when it is their turn.
#[derive(Debug)]
struct All(Vec<Prepared>);

impl Drop for All {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

fn are_expected(prepared: &[Prepared]) -> Result<(), Unwritten> {
    for prepared in prepared {
        if !prepared.is_expected()? {
            return Err(Unwritten::Moved);
        }
    }
    Ok(())
}

/// All renames, then all flushes; and a last look whether it is still the user's tree in which we wrote.
fn put_in_place(files: &[Wanted], prepared: &mut [Prepared]) -> Result<Vec<Displaced>, Unwritten> {
    {
        let _alone = Alone::in_trees(files.iter().map(|wanted| wanted.target.root.as_ref()));
        are_expected(prepared)?;
        prepared.iter_mut().try_for_each(Prepared::apply)?;
    }
    let prepared = &*prepared;
    let displaced = || {
        let each = files.iter().zip(prepared);
        each.filter_map(|(wanted, prepared)| prepared.displaced(wanted.held.as_deref()).transpose()).collect()
    };
    let flushed = || {
        for (Wanted { target, tree, .. }, prepared) in files.iter().zip(prepared) {
            prepared.flush()?;
            if !target.root.is_at(tree).unwrap_or(false) || !prepared.is_on_the_way(target).unwrap_or(false) {
                return Err(Unwritten::Moved);
            }
        }
        Ok(())
    };
    let (displaced, flushed): (Result<_, _>, _) = beside(size(files), displaced, flushed);
    let displaced = displaced?;
    flushed.map(|()| displaced)
}

/// How many bytes are written.
fn size(files: &[Wanted]) -> usize {
    files.iter().filter_map(|wanted| wanted.new).map(<[u8]>::len).sum()
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
        new: prepared.digest(),
        removes: prepared.removes(),
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
