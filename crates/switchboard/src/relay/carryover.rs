//! What a client and its gateway have said, as far as the next gateway must know
//! it: the handshake, the log level, subscriptions; what is owed to whom.

use crate::limits;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use switchboard_wire::{
    Edits, ErrorObject, Id, Kind, Message, Method, Params, Payload, Received, json,
};

/// What our own questions are known by; no client has such ids.
const OURS: &str = "switchboard-relay-";

/// The id under which a gateway is asked whether it is there.
pub(super) fn ping() -> Id {
    Id::string(&format!("{OURS}ping"))
}

fn hello() -> Id {
    Id::string(&format!("{OURS}hello"))
}

/// What came from a gateway.
#[derive(Debug)]
pub(super) enum Heard {
    /// For the client.
    Line(Payload),
    /// Not for the client.
    Nothing,
    /// It has met the client, who is to hear this.
    Met(Vec<Payload>),
    /// It does not take the client as it is.
    Refused,
}

#[derive(Debug, Default)]
pub(super) struct Carryover {
    /// Requests of the client's that are not answered.
    unanswered: HashSet<Id>,
    /// The handshake, and what changes of the client was told it would hear of.
    hello: Option<Message>,
    changes: Vec<Method>,
    initialized: bool,
    level: Option<Message>,
    /// By their addresses.
    subscribed: HashMap<String, Message>,
    /// Questions that are open at the client, under the ids it knows, with those
    /// of whoever asked.
    questions: HashMap<Id, Id>,
    /// How many gateways there were before this one.
    turn: u32,
    repeated: u32,
}

impl Carryover {
    /// Whether the client waits for an answer.
    pub(super) fn owes(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// The client said something; what of it goes on.
    pub(super) fn said(&mut self, line: Bytes) -> Option<Payload> {
        match Received::parse(line.clone()) {
            Ok(Received::One(message)) if message.is_reply() => self.answered(&message),
            Ok(Received::One(message)) => {
                self.note(&message);
                Some(line.into())
            }
            Ok(Received::Batch(batch)) => {
                for message in batch.iter().flatten() {
                    self.note(message);
                }
                Some(line.into())
            }
            // Whoever serves it says what is wrong with it.
            Err(_) => Some(line.into()),
        }
    }

    fn note(&mut self, message: &Message) {
        if let (Kind::Request, Some(id)) = (message.kind(), message.id())
            && self.unanswered.len() < limits::RELAY_UNANSWERED
        {
            self.unanswered.insert(id);
        }
        match (message.kind(), message.method()) {
            (Kind::Request, Method::Initialize) => {
                self.hello = Some(message.clone());
                self.initialized = false;
            }
            (Kind::Notification, Method::Initialized) => self.initialized = true,
            (Kind::Request, Method::SetLevel) => self.level = Some(message.clone()),
            (Kind::Request, Method::ResourcesSubscribe) => {
                if let Some(uri) =
                    uri(message).filter(|_| self.subscribed.len() < limits::RELAY_SUBSCRIPTIONS)
                {
                    self.subscribed.insert(uri, message.clone());
                }
            }
            (Kind::Request, Method::ResourcesUnsubscribe) => {
                if let Some(uri) = uri(message) {
                    self.subscribed.remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// The client answered a question. One of a gateway that has ended is nobody's.
    fn answered(&mut self, message: &Message) -> Option<Payload> {
        let asked = message.id().and_then(|id| self.questions.remove(&id));
        match asked {
            Some(own) => Some(message.edited(&message.with_id(&own))),
            None if self.turn == 0 => Some(message.payload()),
            None => None,
        }
    }

    /// The gateway said something.
    pub(super) fn heard(&mut self, line: Bytes) -> Heard {
        let message = match Received::parse(line.clone()) {
            Ok(Received::One(message)) => message,
            Ok(Received::Batch(batch)) => {
                for id in batch.iter().flatten().filter_map(Message::id) {
                    self.unanswered.remove(&id);
                }
                return Heard::Line(line.into());
            }
            Err(_) => return Heard::Line(line.into()),
        };
        match message.kind() {
            Kind::Response | Kind::Error => self.reply(&message),
            Kind::Request => Heard::Line(self.asked(&message)),
            Kind::Notification if self.turn > 0 && message.method() == Method::Cancelled => {
                Heard::Line(self.withdrawn(&message))
            }
            Kind::Notification => Heard::Line(line.into()),
        }
    }

    fn reply(&mut self, message: &Message) -> Heard {
        let Some(id) = message.id() else {
            return Heard::Line(message.payload());
        };
        if id == hello() {
            if message.kind() == Kind::Error {
                return Heard::Refused;
            }
            let changed = |method: &Method| Message::notification(*method, "{}").payload();
            return Heard::Met(self.changes.iter().map(changed).collect());
        }
        if id.as_text().starts_with(OURS) {
            return Heard::Nothing;
        }
        self.unanswered.remove(&id);
        let greeted = self.hello.as_ref().and_then(Message::id) == Some(id);
        if greeted && message.kind() == Kind::Response {
            self.changes = changes(message);
        }
        Heard::Line(message.payload())
    }

    /// A question. Ids of gateways that came later are told apart from those of
    /// the ones before, which a client may still answer.
    fn asked(&mut self, message: &Message) -> Payload {
        let Some(own) = message.id() else {
            return message.payload();
        };
        let id = self.outward(&own);
        if self.questions.len() < limits::RELAY_QUESTIONS {
            self.questions.insert(id.clone(), own);
        }
        message.edited(&message.with_id(&id))
    }

    fn outward(&self, own: &Id) -> Id {
        match self.turn {
            0 => own.clone(),
            turn => Id::string(&format!("{turn}-{}", own.as_text())),
        }
    }

    /// A question is taken back.
    fn withdrawn(&mut self, message: &Message) -> Payload {
        let params = Params::of(message).ok();
        let Some(span) = params.and_then(|params| params.request_id) else {
            return message.payload();
        };
        let token = span.of(message.raw());
        let mut open = self.questions.iter();
        let known = open.find(|(_, own)| own.token() == token);
        let Some(id) = known.map(|(id, _)| id.clone()) else {
            return message.payload();
        };
        let mut edits = Edits::new();
        edits.replace(span, id.token().clone());
        message.edited(&edits)
    }

    /// The gateway has ended: what its client hears of that. The next one gets ids
    /// of its own.
    pub(super) fn lost(&mut self, error: &ErrorObject) -> Vec<Payload> {
        self.turn += 1;
        let open = std::mem::take(&mut self.unanswered);
        // A handshake that was not answered is the client's to make again.
        let hello = self.hello.as_ref().and_then(Message::id);
        if hello.is_some_and(|id| open.contains(&id)) {
            self.hello = None;
        }
        let answers = open.iter().map(|id| error.response(Some(id)));
        let questions = std::mem::take(&mut self.questions);
        let withdrawn = questions.keys().map(|id| {
            let id = String::from_utf8_lossy(id.token());
            let reason = json::quote(&error.message);
            let params = format!("{{\"requestId\":{id},\"reason\":{reason}}}");
            Message::notification(Method::Cancelled, &params).payload()
        });
        answers.chain(withdrawn).collect()
    }

    /// What the next gateway is told before anything else: nothing the first time.
    pub(super) fn repeat(&mut self) -> Vec<Payload> {
        let Some(greeting) = self.hello.clone().filter(|_| self.turn > 0) else {
            return Vec::new();
        };
        let mut all = vec![greeting.edited(&greeting.with_id(&hello()))];
        if self.initialized {
            all.push(Message::notification(Method::Initialized, "{}").payload());
        }
        let again: Vec<Message> = self
            .level
            .iter()
            .chain(self.subscribed.values())
            .cloned()
            .collect();
        for message in again {
            self.repeated += 1;
            let id = Id::string(&format!("{OURS}{}", self.repeated));
            all.push(message.edited(&message.with_id(&id)));
        }
        all
    }
}

/// The address that a subscription is about.
fn uri(message: &Message) -> Option<String> {
    let span = json::field(message.body(), "uri").ok()??;
    json::text(span.of(message.body())).map(std::borrow::Cow::into_owned)
}

/// The changes of which this answer to a handshake promises to tell.
fn changes(message: &Message) -> Vec<Method> {
    let all = [
        ("tools", Method::ToolsListChanged),
        ("resources", Method::ResourcesListChanged),
        ("prompts", Method::PromptsListChanged),
    ];
    let found = json::field(message.body(), "capabilities").ok().flatten();
    let Some(capabilities) = found.map(|span| span.of(message.body())) else {
        return Vec::new();
    };
    let declared = |name: &'static str| json::field(capabilities, name).ok().flatten().is_some();
    let told = all.into_iter().filter(|(name, _)| declared(name));
    told.map(|(_, method)| method).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn line(value: &Value) -> Bytes {
        value.to_string().into()
    }

    fn read(payload: Payload) -> Value {
        serde_json::from_slice(&payload.into_bytes()).unwrap()
    }

    fn client(carryover: &mut Carryover, value: Value) -> Option<Value> {
        carryover.said(line(&value)).map(read)
    }

    fn gateway(carryover: &mut Carryover, value: Value) -> Value {
        match carryover.heard(line(&value)) {
            Heard::Line(line) => read(line),
            other => panic!("{other:?}"),
        }
    }

    /// A client that has shaken hands and asked for this and that.
    fn met() -> Carryover {
        let mut carryover = Carryover::default();
        client(
            &mut carryover,
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        );
        gateway(
            &mut carryover,
            json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {"tools": {"listChanged": true}}}}),
        );
        client(
            &mut carryover,
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        carryover
    }

    fn error() -> ErrorObject {
        ErrorObject::new(-32603, "it has ended")
    }

    #[test]
    fn the_next_gateway_is_told_what_the_client_said() {
        let mut carryover = met();
        assert!(carryover.repeat().is_empty(), "the client itself says it");
        let subscribe = |id: u64, uri: &str, verb: &str| json!({"jsonrpc": "2.0", "id": id, "method": format!("resources/{verb}"), "params": {"uri": uri}});
        client(
            &mut carryover,
            json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "debug"}}),
        );
        client(&mut carryover, subscribe(3, "a://1", "subscribe"));
        client(&mut carryover, subscribe(4, "a://2", "subscribe"));
        client(&mut carryover, subscribe(5, "a://2", "unsubscribe"));
        for id in 2..=4 {
            gateway(
                &mut carryover,
                json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            );
        }
        let told: Vec<Value> = carryover.lost(&error()).into_iter().map(read).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["id"], 5);
        let again: Vec<Value> = carryover.repeat().into_iter().map(read).collect();
        let methods: Vec<&str> = again
            .iter()
            .map(|m| m["method"].as_str().unwrap())
            .collect();
        let right = [
            "initialize",
            "notifications/initialized",
            "logging/setLevel",
            "resources/subscribe",
        ];
        assert_eq!(methods, right);
        assert_eq!(again[0]["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(again[3]["params"]["uri"], "a://1");
        // Answers to those are for nobody, but the client hears of the change.
        let answer = |id: &Value| line(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        assert!(matches!(
            carryover.heard(answer(&again[2]["id"])),
            Heard::Nothing
        ));
        let Heard::Met(changes) = carryover.heard(answer(&again[0]["id"])) else {
            panic!("it has met the client");
        };
        let changes: Vec<Value> = changes.into_iter().map(read).collect();
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0]["method"], "notifications/tools/list_changed");
    }

    #[test]
    fn a_handshake_that_was_not_answered_is_the_clients() {
        let mut carryover = Carryover::default();
        client(
            &mut carryover,
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}),
        );
        assert_eq!(carryover.lost(&error()).len(), 1);
        assert!(carryover.repeat().is_empty());
    }

    #[test]
    fn questions_of_one_gateway_are_not_answered_to_the_next() {
        let mut carryover = met();
        let question =
            json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {}});
        assert_eq!(gateway(&mut carryover, question.clone()), question);
        let told: Vec<Value> = carryover.lost(&error()).into_iter().map(read).collect();
        assert_eq!(told[0]["method"], "notifications/cancelled");
        assert_eq!(told[0]["params"]["requestId"], 7);
        // The next one happens to ask under the same number.
        let asked = gateway(&mut carryover, question);
        assert_ne!(asked["id"], 7);
        let answer =
            |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}});
        assert_eq!(client(&mut carryover, answer(&json!(7))), None);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(
            gateway(&mut carryover, cancel)["params"]["requestId"],
            asked["id"]
        );
        let answered = client(&mut carryover, answer(&asked["id"])).unwrap();
        assert_eq!(answered["id"], 7);
    }
}
