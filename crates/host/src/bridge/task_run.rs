//! A tool that can only be had as a task, asked for by a client of the other
//! era: the task is run to its end here, and the client gets the tool's result
//! as if there had been none.

use super::{member, object_with};
use crate::{client::Client, limits};
use bytes::Bytes;
use std::time::Duration;
use switchboard_wire::{Era, Id, Kind, Message, Method, code, json, meta::TASKS_EXTENSION};

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskRun {
    /// The tool was called like any other.
    #[default]
    None,
    /// The call is made again, as a task.
    Wanted,
    /// The server works at it.
    Runs { task: String, every: Duration },
    /// Its result is there.
    Done,
}

/// What the server's word about it means.
pub(crate) enum News {
    /// It goes on: ask again later.
    Working,
    /// It asks for input, like an `input_required` result.
    Asks(Message),
    /// It has ended with this reply.
    Ended(Message),
}

/// Whether this error says that the tool can only be had as a task.
pub(crate) fn is_required(client: Era, error: &Message, server_has_tasks: bool) -> bool {
    match client {
        Era::Legacy => {
            error.error_code() == Some(code::MISSING_CAPABILITY)
                && String::from_utf8_lossy(error.body()).contains(TASKS_EXTENSION)
        }
        Era::Modern => error.error_code() == Some(code::METHOD_NOT_FOUND) && server_has_tasks,
    }
}

/// The task that a result tells of, instead of being one.
pub(crate) fn begun(reply: &Message) -> Option<TaskRun> {
    if reply.kind() != Kind::Response {
        return None;
    }
    let result = reply.body_bytes();
    let about = match member(&result, "task") {
        Some(task) => task,
        None if text(&result, "resultType")? == "task" => result,
        None => return None,
    };
    let every = member(&about, "pollIntervalMs").or_else(|| member(&about, "pollInterval"));
    let every = every.and_then(|every| std::str::from_utf8(&every).ok()?.parse::<u64>().ok());
    let every = every.map_or(limits::TASK_POLL, |every| {
        Duration::from_millis(every.clamp(limits::SHORTEST_TASK_POLL, limits::LONGEST_TASK_POLL))
    });
    let task = text(&about, "taskId")?;
    Some(TaskRun::Runs { task, every })
}

/// A request about the task.
pub(crate) fn request(method: Method, task: &str) -> Message {
    let params = format!("{{\"taskId\":{}}}", json::quote(task));
    Message::request(&Id::number(1), method, &params)
}

/// A call for a legacy server that asks for a task.
pub(crate) fn as_task(call: &Message) -> Message {
    let params = object_with(&call.body_bytes(), &[], &[("task", "{}")]);
    Message::request(&Id::number(1), Method::ToolsCall, &params)
}

/// The client's capabilities, and that whoever asks can have tasks.
pub(crate) fn capabilities(declared: &str) -> String {
    let declared = Bytes::copy_from_slice(declared.as_bytes());
    let extensions = member(&declared, "extensions").unwrap_or(Bytes::from_static(b"{}"));
    let extensions = object_with(&extensions, &[], &[(TASKS_EXTENSION, "{}")]);
    object_with(&declared, &[], &[("extensions", &extensions)])
}

/// What a modern server says about the task, in answer to `tasks/get` or `tasks/update`.
pub(crate) fn news(reply: Message) -> News {
    if reply.kind() != Kind::Response {
        return News::Ended(reply);
    }
    let about = reply.body_bytes();
    let id = Id::number(1);
    match text(&about, "status").as_deref() {
        Some("input_required") => News::Asks(reply),
        Some("completed") => {
            let result = member(&about, "result").unwrap_or(Bytes::from_static(b"{}"));
            News::Ended(Message::response(&id, &String::from_utf8_lossy(&result)))
        }
        Some("failed") => {
            let error = member(&about, "error").map_or_else(
                || {
                    let code = code::INTERNAL;
                    format!("{{\"code\":{code},\"message\":\"the task has failed\"}}")
                },
                |error| String::from_utf8_lossy(&error).into_owned(),
            );
            let whole = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{error}}}");
            News::Ended(Message::parse(Bytes::from(whole)).unwrap_or(reply))
        }
        Some("cancelled") => {
            let error =
                switchboard_wire::ErrorObject::new(code::INTERNAL, "the server cancelled the task");
            News::Ended(Message::error(Some(&id), &error))
        }
        _ => News::Working,
    }
}

/// Whether the client's side could be asked for a task at all: only tools can.
pub(crate) fn concerns(call: &Message, client: &Client) -> bool {
    // A legacy client that asks for a task itself is not served one of the other era.
    call.method() == Method::ToolsCall && (client.era() == Era::Modern || !has_own_task(call))
}

fn has_own_task(call: &Message) -> bool {
    json::field(call.body(), "task").ok().flatten().is_some()
}

fn text(raw: &Bytes, key: &'static str) -> Option<String> {
    let value = member(raw, key)?;
    json::text(&value).map(String::from)
}
