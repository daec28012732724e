//! Roots in, batches of changes out: keeps what we know of watched trees equal to the disk.
//!
//! Events of the system are hints that name places to look at again; what we know is always made from
//! listings and stats. Lost events, full queues and errors end in a rescan. One thread does all of it, so
//! nobody waits for a scan. It never changes a file.

/// What is known of one tree.
pub mod tree;

/// Places to look at again.
pub mod hint;

/// The system's events: inotify, without anything in between.
#[cfg(target_os = "linux")]
pub mod inotify;
#[cfg(target_os = "linux")]
use inotify as native;

/// Other systems' events. Built everywhere, so that it stays in order.
pub mod elsewhere;
#[cfg(not(target_os = "linux"))]
use elsewhere as native;

/// Wakes the thread that watches.
pub mod bell;

/// Which disks send no events.
pub mod remote;

/// One watched root: watches, scans, health.
pub mod root;

/// The thread that watches.
pub mod service;

pub use service::{Observer, Watch};
pub use tree::{Change, ChangeKind, Tree};
