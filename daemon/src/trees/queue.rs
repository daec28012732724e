//! The events between notify's thread and ours: recorded in order, taken by the watcher thread, waited for by barriers.
//!
//! Notify calls [`EventQueue::record`] for one event after the other, in the system's order. When the event of a
//! cookie's touch is recorded, everything that happened before the touch is pending, being applied, or applied.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind};
use parking_lot::{Condvar, Mutex};

use super::cookie::{Cookie, RoundNumber};
use super::pending::PendingEvents;

/// Wakes the watcher thread.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

pub(crate) struct EventQueue {
    state: Mutex<State>,
    /// A round came back, the cookie was lost, or events were applied.
    moved: Condvar,
    waker: Waker,
}

#[derive(Debug, Default)]
struct State {
    pending: PendingEvents,
    /// Taken by the watcher thread, and not yet handed on as changes.
    being_applied: Option<Arc<PendingEvents>>,
    /// Counts what was recorded; `applied` and `taken` are values it had.
    recorded: u64,
    taken: u64,
    applied: u64,
    /// The watcher thread knows already that there is something to take.
    is_woken: bool,
    interest: Interest,
    cookie: Option<Cookie>,
    /// Rounds of a cookie that was lost never come back.
    cookie_generation: u64,
    high_water: usize,
}

/// Which events matter.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    /// Directories whose entries matter, by the path that notify knows, with the other names that they have for us.
    pub(crate) directories: HashMap<PathBuf, Vec<PathBuf>>,
    /// Paths that matter themselves: roots, and the directories above them.
    pub(crate) paths: HashSet<PathBuf>,
    /// Events come from every depth below the directories.
    pub(crate) covers_subtrees: bool,
}

impl Interest {
    /// The names under which an event is of interest; none if it is not.
    fn names(&self, path: PathBuf) -> Vec<PathBuf> {
        let depth = if self.covers_subtrees { usize::MAX } else { 2 };
        let directory = path.ancestors().take(depth).find_map(|above| Some((above, self.directories.get(above)?)));
        match directory {
            None if self.paths.contains(&path) => vec![path],
            None => Vec::new(),
            Some((_, others)) if others.is_empty() => vec![path],
            Some((directory, others)) => {
                let rest = path.strip_prefix(directory).unwrap_or(Path::new(""));
                let mut names: Vec<PathBuf> = others.iter().map(|other| join(other, rest)).collect();
                names.push(path);
                names
            }
        }
    }
}

/// Joining the empty path would leave a slash at the end.
fn join(directory: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { directory.to_owned() } else { directory.join(rest) }
}

/// A touch of the cookie that was begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    generation: u64,
    number: RoundNumber,
}

/// Why a round did not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRound {
    Late,
    /// It never will: there is no cookie.
    Lost,
}

impl State {
    fn is_behind(&self, root: &Path) -> bool {
        self.pending.concerns(root) || self.being_applied.as_ref().is_some_and(|taken| taken.concerns(root))
    }
}

impl EventQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { state: Mutex::default(), moved: Condvar::new(), waker }
    }

    /// Takes an event from notify. Never waits for anybody.
    pub(crate) fn record(&self, event: notify::Result<Event>) {
        let (overflow, event) = match event {
            Ok(event) if event.need_rescan() => (Some("events were lost"), event),
            Ok(event) => (None, event),
            Err(_) => (Some("the watcher failed"), Event::default()),
        };
        if overflow.is_none() && !is_of_interest(event.kind) {
            return;
        }
        let mut state = self.state.lock();
        if let Some(reason) = overflow {
            self.overflow(&mut state, reason);
        }
        let is_moved_away = matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From | RenameMode::Any))
        );
        for path in event.paths {
            if self.is_for_cookie(&mut state, &path, event.kind, is_moved_away) {
                continue;
            }
            for name in state.interest.names(path) {
                state.recorded += 1;
                match is_moved_away {
                    true => state.pending.add_moved_away(name),
                    false => state.pending.add(name),
                }
            }
        }
        self.wake_if_needed(&mut state);
    }

    fn is_for_cookie(&self, state: &mut State, path: &Path, kind: EventKind, is_moved_away: bool) -> bool {
        let Some(cookie) = &mut state.cookie else { return false };
        let is_its_directory = cookie.path().parent() == Some(path);
        if path != cookie.path() && !is_its_directory {
            return false;
        }
        if is_moved_away {
            self.lose_cookie(state);
        } else if !is_its_directory && matches!(kind, EventKind::Modify(ModifyKind::Metadata(_))) {
            if cookie.on_event().is_err() {
                self.lose_cookie(state);
            }
            self.moved.notify_all();
        }
        // A directory of a tree may be the cookie's as well.
        !is_its_directory
    }

    /// The watcher thread makes a new one when it has something to do. At once would be in the way of whoever removes
    /// the directory just now.
    fn lose_cookie(&self, state: &mut State) {
        if state.cookie.take().is_some() {
            state.cookie_generation += 1;
            self.moved.notify_all();
        }
    }

    fn wake_if_needed(&self, state: &mut State) {
        if !state.pending.is_empty() && !std::mem::replace(&mut state.is_woken, true) {
            (self.waker)();
        }
    }

    /// What has been recorded, to be applied now. [`EventQueue::finish_applying`] must follow.
    pub(crate) fn take_pending(&self) -> Arc<PendingEvents> {
        let mut state = self.state.lock();
        state.is_woken = false;
        state.taken = state.recorded;
        let taken = Arc::new(std::mem::take(&mut state.pending));
        state.high_water = state.high_water.max(taken.paths.len());
        state.being_applied = Some(Arc::clone(&taken));
        taken
    }

    /// The most paths that were ever taken at once.
    pub(crate) fn high_water(&self) -> usize {
        self.state.lock().high_water
    }

    /// The changes that came of what was taken have been handed on.
    pub(crate) fn finish_applying(&self) {
        let mut state = self.state.lock();
        state.being_applied = None;
        state.applied = state.taken;
        self.moved.notify_all();
    }

    /// Lets everything be rescanned.
    pub(crate) fn mark_overflow(&self, reason: &'static str) {
        let mut state = self.state.lock();
        self.overflow(&mut state, reason);
        self.wake_if_needed(&mut state);
    }

    fn overflow(&self, state: &mut State, reason: &'static str) {
        state.pending.mark_overflow(reason);
        state.recorded += 1;
        // The event of a touch may be among those that are missing.
        self.lose_cookie(state);
    }

    /// Changes which events matter from now on.
    pub(crate) fn set_interest(&self, change: impl FnOnce(&mut Interest)) {
        change(&mut self.state.lock().interest);
    }

    /// Touches the cookie, unless a touch is under way: then the next one is shared.
    pub(crate) fn begin_round(&self) -> Result<Round, NoRound> {
        let mut state = self.state.lock();
        let generation = state.cookie_generation;
        match state.cookie.as_mut().map(Cookie::begin) {
            Some(Ok(number)) => Ok(Round { generation, number }),
            Some(Err(_)) => {
                self.lose_cookie(&mut state);
                Err(NoRound::Lost)
            }
            None => Err(NoRound::Lost),
        }
    }

    /// Waits until everything that happened before the round began has been recorded.
    pub(crate) fn wait_for_round(&self, round: Round, deadline: Instant) -> Result<(), NoRound> {
        let mut state = self.state.lock();
        loop {
            let due_back = match &state.cookie {
                Some(_) if state.cookie_generation != round.generation => return Err(NoRound::Lost),
                Some(cookie) if cookie.has_returned(round.number) => return Ok(()),
                Some(cookie) => cookie.due_back(),
                None => return Err(NoRound::Lost),
            };
            let now = Instant::now();
            if due_back <= now {
                self.lose_cookie(&mut state);
                return Err(NoRound::Lost);
            }
            if deadline <= now {
                return Err(NoRound::Late);
            }
            self.moved.wait_until(&mut state, deadline.min(due_back));
        }
    }

    /// Waits until nothing that has been recorded of a tree is waiting to be applied; returns whether that is so.
    pub(crate) fn wait_until_applied(&self, root: &Path, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        let recorded = state.recorded;
        while state.applied < recorded && state.is_behind(root) {
            if self.moved.wait_until(&mut state, deadline).timed_out() {
                return state.applied >= recorded || !state.is_behind(root);
            }
        }
        true
    }

    /// Whether anything that has been recorded of a tree is waiting to be applied.
    pub(crate) fn is_behind(&self, root: &Path) -> bool {
        self.state.lock().is_behind(root)
    }

    pub(crate) fn cookie_is_lost(&self) -> bool {
        self.state.lock().cookie.is_none()
    }

    pub(crate) fn set_cookie(&self, cookie: Cookie) {
        let mut state = self.state.lock();
        state.cookie_generation += 1;
        state.cookie = Some(cookie);
    }
}

/// Opening and reading is nobody's change; most of it is our own.
fn is_of_interest(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        // Notify has reported both names already.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => false,
        _ => true,
    }
}

impl std::fmt::Debug for EventQueue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventQueue").field("state", &self.state).finish_non_exhaustive()
    }
}
