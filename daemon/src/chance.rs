//! Numbers that nobody else has: names of sessions, of daemons, of temp files.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A number by chance. The standard library seeds it from the system; it is for names, not for secrets.
pub fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}
