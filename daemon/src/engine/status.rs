//! The status report, from memory: what `trellisd status` shows.

use std::sync::atomic::{AtomicU64, Ordering};

use trellis_protocol::control::{Counters, FamilyStatus, RootStatus, SessionStatus, Status};
use trellis_protocol::version;

use super::{Engine, StartedBy};

impl Engine {
    /// Everything a person may want to know; never waits for a disk.
    pub fn status(&self) -> Status {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let family = |family: &crate::families::FamilyDescriptor| FamilyStatus {
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
            uptime_seconds: self.process.since.elapsed().as_secs(),
            socket: self.process.socket.clone(),
            started_by: match self.process.started_by {
                StartedBy::Demand => "on demand",
                StartedBy::Service => "as a service",
                StartedBy::Terminal => "by hand",
            }
            .to_owned(),
            idle_seconds: self.process.exits_when_idle().then_some(self.settings.idle_seconds.value),
            families: self.registry.families().iter().map(family).collect(),
            sessions,
            roots: self.roots_with_documents(),
            catching_up: *self.progress.lock(),
            counters: Counters {
                sessions: count(&self.counters.sessions),
                calls: count(&self.counters.calls),
                panics: count(&self.counters.panics),
                dropped_clients: count(&self.counters.dropped_clients),
                refused_peers: count(&self.counters.refused_peers),
                changes: self.trees.changes(),
                queue_high_water: self.trees.queue_high_water() as u64,
            },
            warnings: self.lifecycle.warnings().into_iter().chain(self.writer.journal().problems()).collect(),
            settings: self.settings.report(),
            gateway: self.process.gateway.describe(),
            landlock: self.process.landlock.clone(),
        }
    }

    fn roots_with_documents(&self) -> Vec<RootStatus> {
        let documents = self.index.documents_per_tree();
        let mut roots = self.trees.health();
        for root in &mut roots {
            let of_root = documents.iter().filter(|(tree, ..)| tree.display().to_string() == root.path);
            root.documents = of_root.map(|(.., count)| *count as u64).sum();
        }
        roots
    }
}
