//! Which session a request is: the project it names, else the one that is set, with the daemon's own
//! environment, zone and mask.
//!
//! Requests about the same project share one session, so that its trees are found and watched once; few
//! are kept.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use axum::http::HeaderName;
use axum::http::header::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use trellis_protocol::endpoint::Surroundings;
use trellis_protocol::{Failure, Surface};
use trellis_proxy::surroundings;

use crate::clock::zone_named;
use crate::engine::{Attended, Connected, Engine};
use crate::families::project::Door;
use crate::present::http::Fault;
use crate::tools::session::Zone;
use crate::tools::{Call, Session};

/// Names the project of a request.
pub const PROJECT: HeaderName = HeaderName::from_static("x-trellis-project");

/// Calls of one project that may wait for disks at once.
const TURNS: usize = 8;
/// Projects whose sessions are kept.
const KEPT: usize = 16;

/// A session of the gateway.
#[derive(Debug, Clone)]
pub struct Visit {
    /// How it calls tools.
    pub call: Call,
    /// How it is seen in `status`.
    pub connected: Arc<Connected>,
    /// Keeps its trees watched.
    pub attended: Arc<Attended>,
}

/// What every session of the gateway has in common.
#[derive(Debug)]
pub struct Visits {
    engine: Arc<Engine>,
    around: Surroundings,
    /// Where requests work that name no project, once that is known.
    project: OnceLock<PathBuf>,
    umask: u32,
    kept: Mutex<Vec<(Key, Visit)>>,
}

type Key = (Option<PathBuf>, Surface);

impl Visits {
    /// Sessions with these surroundings. `umask` is the daemon's, asked for while it had one thread. Requests that name
    /// no project work in the one that is set, else in the one in which the daemon was started.
    pub fn new(engine: Arc<Engine>, around: Surroundings, umask: u32) -> Self {
        let project = engine.settings.http.project.value.clone().map_or_else(OnceLock::new, OnceLock::from);
        Self { engine, around, project, umask, kept: Mutex::default() }
    }

    /// The project that a request names, else the one that is set.
    pub fn project(&self, headers: &HeaderMap) -> Result<Option<PathBuf>, Fault> {
        let mut named = headers.get_all(PROJECT).iter();
        let Some(first) = named.next() else { return Ok(self.default_project()) };
        let path = std::str::from_utf8(first.as_bytes()).ok().map(PathBuf::from);
        path.filter(|path| path.is_absolute() && named.next().is_none())
            .map(Some)
            .ok_or_else(|| Fault::Parameters("`X-Trellis-Project` must be one absolute path".to_owned()))
    }

    /// Where requests work that name no project. A directory in which the daemon was started may become a project later.
    pub fn default_project(&self) -> Option<PathBuf> {
        if self.project.get().is_none() {
            let place = self.engine.life.started_in.as_deref()?;
            let project = tokio::task::block_in_place(|| self.engine.projects.in_project(place))?;
            return Some(self.project.get_or_init(|| project).clone());
        }
        self.project.get().cloned()
    }

    /// The session that requests about this project share.
    pub fn shared(&self, project: Option<PathBuf>, surface: &Surface) -> Result<Visit, Failure> {
        let key = (project, surface.clone());
        let mut kept = self.kept.lock();
        let place = kept.iter().position(|(known, _)| *known == key);
        let found = place.map(|place| kept.remove(place));
        let (key, visit) = match found {
            Some(found) => found,
            None => {
                let visit = self.fresh(key.0.clone(), surface)?;
                (key, visit)
            }
        };
        kept.insert(0, (key, visit.clone()));
        kept.truncate(KEPT);
        Ok(visit)
    }

    /// A session of its own.
    pub fn fresh(&self, project: Option<PathBuf>, surface: &Surface) -> Result<Visit, Failure> {
        let engine = Arc::clone(&self.engine);
        let catalogue = engine.registry.catalogue(surface)?;
        let directory = project.as_deref().unwrap_or(Path::new("/"));
        let environment = surroundings::session_environment(&self.around, directory).into_iter().collect();
        let connected = Arc::new(Connected { directory: directory.display().to_string(), ..Connected::default() });
        let session = Arc::new(Session {
            directory: project,
            door: Door::Http,
            home: std::env::home_dir(),
            environment,
            zone: Zone(zone_named(&surroundings::time_zone(&self.around))),
            umask: self.umask,
            ..Session::default()
        });
        let call = Call { engine, catalogue, session, turns: Arc::new(Semaphore::new(TURNS)), slow: Arc::default() };
        let attended = Attended::begin(&call);
        Ok(Visit { call, connected, attended })
    }
}
