//! Looks after displaced files for a moment, then keeps them in the journal.
//!
//! A program that had the old file open may still write to it. So what was displaced stays under its
//! temp name for a tenth of a second and is looked at again: what changed is kept beside the new file as
//! a conflict copy, so that nobody's words are lost; what did not moves into the journal.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;

use super::calls::{self, Calls};
use super::journal::Journal;
use super::own;
use super::write::{Displaced, Unwritten, Whose, digest_of, unmake};
use crate::families::need::Unseen;

/// How long a displaced file is looked after.
const LINGER: Duration = Duration::from_millis(100);
/// How often we try to put it away.
const ATTEMPTS: usize = 3;
/// No name of a file is longer on the systems we know.
const LONGEST_NAME: usize = 255;

/// Told when somebody's late words were kept beside the file: its name and the copy's.
pub type Told = dyn Fn(&OsStr, &OsStr) + Send + Sync;

/// The one who looks after displaced files.
pub struct Keeper {
    queue: Mutex<Option<Sender<(Instant, Displaced)>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    desk: Arc<Desk>,
}

/// What putting away takes.
struct Desk {
    journal: Arc<Journal>,
    calls: Arc<dyn Calls>,
    told: Arc<Told>,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Keeper {
    /// Starts looking after things.
    pub fn start(journal: Arc<Journal>, calls: Arc<dyn Calls>, told: Arc<Told>) -> io::Result<Self> {
        let (queue, inbox) = crossbeam_channel::unbounded();
        let desk = Arc::new(Desk { journal, calls, told });
        let hers = Arc::clone(&desk);
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || hers.look_after(&inbox))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)), desk })
    }

    /// Takes charge of a displaced file. A write that ends while we leave waits for it itself.
    pub fn keep(&self, displaced: Displaced) {
        let due = Instant::now() + LINGER;
        let queue = self.queue.lock().clone();
        match queue {
            Some(queue) => drop(queue.send((due, displaced))),
            None => self.desk.put_away_at(due, &displaced),
        }
    }

    /// Finishes what is in its charge.
    pub fn finish(&self) {
        self.queue.lock().take();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Desk {
    fn look_after(&self, inbox: &Receiver<(Instant, Displaced)>) {
        inbox.iter().for_each(|(due, displaced)| self.put_away_at(due, &displaced));
    }

    fn put_away_at(&self, due: Instant, displaced: &Displaced) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        for _ in 0..ATTEMPTS {
            match settle(displaced, &self.journal, self.calls.as_ref(), self.told.as_ref()) {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "a displaced file could not be put away"),
            }
        }
        // An old text that finds no place in the journal must not stay in the user's tree either.
        let temp = displaced.temp.as_os_str();
        if matches!(digest_of(&displaced.parent, temp), Ok(Some(digest)) if digest == displaced.digest) {
            let _ = self.calls.remove(displaced.parent.as_fd(), temp);
        }
    }
}

/// Puts a displaced file where it belongs. One that is gone is somebody else's doing and no error.
pub fn settle(displaced: &Displaced, journal: &Journal, calls: &dyn Calls, told: &Told) -> io::Result<()> {
    let temp = displaced.temp.as_os_str();
    match digest_of(&displaced.parent, temp) {
        Ok(Some(digest)) if digest == displaced.digest => match displaced.whose {
            Whose::Old => put_away(displaced, &journal.place_of(digest), calls)?,
            Whose::Ours => calls.remove(displaced.parent.as_fd(), temp)?,
        },
        Ok(None) => {}
        // Somebody's words, or something that is no file at all and has got under the temp name.
        Ok(Some(_)) | Err(Unwritten::Unseen(Unseen::Link | Unseen::Special)) => {
            let copy = keep_beside(displaced, calls)?;
            told(&displaced.name, &copy);
        }
        Err(error) => return Err(io::Error::other(format!("{error:?}"))),
    }
    unmake(&displaced.made, calls);
    Ok(())
}

/// Moves an unchanged old text into the journal; without a flush, because nothing depends on it.
fn put_away(displaced: &Displaced, place: &Path, calls: &dyn Calls) -> io::Result<()> {
    let (directory, temp) = (displaced.parent.as_fd(), displaced.temp.as_os_str());
    if !place.exists() {
        own::make_directory(place.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let text =
            super::confine::open_here(directory, temp).map_err(|unseen| io::Error::other(format!("{unseen:?}")))?;
        let text = File::from(text);
        // A file with another name lives on under it, and is its owner's to change.
        let carried = match text.metadata()?.nlink() {
            1 => calls.carry(directory, temp, place),
            _ => Err(io::ErrorKind::CrossesDevices.into()),
        };
        match carried {
            Ok(()) => return calls.set_mode(text.as_fd(), 0o600),
            // The journal is on another file system.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => own::replace(place, &read_all(text)?)?,
            Err(error) => return Err(error),
        }
    }
    calls.remove(directory, temp)
}

fn read_all(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// `notes.md` → `notes.conflict-20261116T101502Z.md`, with a number if that is taken.
fn keep_beside(displaced: &Displaced, calls: &dyn Calls) -> io::Result<OsString> {
    let stamp = crate::clock::stamp();
    for number in 0..100 {
        let name = conflict_name(&displaced.name, &stamp, number);
        match calls::appear(calls, displaced.parent.as_fd(), displaced.temp.as_os_str(), &name) {
            Ok(()) => {
                // Somebody's words: they shall last.
                let _ = calls.flush_directory(displaced.parent.as_fd());
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
    let room = LONGEST_NAME.saturating_sub(ending.len());
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
