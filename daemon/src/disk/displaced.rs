//! Archives displaced files: what a rename replaced is kept for a short grace period, then moved into the journal.
//!
//! A program that had the old file open may still write to it. So the file stays under its temp name for a tenth of
//! a second and is compared again: if it changed it becomes a conflict copy beside the new file, else it moves into
//! the journal.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;

use super::journal::{Journal, RecordTicket};
use super::staged_file::{TempFile, WriteError};
use super::staging::StagedIn;
use super::syscalls::{self, NameIn, WriteSyscalls};
use super::target_directory::{CreatedDirectories, remove_created};
use super::{Digest, ReadError};
use crate::state_files;

/// How long a displaced file is watched for late writes.
const DISPLACED_GRACE: Duration = Duration::from_millis(100);
const ARCHIVE_ATTEMPTS: usize = 3;
const MAX_FILE_NAME_BYTES: usize = 255;

/// What a rename displaced; it is kept under a temp name for a grace period.
#[derive(Debug)]
pub struct DisplacedFile {
    pub temp: TempFile,
    /// The directory in which it had been.
    pub parent: Arc<OwnedFd>,
    /// Whose place it had.
    pub name: OsString,
    /// What it held then.
    pub digest: Digest,
    /// Whose text it is.
    pub owner: DisplacedOwner,
    /// Directories that nobody needs any more if they are empty.
    pub created: CreatedDirectories,
    /// Held until it is put away.
    pub mark: Option<Arc<FinishedMark>>,
}

/// Of a recorded write: when the last who holds it lets it go, nothing of the write lies around any more, and the next
/// record of the journal says so.
#[derive(Debug)]
pub struct FinishedMark {
    name: String,
    finished: Arc<Mutex<Vec<String>>>,
    /// Keeps the record where recovery looks for it.
    ticket: Option<RecordTicket>,
    is_void: AtomicBool,
}

impl FinishedMark {
    pub(super) fn new(name: &str, finished: &Arc<Mutex<Vec<String>>>, ticket: Option<RecordTicket>) -> Arc<Self> {
        let (name, finished) = (name.to_owned(), Arc::clone(finished));
        Arc::new(Self { name, finished, ticket, is_void: AtomicBool::new(false) })
    }

    /// Something stays: recovery has to look at it.
    pub(super) fn void(&self) {
        self.is_void.store(true, Ordering::Relaxed);
    }
}

impl Drop for FinishedMark {
    fn drop(&mut self) {
        if self.is_void.load(Ordering::Relaxed) {
            self.ticket.take().into_iter().for_each(RecordTicket::leave_open);
        } else {
            self.finished.lock().push(std::mem::take(&mut self.name));
        }
    }
}

/// Whose text was displaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplacedOwner {
    /// The user's: it is kept in the journal.
    User,
    /// Our own new one, which was taken back: nobody needs it.
    Trellis,
}

/// Called when a late change was kept as a conflict copy: with the file's name and the copy's.
pub type ConflictCallback = dyn Fn(&OsStr, &OsStr) + Send + Sync;

/// The queue of displaced files and the thread that archives them.
pub struct DisplacedArchiver {
    queue: Mutex<Option<Sender<QueuedFile>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    context: Arc<ArchiveContext>,
}

/// With the time when it is due.
type QueuedFile = (Instant, DisplacedFile);

struct ArchiveContext {
    /// What is in the queue, as often as it is there.
    waiting: Mutex<Vec<Digest>>,
    journal: Arc<Journal>,
    syscalls: Arc<dyn WriteSyscalls>,
    on_conflict: Arc<ConflictCallback>,
}

impl std::fmt::Debug for DisplacedArchiver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DisplacedArchiver").finish_non_exhaustive()
    }
}

impl DisplacedArchiver {
    pub fn start(
        journal: Arc<Journal>,
        syscalls: Arc<dyn WriteSyscalls>,
        on_conflict: Arc<ConflictCallback>,
    ) -> io::Result<Self> {
        let (queue, inbox) = crossbeam_channel::unbounded();
        let context = Arc::new(ArchiveContext { waiting: Mutex::default(), journal, syscalls, on_conflict });
        let thread_context = Arc::clone(&context);
        let thread = std::thread::Builder::new().name("archiver".into()).spawn(move || thread_context.run(&inbox))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)), context })
    }

    /// Enqueues a displaced file. During shutdown the caller archives it itself.
    pub fn enqueue(&self, displaced: DisplacedFile) {
        let due = Instant::now() + DISPLACED_GRACE;
        self.context.waiting.lock().push(displaced.digest);
        let queue = self.queue.lock().clone();
        match queue {
            Some(queue) => drop(queue.send((due, displaced))),
            None => self.context.archive_at(due, &displaced),
        }
    }

    /// Whether a text is in the queue.
    pub fn has(&self, digest: Digest) -> bool {
        self.context.waiting.lock().contains(&digest)
    }

    /// Archives what is in the queue and ends the thread.
    pub fn drain(&self) {
        self.queue.lock().take();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl ArchiveContext {
    fn run(&self, inbox: &Receiver<QueuedFile>) {
        inbox.iter().for_each(|(due, displaced)| self.archive_at(due, &displaced));
    }

    fn archive_at(&self, due: Instant, displaced: &DisplacedFile) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        self.archive_now(displaced);
        let mut waiting = self.waiting.lock();
        if let Some(place) = waiting.iter().position(|digest| *digest == displaced.digest) {
            waiting.swap_remove(place);
        }
    }

    fn archive_now(&self, displaced: &DisplacedFile) {
        for _ in 0..ARCHIVE_ATTEMPTS {
            match archive(displaced, &self.journal, self.syscalls.as_ref(), self.on_conflict.as_ref()) {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "a displaced file could not be put away"),
            }
        }
        // An old text that finds no place in the journal must not stay in the user's tree either.
        let is_gone = displaced.temp.staged_in == StagedIn::Beside
            && matches!(displaced.temp.digest(), Ok(Some(digest)) if digest == displaced.digest)
            && {
                let NameIn { directory, name } = displaced.temp.as_name();
                self.syscalls.remove(directory, name).is_ok()
            };
        if !is_gone {
            displaced.mark.iter().for_each(|mark| mark.void());
        }
    }
}

/// Archives a displaced file. One that is gone was removed by somebody else and is no error.
pub fn archive(
    displaced: &DisplacedFile,
    journal: &Journal,
    syscalls: &dyn WriteSyscalls,
    on_conflict: &ConflictCallback,
) -> io::Result<()> {
    let NameIn { directory, name } = displaced.temp.as_name();
    match displaced.temp.digest() {
        Ok(Some(digest)) if digest == displaced.digest => match displaced.owner {
            DisplacedOwner::User => move_to_journal(displaced, journal, syscalls)?,
            DisplacedOwner::Trellis => syscalls.remove(directory, name)?,
        },
        Ok(None) => {}
        // Somebody's words, or something that is no file at all and has got under the temp name.
        Ok(Some(_)) | Err(WriteError::Read(ReadError::SymlinkRefused | ReadError::NotRegular)) => {
            let copy = save_conflict_copy(displaced, syscalls)?;
            on_conflict(&displaced.name, &copy);
        }
        Err(error) => return Err(io::Error::other(format!("{error:?}"))),
    }
    remove_created(&displaced.created, syscalls);
    Ok(())
}

/// Moves an unchanged old text into the journal; without a flush, because nothing depends on it.
fn move_to_journal(displaced: &DisplacedFile, journal: &Journal, syscalls: &dyn WriteSyscalls) -> io::Result<()> {
    let NameIn { directory, name: temp } = displaced.temp.as_name();
    let place = journal.displaced_text_path(displaced.digest);
    if place.exists() {
        journal.note_kept(&place, 0);
        return syscalls.remove(directory, temp);
    }
    let text = super::confine::open_entry(directory, temp)
        .map_err(|read_error| io::Error::other(format!("{read_error:?}")))?;
    let text = File::from(text);
    let (size, links) = text.metadata().map(|metadata| (metadata.len(), metadata.nlink()))?;
    if journal.is_full_with(size) {
        journal.make_room(size);
    }
    if journal.is_full_with(size) {
        tracing::debug!("a displaced text is larger than all that may be kept");
        return syscalls.remove(directory, temp);
    }
    state_files::make_directory(place.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    // A file with another name lives on under it, and is its owner's to change.
    let carried = match links {
        1 => syscalls.rename_out(directory, temp, &place),
        _ => Err(io::ErrorKind::CrossesDevices.into()),
    };
    let done = match carried {
        Ok(()) => syscalls.set_mode(text.as_fd(), 0o600),
        // The journal is on another file system.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            state_files::replace_unflushed(&place, &read_all(text)?)?;
            syscalls.remove(directory, temp)
        }
        Err(error) => return Err(error),
    };
    journal.note_kept(&place, size);
    done
}

fn read_all(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// `notes.md` → `notes.conflict-20261116T101502Z.md`, with a number if that is taken.
fn save_conflict_copy(displaced: &DisplacedFile, syscalls: &dyn WriteSyscalls) -> io::Result<OsString> {
    let stamp = crate::clock::file_name_timestamp();
    for number in 0..100 {
        let name = conflict_name(&displaced.name, &stamp, number);
        let place = NameIn::new(displaced.parent.as_fd(), &name);
        match syscalls::rename_noreplace_or_link(syscalls, displaced.temp.as_name(), place) {
            Ok(()) => {
                // Somebody's words: they shall last.
                let _ = syscalls.fsync_directory(displaced.parent.as_fd());
                return Ok(name);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A name that would be too long loses the end of its stem.
fn conflict_name(name: &OsStr, stamp: &str, number: u32) -> OsString {
    let path = Path::new(name);
    let mut ending = format!(".conflict-{stamp}");
    if number > 0 {
        ending.push_str(&format!("-{number}"));
    }
    let mut ending = OsString::from(ending);
    if let Some(extension) = path.extension() {
        ending.push(".");
        ending.push(extension);
    }
    let stem = path.file_stem().unwrap_or(name);
    let room = MAX_FILE_NAME_BYTES.saturating_sub(ending.len());
    let mut copy = match stem.to_str() {
        Some(text) if text.len() > room => OsString::from(&text[..text.floor_char_boundary(room)]),
        _ => stem.to_owned(),
    };
    copy.push(ending);
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_copy_keeps_its_extension() {
        let check = |name: &str, number, expected: &str| {
            assert_eq!(conflict_name(OsStr::new(name), "T", number), OsStr::new(expected));
        };
        check("notes.md", 0, "notes.conflict-T.md");
        check("notes.md", 2, "notes.conflict-T-2.md");
        check("LICENSE", 0, "LICENSE.conflict-T");
        check(".todo.md", 0, ".todo.conflict-T.md");
        check(&format!("{}.md", "é".repeat(126)), 0, &format!("{}.conflict-T.md", "é".repeat(120)));
    }
}
