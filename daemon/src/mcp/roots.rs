//! The host's roots: asked for once in the handshake era, again when the host says that they changed.
//!
//! Nothing depends on them: a host that does not answer costs its own first call a moment.

use std::path::PathBuf;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, RequestContext};
use tokio::sync::OnceCell;

use crate::tools::Session;

/// How long a host may take to tell its roots.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the roots have been asked for.
#[derive(Debug, Default)]
pub struct HostRoots {
    asked: OnceCell<()>,
}

impl HostRoots {
    /// Asks before a call that may need them: one without a directory of its own.
    pub async fn ask_if_needed(&self, session: &Session, context: &RequestContext<RoleServer>) {
        if session.directory.is_none() {
            self.ask(session, &context.peer).await;
        }
    }

    /// Asks, unless that was done before; waits for whoever is asking at the moment.
    pub async fn ask(&self, session: &Session, peer: &Peer<RoleServer>) {
        self.asked.get_or_init(|| self.ask_again(session, peer)).await;
    }

    /// Asks.
    #[expect(deprecated, reason = "hosts of the handshake era still tell their roots")]
    pub async fn ask_again(&self, session: &Session, peer: &Peer<RoleServer>) {
        let able = peer
            .peer_info()
            .is_some_and(|info| info.capabilities.roots.is_some() && info.protocol_version.has_initialize());
        if !able {
            return;
        }
        if let Ok(Ok(result)) = tokio::time::timeout(PATIENCE, peer.list_roots()).await {
            session.set_roots(result.roots.iter().filter_map(|root| path_of(&root.uri)).collect());
        }
    }
}

/// `file:///home/ada/caf%C3%A9` → `/home/ada/café`; anything else is no root of ours.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let variables = crate::tools::uri::matches("file://{+path}", &format!("file://{path}"))?;
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
