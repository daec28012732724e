//! Hostile bytes for every parser that reads what others wrote. libFuzzer makes the bytes; `TRELLIS_FUZZ` names the
//! target, one function in a file of its own. A target fails by a panic: of the parser, or of what must hold for
//! whatever it reads.
#![no_main]

/// Envelopes, greetings and replies on the socket.
mod frames;

/// JSON-RPC, as hosts send it.
mod messages;

/// Segments of the journal.
mod journal;

/// Plans of vine.
mod vine;

/// Task lists, decision records and contexts of todo.
mod todo;

/// The bridge file of a board.
mod board;

/// Front matter and the YAML in it.
mod front_matter;

/// Documents of vibe.
mod documents;

/// Heads and framing of HTTP requests.
mod http;

/// Addresses of resources.
mod addresses;

/// Queries of a search.
mod queries;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 11] = [
    ("frames", frames::run),
    ("messages", messages::run),
    ("journal", journal::run),
    ("vine", vine::run),
    ("todo", todo::run),
    ("board", board::run),
    ("front_matter", front_matter::run),
    ("documents", documents::run),
    ("http", http::run),
    ("addresses", addresses::run),
    ("queries", queries::run),
];

fn target() -> Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let asked = std::env::var("TRELLIS_FUZZ").unwrap_or_default();
        let found = TARGETS.iter().find(|(name, _)| *name == asked);
        let names = TARGETS.map(|(name, _)| name).join(" ");
        found.unwrap_or_else(|| panic!("TRELLIS_FUZZ is `{asked}`, but must be one of: {names}")).1
    })
}

fuzz_target!(|bytes: &[u8]| target()(bytes));
