//! Places to look at again, gathered until somebody has the time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many places are remembered; beyond it everything is looked at again.
const MOST_PLACES: usize = 65_536;

/// What the system has told since it was asked last.
#[derive(Debug, Default)]
pub struct Hints {
    /// Something happened there.
    pub places: BTreeSet<PathBuf>,
    /// Events were lost: anything may have happened, and this is why.
    pub lost: Option<&'static str>,
}

impl Hints {
    /// Something happened there.
    pub fn add(&mut self, place: PathBuf) {
        if self.places.len() < MOST_PLACES {
            self.places.insert(place);
        } else {
            self.lose("too many events at once");
        }
    }

    /// Anything may have happened.
    pub fn lose(&mut self, why: &'static str) {
        self.lost = Some(why);
    }

    /// Whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.lost.is_none()
    }
}

/// What is to be told about a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Whatever happens to the files in it.
    Content,
    /// The same, and that it is moved or removed itself.
    Root,
    /// Names that come and go in it, and that it is moved or removed itself.
    Names,
    /// Only that it is moved or removed itself. Costs nothing, however busy it is.
    Itself,
}

impl Interest {
    /// What a root must be told about a directory above it: the nearest tells when the root comes or goes.
    pub fn above(root: &Path, directory: &Path) -> Self {
        if root.parent() == Some(directory) { Self::Names } else { Self::Itself }
    }
}

/// Why a directory is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwatched {
    /// The system allows no more watches, or no more queues of them.
    Limit(Limit),
    /// It is gone, or may not be read.
    Other,
}

/// What the system allows no more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Directories to watch.
    Watches,
    /// Programs that watch.
    Instances,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_places_than_can_be_remembered_are_everything() {
        let mut hints = Hints::default();
        (0..MOST_PLACES).for_each(|number| hints.add(number.to_string().into()));
        assert_eq!(hints.lost, None);
        hints.add("one more".into());
        assert_eq!((hints.lost, hints.places.len()), (Some("too many events at once"), MOST_PLACES));
    }
}
