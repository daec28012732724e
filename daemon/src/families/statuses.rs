//! How far something is, in the words that people use: one table for all families, which add their own.
//!
//! A word comes in as somebody wrote it; the lane that it means goes out, or the word that a family writes for it.

use super::item::ItemLane::{self, Blocked, Doing, Done, Review, Todo};
use crate::text::folding::fold_word;

/// Words for lanes that are understood everywhere, folded and with hyphens.
const LANES: [(ItemLane, &[&str]); 5] = [
    (
        Todo,
        &[
            "todo",
            "to-do",
            "pending",
            "open",
            "new",
            "notstarted",
            "not-started",
            "backlog",
            "planning",
            "pendiente",
            "por-hacer",
            "未着手",
        ],
    ),
    (
        Doing,
        &[
            "doing",
            "in-progress",
            "inprogress",
            "started",
            "active",
            "wip",
            "en-curso",
            "en-progreso",
            "進行中",
            "作業中",
        ],
    ),
    (Review, &["review", "in-review", "reviewing", "code-review", "en-revision", "レビュー中"]),
    (Blocked, &["blocked", "on-hold", "waiting", "recovery", "bloqueado", "bloqueada", "en-espera", "保留"]),
    (Done, &["done", "complete", "completed", "closed", "hecho", "hecha", "完了", "済み"]),
];

/// Words for the status of a decision, by the word that is written.
const DECISIONS: [(&str, &[&str]); 3] = [
    ("Proposed", &["proposed", "draft", "propuesta", "提案"]),
    ("Accepted", &["accepted", "approved", "aceptada", "採用"]),
    ("Deprecated", &["deprecated", "superseded", "obsolete", "obsoleta", "廃止"]),
];

/// The words of one family, in its own order.
#[derive(Debug, Clone, Copy)]
pub struct FamilyWords(pub &'static [(&'static str, ItemLane, WordUse)]);

/// Whether a word is written where only the lane is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordUse {
    Usual,
    Special,
}

impl FamilyWords {
    /// The family's word for what was given: its own, else the usual one of the lane that is meant.
    pub fn meant(self, given: &str) -> Option<&'static str> {
        let given = folded(given);
        let own = self.0.iter().find(|(word, ..)| folded(word) == given);
        let usual = || {
            let lane = lane_of_folded(&given)?;
            self.0.iter().find(|(_, known, usage)| *known == lane && *usage == WordUse::Usual)
        };
        own.or_else(usual).map(|(word, ..)| *word)
    }

    /// The lane of something with this status: by the family's own word, else by those that are understood everywhere.
    pub fn lane(self, status: &str) -> Option<ItemLane> {
        let status = folded(status);
        let own = self.0.iter().find(|(word, ..)| folded(word) == status);
        own.map(|(_, lane, _)| *lane).or_else(|| lane_of_folded(&status))
    }
}

/// The written word for the status of a decision.
pub fn decision_meant(given: &str) -> Option<&'static str> {
    let given = folded(given);
    DECISIONS.iter().find(|(_, words)| words.contains(&given.as_str())).map(|(word, _)| *word)
}

/// Whether a document with this status no longer holds.
pub fn is_outdated(status: &str) -> bool {
    matches!(folded(status).as_str(), "deprecated" | "superseded" | "obsolete")
}

fn lane_of_folded(word: &str) -> Option<ItemLane> {
    LANES.iter().find(|(_, words)| words.contains(&word)).map(|(lane, _)| *lane)
}

/// Without case, accents and the difference between blanks, `_` and `-`.
fn folded(word: &str) -> String {
    fold_word(word).split([' ', '_', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::board::statuses::STATUS_WORDS as BOARD;
    use crate::families::todo::statuses::STATUS_WORDS as TODO;
    use crate::families::vibe::statuses::STATUS_WORDS as VIBE;
    use crate::families::vine::statuses::STATUS_WORDS as VINE;

    #[track_caller]
    fn check(words: FamilyWords, given: &str, expected: Option<&str>) {
        assert_eq!(words.meant(given), expected, "{given}");
    }

    #[test]
    fn a_family_s_own_word_comes_first() {
        for (word, ..) in VIBE.0.iter().chain(TODO.0).chain(VINE.0).chain(BOARD.0) {
            let of = |words: FamilyWords| words.0.iter().any(|(own, ..)| own == word);
            for words in [VIBE, TODO, VINE, BOARD].into_iter().filter(|words| of(*words)) {
                check(words, word, Some(word));
                check(words, &word.to_uppercase().replace('_', " "), Some(word));
            }
        }
        check(BOARD, "backlog", Some("backlog"));
        check(VIBE, "backlog", Some("pending"));
        check(VINE, "planning", Some("planning"));
    }

    #[test]
    fn other_words_mean_the_lane_s_usual_word() {
        for (words, given, expected) in [
            (VIBE, "In Progress", Some("in-progress")),
            (VIBE, "complete", Some("done")),
            (VIBE, "bloqueada", Some("blocked")),
            (VIBE, "review", None),
            (TODO, "pending", Some("todo")),
            (TODO, "進行中", Some("in_progress")),
            (TODO, "blocked", None),
            (BOARD, "open", Some("todo")),
            (BOARD, "blocked", Some("recovery")),
            (BOARD, "En  Revisión", Some("code_review")),
            (BOARD, "completed", Some("done")),
            (BOARD, "済み", Some("done")),
            (BOARD, "nonsense", None),
            (VIBE, "", None),
        ] {
            check(words, given, expected);
        }
    }

    #[test]
    fn every_word_of_the_table_has_its_lane() {
        for (lane, words) in LANES {
            for word in words {
                assert_eq!(VINE.lane(word), Some(lane), "{word}");
            }
        }
        assert_eq!(VIBE.lane("someday"), None);
        assert_eq!(BOARD.lane("backlog"), Some(Todo));
    }

    #[test]
    fn decisions_have_their_own_words() {
        for (given, expected) in [
            ("Accepted", Some("Accepted")),
            ("approved", Some("Accepted")),
            ("採用", Some("Accepted")),
            ("DRAFT", Some("Proposed")),
            ("superseded", Some("Deprecated")),
            ("obsoleta", Some("Deprecated")),
            ("done", None),
        ] {
            assert_eq!(decision_meant(given), expected, "{given}");
        }
        assert!(is_outdated("Obsolete") && !is_outdated("done"));
    }
}
