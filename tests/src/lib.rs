//! The tests of Trellis as a whole: a harness that runs the real programs in a temporary home, and
//! families that exist only here.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// Homes, programs, clients and waits.
pub mod harness;

/// A disk that hangs, crawls or fails on demand.
pub mod stalling_disk;

/// A family that exists only in tests, with every kind of tool, resource and prompt.
pub mod fixture;

/// A second one, with a tool whose name clashes.
pub mod clash;

/// A third one, whose notes can be searched.
pub mod notes;

/// Histories of calls, and whether they fit together.
pub mod history;

/// A long day, and whether anything grows.
pub mod soak;

/// What we promise, measured.
pub mod bench;
