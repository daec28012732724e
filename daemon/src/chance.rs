//! Numbers that nobody else has: names of sessions, of daemons, of temp files, and of what tools make.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::disk::Eyes;
use crate::families::need::Look;

/// A number by chance. The standard library seeds it from the system; it is for names, not for secrets.
pub fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Some chance for an op, which has none of its own: it comes in with what was seen, other numbers on every look.
#[derive(Debug, Clone, Copy)]
pub struct Chance;

impl Look for Chance {
    type Seen = [u64; 2];
    const ON_DISK: bool = false;
    const GLANCES: bool = true;

    fn look(self, _: &Eyes<'_>) -> [u64; 2] {
        [number(), number()]
    }
}
