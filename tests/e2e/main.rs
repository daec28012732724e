//! Stories of users, through every door.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]
