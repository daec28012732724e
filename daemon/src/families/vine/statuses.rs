//! The words for how far a plan's task is, each with its lane.

use crate::families::item::ItemLane::{Blocked, Doing, Done, Review, Todo};
use crate::families::statuses::FamilyWords;
use crate::families::statuses::WordUse::{Special, Usual};

pub const STATUS_WORDS: FamilyWords = FamilyWords(&[
    ("notstarted", Todo, Usual),
    ("planning", Todo, Special),
    ("started", Doing, Usual),
    ("reviewing", Review, Usual),
    ("blocked", Blocked, Usual),
    ("complete", Done, Usual),
]);
