//! Looking without waiting: most of what is asked for is in memory, and then nobody needs another thread.
//!
//! A glance touches only directories on disks of this machine that were looked at before, and reads only what the
//! system has in memory. As soon as more is needed it is refused, whatever was seen by then is thrown away, and the
//! same is looked at on a thread that may wait.

use std::cell::Cell;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::io::{Errno, ReadWriteFlags};

use super::{Eyes, Identity, OpenFile};
use crate::families::need::{FileSeen, Unseen};

/// So much is read in passing.
const READ_AT_ONCE: u64 = 64 << 10;

/// A look that may not wait.
#[derive(Debug, Default)]
pub struct Glance {
    refused: Cell<bool>,
}

impl Glance {
    /// Whether it was not enough.
    pub fn is_refused(&self) -> bool {
        self.refused.get()
    }

    /// It is not enough. Nobody will hear the reason: the look is done again.
    pub fn refuse(&self) -> Unseen {
        self.refused.set(true);
        Unseen::Failed("it takes more than a glance".to_owned())
    }
}

impl Eyes<'_> {
    /// Goes on only where waiting is allowed.
    pub fn may_wait(&self) -> Result<(), Unseen> {
        self.glance.map_or(Ok(()), |glance| Err(glance.refuse()))
    }

    /// Goes on in a directory where waiting is allowed, or where nothing will be waited for.
    pub fn may_look_in(&self, directory: &Path) -> Result<(), Unseen> {
        match self.glance {
            Some(glance) if !self.roots.is_near(directory) => Err(glance.refuse()),
            Some(_) => Ok(()),
            None => {
                self.roots.meet(directory);
                Ok(())
            }
        }
    }
}

impl OpenFile {
    /// Reads all of it, if it is small and in memory. None: that takes more than a moment.
    pub fn read_at_once(self, limit: u64) -> Option<Result<FileSeen, Unseen>> {
        let identity = self.identity;
        if identity.size > limit.min(READ_AT_ONCE) {
            return None;
        }
        let bytes = self.part_at_once(0, identity.size + 1)?;
        let is_same = self.file.metadata().is_ok_and(|now| Identity::of(&now) == identity);
        (is_same && bytes.len() as u64 == identity.size).then_some(Ok(FileSeen { bytes, identity }))
    }

    /// Reads what is between two places in it, as far as it goes, if that is in memory.
    #[cfg(target_os = "linux")]
    pub fn part_at_once(&self, start: u64, end: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).ok()?];
        let slices = &mut [std::io::IoSliceMut::new(&mut bytes)];
        match rustix::io::preadv2(&self.file, slices, start, ReadWriteFlags::NOWAIT) {
            Ok(read) => {
                // Less than that, and only a piece of it was in memory.
                let whole = end.min(self.identity.size).saturating_sub(start);
                bytes.truncate(read);
                (read as u64 >= whole).then_some(bytes)
            }
            // File systems that cannot tell are in memory themselves, or lie above one that mostly is.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.read_part(start, end).ok(),
            Err(_) => None,
        }
    }

    /// Reads what is between two places in it, if that is in memory. Here nobody can tell.
    #[cfg(not(target_os = "linux"))]
    pub fn part_at_once(&self, _: u64, _: u64) -> Option<Vec<u8>> {
        None
    }
}
