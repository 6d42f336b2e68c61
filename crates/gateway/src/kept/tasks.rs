//! Whose tasks are whose, as it is kept: a name that follows from server and task, among
//! those of a principal, and nothing besides.

use super::{Keeping, record::name_of};
use crate::limits;
use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use std::collections::HashSet;
use switchboard_host::TaskBook;
use switchboard_ledger::Key;
use switchboard_tasks as tasks;

fn space_of(principal: &str) -> String {
    format!("tasks/{}", name_of("task owner", principal))
}

impl TaskBook for Keeping {
    fn name(&self, server: &str, task: &str) -> String {
        let mut name = name_of("task", &format!("{}:{server}{task}", server.len()));
        name.truncate(32);
        name
    }

    fn note(&self, name: String, principal: &str) {
        let (ledger, space) = (self.0.ledger.clone(), space_of(principal));
        tasks::spawn(tasks::Kind::Background, async move {
            let kept = ledger.count(&space).await;
            if kept.is_ok_and(|kept| kept >= limits::TASKS_KEPT as u64) {
                return;
            }
            let key = Key::new(space, name);
            let made = ledger.create(&key, Bytes::new(), Some(limits::TASK_KEPT));
            if let Err(fault) = made.await {
                tracing::debug!(%fault, "whose a task is could not be kept");
            }
        });
    }

    fn is_theirs(&self, name: String, principal: &str) -> BoxFuture<'static, bool> {
        let (ledger, key) = (self.0.ledger.clone(), Key::new(space_of(principal), name));
        async move {
            // Another replica may be about to write it.
            for wait in [limits::TASK_LOOK, std::time::Duration::ZERO] {
                if ledger.read(&key).await.is_ok_and(|found| found.is_some()) {
                    return true;
                }
                tokio::time::sleep(wait).await;
            }
            false
        }
        .boxed()
    }

    fn theirs(&self, principal: &str) -> BoxFuture<'static, HashSet<String>> {
        let space = space_of(principal);
        let listed = self.0.ledger.list(&space, "", limits::TASKS_KEPT);
        async move {
            let listed = listed.await.unwrap_or_default();
            listed.into_iter().map(|(name, _)| name).collect()
        }
        .boxed()
    }
}
