//! The tree checks itself: heads, words, purity, families, dependencies, the pages and what they say of the sources,
//! and the service files.
#![allow(clippy::disallowed_methods, reason = "tests read files and start programs")]

/// The files of the tree, and the code in them.
mod tree;

/// How a file begins, how long it is, and what nobody leaves behind.
mod files;

/// One public type for each name, and comments that say more than one.
mod words;

/// Who may name what.
mod edges;

/// Every family has one shape, and knows no other.
mod families;

/// No code outside its folder names a family.
mod family_names;

/// What we depend on.
mod dependencies;

/// What a visitor sees first.
mod readme;

/// The pages below `docs/`.
mod pages;

/// `docs/architecture.md` against the sources.
mod architecture;

/// `docs/errors.md` against the sources.
mod error_codes;

/// What is installed for service managers.
mod service_files;
