//! What sessions hear about without asking again: changed lists, changed resources, warnings.
//!
//! Hosts of the handshake era subscribe to single resources and hear of every changed list; modern
//! ones say in `subscriptions/listen` what they want, and hear nothing else.
#![expect(deprecated, reason = "log messages belong to the handshake era, which we serve too")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::engine::Told;
use crate::tools::{Call, Catalogue, Notice};

/// The resources that a session of the handshake era has subscribed to.
#[derive(Debug, Default)]
pub struct Subscriptions {
    uris: Mutex<BTreeSet<String>>,
    attended: AtomicBool,
    prepared: Mutex<Vec<Receiver<Arc<Told>>>>,
}

impl Subscriptions {
    /// Subscribes to one.
    pub fn add(&self, uri: String) {
        self.uris.lock().insert(uri);
    }

    /// Ends one subscription.
    pub fn remove(&self, uri: &str) {
        self.uris.lock().remove(uri);
    }

    /// What is told from now on is kept for the next [`listen`]: it begins only after its acknowledgement
    /// has been sent, and nothing may be missed in between.
    pub fn prepare(&self, call: &Call) {
        self.prepared.lock().push(call.engine.listen());
    }

    /// From now on, passes on what the session should hear; once per session.
    pub fn attend(self: &Arc<Self>, call: &Call, peer: &Peer<RoleServer>, level: &Arc<Mutex<Option<LoggingLevel>>>) {
        if self.attended.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut told = call.engine.listen();
        let (subscriptions, catalogue) = (Arc::downgrade(self), Arc::clone(&call.catalogue));
        let (peer, level) = (peer.clone(), Arc::clone(level));
        tokio::spawn(async move {
            loop {
                let heard = told.recv().await;
                // The session's end is noticed here, with the next thing that is told.
                let Some(subscriptions) = subscriptions.upgrade() else { return };
                if peer.is_transport_closed() {
                    return;
                }
                match heard {
                    Ok(told) => subscriptions.pass_on(&told, &catalogue, &peer, &level).await,
                    Err(RecvError::Lagged(_)) => subscriptions.anything_may_have_changed(&peer).await,
                    Err(RecvError::Closed) => return,
                }
            }
        });
    }

    async fn pass_on(
        &self,
        told: &Told,
        catalogue: &Catalogue,
        peer: &Peer<RoleServer>,
        level: &Mutex<Option<LoggingLevel>>,
    ) {
        match told {
            Told::Noticed { family, notices } if catalogue.families().any(|on| on.name == *family) => {
                for notice in notices {
                    self.send(notice, peer).await;
                }
            }
            Told::Noticed { .. } => {}
            Told::Warned(warning) => {
                let wanted = level.lock().is_some_and(|level| weight(level) <= weight(LoggingLevel::Warning));
                if wanted {
                    send_warning(warning, peer).await;
                }
            }
        }
    }

    async fn send(&self, notice: &Notice, peer: &Peer<RoleServer>) {
        // A host that is gone hears nothing; its session is ending anyway.
        let _ = match notice {
            Notice::Updated(uri) => {
                if !self.uris.lock().contains(uri) {
                    return;
                }
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await
            }
            Notice::ResourcesChanged => peer.notify_resource_list_changed().await,
            Notice::PromptsChanged => peer.notify_prompt_list_changed().await,
            Notice::ToolsChanged => peer.notify_tool_list_changed().await,
        };
    }

    async fn anything_may_have_changed(&self, peer: &Peer<RoleServer>) {
        let uris: Vec<String> = self.uris.lock().iter().cloned().collect();
        for uri in uris {
            self.send(&Notice::Updated(uri), peer).await;
        }
        for notice in [Notice::ResourcesChanged, Notice::PromptsChanged, Notice::ToolsChanged] {
            self.send(&notice, peer).await;
        }
    }
}

async fn send_warning(warning: &str, peer: &Peer<RoleServer>) {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Warning, json!(warning)).with_logger("trellis");
    let _ = peer.notify_logging_message(message).await;
}

fn weight(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

/// Serves one `subscriptions/listen` until it is cancelled or the session ends.
pub async fn listen(call: &Call, subscriptions: &Subscriptions, context: &SubscriptionContext) {
    let prepared = subscriptions.prepared.lock().pop();
    let mut told = prepared.unwrap_or_else(|| call.engine.listen());
    loop {
        let heard = tokio::select! {
            heard = told.recv() => heard,
            () = context.cancelled() => return,
        };
        match heard {
            Ok(told) => {
                if let Told::Noticed { family, notices } = &*told
                    && call.catalogue.families().any(|on| on.name == *family)
                {
                    for notice in notices {
                        send_tagged(context, notice).await;
                    }
                }
            }
            Err(RecvError::Lagged(_)) => {
                for uri in context.accepted().resource_subscriptions.iter().flatten() {
                    send_tagged(context, &Notice::Updated(uri.clone())).await;
                }
                for notice in [Notice::ResourcesChanged, Notice::PromptsChanged, Notice::ToolsChanged] {
                    send_tagged(context, &notice).await;
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// The sink leaves out what was not asked for, and tags the rest.
async fn send_tagged(context: &SubscriptionContext, notice: &Notice) {
    let sink = context.sink();
    let _ = match notice {
        Notice::Updated(uri) => sink.notify_resource_updated(uri.clone()).await,
        Notice::ResourcesChanged => sink.notify_resource_list_changed().await,
        Notice::PromptsChanged => sink.notify_prompt_list_changed().await,
        Notice::ToolsChanged => sink.notify_tool_list_changed().await,
    };
}
