//! The tests of Trellis as a whole: a harness that runs the real programs in a temporary home, and a
//! family that exists only here.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// Homes, programs, clients and waits.
pub mod harness;

/// A family that exists only in tests: two tools, a resource and a prompt.
pub mod rehearsal;
