//! Telling clients what has changed in the memory.

use crate::limits;
use parking_lot::Mutex;
use rmcp::{
    ErrorData, Peer, RoleServer, model::ResourceUpdatedNotificationParam,
    service::SubscriptionContext,
};
use std::{collections::HashSet, sync::Arc};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

/// What happened to an entry.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) uri: String,
    /// It is new, or gone.
    pub(super) changes_list: bool,
}

/// The addresses that a legacy client has subscribed to.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscribed(Arc<Mutex<HashSet<String>>>);

impl Subscribed {
    pub(super) fn add(&self, uri: String) -> Result<(), ErrorData> {
        let mut all = self.0.lock();
        if all.len() >= limits::SUBSCRIPTIONS && !all.contains(&uri) {
            return Err(ErrorData::invalid_params("too many subscriptions", None));
        }
        all.insert(uri);
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().remove(uri);
    }

    fn has(&self, uri: &str) -> bool {
        self.0.lock().contains(uri)
    }
}

/// The next change; `None` when there will be none.
async fn next(changes: &mut Receiver<Change>) -> Option<Change> {
    match changes.recv().await {
        Ok(change) => Some(change),
        // Some were missed: the list has certainly changed.
        Err(RecvError::Lagged(_)) => Some(Change {
            uri: String::new(),
            changes_list: true,
        }),
        Err(RecvError::Closed) => None,
    }
}

/// Tells a legacy client, until it has gone.
pub(super) async fn tell(
    mut changes: Receiver<Change>,
    subscribed: Subscribed,
    peer: Peer<RoleServer>,
    over: CancellationToken,
) {
    while let Some(Some(change)) = over.run_until_cancelled(next(&mut changes)).await {
        if subscribed.has(&change.uri) {
            let update = ResourceUpdatedNotificationParam::new(change.uri);
            if peer.notify_resource_updated(update).await.is_err() {
                return;
            }
        }
        if change.changes_list && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
    }
}

/// Tells a modern client, until it has heard enough.
pub(super) async fn listen(
    mut changes: Receiver<Change>,
    context: SubscriptionContext,
    over: &CancellationToken,
) {
    loop {
        let change = tokio::select! {
            change = next(&mut changes) => change,
            () = context.cancelled() => return,
            () = over.cancelled() => return,
        };
        let Some(change) = change else { return };
        let accepted = context.accepted();
        let uris = accepted.resource_subscriptions.iter().flatten();
        let sink = context.sink();
        if uris.into_iter().any(|uri| *uri == change.uri) {
            let _ = sink.notify_resource_updated(change.uri).await;
        }
        if change.changes_list && accepted.resources_list_changed == Some(true) {
            let _ = sink.notify_resource_list_changed().await;
        }
    }
}
