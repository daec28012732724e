//! What happens to files, on its way to whoever must know: watched changes and our own writes go to the index, and
//! what the index has to say comes back as events.

use std::sync::{Arc, OnceLock};

use crossbeam_channel::Sender;
use tokio::sync::broadcast;

use super::{Engine, Event, Told};
use crate::disk::scribe::Wanted;
use crate::index::{self, Index};
use crate::watch::{Change, Observer};

/// Hears of what the watching thread sees, and passes it on. Nothing is read here.
#[derive(Debug, Clone)]
pub struct Ears {
    /// To the owner of the state.
    pub events: Sender<Event>,
    /// To the sessions.
    pub told: broadcast::Sender<Arc<Told>>,
    /// The index, which comes after the watcher.
    pub index: Arc<OnceLock<Arc<Index>>>,
}

impl Observer for Ears {
    fn changed(&self, changes: Vec<Change>) {
        if let Some(index) = self.index.get() {
            index.changed(&changes);
        }
        let _ = self.events.send(Event::Changed(changes));
    }

    fn warned(&self, warning: String) {
        let _ = self.told.send(Arc::new(Told::Warned(warning.clone())));
        let _ = self.events.send(Event::Warned(warning));
    }
}

impl Ears {
    /// What the index says.
    pub fn hear(&self, told: index::Told) {
        match told {
            index::Told::CatchingUp(progress) => {
                let _ = self.events.send(Event::CatchingUp(progress));
            }
            index::Told::Warned(warning) => self.warned(warning),
        }
    }
}

impl Engine {
    /// Files of ours were written: whoever searches after this finds them as they are.
    pub(super) fn ingest(&self, files: &[Wanted]) {
        for wanted in files {
            self.index.written(&wanted.tree, wanted.target.path.as_str());
        }
    }
}
