//! An implementation of [`WriteSyscalls`] that makes every call and records it as events of the disk model.
//!
//! Files and directories are recognised by device and inode, so that it does not matter where temp files lie. What
//! changes in the state directory by other calls is found by comparing the disk with the model before each call; in
//! the user's project nothing may.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trellisd::disk::syscalls::{NameIn, OsSyscalls, WriteSyscalls};

use super::crash::{CallEvent, Event, Fate, OutsideChange, apply};
use super::image::{BASE, Image, Node, NodeId, Place};
use super::materialise::{FileNumber, join, list, number, scan};

/// Which call fails with an I/O error, once, so that a write is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailingCall {
    None,
    /// The exchange of the second of two files.
    SecondExchange,
    /// The flush of the first directory of the user's after the renames.
    UserDirectory,
}

/// Where the user's files are, below the base.
const PROJECT: &str = "project";

/// Records what is done below a base directory.
#[derive(Debug)]
pub(crate) struct Recorder {
    base: PathBuf,
    failing: FailingCall,
    log: Mutex<Log>,
}

/// What was recorded.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) before: Image,
    pub(crate) events: Vec<Event>,
}

#[derive(Debug)]
struct Log {
    before: Image,
    events: Vec<Event>,
    /// What the system shows now, whatever of it is on the disk.
    view: Image,
    nodes: HashMap<FileNumber, NodeId>,
    exchanges: usize,
    has_failed: bool,
}

impl Recorder {
    /// Whatever is there now counts as flushed.
    pub(crate) fn new(base: &Path, failing: FailingCall) -> Self {
        let (view, nodes) = scan(base);
        let (before, events) = (view.clone(), Vec::new());
        let log = Mutex::new(Log { before, events, view, nodes, exchanges: 0, has_failed: false });
        Self { base: base.to_owned(), failing, log }
    }

    /// Records what a caller does or hears.
    pub(crate) fn note(&self, call: u64, what: CallEvent) {
        self.log().push(Event::Call(call, what));
    }

    pub(crate) fn finish(&self) -> Recording {
        let log = self.log();
        Recording { before: log.before.clone(), events: log.events.clone() }
    }

    /// The log, after it has learnt of what others did.
    fn log(&self) -> MutexGuard<'_, Log> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = Vec::new();
        log.compare(&self.base, BASE, "", &mut changes);
        if !changes.is_empty() {
            log.push(Event::Outside(changes));
        }
        log
    }

    /// Whether a call is the one that shall fail.
    fn fails(&self, log: &mut Log, is_meant: impl FnOnce(&mut Log) -> bool) -> io::Result<()> {
        if !log.has_failed && is_meant(log) {
            log.has_failed = true;
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }

    fn moves(&self, from: NameIn<'_>, to: NameIn<'_>, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut log = self.log();
        let (from, to) = (log.place(from), log.place(to));
        call()?;
        let node = log.view.at(&from);
        log.push(Event::Names(vec![(from, None), (to, node)]));
        Ok(())
    }

    fn exchanges(&self, one: NameIn<'_>, other: NameIn<'_>, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut log = self.log();
        log.exchanges += 1;
        self.fails(&mut log, |log| self.failing == FailingCall::SecondExchange && log.exchanges == 2)?;
        let (one, other) = (log.place(one), log.place(other));
        call()?;
        let (first, second) = (log.view.at(&one), log.view.at(&other));
        log.push(Event::Names(vec![(one, second), (other, first)]));
        Ok(())
    }

    fn takes(&self, name: NameIn<'_>, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut log = self.log();
        let place = log.place(name);
        call()?;
        log.push(Event::Names(vec![(place, None)]));
        Ok(())
    }

    /// Without an offset, what is written is appended.
    fn writes(&self, file: &File, bytes: &[u8], offset: Option<u64>) -> io::Result<()> {
        let mut log = self.log();
        let node = log.node(file);
        match offset {
            Some(offset) => OsSyscalls.write_at(file, bytes, offset)?,
            None => OsSyscalls.write(file, bytes)?,
        }
        let offset = offset.map_or_else(|| log.view.bytes(node).len(), |offset| offset as usize);
        log.push(Event::Data { file: node, offset, bytes: Arc::new(bytes.to_vec()) });
        Ok(())
    }

    fn syncs(&self, file: &File, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut log = self.log();
        let node = log.node(file);
        call()?;
        log.push(Event::SyncFile(node));
        Ok(())
    }
}

impl WriteSyscalls for Recorder {
    fn create(&self, directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File> {
        let mut log = self.log();
        let place = log.place(NameIn::new(directory, name));
        let file = OsSyscalls.create(directory, name, mode)?;
        let node = log.make(Node::empty_file(), number(&file.metadata()?));
        log.push(Event::Names(vec![(place, Some(node))]));
        Ok(file)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        self.writes(file, bytes, None)
    }

    fn write_at(&self, file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
        self.writes(file, bytes, Some(place))
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        OsSyscalls.set_mode(file, mode)
    }

    fn fsync(&self, file: &File) -> io::Result<()> {
        self.syncs(file, || OsSyscalls.fsync(file))
    }

    fn fdatasync(&self, file: &File) -> io::Result<()> {
        self.syncs(file, || OsSyscalls.fdatasync(file))
    }

    fn fsync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        let mut log = self.log();
        let node = log.node(directory);
        self.fails(&mut log, |log| self.failing == FailingCall::UserDirectory && log.is_users(node))?;
        OsSyscalls.fsync_directory(directory)?;
        log.push(Event::SyncDirectory(node));
        Ok(())
    }

    fn exchange(&self, one: NameIn<'_>, other: NameIn<'_>) -> io::Result<()> {
        self.exchanges(one, other, || OsSyscalls.exchange(one, other))
    }

    fn rename_noreplace(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        self.moves(from, to, || OsSyscalls.rename_noreplace(from, to))
    }

    fn rename(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        self.moves(from, to, || OsSyscalls.rename(from, to))
    }

    fn link(&self, from: NameIn<'_>, to: NameIn<'_>) -> io::Result<()> {
        let mut log = self.log();
        let (from_place, to_place) = (log.place(from), log.place(to));
        OsSyscalls.link(from, to)?;
        let node = log.view.at(&from_place);
        log.push(Event::Names(vec![(to_place, node)]));
        Ok(())
    }

    fn rename_out(&self, directory: BorrowedFd<'_>, from: &OsStr, to: &Path) -> io::Result<()> {
        let (parent, name) = (to.parent().expect("a directory"), to.file_name().expect("a name"));
        let parent = File::open(parent)?;
        self.moves(NameIn::new(directory, from), NameIn::new(parent.as_fd(), name), || {
            OsSyscalls.rename_out(directory, from, to)
        })
    }

    fn remove(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.takes(NameIn::new(directory, name), || OsSyscalls.remove(directory, name))
    }

    fn make_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        let mut log = self.log();
        let place = log.place(NameIn::new(directory, name));
        OsSyscalls.make_directory(directory, name)?;
        let stat = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
        let node = log.make(Node::empty_directory(), (stat.st_dev, stat.st_ino));
        log.push(Event::Names(vec![(place, Some(node))]));
        Ok(())
    }

    fn remove_directory(&self, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        self.takes(NameIn::new(directory, name), || OsSyscalls.remove_directory(directory, name))
    }
}

impl Log {
    fn push(&mut self, event: Event) {
        apply(&mut self.view, &event, self.events.len(), Fate::Whole);
        self.events.push(event);
    }

    /// The system gives the number of a file that is gone to another one: the newest counts.
    fn make(&mut self, node: Node, number: FileNumber) -> NodeId {
        let id = self.view.count();
        self.push(Event::Made(node));
        self.nodes.insert(number, id);
        id
    }

    fn node(&self, file: impl AsFd) -> NodeId {
        let stat = rustix::fs::fstat(file).expect("an open file");
        *self.nodes.get(&(stat.st_dev, stat.st_ino)).expect("a file below the base")
    }

    fn place(&self, NameIn { directory, name }: NameIn<'_>) -> Place {
        (self.node(directory), name.to_str().expect("a name of ours").to_owned())
    }

    /// Whether a directory is in the user's project.
    fn is_users(&self, directory: NodeId) -> bool {
        let mut waiting: Vec<NodeId> = self.view.at(&(BASE, PROJECT.to_owned())).into_iter().collect();
        while let Some(next) = waiting.pop() {
            if next == directory {
                return true;
            }
            waiting.extend(self.view.names(next).values().filter(|node| self.view.is_directory(**node)));
        }
        false
    }

    /// Finds what is on the disk and did not come through the recorded calls.
    fn compare(&mut self, base: &Path, directory: NodeId, below: &str, changes: &mut Vec<OutsideChange>) {
        let listed = list(base, below);
        let known = self.view.names(directory).clone();
        let mut change = |path: &str, change: OutsideChange| {
            assert!(!path.starts_with(PROJECT), "`{path}` has changed, but not through the recorded calls");
            changes.push(change);
        };
        for name in known.keys().filter(|name| !listed.iter().any(|(listed, _)| listed == *name)) {
            change(&join(below, name), OutsideChange::Name((directory, name.clone()), None));
        }
        let mut directories = Vec::new();
        for (name, metadata) in listed {
            let path = join(below, &name);
            let there = known.get(&name).copied();
            let node = self.nodes.get(&number(&metadata)).copied();
            if let Some(node) = node.filter(|node| there == Some(*node)) {
                if metadata.is_dir() {
                    directories.push((node, path));
                } else if self.view.bytes(node).len() as u64 != metadata.len() {
                    let Ok(bytes) = fs::read(base.join(&path)) else { continue };
                    change(&path, OutsideChange::Content(node, Arc::new(bytes)));
                }
            } else if metadata.is_dir() {
                let node = self.make(Node::empty_directory(), number(&metadata));
                change(&path, OutsideChange::Name((directory, name), Some(node)));
                directories.push((node, path));
            } else {
                let Ok(bytes) = fs::read(base.join(&path)) else { continue };
                let is_same = |node: &NodeId| !self.view.is_directory(*node) && **self.view.bytes(*node) == bytes;
                let node = node.filter(is_same);
                let node = node.unwrap_or_else(|| self.make(Node::File(Arc::new(bytes)), number(&metadata)));
                change(&path, OutsideChange::Name((directory, name), Some(node)));
            }
        }
        for (node, path) in directories {
            self.compare(base, node, &path, changes);
        }
    }
}
