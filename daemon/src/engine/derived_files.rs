//! Derived files: what a family regenerates from other files, written shortly after a write was answered.
//!
//! Nobody waits for it, and a failure is only logged: the next write regenerates it. Several writes of one session
//! in one project within the delay share one job.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::Engine;
use super::commit::lock_keys;
use crate::clock::Now;
use crate::disk::DiskWork;
use crate::disk::staged_file::WriteError;
use crate::families::FamilyDescriptor;
use crate::families::{ProgressReporter, SessionContext};
use crate::trees::Origin;

/// How long to wait for further writes that may share the job.
const DERIVED_FILES_DELAY: Duration = Duration::from_millis(300);
const MAX_DERIVED_REPLANS: usize = 3;

/// Jobs with the same key are run once: family, session, and the project that the caller named.
pub type DerivedJobKey = (&'static str, usize, String);

impl Engine {
    /// Sees to it, once this moment has passed.
    pub fn schedule_derived_files(
        self: &Arc<Self>,
        family: &FamilyDescriptor,
        session: &Arc<SessionContext>,
        arguments: &Map<String, Value>,
    ) {
        if family.derived_files.is_none() {
            return;
        }
        let project = arguments.get("project_root").map(Value::to_string).unwrap_or_default();
        let shared: DerivedJobKey = (family.name, Arc::as_ptr(session) as usize, project);
        if !self.derived_files.insert(shared.clone()) {
            return;
        }
        let (engine, session, arguments) = (Arc::clone(self), Arc::clone(session), arguments.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(DERIVED_FILES_DELAY) => {}
                () = engine.lifecycle.leaving().cancelled() => {}
            }
            engine.derived_files.remove(&shared);
            let work = move || {
                if let Err(failure) = engine.write_derived_files(shared.0, &session, &arguments) {
                    tracing::debug!(family = shared.0, ?failure, "what is made from other files was not written");
                }
            };
            let _ = tokio::task::spawn_blocking(work).await;
        });
    }

    /// The same for items that another family than the called one has changed.
    pub fn schedule_derived_files_of(
        self: &Arc<Self>,
        changed: &[(String, PathBuf)],
        called: &FamilyDescriptor,
        session: &Arc<SessionContext>,
    ) {
        for (name, tree) in changed.iter().filter(|(name, _)| name != called.name) {
            let family = self.registry.families().iter().find(|family| family.name == name);
            if let Some((family, project)) = family.zip(tree.parent().and_then(Path::to_str)) {
                let arguments = Map::from_iter([("project_root".to_owned(), project.into())]);
                self.schedule_derived_files(family, session, &arguments);
            }
        }
    }

    fn write_derived_files(
        &self,
        family: &str,
        session: &SessionContext,
        arguments: &Map<String, Value>,
    ) -> Result<(), Failure> {
        let family = self.registry.families().iter().find(|registered| registered.name == family);
        let Some((family, two_phase)) = family.and_then(|family| Some((family, family.derived_files.as_ref()?))) else {
            return Ok(());
        };
        let reporter = ProgressReporter::default();
        let work = DiskWork::new(&self.disks);
        let context = self.read_context(session, &reporter).with_work(&work);
        for _ in 0..MAX_DERIVED_REPLANS {
            let edit = two_phase.run(arguments, &context, &Now::read(&session.zone.0))?;
            if edit.is_empty() {
                return Ok(());
            }
            let names = lock_keys(&edit, &context, family)?;
            let _held = self.files_in_progress.take(names);
            match self.apply_edit(&edit, None, &Origin::Derived, &context) {
                Ok(_) => return Ok(()),
                Err((_, WriteError::Changed)) => {}
                Err((path, why)) => return Err(Failure::internal(format!("`{path}`: {why:?}"))),
            }
        }
        Ok(())
    }
}
