//! Who is in. A request is checked when it comes; what stays open after that, a
//! stream or a socket, ends when its client's token is revoked.

use super::Face;
use crate::door::Door;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How soon a revoked token's streams end.
const LOOK: Duration = Duration::from_secs(1);

/// For each client token that has something open: what ends it. There are no
/// more of them than tokens.
#[derive(Default)]
pub(super) struct Presence(Mutex<HashMap<Arc<str>, CancellationToken>>);

impl Presence {
    /// Ends with `shutdown`, or when the principal's token is revoked.
    fn of(&self, principal: &Arc<str>, shutdown: &CancellationToken) -> CancellationToken {
        let mut present = self.0.lock();
        let token = present
            .entry(principal.clone())
            .or_insert_with(|| shutdown.child_token());
        token.clone()
    }

    /// Ends what those have open who may not come in any more; who they are.
    fn check(&self, door: &Door) -> Vec<Arc<str>> {
        let mut gone = Vec::new();
        self.0.lock().retain(|principal, token| {
            let stays = door.knows(principal);
            if !stays {
                token.cancel();
                gone.push(principal.clone());
            }
            stays
        });
        gone
    }
}

impl Face {
    /// Until when this principal's streams and sockets may stay open.
    pub(super) fn presence(&self, principal: &Arc<str>) -> CancellationToken {
        if self.door.live.is_none() || !self.door.is_token(principal) {
            return self.shutdown.clone();
        }
        self.presence.of(principal, &self.shutdown)
    }
}

/// Watches over revoked tokens, until it is stopped itself.
pub(super) async fn watch(face: Arc<Face>) {
    loop {
        tokio::time::sleep(LOOK).await;
        for principal in face.presence.check(&face.door) {
            tracing::info!(%principal, "its token was revoked; what it had open has ended");
            face.sessions.close_of(&principal);
        }
    }
}
