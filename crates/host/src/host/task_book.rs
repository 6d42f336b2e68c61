//! Whose tasks are whose, beyond this process: a server on a network has its tasks still
//! when we begin anew, and other replicas are asked for them too.

use super::Host;
use futures_util::future::BoxFuture;
use std::{collections::HashSet, fmt, sync::Arc};

/// Where that is kept.
pub trait TaskBook: fmt::Debug + Send + Sync {
    /// What a task of a server is called there.
    fn name(&self, server: &str, task: &str) -> String;

    /// Notes that it is this principal's, a moment later.
    fn note(&self, name: String, principal: &str);

    /// Whether it is this principal's.
    fn is_theirs(&self, name: String, principal: &str) -> BoxFuture<'static, bool>;

    /// All that are.
    fn theirs(&self, principal: &str) -> BoxFuture<'static, HashSet<String>>;
}

impl Host {
    /// Keeps whose tasks are whose here, as long as there are several principals.
    pub fn keep_tasks(&self, book: Arc<dyn TaskBook>) {
        let _ = self.task_book.set(book);
    }

    pub(crate) fn task_book(&self) -> Option<&Arc<dyn TaskBook>> {
        self.task_book.get()
    }
}
