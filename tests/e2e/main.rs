//! Stories of users, through every door.
#![allow(clippy::disallowed_methods, reason = "tests make files and start programs")]

/// From nothing to a connected host, and back.
mod first_day;

/// A host that starts us at home or in `/`, with no settings.
mod newcomer;

/// What becomes of a change, whoever made it.
mod changes;

/// What the journal says of a change.
mod journal_entries;

/// The gateway.
mod http;

/// Tasks, contexts and decision records of a project.
mod todo;

/// All families at once.
mod all_families;

/// Items of all families.
mod items;

/// Reading and writing the vault.
mod vault;

/// What a search finds, and in which order.
mod relevance;

/// One search over everything.
mod recall;

/// Reading and writing the workspace.
mod vibe;

/// Finding notes by their words.
mod search;

/// The kanban board and its bridge file.
mod board;

/// Working through plans.
mod vine;
