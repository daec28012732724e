//! Files that an editor may be writing: it empties one and then writes it, and whoever reads between sees nothing, or half
//! of it. A read looks again for a moment; what it never does is change the file, or wait for our own work.

use std::time::Duration;

use super::{DiskReader, OpenFile, ReadError, RelativePath, RootDir, SymlinkPolicy};
use crate::clock;

/// How long a read waits for an editor that empties a file and then writes it, and how often at most. A call waits so
/// often in all, however many files it reads.
const EDITOR_WAIT_STEP: Duration = Duration::from_millis(10);
pub(super) const EDITOR_WAIT_STEPS: u32 = 5;

/// A file younger than this may be half-written by an editor that truncates and writes; an empty one has not been
/// written at all.
const HALF_WRITTEN_AGE: Duration = Duration::from_millis(30);
const EMPTY_AGE: Duration = Duration::from_millis(50);

impl DiskReader<'_> {
    /// Opens a file. Some editors empty a file and then write it: one that is empty or very young, and not our own
    /// work, is looked at again, in at most so many steps.
    pub(super) fn open_settled(
        &self,
        root: &RootDir,
        path: &RelativePath,
        links: SymlinkPolicy,
        steps: &mut u32,
    ) -> Result<OpenFile, ReadError> {
        let mut file = root.open_file(path, links)?;
        while *steps > 0 && file.may_be_half_written() && !self.writer.is_some_and(|writer| writer.is_own(file.stamp()))
        {
            self.require_blocking()?;
            *steps -= 1;
            std::thread::sleep(EDITOR_WAIT_STEP);
            let before = std::mem::replace(&mut file, root.open_file(path, links)?);
            if before.stamp() == file.stamp() && file.stamp().size > 0 {
                break;
            }
        }
        Ok(file)
    }
}

impl OpenFile {
    /// Whether an editor that empties a file and then writes it may be at work: it has done something to it a moment ago.
    fn may_be_half_written(&self) -> bool {
        let age = clock::epoch_nanos() - self.stamp.modified_ns;
        let moment = if self.stamp.size == 0 { EMPTY_AGE } else { HALF_WRITTEN_AGE };
        // What comes from a future further away than clocks may differ is nobody's work of just now.
        age.abs() < moment.as_nanos() as i128
    }
}
