//! Rules about text that several families share. Pure.

/// Names of files that work on every system.
pub mod file_names;

/// Words without case and accents.
pub mod folding;

/// The hash of a file that users see.
pub mod hash;

/// JSON as text, and the numbers in it.
pub mod json;

/// A name as one segment of a URI.
pub mod percent;

/// A title as part of a file's name.
pub mod slug;

/// Lines, and which of them are code.
pub mod code_fences;

/// Headings and sections.
pub mod headings;

/// Front matter: found, merged, written.
pub mod front_matter;

/// Values in YAML, on one line.
pub mod yaml;

/// Names that were probably meant.
pub mod nearest;
