//! The tasks extension (`io.modelcontextprotocol/tasks`): calls that outlive
//! their request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::asks::{Ask, input_requests};
use crate::changes::Change;
use crate::clock::iso_now;
use crate::lock;
use crate::rpc::RpcError;
use crate::server::{Server, random_id};

/// The name under which both sides declare it.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// A task can be asked for this long after its creation.
const LIFETIME: Duration = Duration::from_secs(600);
const POLL_INTERVAL_MS: u64 = 200;
const MAX_TASKS: usize = 1_024;

/// All tasks of this process, by id.
#[derive(Default)]
pub(crate) struct Tasks {
    entries: Mutex<HashMap<String, Entry>>,
}

struct Entry {
    born: Instant,
    created_at: String,
    updated_at: String,
    status: Status,
    /// Questions without an answer yet.
    open: Map<String, Value>,
    answers: Map<String, Value>,
    answered: Arc<Notify>,
    job: Option<AbortHandle>,
}

enum Status {
    Working,
    Completed(Value),
    Failed(RpcError),
    Cancelled,
}

/// A running task's own view of itself.
pub(crate) struct TaskHandle {
    server: Arc<Server>,
    id: String,
}

impl Tasks {
    /// Starts `job` as a task; returns the CreateTaskResult. The entry is there
    /// before the client can learn its id.
    pub(crate) fn start<J>(
        &self,
        server: &Arc<Server>,
        job: impl FnOnce(TaskHandle) -> J,
    ) -> Result<Value, RpcError>
    where
        J: Future<Output = Result<Value, RpcError>> + Send + 'static,
    {
        let id = random_id();
        let now = iso_now();
        let entry = Entry {
            born: Instant::now(),
            created_at: now.clone(),
            updated_at: now,
            status: Status::Working,
            open: Map::new(),
            answers: Map::new(),
            answered: Arc::new(Notify::new()),
            job: None,
        };
        let mut created = entry.shared_fields(&id);
        created["resultType"] = "task".into();
        {
            let mut entries = lock(&self.entries);
            entries.retain(|_, entry| entry.born.elapsed() < LIFETIME || entry.job.is_some());
            if entries.len() >= MAX_TASKS {
                return Err(RpcError::internal("Too many tasks"));
            }
            entries.insert(id.clone(), entry);
        }
        let handle = TaskHandle {
            server: Arc::clone(server),
            id: id.clone(),
        };
        let job = job(handle);
        let (settle_server, settle_id) = (Arc::clone(server), id.clone());
        let running = tokio::spawn(async move {
            let status = match job.await {
                Ok(result) => Status::Completed(result),
                Err(error) => Status::Failed(error),
            };
            let tasks = &settle_server.tasks;
            tasks.change(&settle_server, &settle_id, |entry| entry.status = status);
        });
        if let Some(entry) = lock(&self.entries).get_mut(&id)
            && matches!(entry.status, Status::Working)
        {
            entry.job = Some(running.abort_handle());
        }
        Ok(created)
    }

    /// `tasks/get`.
    pub(crate) fn get(&self, id: &str) -> Result<Value, RpcError> {
        let entries = lock(&self.entries);
        let entry = entries.get(id).ok_or_else(|| unknown(id))?;
        Ok(entry.details(id))
    }

    /// `tasks/update`: answers for keys that are not open are ignored.
    pub(crate) fn update(
        &self,
        server: &Server,
        id: &str,
        answers: &Map<String, Value>,
    ) -> Result<Value, RpcError> {
        let known = self.change(server, id, |entry| {
            for (key, answer) in answers {
                if entry.open.remove(key).is_some() {
                    entry.answers.insert(key.clone(), answer.clone());
                }
            }
            entry.answered.notify_waiters();
        });
        known.then(|| json!({})).ok_or_else(|| unknown(id))
    }

    /// `tasks/cancel`: one that is over already is acknowledged just the same.
    pub(crate) fn cancel(&self, server: &Server, id: &str) -> Result<Value, RpcError> {
        let known = self.change(server, id, |entry| {
            if let (Status::Working, Some(job)) = (&entry.status, entry.job.take()) {
                job.abort();
                entry.status = Status::Cancelled;
            }
        });
        known.then(|| json!({})).ok_or_else(|| unknown(id))
    }

    /// Changes an entry and tells those who listen; false if there is none.
    fn change(&self, server: &Server, id: &str, change: impl FnOnce(&mut Entry)) -> bool {
        let details = {
            let mut entries = lock(&self.entries);
            let Some(entry) = entries.get_mut(id) else {
                return false;
            };
            change(entry);
            entry.updated_at = iso_now();
            if !matches!(entry.status, Status::Working) {
                entry.open.clear();
                entry.job = None;
            }
            entry.details(id)
        };
        server.changes.publish(&Change::Task(details));
        true
    }
}

impl TaskHandle {
    /// Asks the client through the task, and waits for all the answers.
    pub(crate) async fn gather(&self, asks: &[Ask]) -> Map<String, Value> {
        let tasks = &self.server.tasks;
        let mut answered = None;
        tasks.change(&self.server, &self.id, |entry| {
            entry.open = input_requests(asks);
            answered = Some(Arc::clone(&entry.answered));
        });
        let Some(answered) = answered else {
            return Map::new();
        };
        loop {
            let notified = answered.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(entry) = lock(&tasks.entries).get(&self.id)
                && entry.open.is_empty()
            {
                return entry.answers.clone();
            }
            notified.await;
        }
    }
}

impl Entry {
    fn shared_fields(&self, id: &str) -> Value {
        let status = match self.status {
            Status::Working if !self.open.is_empty() => "input_required",
            Status::Working => "working",
            Status::Completed(_) => "completed",
            Status::Failed(_) => "failed",
            Status::Cancelled => "cancelled",
        };
        json!({
            "taskId": id,
            "status": status,
            "createdAt": self.created_at,
            "lastUpdatedAt": self.updated_at,
            "ttlMs": u64::try_from(LIFETIME.as_millis()).unwrap_or(u64::MAX),
            "pollIntervalMs": POLL_INTERVAL_MS,
        })
    }

    fn details(&self, id: &str) -> Value {
        let mut details = self.shared_fields(id);
        match &self.status {
            Status::Working if !self.open.is_empty() => {
                details["inputRequests"] = self.open.clone().into();
            }
            Status::Completed(result) => details["result"] = result.clone(),
            Status::Failed(error) => details["error"] = error.to_value(),
            Status::Working | Status::Cancelled => {}
        }
        details
    }
}

fn unknown(id: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown task: {id}"))
}
