//! The words for how far a task is, each with its lane.

use crate::families::item::ItemLane::{Blocked, Doing, Done, Todo};
use crate::families::statuses::FamilyWords;
use crate::families::statuses::WordUse::Usual;

pub const STATUS_WORDS: FamilyWords = FamilyWords(&[
    ("pending", Todo, Usual),
    ("in-progress", Doing, Usual),
    ("blocked", Blocked, Usual),
    ("done", Done, Usual),
]);
