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
use trellis_protocol::endpoint::AccountEnvironment;
use trellis_protocol::{Failure, Surface};
use trellis_proxy::surroundings;

use crate::clock::zone_named;
use crate::engine::{ClientStatus, Engine};
use crate::families::SessionContext;
use crate::families::session::SessionTimeZone;
use crate::ids;
use crate::present::http::HttpError;
use crate::projects::{Interface, SessionDirectories};
use crate::tools::ClientSession;

/// Names the project of a request.
pub const PROJECT: HeaderName = HeaderName::from_static("x-trellis-project");

/// Calls of one project that may wait for disks at once.
const MAX_BLOCKING_CALLS_PER_PROJECT: usize = 8;
/// Projects whose sessions are kept.
const MAX_CACHED_SESSIONS: usize = 16;

/// What every session of the gateway has in common.
#[derive(Debug)]
pub struct GatewaySessions {
    engine: Arc<Engine>,
    account: AccountEnvironment,
    /// Where requests work that name no project, once that is known.
    project: OnceLock<PathBuf>,
    umask: u32,
    kept: Mutex<Vec<(Key, Arc<ClientSession>)>>,
}

type Key = (Option<PathBuf>, Surface);

impl GatewaySessions {
    /// Sessions with these surroundings. `umask` is the daemon's, asked for while it had one thread. Requests that name
    /// no project work in the one that is set, else in the one in which the daemon was started.
    pub fn new(engine: Arc<Engine>, account: AccountEnvironment, umask: u32) -> Self {
        let project = engine.settings.http.project.value.clone().map_or_else(OnceLock::new, OnceLock::from);
        Self { engine, account, project, umask, kept: Mutex::default() }
    }

    /// The project that a request names, else the one that is set.
    pub fn project(&self, headers: &HeaderMap) -> Result<Option<PathBuf>, HttpError> {
        let mut named = headers.get_all(PROJECT).iter();
        let Some(first) = named.next() else { return Ok(self.default_project()) };
        let path = std::str::from_utf8(first.as_bytes()).ok().map(PathBuf::from);
        let wrong =
            || HttpError::Parameters("`X-Trellis-Project` must be one path or the name of a project".to_owned());
        let path = path.filter(|path| !path.as_os_str().is_empty() && named.next().is_none()).ok_or_else(wrong)?;
        let nobody = SessionDirectories { door: Interface::Http, ..SessionDirectories::default() };
        let meant = self.engine.projects.path_of(&path, &nobody);
        meant.map(Some).map_err(|why| HttpError::Parameters(format!("`X-Trellis-Project`: {why}")))
    }

    /// Where requests work that name no project. A directory in which the daemon was started may become a project
    /// later.
    pub fn default_project(&self) -> Option<PathBuf> {
        if self.project.get().is_none() {
            let place = self.engine.process.started_in.as_deref()?;
            let project = tokio::task::block_in_place(|| self.engine.projects.in_project(place))?;
            return Some(self.project.get_or_init(|| project).clone());
        }
        self.project.get().cloned()
    }

    /// The session that requests about this project share.
    pub fn shared(&self, project: Option<PathBuf>, surface: &Surface) -> Result<Arc<ClientSession>, Failure> {
        let key = (project, surface.clone());
        let mut kept = self.kept.lock();
        let session = match kept.iter().position(|(known, _)| *known == key) {
            Some(place) => kept.remove(place).1,
            None => self.open(key.0.clone(), surface, None)?,
        };
        kept.insert(0, (key, Arc::clone(&session)));
        kept.truncate(MAX_CACHED_SESSIONS);
        Ok(session)
    }

    /// A session of its own, with a name that no other has.
    pub fn lasting(&self, project: Option<PathBuf>, surface: &Surface) -> Result<Arc<ClientSession>, Failure> {
        let key = format!("{:016x}{:016x}", ids::random_u64(), ids::random_u64());
        self.open(project, surface, Some(key))
    }

    fn open(
        &self,
        project: Option<PathBuf>,
        surface: &Surface,
        key: Option<String>,
    ) -> Result<Arc<ClientSession>, Failure> {
        let engine = Arc::clone(&self.engine);
        let catalogue = engine.registry.catalogue(surface)?;
        let directory = project.as_deref().unwrap_or(Path::new("/"));
        let environment = surroundings::session_environment(&self.account, directory).into_iter().collect();
        let status = Arc::new(ClientStatus { directory: directory.display().to_string(), ..ClientStatus::default() });
        let context = Arc::new(SessionContext {
            key,
            directory: project,
            door: Interface::Http,
            home: std::env::home_dir(),
            environment,
            zone: SessionTimeZone(zone_named(&surroundings::time_zone(&self.account))),
            umask: self.umask,
            ..SessionContext::default()
        });
        Ok(ClientSession::start(engine, catalogue, context, status, MAX_BLOCKING_CALLS_PER_PROJECT))
    }
}
