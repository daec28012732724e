//! Random 64-bit numbers: ids of sessions and daemons, names of temp files, and seeds that tools ask for. Not for
//! secrets.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A number by chance. The standard library seeds it from the system; it is for names, not for secrets.
pub fn random_u64() -> u64 {
    RandomState::new().build_hasher().finish()
}
