//! A clock for how long things are kept, which only evidence moves.
//!
//! It counts time that a daemon saw pass, and of the wall clock at most a day for each look at it: a wall clock that
//! jumps makes nothing old. A kept file carries the moment at which it came, on this clock, as its modification time;
//! one that carries another time counts from when it is first seen.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use super::segment;
use crate::state_files;

/// One look at the wall clock makes nothing older than this. A daemon that died has lost at most the time since its
/// last look, which is less.
const MAX_AGE_PER_LOOK: Duration = Duration::from_secs(24 * 60 * 60);

/// Time as far as there is evidence for it. While no daemon runs it stands still, but for one day at most.
#[derive(Debug)]
pub struct RetentionClock {
    file: PathBuf,
    last_look: Mutex<ClockLook>,
}

#[derive(Debug, Clone, Copy)]
struct ClockLook {
    /// What this clock showed.
    time: Duration,
    /// What the wall clock showed, in milliseconds of the epoch.
    wall: i64,
    at: Instant,
}

impl RetentionClock {
    /// The clock as the last daemon left it. Without a file that can be trusted it begins anew: everything is kept
    /// for longer then.
    pub(crate) fn open(directory: &Path, wall: i64) -> Self {
        let file = directory.join("clock");
        let kept = state_files::read_bytes(&file).ok();
        let kept: Option<(u64, i64)> = kept.and_then(|bytes| serde_json::from_slice(segment::unframe(&bytes)?).ok());
        let (seconds, last_wall) = kept.unwrap_or((0, wall));
        let last_look = ClockLook { time: Duration::from_secs(seconds), wall: last_wall, at: Instant::now() };
        let clock = Self { file, last_look: Mutex::new(last_look) };
        clock.advance(wall);
        clock
    }

    pub(super) fn now(&self) -> Duration {
        let look = *self.last_look.lock();
        look.time + look.at.elapsed()
    }

    /// Takes the wall clock's word for what passed since the last look, within limits, and keeps the result.
    pub(crate) fn look(&self, wall: i64) -> io::Result<()> {
        let look = self.advance(wall);
        let text = serde_json::to_vec(&(look.time.as_secs(), look.wall))?;
        state_files::replace(&self.file, &segment::frame(&text)?)
    }

    fn advance(&self, wall: i64) -> ClockLook {
        let mut look = self.last_look.lock();
        let passed = Duration::from_millis(u64::try_from(wall.saturating_sub(look.wall)).unwrap_or_default());
        let time = look.time + passed.min(MAX_AGE_PER_LOOK).max(look.at.elapsed());
        *look = ClockLook { time, wall, at: Instant::now() };
        *look
    }

    /// Marks a file as one that came just now.
    pub fn mark(&self, path: &Path) -> io::Result<()> {
        let now = self.now();
        let time = Timespec { tv_sec: now.as_secs().cast_signed(), tv_nsec: now.subsec_nanos().into() };
        let times = Timestamps { last_access: time, last_modification: time };
        Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// When a file came, and its size; none if it is gone. One without a mark is marked now.
    pub(super) fn kept_since(&self, path: &Path) -> Option<(Duration, u64)> {
        let (metadata, now) = (fs::symlink_metadata(path).ok()?, self.now());
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let since = since.filter(|since| *since <= now + MAX_AGE_PER_LOOK).unwrap_or_else(|| {
            let _ = self.mark(path);
            now
        });
        Some((since, metadata.len()))
    }

    /// How long ago a file came.
    pub fn age(&self, path: &Path) -> Duration {
        self.kept_since(path).map_or(Duration::ZERO, |(since, _)| self.now().saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const DAY: u64 = 24 * 60 * 60;
    const YEAR: i64 = 365 * DAY as i64 * 1000;
    const START: i64 = 1_800_000_000_000;

    fn days(clock: &RetentionClock) -> u64 {
        clock.now().as_secs() / DAY
    }

    #[test]
    fn r29_a_clock_that_jumps_moves_it_by_a_day_at_most() {
        let home = TempDir::new().expect("a directory");
        let clock = RetentionClock::open(home.path(), START);
        clock.look(START).expect("it is kept");
        for (wall, expected) in [(START + YEAR, 1), (START - YEAR, 1), (START, 2), (START + DAY as i64 * 1000 / 2, 2)] {
            clock.look(wall).expect("it is kept");
            assert_eq!(days(&clock), expected, "{wall}");
        }
        let next = RetentionClock::open(home.path(), START + 5 * YEAR);
        assert_eq!(days(&next), 3, "nor does a jump between two daemons");
        assert_eq!(days(&RetentionClock::open(home.path(), START - YEAR)), 2);
        state_files::replace(&home.path().join("clock"), b"torn").expect("it is written");
        assert_eq!(days(&RetentionClock::open(home.path(), START)), 0, "what cannot be trusted makes nothing older");
    }

    #[test]
    fn a_file_counts_from_when_it_came_and_not_from_its_own_times() {
        let home = TempDir::new().expect("a directory");
        let clock = RetentionClock::open(home.path(), START);
        let file = home.path().join("text");
        state_files::replace(&file, b"x").expect("it is written");
        assert_eq!(clock.age(&file).as_secs(), 0, "it has no mark yet");
        (1..=20).for_each(|day| clock.look(START + day * DAY as i64 * 1000).expect("it is kept"));
        // The test itself takes a moment.
        assert_eq!((clock.age(&file).as_secs() + 60) / DAY, 20);
        clock.mark(&file).expect("it is marked");
        assert_eq!(clock.age(&file).as_secs(), 0);
    }
}
