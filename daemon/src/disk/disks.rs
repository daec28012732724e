//! Which disks answer: a directory comes in; whether it is on a disk of this machine, and whether it answers, goes out.
//!
//! A disk of another machine, or one in user space, may stop answering, and whoever asks it then waits without end.
//! So whoever has waited long has a thread of its own ask once more. Until that one is back the directory is silent,
//! and so is all below it: calls that come later are refused at once. When it is back, everything goes on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use dashmap::DashSet;
use parking_lot::{Condvar, Mutex};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat};

use super::ReadError;
use super::filesystem::lacks_events;

/// A directory that has not answered by then is silent.
pub const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// Work in a directory that takes longer makes somebody ask whether it answers.
pub const SLOW_CALL_TIME: Duration = Duration::from_millis(250);
/// Calls that work in one directory at once; others wait.
const MAX_CALLS: usize = 16;
/// How long a call waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);
/// So many directories are known to be local; then all are forgotten, and those in use come back.
const MAX_LOCAL: usize = 1024;

#[derive(Debug, Default)]
pub struct Disks {
    /// Directories on disks of this machine.
    local: DashSet<PathBuf>,
    /// When somebody began to ask a directory that has not answered since.
    probes: Mutex<HashMap<PathBuf, Instant>>,
    answered: Condvar,
    /// How many calls work where.
    calls: Mutex<HashMap<PathBuf, usize>>,
    call_ended: Condvar,
}

impl Disks {
    /// Takes note of where a directory is, by asking a disk that may be slow. Returns whether it is local.
    pub fn record_if_local(&self, directory: &Path) -> bool {
        if self.is_local(directory) {
            return true;
        }
        let is_local = !lacks_events(directory);
        self.set_local(directory, is_local);
        is_local
    }

    /// Somebody has seen whether a directory is local.
    pub fn set_local(&self, directory: &Path, is_local: bool) {
        match (is_local, self.is_local(directory)) {
            (true, false) => {
                if self.local.len() >= MAX_LOCAL {
                    self.local.clear();
                }
                self.local.insert(directory.to_owned());
            }
            (false, true) => drop(self.local.remove(directory)),
            _ => {}
        }
    }

    /// Whether a directory is known to be on a disk of this machine, which answers at once.
    pub fn is_local(&self, directory: &Path) -> bool {
        self.local.contains(directory)
    }

    /// Has a directory asked by a thread of its own, unless that is under way.
    pub fn ask(self: &Arc<Self>, directory: &Path) {
        let mut probes = self.probes.lock();
        if probes.contains_key(directory) {
            return;
        }
        let (disks, path) = (Arc::clone(self), directory.to_owned());
        let probe = move || {
            look_at(&path);
            disks.probes.lock().remove(&path);
            disks.answered.notify_all();
        };
        if std::thread::Builder::new().name("probe".into()).spawn(probe).is_ok() {
            probes.insert(directory.to_owned(), Instant::now());
        }
    }

    /// Whether a directory answers in time.
    pub fn answers(self: &Arc<Self>, directory: &Path) -> bool {
        if self.is_local(directory) {
            return true;
        }
        if self.is_silent(directory) {
            return false;
        }
        self.ask(directory);
        let end = Instant::now() + PROBE_TIMEOUT;
        let mut probes = self.probes.lock();
        while probes.contains_key(directory) {
            if self.answered.wait_until(&mut probes, end).timed_out() {
                return !probes.contains_key(directory);
            }
        }
        true
    }

    /// Whether a directory, or one above it, has not answered in time and has not answered since.
    pub fn is_silent(&self, directory: &Path) -> bool {
        let probes = self.probes.lock();
        !probes.is_empty()
            && directory
                .ancestors()
                .any(|above| probes.get(above).is_some_and(|since| since.elapsed() >= PROBE_TIMEOUT))
    }

    /// Runs work in a directory, on a thread of its own unless it is local. None if it does not answer; then the work
    /// may still be under way.
    pub fn run_bounded<T: Send + 'static>(
        self: &Arc<Self>,
        directory: &Path,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if self.is_local(directory) {
            return Some(work());
        }
        if self.is_silent(directory) {
            return None;
        }
        let (done, wait) = bounded(1);
        let work = move || drop(done.send(work()));
        std::thread::Builder::new().name("apart".into()).spawn(work).ok()?;
        loop {
            match wait.recv_timeout(SLOW_CALL_TIME) {
                Ok(output) => return Some(output),
                Err(error) if error.is_disconnected() => return None,
                Err(_) if !self.answers(directory) => return None,
                Err(_) => {}
            }
        }
    }

    fn wait_for_turn(&self, directory: &Path) -> bool {
        let end = Instant::now() + TURN_TIMEOUT;
        let mut calls = self.calls.lock();
        while calls.get(directory).is_some_and(|calls| *calls >= MAX_CALLS) {
            // It is not told when a directory falls silent, so it looks.
            self.call_ended.wait_for(&mut calls, SLOW_CALL_TIME);
            if self.is_silent(directory) || Instant::now() >= end {
                return false;
            }
        }
        *calls.entry(directory.to_owned()).or_default() += 1;
        true
    }

    fn end_turn(&self, directory: &Path) {
        let mut calls = self.calls.lock();
        if let Some(count) = calls.get_mut(directory) {
            *count -= 1;
            if *count == 0 {
                calls.remove(directory);
            }
        }
        self.call_ended.notify_all();
    }
}

/// Asks the disk itself for the state and for a name of a directory, whatever is remembered of it.
fn look_at(directory: &Path) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{StatxFlags, statx};
        let _ = statx(CWD, directory, AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = rustix::fs::statat(CWD, directory, AtFlags::empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(CWD, directory, flags, Mode::empty());
    let _ = opened.and_then(Dir::new).map(|mut names| names.next().is_some());
}

/// The directories in which one call works, from when it comes to them until it ends.
#[derive(Debug)]
pub struct DiskWork {
    disks: Arc<Disks>,
    places: Mutex<Vec<PathBuf>>,
    /// Where it has a turn.
    turn: OnceLock<PathBuf>,
    refused: OnceLock<PathBuf>,
}

impl DiskWork {
    pub fn new(disks: &Arc<Disks>) -> Self {
        let (disks, places) = (Arc::clone(disks), Mutex::default());
        Self { disks, places, turn: OnceLock::new(), refused: OnceLock::new() }
    }

    /// Goes on in a directory that is not known to be silent, when it is its turn there.
    pub fn enter(&self, directory: &Path) -> Result<(), ReadError> {
        if self.is_refused() {
            return Err(silent());
        }
        let is_first = {
            let mut places = self.places.lock();
            if places.iter().any(|place| place == directory) {
                return Ok(());
            }
            places.push(directory.to_owned());
            places.len() == 1
        };
        // Only at the first: who waits holds nothing that another call could wait for.
        if self.disks.is_silent(directory) || is_first && !self.disks.wait_for_turn(directory) {
            let _ = self.refused.set(directory.to_owned());
            return Err(silent());
        }
        if is_first {
            let _ = self.turn.set(directory.to_owned());
        }
        Ok(())
    }

    /// Whether it was refused because a directory is silent.
    pub fn is_refused(&self) -> bool {
        self.refused.get().is_some()
    }

    /// Has every directory asked in which it works and of which that is not known. Returns whether any is silent.
    pub fn ask(&self) -> bool {
        let places = self.places.lock();
        let asked = places.iter().filter(|place| !self.disks.is_local(place));
        asked.fold(false, |is_silent, place| {
            self.disks.ask(place);
            is_silent || self.disks.is_silent(place)
        })
    }
}

/// Nobody gets to see it: a call that was refused is answered with that.
fn silent() -> ReadError {
    ReadError::Io("its disk does not answer".to_owned())
}

impl Drop for DiskWork {
    fn drop(&mut self) {
        if let Some(directory) = self.turn.get() {
            self.disks.end_turn(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_directory_is_silent_while_nobody_came_back_from_it() {
        let disks = Arc::new(Disks::default());
        let long_ago = Instant::now().checked_sub(PROBE_TIMEOUT).expect("a time");
        disks.probes.lock().insert("/gone".into(), long_ago);
        disks.probes.lock().insert("/late".into(), Instant::now());
        let check = |path: &str, expected| assert_eq!(disks.is_silent(Path::new(path)), expected, "{path}");
        check("/gone", true);
        check("/gone/below", true);
        check("/", false);
        check("/gone2", false);
        check("/late", false);
        assert!(!disks.answers(Path::new("/gone/below")), "and is not asked again");
        let work = DiskWork::new(&disks);
        assert!(work.enter(Path::new("/elsewhere")).is_ok() && !work.is_refused());
        assert!(work.enter(Path::new("/gone")).is_err() && work.is_refused());
        assert!(work.enter(Path::new("/gone")).is_err(), "nor later");
        assert_eq!(disks.run_bounded(Path::new("/gone"), || ()), None);
    }

    #[test]
    fn a_directory_that_is_there_or_missing_answers() {
        let home = TempDir::new().expect("a directory");
        let disks = Arc::new(Disks::default());
        assert!(disks.answers(home.path()) && disks.answers(&home.path().join("none")));
        assert_eq!(disks.run_bounded(home.path(), || 1), Some(1));
        assert!(disks.record_if_local(home.path()) && disks.is_local(home.path()));
    }

    #[test]
    fn so_many_calls_work_in_a_directory_and_others_wait() {
        let disks = Arc::new(Disks::default());
        let here = Path::new("/here");
        let mut inside: Vec<DiskWork> = (0..MAX_CALLS).map(|_| DiskWork::new(&disks)).collect();
        assert!(inside.iter().all(|work| work.enter(here).is_ok()));
        let late = DiskWork::new(&disks);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| late.enter(here));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished(), "it is not its turn");
            inside.pop();
            assert!(waiting.join().expect("no panic").is_ok());
        });
        drop((inside, late));
        assert!(disks.calls.lock().is_empty());
    }
}
