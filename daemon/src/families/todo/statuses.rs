//! The words for how far a task is, each with its lane.

use crate::families::item::ItemLane::{Doing, Done, Todo};
use crate::families::statuses::FamilyWords;
use crate::families::statuses::WordUse::Usual;

pub const STATUS_WORDS: FamilyWords =
    FamilyWords(&[("todo", Todo, Usual), ("in_progress", Doing, Usual), ("done", Done, Usual)]);
