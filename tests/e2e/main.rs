//! Stories of users, through every door.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// From nothing to a connected host, and back.
mod first_day;

/// Reading and writing the vault.
mod vault;
