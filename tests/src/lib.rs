//! The tests of Trellis as a whole: a harness that runs the real programs in a temporary home, and
//! families that exist only here.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// Homes, programs, clients and waits.
pub mod harness;

/// A family that exists only in tests, with every kind of tool, resource and prompt.
pub mod rehearsal;

/// A second one, which shares the name of a tool with the first.
pub mod understudy;

/// A third one, whose notes are found by their words.
pub mod library;

/// What we promise, measured.
pub mod bench;
