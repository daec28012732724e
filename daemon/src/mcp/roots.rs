//! The host's roots: requested once after a handshake, again when the host says that they changed.
//!
//! Nothing depends on them: a host that does not answer delays only its own first call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, RequestContext};
use tokio::sync::OnceCell;

use crate::families::SessionContext;
use crate::tools::ClientSession;

/// How long a host may take to tell its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether the roots have been asked for.
#[derive(Debug)]
pub struct HostRoots {
    asked: OnceCell<()>,
    session: Arc<ClientSession>,
}

impl HostRoots {
    /// Not asked yet.
    pub fn new(session: Arc<ClientSession>) -> Self {
        Self { asked: OnceCell::new(), session }
    }

    /// Asks before a call that may need them: one without a directory that says what is worked on.
    pub async fn ask_if_needed(&self, session: &SessionContext, context: &RequestContext<RoleServer>) {
        if session.directory.as_deref().is_none_or(is_home_or_root) {
            self.ask(session, &context.peer).await;
        }
    }

    /// Asks, unless that was done before; waits for whoever is asking at the moment. A host that cannot
    /// answer may just not have been heard to the end of its handshake, so this does not count as asked.
    pub async fn ask(&self, session: &SessionContext, peer: &Peer<RoleServer>) {
        if is_able(peer) {
            self.asked.get_or_init(|| self.refresh(session, peer)).await;
        }
    }

    #[expect(deprecated, reason = "hosts of the handshake era still tell their roots")]
    pub async fn refresh(&self, session: &SessionContext, peer: &Peer<RoleServer>) {
        if is_able(peer)
            && let Ok(Ok(result)) = tokio::time::timeout(ROOTS_TIMEOUT, peer.list_roots()).await
        {
            session.set_roots(result.roots.iter().filter_map(|root| path_of(&root.uri)).collect());
            self.session.refresh_trees();
        }
    }
}

/// Whether the host has said that it has roots to tell. Without a handshake nothing is asked of a host.
fn is_able(peer: &Peer<RoleServer>) -> bool {
    peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some() && info.protocol_version.has_initialize())
}

/// Hosts without a project start their servers in `/` or at home.
fn is_home_or_root(directory: &Path) -> bool {
    directory.parent().is_none() || std::env::home_dir().is_some_and(|home| home == directory)
}

/// `file:///home/ada/caf%C3%A9` → `/home/ada/café`; anything else is no root of ours.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let variables = crate::families::uri::matches("file://{+path}", &format!("file://{path}"))?;
    variables.into_values().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_on_this_machine_are_roots() {
        assert_eq!(path_of("file:///home/ada/caf%C3%A9"), Some("/home/ada/café".into()));
        assert_eq!(path_of("file://localhost/srv"), Some("/srv".into()));
        assert_eq!(path_of("file://elsewhere/srv"), None);
        assert_eq!(path_of("https://example.org/"), None);
    }
}
