//! The protocol number and the rule that decides which builds may talk.
//!
//! Every greeting and every reply begins with a number in a form that never changes, so that any two
//! builds can at least say why they do not understand each other.

/// The number this build speaks.
pub const CURRENT: u16 = 1;

/// What two builds do when they meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Both use the lower of the two numbers.
    Talk(u16),
    /// More than one number apart: the older one has to be replaced.
    TooFar,
}

/// Neighbours talk in the older one's words; anything further apart does not.
///
/// ```
/// use trellis_protocol::version::{Meeting, meet};
/// assert_eq!(meet(7, 8), Meeting::Talk(7));
/// assert_eq!(meet(7, 9), Meeting::TooFar);
/// ```
pub fn meet(ours: u16, theirs: u16) -> Meeting {
    if ours.abs_diff(theirs) <= 1 { Meeting::Talk(ours.min(theirs)) } else { Meeting::TooFar }
}

/// Whether this build can read a greeting's body that was written in `number`.
///
/// Number 0 is the same body as 1: it stands for the predecessor that a first release lacks, so that
/// the rule for neighbours holds, and is tested, from the beginning.
pub fn readable(number: u16) -> bool {
    number <= CURRENT && meet(CURRENT, number) != Meeting::TooFar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_talk_in_the_older_words() {
        assert_eq!(meet(1, 1), Meeting::Talk(1));
        assert_eq!(meet(1, 0), Meeting::Talk(0));
        assert_eq!(meet(1, 2), Meeting::Talk(1));
        assert_eq!(meet(1, 3), Meeting::TooFar);
        assert_eq!(meet(u16::MAX, 0), Meeting::TooFar);
    }

    #[test]
    fn a_newer_body_is_never_guessed_at() {
        assert!(readable(CURRENT));
        assert!(readable(CURRENT - 1));
        assert!(!readable(CURRENT + 1));
    }
}
