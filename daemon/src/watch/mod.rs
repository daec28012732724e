//! Roots in, batches of changes out: keeps what we know of watched trees equal to the disk.
//!
//! Events of the system are hints that name places to look at again; what we know is always made from
//! listings and stats. Lost events, full queues and errors end in a rescan. One thread does all of it, so
//! nobody waits for a scan. It never changes a file.

/// What is known of one tree.
pub mod tree;

/// The system's events.
pub mod native;

/// Which disks send no events.
pub mod remote;

/// One watched root: watches, scans, health.
pub mod root;

/// The thread that watches.
pub mod service;

pub use service::{Observer, Watch};
pub use tree::{Change, ChangeKind, Tree};
