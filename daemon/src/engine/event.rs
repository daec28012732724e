//! All that can wake the owner of the state.

use std::fmt;

use crossbeam_channel::Sender;
use trellis_protocol::control::Progress;

use crate::watch::Change;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A session was greeted.
    Opened,
    /// A session is gone.
    Closed,
    /// Something a person should know.
    Warned(String),
    /// Files in a watched tree are not what they were.
    Changed(Vec<Change>),
    /// How far the index is with a tree; none when it is done.
    CatchingUp(Option<Progress>),
    /// Somebody waits until everything before this is part of the snapshot.
    Asked(Sender<()>),
    /// The time without clients is over.
    Idle,
    /// Somebody wants us to leave.
    Leave(Why),
}

/// Why we leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// SIGTERM or SIGINT.
    Signal,
    /// `trellisd stop`.
    Asked,
    /// A newer program takes over.
    HandOver,
    /// Nobody needed us for long enough.
    Idle,
    /// Our socket or lock is not ours any more.
    Displaced,
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Signal => "told by a signal",
            Self::Asked => "told by the command line",
            Self::HandOver => "a newer program takes over",
            Self::Idle => "no clients for long enough",
            Self::Displaced => "the socket or the lock is not ours any more",
        })
    }
}
