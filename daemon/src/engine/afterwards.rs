//! What is written a moment after a write was answered: files that a family makes from others.
//!
//! Nobody waits for it and nobody is told when it fails: the next write makes it again. Several writes of one
//! session in one project within that moment share one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::Engine;
use super::commit::file_names;
use crate::clock::Now;
use crate::disk::Reporter;
use crate::disk::write::Unwritten;
use crate::families::Registered;
use crate::tools::Session;

/// How long writes are waited for that may share it.
const MOMENT: Duration = Duration::from_millis(300);
/// How often it is made again because somebody moved what it is made from.
const ATTEMPTS: usize = 3;

/// Which of them may be shared: family, session, and the project that the caller named.
pub type Shared = (&'static str, usize, String);

impl Engine {
    /// Sees to it, once this moment has passed.
    pub fn see_to_afterwards(
        self: &Arc<Self>,
        family: &Registered,
        session: &Arc<Session>,
        arguments: &Map<String, Value>,
    ) {
        if family.afterwards.is_none() {
            return;
        }
        let project = arguments.get("project_root").map(Value::to_string).unwrap_or_default();
        let shared: Shared = (family.name, Arc::as_ptr(session) as usize, project);
        if !self.afterwards.insert(shared.clone()) {
            return;
        }
        let (engine, session, arguments) = (Arc::clone(self), Arc::clone(session), arguments.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(MOMENT) => {}
                () = engine.leaving.cancelled() => {}
            }
            engine.afterwards.remove(&shared);
            let work = move || {
                if let Err(failure) = engine.write_afterwards(shared.0, &session, &arguments) {
                    tracing::debug!(family = shared.0, ?failure, "what is made from other files was not written");
                }
            };
            let _ = tokio::task::spawn_blocking(work).await;
        });
    }

    fn write_afterwards(&self, family: &str, session: &Session, arguments: &Map<String, Value>) -> Result<(), Failure> {
        let family = self.registry.families().iter().find(|registered| registered.name == family);
        let Some((family, halves)) = family.and_then(|family| Some((family, family.afterwards.as_ref()?))) else {
            return Ok(());
        };
        let reporter = Reporter::default();
        let eyes = self.eyes(session, &reporter);
        for _ in 0..ATTEMPTS {
            let edit = halves.run(arguments, &eyes, &Now::read(&session.zone.0))?;
            if edit.is_empty() {
                return Ok(());
            }
            let names = file_names(&edit, &eyes, family)?;
            let _held = self.files_in_progress.take(names);
            match self.put_down(&edit, None, &eyes) {
                Ok(_) => return Ok(()),
                Err((_, Unwritten::Moved)) => {}
                Err((path, why)) => return Err(Failure::internal(format!("`{path}`: {why:?}"))),
            }
        }
        Ok(())
    }
}
