//! What reaches a session's client outside the answers to its requests, and what
//! it is asked and has not answered yet.

use crate::{
    announcement,
    gateway::Gateway,
    limits,
    session::{Outlet, Weight, may_hear, rewrite},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};
use switchboard_host::{Client, ClientSink, Input, LOG_LEVELS, Notice};
use switchboard_tasks as tasks;
use switchboard_wire::{ErrorObject, Id, Message, Method, Payload, code, json};
use tokio::sync::oneshot;

/// What reaches the client outside its requests, and what it still owes.
pub(super) struct ToClient {
    me: Weak<Self>,
    general: Arc<dyn Outlet>,
    /// The least severe log message the client wants, as an index into [`LOG_LEVELS`].
    level: AtomicU8,
    questions: Mutex<HashMap<u64, oneshot::Sender<Message>>>,
    next: AtomicU64,
    gateway: Arc<Gateway>,
    /// Who it is, which decides whose a URI is and what may be heard.
    client: OnceLock<Weak<Client>>,
    /// It has all servers as one.
    is_aggregate: bool,
}

impl ToClient {
    /// What a client of all servers as one is told when lists may be other ones.
    pub(super) const LISTS: [Method; 3] = [
        Method::ToolsListChanged,
        Method::ResourcesListChanged,
        Method::PromptsListChanged,
    ];

    /// `general` is where things go that belong to no request.
    pub(super) fn new(
        general: Arc<dyn Outlet>,
        gateway: Arc<Gateway>,
        is_aggregate: bool,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            general,
            level: AtomicU8::new(0),
            questions: Mutex::default(),
            next: AtomicU64::new(1),
            gateway,
            client: OnceLock::new(),
            is_aggregate,
        })
    }

    /// This is who it is.
    pub(super) fn is_of(&self, client: &Arc<Client>) {
        let _ = self.client.set(Arc::downgrade(client));
    }

    /// Who it is; nobody where it has gone.
    fn client(&self) -> Option<Arc<Client>> {
        self.client.get()?.upgrade()
    }

    /// From now on less severe log messages than this are left out.
    pub(super) fn set_level(&self, level: u8) {
        self.level.store(level, Ordering::Relaxed);
    }

    /// Tells the client something of our own.
    pub(super) fn tell(&self, text: &str) {
        self.tell_at(text, &*self.general);
    }

    /// The same on the stream of a request: not every client reads another.
    pub(super) fn tell_at(&self, text: &str, outlet: &dyn Outlet) {
        if announcement::is_heard(self.level.load(Ordering::Relaxed)) {
            outlet.send(announcement::message(text), Weight::Notice);
        }
    }

    /// Who waits for the answer to this question, if it is still open.
    pub(super) fn asked(&self, number: u64) -> Option<oneshot::Sender<Message>> {
        self.questions.lock().remove(&number)
    }

    /// Gives up all questions.
    pub(super) fn clear(&self) {
        self.questions.lock().clear();
    }

    /// Whether the client wants this notification.
    pub(super) fn wants(&self, notice: &Notice) -> bool {
        if notice.method != Method::LogMessage {
            return true;
        }
        let body = notice.message.body();
        let level = json::field(body, "level")
            .ok()
            .flatten()
            .and_then(|span| json::text(span.of(body)));
        let level = level.and_then(|level| LOG_LEVELS.iter().position(|known| *known == level));
        level.is_none_or(|level| level as u8 >= self.level.load(Ordering::Relaxed))
    }

    /// The notification with a URI or task that leads back to its server.
    pub(super) fn addressed(&self, server: &Arc<str>, notice: Notice) -> Payload {
        match self.client().filter(|_| self.is_aggregate) {
            Some(client) => rewrite::notice(&self.gateway, &client, server, notice),
            None => notice.payload,
        }
    }

    /// The client's answer as the server knows what it is about.
    fn inward(&self, response: Message) -> Message {
        match self.is_aggregate {
            true => rewrite::answer(&self.gateway, response),
            false => response,
        }
    }

    /// Takes back those of these questions that are still open. Before the answer
    /// to the call they belong to: nothing can follow that on its stream.
    pub(super) fn withdraw(&self, questions: &[u64], outlet: &Arc<dyn Outlet>) {
        for number in questions {
            if self.questions.lock().remove(number).is_some() {
                let params = format!("{{\"requestId\":{number}}}");
                outlet.send(
                    Message::notification(Method::Cancelled, &params).payload(),
                    Weight::Notice,
                );
            }
        }
    }

    /// Asks the client and passes its answer on, whenever it comes. The question's number.
    pub(super) fn put(self: &Arc<Self>, mut input: Input, outlet: Arc<dyn Outlet>) -> Option<u64> {
        if self.is_aggregate && input.consent().is_none() {
            rewrite::question(&self.gateway, &mut input);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = Id::number(number);
        let (answer, answered) = oneshot::channel();
        {
            let mut questions = self.questions.lock();
            if questions.len() >= limits::QUESTIONS {
                drop(questions);
                input.refuse(&ErrorObject::new(
                    code::INTERNAL,
                    "too many questions are open at this client",
                ));
                return None;
            }
            questions.insert(number, answer);
        }
        outlet.send(input.payload(&id), Weight::Question);
        let to_client = self.clone();
        tasks::spawn(tasks::Kind::Question, async move {
            let withdrawn = input.withdrawn();
            tokio::select! {
                response = answered => match response {
                    Ok(response) => {
                        if let Some(shown) = outlet.shown() {
                            shown.from_client(&response);
                        }
                        input.answer(&to_client.inward(response));
                    }
                    Err(_) => drop(input),
                },
                () = withdrawn.cancelled() => to_client.withdraw(&[number], &outlet),
            }
        });
        Some(number)
    }
}

impl ClientSink for ToClient {
    fn notice(&self, server: &Arc<str>, notice: Notice) {
        let hears = |client: Arc<Client>| may_hear(&self.gateway, &client, server, &notice);
        if self.wants(&notice) && self.client().is_some_and(hears) {
            self.general
                .send(self.addressed(server, notice), Weight::Notice);
        }
    }

    fn is_heard(&self) -> bool {
        self.general.is_heard()
    }

    fn ask(&self, input: Input) {
        if let Some(to_client) = self.me.upgrade() {
            to_client.put(input, self.general.clone());
        }
    }
}
