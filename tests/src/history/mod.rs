//! Histories of calls, and whether they could have happened one after the other.
//!
//! A history says of each operation when it was asked for and when it was answered, if it was. It is linearizable if
//! every operation can be given one moment between the two, so that all of them in that order are what a single thread
//! would have seen. Pure: nothing here knows a process, a clock or a file.

/// Finding an order, or that there is none.
pub mod linearize;

/// What a file may hold: a list that grows, or the last of several values.
pub mod file_model;

pub use file_model::{Attempt, FileOperation, FileState, Outcome, merge_attempts};
pub use linearize::{Interval, SequentialModel, Verdict, linearize};
