//! How we are, answered from memory: what `trellisd status` shows.

use std::sync::atomic::{AtomicU64, Ordering};

use trellis_protocol::control::{Counters, FamilyStatus, SessionStatus, Status};
use trellis_protocol::version;

use super::{Engine, StartedBy};
use crate::http::{self, listen::Standing};

impl Engine {
    /// Everything a person may want to know; never waits for a disk.
    pub fn status(&self) -> Status {
        let snapshot = self.snapshot();
        let credentials = match self.life.gateway {
            Standing::On(_) => http::credentials_warning(&self.settings.http, &self.life.places.state),
            Standing::Off | Standing::Failed(_) => None,
        };
        let credentials = credentials.map(str::to_owned);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let family = |family: &crate::families::Registered| FamilyStatus {
            name: family.name.to_owned(),
            tools: family.tools.len() as u32,
        };
        let mut sessions: Vec<SessionStatus> = self
            .sessions
            .iter()
            .map(|session| SessionStatus {
                pid: session.pid,
                client: session.client.load().as_deref().cloned().unwrap_or_default(),
                directory: session.directory.clone(),
                in_flight: session.in_flight.load(Ordering::Relaxed),
            })
            .collect();
        sessions.sort_by_key(|session| session.pid);
        Status {
            build: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: version::CURRENT,
            pid: std::process::id(),
            uptime_seconds: self.life.since.elapsed().as_secs(),
            socket: self.life.socket.clone(),
            started_by: match self.life.started_by {
                StartedBy::Demand => "on demand",
                StartedBy::Service => "as a service",
                StartedBy::Hand => "by hand",
            }
            .to_owned(),
            idle_seconds: self.life.idles().then_some(self.settings.idle_seconds.value),
            families: self.registry.families().iter().map(family).collect(),
            sessions,
            roots: self.watch.health(),
            catching_up: snapshot.catching_up,
            counters: Counters {
                sessions: count(&self.counters.sessions),
                calls: count(&self.counters.calls),
                panics: count(&self.counters.panics),
                dropped_clients: count(&self.counters.dropped_clients),
                refused_peers: count(&self.counters.refused_peers),
                changes: snapshot.changes,
            },
            warnings: snapshot.warnings.iter().cloned().chain(credentials).collect(),
            settings: self.settings.report(),
            gateway: self.life.gateway.describe(),
        }
    }
}
