//! Notices when somebody replaces our socket or our lock, so that we make room for them at once.
//!
//! The directories of both are watched; a name that comes or goes in them means: look whether they are
//! still ours.

use std::path::Path;
use std::sync::Arc;

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Tells when names come and go beside our socket and our lock. Where the system cannot tell, it is
/// noticed when the next client comes.
#[derive(Debug)]
pub struct Displaced {
    stirred: Arc<Notify>,
    _watcher: Option<RecommendedWatcher>,
}

impl Displaced {
    /// Watches these directories.
    pub fn watch<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Self {
        let stirred = Arc::new(Notify::new());
        let tell = Arc::clone(&stirred);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let names = |event: &notify::Event| {
                matches!(
                    event.kind,
                    EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                )
            };
            if event.as_ref().is_ok_and(names) {
                tell.notify_one();
            }
        });
        let mut watcher = watcher.ok();
        for directory in directories {
            if let Some(watcher) = &mut watcher {
                let _ = watcher.watch(directory, RecursiveMode::NonRecursive);
            }
        }
        Self { stirred, _watcher: watcher }
    }

    /// The next time; several that come together count once.
    pub async fn stirred(&self) {
        self.stirred.notified().await;
    }
}
