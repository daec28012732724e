//! Names of files that work on every system: a file we create can be checked out on Linux, macOS and
//! Windows, and never hides another. Existing files keep whatever name they have.

use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Longer names do not fit everywhere.
const MAX_NAME_BYTES: usize = 200;
/// What Windows does not take in a name.
const FORBIDDEN: &str = "<>:\"/\\|?*";
/// Names that are devices on Windows, with any extension.
const DEVICES: [&str; 28] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "com¹", "com²",
    "com³", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "lpt¹", "lpt²", "lpt³",
];

/// Why a name does not work everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name is longer than {MAX_NAME_BYTES} bytes")]
    TooLong,
    /// A character that some system or some reader cannot bear.
    #[error("the name contains the character U+{0:04X}, which does not work on every system")]
    Character(u32),
    /// A blank or dot at the end.
    #[error("the name ends with a blank or a dot, which does not work on every system")]
    Ending,
    /// A device on Windows.
    #[error("the name is reserved on some systems")]
    Device,
    /// Letters and their marks are apart.
    #[error("the name is not in Unicode form NFC")]
    NotComposed,
}

/// Whether a new file may have this name.
pub fn check_portable(name: &str) -> Result<(), NameError> {
    if name.len() > MAX_NAME_BYTES {
        return Err(NameError::TooLong);
    }
    if let Some(bad) = name.chars().find(|character| is_bad(*character)) {
        return Err(NameError::Character(bad as u32));
    }
    if name.ends_with([' ', '.']) {
        return Err(NameError::Ending);
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_lowercase();
    if DEVICES.contains(&stem.as_str()) {
        return Err(NameError::Device);
    }
    if is_nfc(name) { Ok(()) } else { Err(NameError::NotComposed) }
}

fn is_bad(character: char) -> bool {
    let invisible = matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    character.is_control() || invisible || FORBIDDEN.contains(character)
}

/// Two names with the same fold are one file on some systems.
pub fn fold_file_name(name: &str) -> String {
    name.nfc().collect::<String>().to_uppercase().to_lowercase().nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_work_everywhere_pass() {
        for name in ["a.md", "メモ.md", "año nuevo.md", "🦀", "con-text.md", "2026-11-16.md", "家族👨.md"] {
            assert_eq!(check_portable(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn others_are_refused_with_a_reason() {
        for (name, error) in [
            ("a:b", NameError::Character(0x3a)),
            ("a\u{7}", NameError::Character(7)),
            ("a\u{202e}b", NameError::Character(0x202e)),
            ("a\u{200b}b", NameError::Character(0x200b)),
            ("a ", NameError::Ending),
            ("a.", NameError::Ending),
            ("CON.md", NameError::Device),
            ("lpt1", NameError::Device),
            ("COM².txt", NameError::Device),
            ("cafe\u{301}", NameError::NotComposed),
        ] {
            assert_eq!(check_portable(name), Err(error), "{name:?}");
        }
        assert_eq!(check_portable(&"x".repeat(201)), Err(NameError::TooLong));
    }

    #[test]
    fn folding_joins_what_some_systems_join() {
        assert_eq!(fold_file_name("Notes.md"), fold_file_name("notes.MD"));
        assert_eq!(fold_file_name("caf\u{e9}"), fold_file_name("CAFE\u{301}"));
        assert_ne!(fold_file_name("a"), fold_file_name("b"));
    }
}
