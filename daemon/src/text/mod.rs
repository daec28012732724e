//! Rules about text that several families share. Pure.

/// Names of files that work on every system.
pub mod names;
