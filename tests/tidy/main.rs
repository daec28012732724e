//! The tree checks itself.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]
