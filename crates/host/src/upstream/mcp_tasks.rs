//! Whose task is whose, where several clients share a server. To everybody but
//! its owner a task does not exist.

use super::owners::{Identity, Owners};
use crate::{client::Client, exchange::Reply, host::TaskBook, limits};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};
use switchboard_wire::{
    Edits, Era, Message, Method, Params, code, json, meta,
    reading::{Recognised, recognise},
};

/// What the reply to a request can say about tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AboutTasks {
    /// Nothing.
    Nothing,
    /// That there is a new one.
    New,
    /// How one is doing, or what came of it.
    One,
    /// Which ones there are.
    List,
}

impl AboutTasks {
    pub(super) fn of(message: &Message, params: &Params, client: &Client) -> Self {
        match message.method() {
            Method::TasksList => Self::List,
            Method::TasksGet | Method::TasksResult | Method::TasksCancel => Self::One,
            Method::ToolsCall if client.era() == Era::Legacy && params.task.is_some() => Self::New,
            Method::ToolsCall if client.era() == Era::Modern => {
                let word = meta::TASKS_EXTENSION.as_bytes();
                let mut parts = client.capabilities.windows(word.len());
                let declares = parts.any(|part| part == word);
                if declares { Self::New } else { Self::Nothing }
            }
            _ => Self::Nothing,
        }
    }
}

/// The owners of one server's tasks.
#[derive(Debug, Default)]
pub(super) struct TaskOwners {
    owners: Owners,
    /// Those of which it is not known that they are over.
    open: Mutex<HashSet<String>>,
    /// Where it is kept beyond this process, and what the server is called there.
    kept: OnceLock<(Arc<dyn TaskBook>, String)>,
    /// What is kept there, of those who have asked for a list.
    recalled: Mutex<HashMap<Arc<str>, HashSet<String>>>,
}

impl TaskOwners {
    /// Keeps whose they are beyond this process.
    pub(super) fn keep(&self, book: &Arc<dyn TaskBook>, server: impl FnOnce() -> String) {
        self.kept.get_or_init(|| (book.clone(), server()));
    }

    /// Finds out whether a task that nobody is known to have was this client's principal's
    /// before; all of them, where none is named.
    pub(super) async fn recall(&self, client: &Client, task: Option<&str>) {
        let Some((book, server)) = self.kept.get() else {
            return;
        };
        let principal = &client.principal;
        let Some(task) = task else {
            let theirs = book.theirs(principal).await;
            let mut recalled = self.recalled.lock();
            if recalled.len() >= limits::RECALLED {
                recalled.clear();
            }
            recalled.insert(principal.clone(), theirs);
            return;
        };
        if self.owners.owner(task).is_none()
            && book.is_theirs(book.name(server, task), principal).await
            && self.owners.owner(task).is_none()
        {
            self.owners.note(task, Identity::gone(principal));
        }
    }

    /// Whether it was noted before that this task is this client's principal's.
    fn was_theirs(&self, client: &Client, task: &str) -> bool {
        let Some((book, server)) = self.kept.get() else {
            return false;
        };
        let recalled = self.recalled.lock();
        let theirs = recalled.get(&client.principal);
        theirs.is_some_and(|theirs| theirs.contains(&book.name(server, task)))
    }

    /// Takes note of a reply to a request of `client`'s, and takes out what is not
    /// theirs. `several` says whether what is nobody's may be somebody else's.
    pub(super) fn saw(
        &self,
        about: AboutTasks,
        reply: &mut Reply,
        client: &Arc<Client>,
        several: &dyn Fn() -> bool,
    ) {
        match about {
            AboutTasks::Nothing => {}
            AboutTasks::New => {
                if let Some(task) = created(reply.message.body()) {
                    if let Some((book, server)) = self.kept.get()
                        && !client.keyed
                        && several()
                    {
                        book.note(book.name(server, &task), &client.principal);
                    }
                    self.owners.note(&task, Identity::following(client));
                    self.opened(task);
                }
            }
            AboutTasks::One => self.heard(&reply.message),
            AboutTasks::List => self.keep_own(reply, client, several()),
        }
    }

    pub(super) fn owner(&self, task: &str) -> Option<Identity> {
        self.owners.owner(task)
    }

    /// Whether no task of anybody's is known.
    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The owner of the task that a message of the server's belongs to.
    pub(super) fn owner_of(&self, message: &Message) -> Option<Identity> {
        let task = match message.method() {
            Method::TaskStatus => task_id(message.body())?,
            _ => related(message)?,
        };
        self.owners.owner(&task)
    }

    /// Whether any task is known that is not over.
    pub(super) fn has_open(&self) -> bool {
        !self.open.lock().is_empty()
    }

    /// The process that had them has gone, and they with it.
    pub(super) fn forget_open(&self) {
        self.open.lock().clear();
    }

    fn opened(&self, task: String) {
        let mut open = self.open.lock();
        if open.len() >= limits::OWNED_EACH {
            open.retain(|task| self.owners.owner(task).is_some());
        }
        open.insert(task);
    }

    /// Takes note of what a message says about how a task is doing.
    pub(super) fn heard(&self, message: &Message) {
        let body = message.body();
        let status = json::field(body, "status").ok().flatten();
        let status = status.and_then(|span| json::text(span.of(body)));
        let over = match status.as_deref() {
            Some("completed" | "failed" | "cancelled") => task_id(body),
            Some(_) => None,
            // The result itself says only which task it is of.
            None => related(message),
        };
        if let Some(task) = over {
            self.open.lock().remove(&task);
        }
    }

    fn keep_own(&self, reply: &mut Reply, client: &Client, several: bool) {
        let Some(body) = reply.message.body_span() else {
            return;
        };
        let raw = body.of(reply.message.raw());
        let Some(list) = json::field(raw, "tasks").ok().flatten() else {
            return;
        };
        let items = list.of(raw);
        let mut kept: Vec<&[u8]> = Vec::new();
        let mut all = 0;
        for span in json::elements(items) {
            let item = span.of(items);
            all += 1;
            let task = task_id(item);
            let owner = task.as_deref().and_then(|task| self.owners.owner(task));
            let is_theirs = match (owner, &task) {
                (Some(owner), _) => owner.lets(client),
                (None, Some(task)) if several => self.was_theirs(client, task),
                (None, _) => !several,
            };
            if is_theirs {
                kept.push(item);
            }
        }
        if kept.len() < all {
            let own = [b"[".as_slice(), &kept.join(&b','), b"]"].concat();
            let mut edits = Edits::new();
            edits.replace(list.shifted(body.start), own);
            reply.edits = edits;
        }
    }
}

/// The task that a message says it belongs to.
pub(crate) fn related(message: &Message) -> Option<String> {
    let body = message.body();
    let meta = json::field(body, "_meta").ok().flatten()?.of(body);
    let related = json::field(meta, meta::RELATED_TASK).ok().flatten()?;
    task_id(related.of(meta))
}

/// Whether a message whose method we do not know names no task that anybody could
/// know: neither by its method nor in its parameters.
pub(crate) fn names_none(message: &Message) -> bool {
    let body = message.body();
    let is_id = |key: json::Span| recognise(key.of(body), &["taskId"]) != Recognised::Other;
    !Method::is_of_tasks(&message.method_name())
        && !json::members(body).any(|member| is_id(member.key))
}

/// The refusal of another's task, in the words for one that is not there.
pub(crate) fn unknown() -> crate::CallError {
    crate::CallError::refused(code::INVALID_PARAMS, "Unknown task")
}

/// The id of a task that a result tells of: in `task` (legacy), or beside it (modern).
fn created(result: &[u8]) -> Option<String> {
    let [task, kind] = json::fields(result, ["task", "resultType"]).ok()?;
    match (task, kind) {
        (Some(task), _) => task_id(task.of(result)),
        (None, Some(kind)) if kind.of(result) == b"\"task\"" => task_id(result),
        _ => None,
    }
}

pub(super) fn task_id(object: &[u8]) -> Option<String> {
    let span = json::field(object, "taskId").ok().flatten()?;
    json::text(span.of(object)).map(String::from)
}
