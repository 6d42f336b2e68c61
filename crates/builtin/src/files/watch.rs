//! Telling when a file has changed: looked at twice a second, by the same
//! confined way as everything else, which works on every file system.

use super::{
    protected::Guard,
    resources::locate_by,
    roots::{Place, Roots},
};
use crate::{answer::Failure, early::Early, limits};
use parking_lot::Mutex;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::SubscriptionContext,
};
use std::{collections::HashMap, sync::Arc};
use switchboard_tasks as tasks;
use tokio_util::sync::CancellationToken;

/// What a file looked like; `None` where there was none.
type Stamp = Option<(u64, i64, i64, i64, i64)>;

/// What some files looked like.
pub(super) type Seen = Vec<(String, Stamp)>;

/// The files that one connection asked about, each with what it looked like.
type Watched = Arc<Mutex<HashMap<String, Stamp>>>;

/// The subscriptions of one connection.
#[derive(Debug, Default)]
pub(super) struct Watches {
    watched: Watched,
}

impl Watches {
    /// Begins to watch a file; the first one starts the looking.
    pub(super) fn add(
        &self,
        roots: Arc<Roots>,
        uri: String,
        peer: Peer<RoleServer>,
        over: CancellationToken,
    ) -> Result<(), ErrorData> {
        let guard = roots.guard();
        if let Err(failure) = watchable(&roots, &guard, &uri) {
            return Err(ErrorData::resource_not_found(failure.to_string(), None));
        }
        let stamp = stamp(&roots, &guard, &uri);
        let mut watched = self.watched.lock();
        if watched.len() >= limits::SUBSCRIPTIONS && !watched.contains_key(&uri) {
            return Err(ErrorData::invalid_params("too many subscriptions", None));
        }
        let is_first = watched.is_empty();
        watched.insert(uri, stamp);
        if is_first {
            let looking = look_again(roots, Arc::clone(&self.watched), peer, over);
            tasks::spawn(tasks::Kind::Builtin, looking);
        }
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        self.watched.lock().remove(uri);
    }
}

/// Ends when nothing is watched any more, or the client has gone.
async fn look_again(
    roots: Arc<Roots>,
    watched: Watched,
    peer: Peer<RoleServer>,
    over: CancellationToken,
) {
    while over
        .run_until_cancelled(tokio::time::sleep(limits::POLL))
        .await
        .is_some()
    {
        let uris: Vec<String> = {
            let watched = watched.lock();
            if watched.is_empty() {
                return;
            }
            watched.keys().cloned().collect()
        };
        for (uri, stamp) in stamps(&roots, uris).await {
            let is_new = match watched.lock().get_mut(&uri) {
                Some(before) => std::mem::replace(before, stamp) != stamp,
                None => false,
            };
            let update = ResourceUpdatedNotificationParam::new(uri);
            if is_new && peer.notify_resource_updated(update).await.is_err() {
                return;
            }
        }
    }
}

/// What of a modern client's subscriptions we can serve. What the files look
/// like now is noted, so that no later change is missed.
pub(super) fn accepted(
    roots: &Arc<Roots>,
    requested: &SubscriptionFilter,
    early: &Early<Seen>,
) -> SubscriptionFilter {
    let uris = requested.resource_subscriptions.iter().flatten();
    let guard = roots.guard();
    let known: Vec<String> = uris
        .filter(|uri| watchable(roots, &guard, uri).is_ok())
        .take(limits::SUBSCRIPTIONS)
        .cloned()
        .collect();
    let seen = known
        .iter()
        .map(|uri| (uri.clone(), stamp(roots, &guard, uri)));
    early.note(seen.collect());
    SubscriptionFilter::builder()
        .resource_subscriptions(known)
        .build()
}

/// Serves a modern client's subscription until it is cancelled.
pub(super) async fn listen(
    roots: Arc<Roots>,
    context: SubscriptionContext,
    early: &Early<Seen>,
    over: &CancellationToken,
) {
    let uris = context.accepted().resource_subscriptions.clone();
    let uris = uris.unwrap_or_default();
    let is_ours = |seen: &Seen| seen.iter().map(|(uri, _)| uri).eq(&uris);
    let seen = match early.take(is_ours) {
        Some(seen) => seen,
        None => stamps(&roots, uris.clone()).await,
    };
    let mut before: HashMap<String, Stamp> = seen.into_iter().collect();
    loop {
        for (uri, stamp) in stamps(&roots, uris.clone()).await {
            let is_new = before.insert(uri.clone(), stamp) != Some(stamp);
            if is_new && context.sink().notify_resource_updated(uri).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = context.cancelled() => return,
            () = over.cancelled() => return,
            () = tokio::time::sleep(limits::POLL) => {}
        }
    }
}

async fn stamps(roots: &Arc<Roots>, uris: Vec<String>) -> Vec<(String, Stamp)> {
    let roots = Arc::clone(roots);
    let look = move || {
        let guard = roots.guard();
        let each = uris.into_iter().map(|uri| {
            let stamp = stamp(&roots, &guard, &uri);
            (uri, stamp)
        });
        each.collect()
    };
    tasks::blocking(look).await.unwrap_or_default()
}

/// The place of a file that may be read: when another changes is a secret, too.
fn watchable(roots: &Arc<Roots>, guard: &Arc<Guard>, uri: &str) -> Result<Place, Failure> {
    let place = locate_by(roots, guard, uri)?;
    place.readable()?;
    if let Ok(Some(stat)) = place.try_stat() {
        place.without_hard_links(&stat, false)?;
    }
    Ok(place)
}

fn stamp(roots: &Arc<Roots>, guard: &Arc<Guard>, uri: &str) -> Stamp {
    let stat = watchable(roots, guard, uri).ok()?.try_stat().ok()??;
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let changed = i64::try_from(stat.st_ctime_nsec).unwrap_or(0);
    Some((
        stat.st_ino,
        stat.st_size,
        stat.st_mtime,
        nanoseconds,
        changed,
    ))
}
