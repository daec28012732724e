//! Notifications that sessions get without asking again: changed lists, changed resources, warnings.
//!
//! Hosts with a handshake subscribe to single resources and are notified of every changed list; others say in
//! `subscriptions/listen` what they want, and get nothing else.
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

use crate::engine::Notification;
use crate::families::Notice;
use crate::tools::ClientSession;

/// The resources that a session with a handshake has subscribed to.
#[derive(Debug, Default)]
pub struct Subscriptions {
    pub(super) uris: Mutex<BTreeSet<String>>,
    client: AtomicBool,
    prepared: Mutex<Vec<Receiver<Arc<Notification>>>>,
}

impl Subscriptions {
    /// What is told from now on is kept for the next [`listen`]: it begins only after its acknowledgement
    /// has been sent, and nothing may be missed in between.
    pub fn prepare(&self, session: &Arc<ClientSession>) {
        self.prepared.lock().push(session.engine.notifier.subscribe());
    }

    /// From now on, passes on what the session should hear; once per session.
    pub fn start(
        self: &Arc<Self>,
        session: &Arc<ClientSession>,
        peer: &Peer<RoleServer>,
        level: &Arc<Mutex<Option<LoggingLevel>>>,
    ) {
        if self.client.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut notification = session.engine.notifier.subscribe();
        let (subscriptions, session) = (Arc::downgrade(self), Arc::downgrade(session));
        let (peer, level) = (peer.clone(), Arc::clone(level));
        tokio::spawn(async move {
            loop {
                let received = notification.recv().await;
                // The session's end is noticed here, with the next thing that is told.
                let Some((subscriptions, session)) = subscriptions.upgrade().zip(session.upgrade()) else { return };
                if peer.is_transport_closed() {
                    return;
                }
                match received {
                    Ok(notification) => subscriptions.pass_on(&notification, &session, &peer, &level).await,
                    Err(RecvError::Lagged(_)) => subscriptions.notify_everything(&peer).await,
                    Err(RecvError::Closed) => return,
                }
            }
        });
    }

    async fn pass_on(
        &self,
        notification: &Notification,
        session: &Arc<ClientSession>,
        peer: &Peer<RoleServer>,
        level: &Mutex<Option<LoggingLevel>>,
    ) {
        if !is_of_interest(notification, session).await {
            return;
        }
        match notification {
            Notification::Changed { notices, .. } => {
                for notice in notices {
                    self.send(notice, peer).await;
                }
            }
            Notification::ManyChanged { .. } => self.notify_everything(peer).await,
            Notification::Warning(warning) => {
                let wanted = level.lock().is_some_and(|level| level as u8 <= LoggingLevel::Warning as u8);
                if wanted {
                    let message = LoggingMessageNotificationParam::new(LoggingLevel::Warning, json!(warning));
                    let _ = peer.notify_logging_message(message.with_logger("trellis")).await;
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
            Notice::ListChanged => peer.notify_resource_list_changed().await,
        };
    }

    async fn notify_everything(&self, peer: &Peer<RoleServer>) {
        let uris: Vec<String> = self.uris.lock().iter().cloned().collect();
        for uri in uris {
            self.send(&Notice::Updated(uri), peer).await;
        }
        self.send(&Notice::ListChanged, peer).await;
    }
}

/// Serves one `subscriptions/listen` until it is cancelled or the session ends.
pub async fn listen(session: &Arc<ClientSession>, subscriptions: &Subscriptions, context: &SubscriptionContext) {
    let prepared = subscriptions.prepared.lock().pop();
    let mut notification = prepared.unwrap_or_else(|| session.engine.notifier.subscribe());
    loop {
        let received = tokio::select! {
            received = notification.recv() => received,
            () = context.cancelled() => return,
        };
        match received {
            Ok(notification) if !is_of_interest(&notification, session).await => {}
            Ok(notification) => match &*notification {
                Notification::Changed { notices, .. } => {
                    for notice in notices {
                        send_tagged(context, notice).await;
                    }
                }
                Notification::ManyChanged { .. } => send_everything(context).await,
                Notification::Warning(_) => {}
            },
            Err(RecvError::Lagged(_)) => send_everything(context).await,
            Err(RecvError::Closed) => return,
        }
    }
}

/// Whether a notification is for everybody, or about a tree that the session works with.
async fn is_of_interest(notification: &Notification, session: &Arc<ClientSession>) -> bool {
    let Some((family, tree)) = notification.subject() else { return true };
    session.wait_for_trees().await;
    session.works_with(family, tree)
}

async fn send_everything(context: &SubscriptionContext) {
    for uri in context.accepted().resource_subscriptions.iter().flatten() {
        send_tagged(context, &Notice::Updated(uri.clone())).await;
    }
    send_tagged(context, &Notice::ListChanged).await;
}

/// The sink leaves out what was not asked for, and tags the rest.
async fn send_tagged(context: &SubscriptionContext, notice: &Notice) {
    let sink = context.sink();
    let _ = match notice {
        Notice::Updated(uri) => sink.notify_resource_updated(uri.clone()).await,
        Notice::ListChanged => sink.notify_resource_list_changed().await,
    };
}
