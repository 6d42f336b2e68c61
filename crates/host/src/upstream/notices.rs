//! Notifications from a server: whose they are, and what they change.

use super::{
    calls::Attribution, connection::Connection, mcp_tasks, owners::Identity, subscriptions::Topic,
};
use crate::{
    client::Client,
    exchange::{Inbox, Notice, restore_token},
};
use std::sync::Arc;
use switchboard_transport::limits::COUNTED_BYTES;
use switchboard_wire::{Edits, Era, Message, Method, Params, json};

/// Whether it is for whoever listens, and no part of what was asked for.
fn is_for_all(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsListChanged
            | Method::PromptsListChanged
            | Method::ResourcesListChanged
            | Method::ResourceUpdated
    )
}

/// Counts a notification for whose call it is. While nobody fetches what is there
/// already, it counts whatever its size; and where there is no room for that, what
/// is there gives way to it.
fn attributed(client: Option<&Arc<Client>>, inbox: &Inbox, message: Message) -> Message {
    let Some(share) = client.and_then(|client| client.share()) else {
        return message;
    };
    if !inbox.is_behind() {
        return message.kept(|bytes| share.attribute(bytes));
    }
    if !share.has_room() {
        inbox.forget_notices();
    }
    message.kept(|bytes| match bytes.len() {
        ..COUNTED_BYTES => share.queue_bytes(bytes),
        _ => share.attribute(bytes),
    })
}

impl Connection {
    pub(super) fn on_notification(&self, message: Message, during: Option<u64>) {
        // Those who listen hear it on the connection that was made in its place.
        if self.has_ended() && is_for_all(message.method()) {
            return;
        }
        match message.method() {
            Method::Progress => self.on_progress(message),
            Method::DollarProgress => {
                if let Some(message) = translated_progress(&message) {
                    self.on_progress(message);
                }
            }
            Method::Cancelled => self.on_cancelled(&message, "requestId"),
            Method::CancelRequest => self.on_cancelled(&message, "id"),
            Method::ToolsListChanged
            | Method::PromptsListChanged
            | Method::ResourcesListChanged => {
                (self.reports().changes)(message.method());
                self.forget_judged(message.method());
                self.broadcast(&self.without_subscription(message));
            }
            Method::ResourceUpdated => self.on_resource_updated(message),
            Method::TaskNews => {
                self.audience().tasks().heard(&message);
                self.on_task_news(message);
            }
            Method::SubscriptionAcknowledged => {
                self.audience().subscriptions().acknowledged(&message);
            }
            Method::TaskStatus => {
                self.audience().tasks().heard(&message);
                self.on_task_status(message, during);
            }
            Method::ElicitationComplete if !self.is_exclusive() => self.on_page_done(&message),
            _ => self.on_other(message, during),
        }
    }

    /// Goes to the call it came with, else to everybody; but what belongs to a task
    /// is for its owner alone.
    fn on_other(&self, message: Message, during: Option<u64>) {
        let owner = self.audience().tasks().owner_of(&message);
        if let Attribution::Call {
            inbox,
            client,
            is_sure,
            ..
        } = self.calls().attribute(during)
        {
            let is = |owner: &Identity| client.as_ref().is_some_and(|client| owner.lets(client));
            if owner.as_ref().is_none_or(is) {
                return self.tell_caller(client.as_ref(), &inbox, is_sure, message);
            }
        }
        match owner {
            Some(owner) => self.tell_owner(&owner, message),
            None if mcp_tasks::related(&message).is_some() && (self.reports().several)() => {
                tracing::debug!(server = %self.server_name(), "a notice about a task that is nobody's");
            }
            None => self.broadcast(&plain(message)),
        }
    }

    /// Tells it with a call. Where several of its client are in flight and nothing says which of
    /// them it belongs to, it is the session's; a client that hears nothing outside its calls,
    /// or not now, is told with the latest.
    fn tell_caller(
        &self,
        client: Option<&Arc<Client>>,
        inbox: &Inbox,
        is_sure: bool,
        message: Message,
    ) {
        let hears =
            |client: &&Arc<Client>| self.audience().has(client.id) && client.sink().is_heard();
        match client.filter(hears) {
            Some(client) if !is_sure => client.sink().notice(self.server_name(), plain(message)),
            _ => inbox.notice(plain(attributed(client, inbox, message))),
        }
    }

    fn tell_owner(&self, owner: &Identity, message: Message) {
        let audience = self.audience();
        audience.tell_owner(self.server_name(), owner, &plain(message));
    }

    /// What is said of a task goes to its owner alone. Where that is not known and
    /// it may be somebody else's, to whoever has the call that it came with.
    fn on_task_status(&self, message: Message, during: Option<u64>) {
        if let Some(owner) = self.audience().tasks().owner_of(&message) {
            return self.tell_owner(&owner, message);
        }
        let several = (self.reports().several)();
        let is_local = !self.spec().target.is_remote();
        match self.calls().attribute(during) {
            Attribution::Call {
                inbox,
                client,
                is_sure,
                ..
            } if !several || during.is_some() || is_local => {
                self.tell_caller(client.as_ref(), &inbox, is_sure, message);
            }
            Attribution::Nobody | Attribution::Several if !several => {
                self.broadcast(&plain(message));
            }
            _ => {
                tracing::debug!(server = %self.spec().name, "the status of a task that is nobody's");
            }
        }
    }

    /// A page is done: told to the client that was sent there, and nobody else.
    fn on_page_done(&self, message: &Message) {
        let body = message.body();
        let id = json::field(body, "elicitationId").ok().flatten();
        let id = id.and_then(|span| json::text(span.of(body)));
        let notice = plain(message.clone());
        let (audience, server) = (self.audience(), self.server_name());
        if !id.is_some_and(|id| audience.tell_of_page(server, &id, &notice)) {
            tracing::debug!(%server, "a page is done that nobody was sent to");
        }
    }

    /// Progress goes to the call whose token it carries, under the client's own token.
    fn on_progress(&self, message: Message) {
        let token = json::field(message.body(), "progressToken").ok().flatten();
        let id = token.and_then(|span| switchboard_wire::own_number(span.of(message.body())));
        let Some(progress) = id.and_then(|id| self.calls().progress(id)) else {
            tracing::debug!(server = %self.server_name(), "progress for no call of ours");
            return;
        };
        let Some(token) = &progress.token else { return };
        let message = attributed(progress.client.as_ref(), &progress.inbox, message);
        progress.inbox.notice(Notice {
            method: Method::Progress,
            payload: restore_token(&message, token),
            message,
        });
    }

    /// The server takes a question of its own back.
    fn on_cancelled(&self, message: &Message, field: &'static str) {
        let body = message.body();
        if let Some(span) = json::field(body, field).ok().flatten() {
            self.questions().withdraw(span.of(body));
        }
    }

    fn on_resource_updated(&self, message: Message) {
        let body = message.body();
        let uri = json::field(body, "uri")
            .ok()
            .flatten()
            .and_then(|span| json::text(span.of(body)).map(String::from));
        let Some(uri) = uri else { return };
        self.tell_listeners(&Topic::Resource(uri), message);
    }

    /// A modern server tells how a task is doing.
    fn on_task_news(&self, message: Message) {
        if let Some(task) = mcp_tasks::task_id(message.body()) {
            self.tell_listeners(&Topic::Task(task), message);
        }
    }

    fn tell_listeners(&self, topic: &Topic, message: Message) {
        let notice = self.without_subscription(message);
        let audience = self.audience();
        audience.tell_listeners(self.server_name(), topic, &notice);
    }

    /// What came on a subscription of ours, without the mark of that subscription.
    fn without_subscription(&self, message: Message) -> Notice {
        if self.revision().era() == Era::Legacy {
            return plain(message);
        }
        let mut edits = Edits::new();
        if let Ok(params) = Params::of(&message)
            && let Some(meta) = params.meta
            && params.subscription_id.is_some()
        {
            edits = strip_subscription(&message, meta);
        }
        Notice {
            method: message.method(),
            payload: message.edited(&edits),
            message,
        }
    }

    /// Tells everybody that a list is another one now.
    pub(crate) fn announce_change(&self, method: Method) {
        self.broadcast(&plain(Message::notification(method, "")));
    }

    /// Tells everybody that all lists are other ones now.
    pub(super) fn announce_changes(&self) {
        for method in [
            Method::ToolsListChanged,
            Method::ResourcesListChanged,
            Method::PromptsListChanged,
        ] {
            (self.reports().changes)(method);
            self.announce_change(method);
        }
    }

    fn broadcast(&self, notice: &Notice) {
        self.audience().tell_all(self.server_name(), notice);
    }
}

fn plain(message: Message) -> Notice {
    Notice {
        method: message.method(),
        payload: message.payload(),
        message,
    }
}

/// `$/progress` as `notifications/progress`: a percentage is progress out of a
/// hundred, the beginning is none of it and the end is all. A report that names
/// neither has nothing to say in the protocol's own words.
fn translated_progress(message: &Message) -> Option<Message> {
    let body = message.body();
    let [token, value] = json::fields(body, ["token", "value"]).ok()?;
    let (token, value) = (token?.of(body), value?.of(body));
    let [kind, percentage, said] = json::fields(value, ["kind", "percentage", "message"]).ok()?;
    let kind = kind.and_then(|span| json::text(span.of(value)));
    let is_number = |raw: &&[u8]| json::ValueKind::of(raw) == Some(json::ValueKind::Number);
    let progress = match (
        percentage.map(|span| span.of(value)).filter(is_number),
        kind.as_deref(),
    ) {
        (Some(percentage), _) => String::from_utf8_lossy(percentage),
        (None, Some("begin")) => "0".into(),
        (None, Some("end")) => "100".into(),
        (None, _) => return None,
    };
    let said = said.map(|span| String::from_utf8_lossy(span.of(value)));
    let said = said
        .filter(|said| said.starts_with('"'))
        .map(|said| format!(",\"message\":{said}"))
        .unwrap_or_default();
    let token = String::from_utf8_lossy(token);
    let params =
        format!("{{\"progressToken\":{token},\"progress\":{progress},\"total\":100{said}}}");
    Some(Message::notification(Method::Progress, &params))
}

/// Removes the subscription id from `_meta`: each of our clients' streams has its own.
fn strip_subscription(message: &Message, meta: json::Span) -> Edits {
    let raw = meta.of(message.raw());
    let kept: Vec<String> = json::members(raw)
        .filter(|member| {
            json::text(member.key.of(raw))
                .is_none_or(|key| key != switchboard_wire::meta::SUBSCRIPTION_ID)
        })
        .map(|member| {
            String::from_utf8_lossy(&raw[member.key.start..member.value.end]).into_owned()
        })
        .collect();
    let mut edits = Edits::new();
    edits.replace(meta, format!("{{{}}}", kept.join(",")));
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(params: &str) -> Option<String> {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{params}}}");
        let message = translated_progress(&Message::parse(text.into()).unwrap())?;
        assert_eq!(message.method(), Method::Progress);
        Some(String::from_utf8_lossy(message.body()).into_owned())
    }

    #[test]
    fn the_older_progress_is_translated() {
        let report = r#"{"token":7,"value":{"kind":"report","percentage":42.5,"message":"half"}}"#;
        let told = r#"{"progressToken":7,"progress":42.5,"total":100,"message":"half"}"#;
        assert_eq!(translated(report).as_deref(), Some(told));
        let begin = r#"{"token":"t","value":{"kind":"begin","title":"x"}}"#;
        assert_eq!(
            translated(begin).as_deref(),
            Some(r#"{"progressToken":"t","progress":0,"total":100}"#)
        );
        let end = r#"{"token":7,"value":{"kind":"end"}}"#;
        assert_eq!(
            translated(end).as_deref(),
            Some(r#"{"progressToken":7,"progress":100,"total":100}"#)
        );
        for nothing in [
            r#"{"token":7,"value":{"kind":"report"}}"#,
            r#"{"token":7}"#,
            r#"{"value":{}}"#,
        ] {
            assert_eq!(translated(nothing), None, "{nothing}");
        }
    }
}
