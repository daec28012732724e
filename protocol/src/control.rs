//! Requests of the command line that are not MCP: typed, one order and one report a connection.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the command line, or a newer proxy, asks of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ControlRequest {
    /// How are you?
    Status,
    /// Finish what is in flight and leave.
    Stop,
    /// The same, because a newer program is waiting to take over.
    HandOver,
    /// Answer when everything that happened to watched files up to now has been seen.
    SyncBarrier {
        /// But not later than this.
        milliseconds: u32,
    },
}

/// The daemon's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ControlReply {
    /// The reply to [`ControlRequest::Status`].
    Status(Box<Status>),
    /// To [`ControlRequest::Stop`] and [`ControlRequest::HandOver`]: accepted, the process with this pid is leaving.
    Leaving {
        /// For display only.
        pid: u32,
    },
    /// The reply to [`ControlRequest::SyncBarrier`].
    Synced {
        /// Not, if that took too long: answers may be older than the files.
        everything: bool,
    },
}

/// How the daemon is, answered from memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the daemon.
    pub build: String,
    /// Its protocol number.
    pub protocol: u16,
    /// For display only.
    pub pid: u32,
    /// Since it said ready.
    pub uptime_seconds: u64,
    /// Where it listens.
    pub socket: String,
    /// Who started it, which decides whether it leaves when idle.
    pub started_by: String,
    /// Seconds without clients after which it leaves; none if it stays.
    pub idle_seconds: Option<u64>,
    /// The families it serves.
    pub families: Vec<FamilyStatus>,
    /// Sessions that are connected now.
    pub sessions: Vec<SessionStatus>,
    /// Work in the background: what is being caught up with.
    pub catching_up: Option<Progress>,
    /// Trees that are watched.
    pub roots: Vec<RootStatus>,
    /// Things that happened since the start.
    pub counters: Counters,
    /// The newest warnings, oldest first, at most 20.
    pub warnings: Vec<String>,
    /// Settings with the place each value came from.
    pub settings: Vec<SettingStatus>,
    /// The HTTP gateway: its address, `off`, or why it does not run.
    pub gateway: String,
    /// What the system forbids the daemon, or why it does not.
    pub landlock: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyStatus {
    /// As in `--only NAME`.
    pub name: String,
    /// How many tools it has.
    pub tools: u32,
}

/// One connected session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// The proxy's pid, for display only.
    pub pid: u32,
    /// The host's name and version, once it has introduced itself.
    pub client: String,
    /// Its working directory.
    pub directory: String,
    /// Requests being worked on.
    pub in_flight: u32,
}

/// One watched tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootStatus {
    /// Where it is.
    pub path: String,
    /// `watched`, `missing` or `not answering`.
    pub state: String,
    /// How it is watched, and why not better.
    pub backend: String,
    /// Files that are known in it.
    pub files: u64,
    /// Of them, those that can be searched.
    pub documents: u64,
    /// Directories that are watched.
    pub watches: u64,
    /// Equal for equal files in equal states.
    pub fingerprint: String,
    /// How often all of it was looked at.
    pub rescans: u64,
    /// How often for which reason.
    pub rescans_by_reason: BTreeMap<String, u64>,
    /// Why, the last time.
    pub rescan_reason: String,
    /// Seconds since then.
    pub last_scan_seconds: Option<u64>,
    /// How long it took.
    pub scan_milliseconds: u64,
    /// What a person should know about it, if anything.
    pub warning: Option<String>,
}

/// Work in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub done: u64,
    /// Steps in all.
    pub total: u64,
}

/// Things that happened since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Connections that were greeted.
    pub sessions: u64,
    /// Tool calls that were answered.
    pub calls: u64,
    /// Calls that ended in a panic and were answered with an internal error.
    pub panics: u64,
    /// Clients dropped because they did not read.
    pub dropped_clients: u64,
    /// Connections refused because they belong to another user.
    pub refused_peers: u64,
    /// Changes of files in watched trees.
    pub changes: u64,
    /// The most paths with events that ever waited to be looked at.
    pub queue_high_water: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingStatus {
    /// Its name in the configuration file.
    pub name: String,
    pub value: String,
    /// `default`, `config file`, `environment` or `flag`.
    pub source: String,
}
