//! Starts, kills, floods, deaf clients, strangers: what must not hurt.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]
