//! Looks after displaced files for a moment, then keeps them in the journal.
//!
//! A program that had the old file open may still write to it. So what was displaced stays under its
//! temp name for a tenth of a second and is looked at again: what changed is kept beside the new file as
//! a conflict copy, so that nobody's words are lost; what did not moves into the journal.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;

use super::calls::Calls;
use super::journal::Journal;
use super::own;
use super::write::{Displaced, digest_of};

/// How long a displaced file is looked after.
const LINGER: Duration = Duration::from_millis(100);

/// Told when somebody's late words were kept beside the file: its name and the copy's.
pub type Told = dyn Fn(&OsStr, &OsStr) + Send + Sync;

/// The one who looks after displaced files.
pub struct Keeper {
    queue: Mutex<Option<Sender<(Instant, Displaced)>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
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
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
            look_after(&inbox, &journal, calls.as_ref(), told.as_ref());
        })?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Takes charge of a displaced file.
    pub fn keep(&self, displaced: Displaced) {
        if let Some(queue) = self.queue.lock().as_ref() {
            let _ = queue.send((Instant::now() + LINGER, displaced));
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

fn look_after(inbox: &Receiver<(Instant, Displaced)>, journal: &Journal, calls: &dyn Calls, told: &Told) {
    for (due, displaced) in inbox {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if let Err(error) = settle(&displaced, journal, calls, told) {
            tracing::warn!(%error, "a displaced file could not be put away");
        }
    }
}

/// Puts a displaced file where it belongs. One that is gone is somebody else's doing and no error.
pub fn settle(displaced: &Displaced, journal: &Journal, calls: &dyn Calls, told: &Told) -> io::Result<()> {
    let temp = displaced.temp.as_os_str();
    let digest = match digest_of(&displaced.parent, temp) {
        Ok(Some(digest)) => digest,
        Ok(None) => return Ok(()),
        Err(error) => return Err(io::Error::other(format!("{error:?}"))),
    };
    if digest == displaced.digest {
        return put_away(displaced, &journal.place_of(digest), calls);
    }
    let copy = keep_beside(displaced, calls)?;
    told(&displaced.name, &copy);
    Ok(())
}

/// Moves an unchanged old text into the journal; without a flush, because nothing depends on it.
fn put_away(displaced: &Displaced, place: &Path, calls: &dyn Calls) -> io::Result<()> {
    let temp = displaced.temp.as_os_str();
    if !place.exists() {
        let shelf = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
        own::make_directory(shelf)?;
        let moved = rustix::fs::renameat(&*displaced.parent, temp, rustix::fs::CWD, place);
        match moved {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::XDEV) => {
                let text = super::confine::open_here(displaced.parent.as_fd(), temp)
                    .map_err(|unseen| io::Error::other(format!("{unseen:?}")))?;
                own::replace(place, &fs_read(File::from(text))?)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    calls.remove(displaced.parent.as_fd(), temp)
}

fn fs_read(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// `notes.md` → `notes.conflict-20261116T101502Z.md`, with a number if that is taken.
fn keep_beside(displaced: &Displaced, calls: &dyn Calls) -> io::Result<OsString> {
    let stamp = crate::clock::stamp();
    for number in 0..100 {
        let name = conflict_name(&displaced.name, &stamp, number);
        match calls.place(displaced.parent.as_fd(), displaced.temp.as_os_str(), &name) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn conflict_name(name: &OsStr, stamp: &str, number: u32) -> OsString {
    let path = Path::new(name);
    let mut copy = path.file_stem().unwrap_or(name).to_owned();
    copy.push(format!(".conflict-{stamp}"));
    if number > 0 {
        copy.push(format!("-{number}"));
    }
    if let Some(extension) = path.extension() {
        copy.push(".");
        copy.push(extension);
    }
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
    }
}
