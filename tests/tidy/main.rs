//! The tree checks itself: heads, purity, families, dependencies, the front page, the pages and the service files.
#![allow(clippy::disallowed_methods, reason = "tests read files and start programs")]

/// The files of the tree, and the code in them.
mod tree;

/// How a file begins, how long it is, and what nobody leaves behind.
mod files;

/// Who may name what.
mod purity;

/// Every family has one shape, and knows no other.
mod families;

/// What we depend on.
mod dependencies;

/// What a visitor sees first.
mod front;

/// The pages below `docs/`.
mod pages;

/// What is installed for service managers.
mod services;
