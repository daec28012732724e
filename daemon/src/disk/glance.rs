//! Looking without waiting: most of what is asked for is in memory, and then nobody needs another thread.
//!
//! A glance touches only directories on disks of this machine that were looked at before, and reads only what the
//! system has in memory. As soon as more is needed it is refused, whatever was seen by then is thrown away, and the
//! same is looked at on a thread that may wait.

use std::cell::Cell;
use std::path::Path;

use super::Eyes;
use crate::families::need::Unseen;

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
