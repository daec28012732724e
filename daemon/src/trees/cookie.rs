//! The cookie: a file of ours that is touched to put an event of our own into the system's queue.
//!
//! The queue is ordered. When the event of a touch comes back, every event of everything that happened before the
//! touch has come as well. One touch is under way at a time, because events do not say which touch they are of; who
//! asks meanwhile shares the next one, which is made as soon as the first has come back.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};

use crate::state_files;

/// A cookie whose event has not come back by then is lost. Events take microseconds; this is for a machine that is
/// busy.
const COOKIE_TIMEOUT: Duration = Duration::from_secs(1);

/// Identifies a touch that is still to come back; later ones have higher numbers.
pub(crate) type RoundNumber = u64;

#[derive(Debug)]
pub(crate) struct Cookie {
    path: PathBuf,
    file: File,
    touched: RoundNumber,
    touched_at: Instant,
    returned: RoundNumber,
    /// Somebody asked while a touch was under way.
    next_is_wanted: bool,
}

impl Cookie {
    /// Creates the file. The directory must be watched before the cookie is used.
    pub(crate) fn create(directory: &Path, number: u64) -> io::Result<Self> {
        let path = directory.join(format!("cookie-{number}"));
        let file = state_files::open_append(&path)?;
        Ok(Self { path, file, touched: 0, touched_at: Instant::now(), returned: 0, next_is_wanted: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The round that begins now, or the next one if one is under way that began before now.
    pub(crate) fn begin(&mut self) -> io::Result<RoundNumber> {
        if self.touched > self.returned {
            self.next_is_wanted = true;
            return Ok(self.touched + 1);
        }
        self.touch()?;
        Ok(self.touched)
    }

    /// The event of the touch has come back.
    pub(crate) fn on_event(&mut self) -> io::Result<()> {
        self.returned = self.touched;
        if std::mem::take(&mut self.next_is_wanted) { self.touch() } else { Ok(()) }
    }

    pub(crate) fn has_returned(&self, round: RoundNumber) -> bool {
        self.returned >= round
    }

    /// When the touch that is under way must have come back.
    pub(crate) fn due_back(&self) -> Instant {
        self.touched_at + COOKIE_TIMEOUT
    }

    fn touch(&mut self) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        futimens(&self.file, &Timestamps { last_access: now, last_modification: now })?;
        self.touched += 1;
        self.touched_at = Instant::now();
        Ok(())
    }
}

impl Drop for Cookie {
    fn drop(&mut self) {
        state_files::remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn who_asks_while_a_touch_is_under_way_waits_for_the_next_one() {
        let directory = TempDir::new().expect("a directory");
        let mut cookie = Cookie::create(directory.path(), 1).expect("a cookie");
        assert_eq!(cookie.begin().expect("a touch"), 1);
        assert_eq!((cookie.begin().expect("shared"), cookie.begin().expect("shared")), (2, 2));
        assert!(!cookie.has_returned(1));
        cookie.on_event().expect("a touch");
        assert!(cookie.has_returned(1) && !cookie.has_returned(2), "the second began only now");
        assert_eq!(cookie.begin().expect("shared"), 3, "what happened since is not in the second");
        cookie.on_event().expect("a touch");
        cookie.on_event().expect("nothing to touch");
        assert!(cookie.has_returned(3));
        assert_eq!(cookie.begin().expect("a touch"), 4);
        drop(cookie);
        assert!(!directory.path().join("cookie-1").exists());
    }
}
