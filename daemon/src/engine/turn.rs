//! One event → the next state. Pure: time is an argument, and nothing is waited for.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use trellis_protocol::control::Progress;

use super::event::{Event, Why};

/// How many warnings are kept for `status`.
const WARNINGS_KEPT: usize = 20;

/// What only the owner sees.
#[derive(Debug)]
pub struct State {
    clients: usize,
    idle: Option<Duration>,
    alone_since: Option<Instant>,
    warnings: VecDeque<String>,
    changes: u64,
    catching_up: Option<Progress>,
}

/// What everybody may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The newest warnings, oldest first.
    pub warnings: Vec<String>,
    /// Work in the background.
    pub catching_up: Option<Progress>,
    /// Changes of files that were noticed so far.
    pub changes: u64,
}

/// What follows from an event, besides the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Stay,
    /// It is time to leave.
    Leave(Why),
}

impl State {
    /// The state of a daemon that has just begun; `idle` is how long it stays without clients.
    pub fn new(idle: Option<Duration>, now: Instant) -> Self {
        Self { clients: 0, idle, alone_since: Some(now), warnings: VecDeque::new(), changes: 0, catching_up: None }
    }

    /// When to wake up without any event.
    pub fn deadline(&self) -> Option<Instant> {
        Some(self.alone_since? + self.idle?)
    }

    /// Works off one event.
    pub fn turn(&mut self, event: Event, now: Instant) -> Verdict {
        match event {
            Event::Opened => {
                self.clients += 1;
                self.alone_since = None;
            }
            Event::Closed => {
                self.clients = self.clients.saturating_sub(1);
                if self.clients == 0 {
                    self.alone_since = Some(now);
                }
            }
            Event::Warned(warning) => {
                tracing::warn!("{warning}");
                if self.warnings.len() == WARNINGS_KEPT {
                    self.warnings.pop_front();
                }
                self.warnings.push_back(warning);
            }
            Event::Changed(changes) => self.changes += changes.len() as u64,
            Event::CatchingUp(progress) => self.catching_up = progress,
            // Whoever asked is answered once the snapshot is published.
            Event::Asked(_) => {}
            Event::Idle => {
                if self.deadline().is_some_and(|deadline| deadline <= now) {
                    return Verdict::Leave(Why::Idle);
                }
            }
            Event::Leave(why) => return Verdict::Leave(why),
        }
        Verdict::Stay
    }

    /// What everybody may see of it.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            warnings: self.warnings.iter().cloned().collect(),
            catching_up: self.catching_up,
            changes: self.changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn an_on_demand_daemon_leaves_when_alone_for_long_enough() {
        let start = Instant::now();
        let mut state = State::new(Some(MINUTE), start);
        assert_eq!(state.deadline(), Some(start + MINUTE));
        state.turn(Event::Opened, start);
        state.turn(Event::Opened, start);
        assert_eq!(state.deadline(), None, "with clients there is nothing to wait for");
        state.turn(Event::Closed, start);
        assert_eq!(state.deadline(), None);
        state.turn(Event::Closed, start + MINUTE);
        assert_eq!(state.turn(Event::Idle, start + MINUTE), Verdict::Stay, "not yet");
        assert_eq!(state.turn(Event::Idle, start + 2 * MINUTE), Verdict::Leave(Why::Idle));
    }

    #[test]
    fn a_service_stays() {
        let state = State::new(None, Instant::now());
        assert_eq!(state.deadline(), None);
    }

    #[test]
    fn only_the_newest_warnings_are_kept() {
        let mut state = State::new(None, Instant::now());
        for number in 0..25 {
            state.turn(Event::Warned(number.to_string()), Instant::now());
        }
        let warnings = state.snapshot().warnings;
        assert_eq!(warnings.len(), WARNINGS_KEPT);
        assert_eq!(warnings.last().map(String::as_str), Some("24"));
    }
}
