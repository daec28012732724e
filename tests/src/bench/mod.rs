//! What we promise, measured. One part per file; a part returns its figures.

/// Spawn, ping, memory and idleness of proxy and daemon.
pub mod process;

/// Tasks in a full project, and ten of them.
pub mod todo;

/// What can be done now in plans of every size, and one status changed.
pub mod vine;

/// The notes that are searched in.
pub mod corpus;

/// Searching, and how soon what was written is found.
pub mod search;

/// One search over everything.
pub mod recall;

/// Acknowledged writes beside the disk's own time.
pub mod writes;

use std::fmt;
use std::time::Duration;

/// A part of the bench.
pub type BenchPart = fn() -> Vec<Measurement>;

/// Every part, by the name it is asked for.
pub const PARTS: [(&str, BenchPart); 6] = [
    ("process", process::measurements),
    ("writes", writes::measurements),
    ("vine", vine::measurements),
    ("search", search::measurements),
    ("recall", recall::measurements),
    ("todo", todo::measurements),
];

/// One figure, beside its goal.
#[derive(Debug)]
pub struct Measurement {
    what: String,
    seen: String,
    goal: String,
    met: bool,
}

impl Measurement {
    /// A figure that must be at most its goal.
    pub fn at_most(what: impl Into<String>, seen: f64, goal: f64, unit: &str) -> Self {
        Self {
            what: what.into(),
            seen: format!("{seen:.2} {unit}"),
            goal: format!("≤ {goal:.2} {unit}"),
            met: seen <= goal,
        }
    }

    /// A figure without a goal: an anchor, or something to know.
    pub fn note(what: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { what: what.into(), seen: seen.into(), goal: String::new(), met: true }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.goal.is_empty(), self.met) {
            (true, _) => "",
            (false, true) => "met",
            (false, false) => "MISSED",
        };
        write!(formatter, "{:<58} {:>14}  {:<14} {verdict}", self.what, self.seen, self.goal)
    }
}

/// The middle, the 95th and the 99th of a hundred.
#[derive(Debug, Clone, Copy)]
pub struct Percentiles {
    /// Half are quicker.
    pub p50: Duration,
    /// Five in a hundred are slower.
    pub p95: Duration,
    /// One in a hundred is slower.
    pub p99: Duration,
}

/// Sorts and picks.
pub fn percentiles(mut times: Vec<Duration>) -> Percentiles {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    Percentiles { p50: at(50), p95: at(95), p99: at(99) }
}

/// Milliseconds, as a number.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Microseconds, as a number.
pub fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
