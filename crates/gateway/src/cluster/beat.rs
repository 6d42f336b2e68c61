//! What a replica says of itself, again and again.

use super::{Cluster, Runs, fingerprint, nodes::Node};
use crate::limits;
use std::{sync::atomic::Ordering, time::Instant};

/// What was said last, and when.
#[derive(Default)]
pub(super) struct Beat {
    revision: Option<u64>,
    at: Option<Instant>,
    news: (bool, Runs, u32),
    /// How long that took.
    lag_ms: Option<u64>,
    /// Whether it was tried in vain before anybody was told at all.
    was_in_vain: bool,
}

impl Beat {
    pub(super) async fn say(&mut self, cluster: &Cluster, sessions: &impl Fn() -> usize) {
        let (draining, runs) = (cluster.is_draining(), cluster.applied.runs());
        let guesses = cluster.wrong_tokens.lately();
        let news = (draining, runs, guesses);
        let is_recent = self.at.is_some_and(|at| at.elapsed() < limits::NODE_BEAT);
        if is_recent && news == self.news {
            return;
        }
        let node = Node {
            version: cluster.version.clone(),
            address: cluster.address.clone(),
            fingerprint: fingerprint(cluster.tls.own()),
            draining,
            sessions: sessions(),
            since: cluster.since,
            lag_ms: self.lag_ms,
            applied: runs.version,
            unusable: runs.unusable,
            guesses,
            over_nats: cluster.links.over_nats(),
            ..Node::default()
        };
        let begun = Instant::now();
        let said = cluster.nodes.say(&cluster.id, &node, self.revision).await;
        self.lag_ms = u64::try_from(begun.elapsed().as_millis()).ok();
        match said {
            Ok((revision, was_lost)) => {
                (self.revision, self.at, self.news) = (revision, Some(Instant::now()), news);
                if was_lost || std::mem::take(&mut self.was_in_vain) {
                    tracing::warn!("other replicas may have taken this one for dead");
                    cluster.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(fault) => {
                self.was_in_vain |= self.revision.is_none();
                tracing::debug!(%fault, "other replicas cannot be told that this one is there");
            }
        }
    }
}
