//! Notices when somebody replaces our socket or our lock, so that this daemon can leave at once.
//!
//! The directories of both are watched; a name that comes or goes in them means: check whether both are still ours.

use std::path::Path;
use std::sync::Arc;

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Tells when names come and go beside our socket and our lock. Where the system cannot tell, it is
/// noticed when the next client comes.
#[derive(Debug)]
pub struct SocketReplacedWatcher {
    changed: Arc<Notify>,
    _watcher: Option<RecommendedWatcher>,
}

impl SocketReplacedWatcher {
    /// Watches these directories.
    pub fn watch<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Self {
        let stirred = Arc::new(Notify::new());
        let tell = Arc::clone(&stirred);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let kind = event.map(|event| event.kind);
            if matches!(kind, Ok(EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))))
            {
                tell.notify_one();
            }
        });
        let mut watcher = watcher.ok();
        for directory in directories {
            if let Some(watcher) = &mut watcher {
                let _ = watcher.watch(directory, RecursiveMode::NonRecursive);
            }
        }
        Self { changed: stirred, _watcher: watcher }
    }

    /// The next time; several that come together count once.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
