//! Schemas, eras, surfaces and errors, over the real programs.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]
