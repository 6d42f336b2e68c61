//! The one `subscriptions/listen` of a modern server, with the union of what
//! clients want.

use super::{connection::Connection, discover, subscriptions::Topic};
use crate::{
    exchange::{Event, Exchange, Outcome},
    limits,
};
use std::{sync::Arc, time::Duration};
use switchboard_tasks as tasks;
use switchboard_wire::{Era, Kind, Method, json};
use tokio::time::timeout;

/// It has no end of its own.
// tidy: it bounds nothing: the stream has no end of its own
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl Connection {
    /// Starts the listen stream of a modern server if it is not there, replaces
    /// it if it is, and waits a moment for the acknowledgement.
    pub(super) async fn listen_again(self: &Arc<Self>) {
        if self.revision().era() == Era::Legacy {
            return;
        }
        let settled = self.audience().subscriptions().settled.notified();
        if self.audience().subscriptions().set_listening(true) {
            self.audience().subscriptions().changed.notify_one();
        } else {
            let broken = self.clone();
            tasks::spawn_or(tasks::Kind::Listening, listen(self.clone()), move || {
                broken.audience().subscriptions().set_listening(false);
                broken.audience().subscriptions().settled.notify_waiters();
            });
        }
        let _ = timeout(limits::LISTEN_ACKNOWLEDGED, settled).await;
    }
}

/// How a stream came to an end.
enum Over {
    /// Others may be listened to now.
    Changed,
    /// The server ended it.
    Ended,
    /// The server will not have it.
    Refused,
    /// There is no connection any more.
    Gone,
}

/// A stream that is open, and what it is for.
struct Open {
    stream: Exchange,
    topics: Vec<Topic>,
}

/// Keeps the stream. A new one is acknowledged before the old one is closed, so
/// that nothing falls between; one that is refused leaves the old one as it is.
async fn listen(connection: Arc<Connection>) {
    let subscriptions = connection.audience().subscriptions();
    let mut current: Option<Open> = None;
    loop {
        let wanted = subscriptions.topics();
        if wanted.is_empty() && connection.changing_lists().next().is_none() {
            current = None;
            subscriptions.has_no_news();
            tokio::select! {
                () = subscriptions.changed.notified() => continue,
                _ = connection.ended() => break,
            }
        }
        let is_open = current.as_ref().is_some_and(|open| open.topics == wanted);
        let mut over = Over::Changed;
        if !is_open {
            over = replace(&connection, &mut current, wanted).await;
        }
        subscriptions.settled.notify_waiters();
        if let (Over::Changed, Some(open)) = (&over, &mut current) {
            over = tokio::select! {
                over = end_of(&connection, &mut open.stream) => over,
                () = subscriptions.changed.notified() => Over::Changed,
            };
            // It had been accepted once.
            if matches!(over, Over::Refused) {
                over = Over::Ended;
            }
        }
        match over {
            Over::Changed => {}
            Over::Ended => {
                current = None;
                tokio::time::sleep(limits::LISTEN_PAUSE).await;
            }
            Over::Refused | Over::Gone => break,
        }
    }
    subscriptions.set_listening(false);
}

/// Opens a stream for what is wanted now, instead of the one there is.
async fn replace(
    connection: &Arc<Connection>,
    current: &mut Option<Open>,
    wanted: Vec<Topic>,
) -> Over {
    let subscriptions = connection.audience().subscriptions();
    let settled = subscriptions.settled.notified();
    let Ok(mut stream) = connection.ask(Method::Listen, &params(connection, &wanted), FOR_EVER)
    else {
        return Over::Gone;
    };
    let early = tokio::select! {
        _ = timeout(limits::LISTEN_HANDOVER, settled) => Over::Changed,
        over = end_of(connection, &mut stream) => over,
    };
    match early {
        Over::Changed => {
            // Dropping the old exchange cancels it upstream.
            let topics = wanted;
            *current = Some(Open { stream, topics });
            Over::Changed
        }
        Over::Refused => {
            // Those that were wanted before were no trouble.
            let held = current.as_ref().map_or(&[][..], |open| &open.topics);
            let new = wanted.into_iter().filter(|topic| !held.contains(topic));
            let new: Vec<Topic> = new.collect();
            if new.is_empty() {
                let text = "it says that its lists change and refuses subscriptions/listen";
                connection
                    .remarks()
                    .set(Method::Listen.as_str(), Some(text.to_owned()));
            } else {
                tracing::warn!(server = %connection.server_name(), ?new, "the server does not let us listen to these");
            }
            subscriptions.retract(&new);
            if current.is_none() && new.is_empty() {
                return Over::Refused;
            }
            Over::Changed
        }
        over => over,
    }
}

async fn end_of(connection: &Connection, stream: &mut Exchange) -> Over {
    loop {
        let event = tokio::select! {
            event = stream.next() => event,
            _ = connection.ended() => return Over::Gone,
        };
        match event {
            Event::Outcome(Outcome::Reply(reply)) if reply.message.kind() == Kind::Error => {
                return Over::Refused;
            }
            Event::Outcome(_) if connection.has_ended() => return Over::Gone,
            Event::Outcome(_) => return Over::Ended,
            Event::Input(input) => input.refuse_unsupported(),
            Event::Notice(_) => {}
        }
    }
}

fn params(connection: &Connection, topics: &[Topic]) -> String {
    let (mut uris, mut tasks) = (Vec::new(), Vec::new());
    for topic in topics {
        match topic {
            Topic::Resource(uri) => uris.push(json::quote(uri)),
            Topic::Task(id) => tasks.push(json::quote(id)),
        }
    }
    let (meta, tasks) = if tasks.is_empty() {
        (discover::own_meta(), String::new())
    } else {
        let filter = format!(",\"taskIds\":[{}]", tasks.join(","));
        (discover::own_meta_with_tasks(), filter)
    };
    let lists = connection.changing_lists();
    let lists: String = lists.map(|list| format!("\"{list}\":true,")).collect();
    format!(
        "{{\"_meta\":{meta},\"notifications\":{{{lists}\"resourceSubscriptions\":[{}]{tasks}}}}}",
        uris.join(",")
    )
}
