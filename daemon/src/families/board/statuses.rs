//! The words for how far a card is, each with its lane.

use crate::families::item::ItemLane::{Blocked, Doing, Done, Review, Todo};
use crate::families::statuses::FamilyWords;
use crate::families::statuses::WordUse::{Special, Usual};

pub const STATUS_WORDS: FamilyWords = FamilyWords(&[
    ("backlog", Todo, Special),
    ("todo", Todo, Usual),
    ("in_progress", Doing, Usual),
    ("code_review", Review, Usual),
    ("recovery", Blocked, Usual),
    ("done", Done, Usual),
]);
