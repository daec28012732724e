//! Time as an argument: what a call may know about when it happens.
//!
//! The clock is read once per call, at the edge; everything behind it takes a [`Now`].

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// One moment, as the session's person would read it off the wall.
#[derive(Debug, Clone)]
pub struct Now {
    pub at: Timestamp,
    /// Where the session is; dates in names of new files are its own.
    pub zone: TimeZone,
}

impl Now {
    /// Reads the clock.
    #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
    pub fn read(zone: &TimeZone) -> Self {
        Self { at: Timestamp::now(), zone: zone.clone() }
    }
}

/// The zone with this IANA name; an unknown or empty name is the daemon's own zone.
pub fn zone_named(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or_else(|_| TimeZone::system())
}

/// A moment as part of a file's name: `20261116T101502Z`.
pub fn file_name_timestamp() -> String {
    Now::read(&TimeZone::UTC).at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Milliseconds of the epoch.
pub fn epoch_millis() -> i64 {
    Now::read(&TimeZone::UTC).at.as_millisecond()
}

/// Nanoseconds of the epoch, as the times of files are counted.
pub fn epoch_nanos() -> i128 {
    Now::read(&TimeZone::UTC).at.as_nanosecond()
}
