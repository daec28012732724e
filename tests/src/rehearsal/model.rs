//! The plays, and the URIs of plays and scenes.

use std::fmt::Write as _;

/// A play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Play {
    /// As in its URI, before that is encoded.
    pub name: &'static str,
    /// In its own words.
    pub language: &'static str,
    /// From the first.
    pub lines: &'static [&'static str],
}

/// All plays, in the order in which they are listed.
pub const PLAYS: [Play; 4] = [
    Play { name: "hamlet", language: "English", lines: &["Who's there?", "Nay, answer me."] },
    Play { name: "fuenteovejuna", language: "Español", lines: &["¿Sabe el maestre que estoy en la villa?"] },
    Play { name: "sueño", language: "Español", lines: &["Hipogrifo violento", "que corriste parejas con el viento"] },
    Play { name: "忠臣蔵", language: "日本語", lines: &["嘉肴ありといへども"] },
];

/// So many scenes exist: more than one page of a list holds.
pub const SCENES: u32 = 250;

/// The play of that name.
pub fn play(name: &str) -> Option<&'static Play> {
    PLAYS.iter().find(|play| play.name == name)
}

/// The URI of a play.
pub fn play_uri(name: &str) -> String {
    let mut uri = "rehearsal://plays/".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The URI of a scene.
pub fn scene_uri(number: u32) -> String {
    format!("rehearsal://scenes/{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_ascii() {
        assert_eq!(play_uri("hamlet"), "rehearsal://plays/hamlet");
        assert_eq!(play_uri("sueño"), "rehearsal://plays/sue%C3%B1o");
    }
}
