//! Requests from a server to its client (legacy era): who is asked, and what
//! is answered when nobody can be.

use super::{calls::Attribution, connection::Connection, owners::Identity};
use crate::{
    bridge::roots,
    client::Client,
    exchange::{Answer, Input},
};
use std::sync::Arc;
use switchboard_wire::{Era, ErrorObject, Message, Method, code, json as raw};
use tokio_util::sync::CancellationToken;

impl Connection {
    pub(super) fn on_request(&self, message: Message, during: Option<u64>) {
        if self.revision().era() == Era::Modern && self.hello().is_some() {
            tracing::warn!(server = %self.server_name(), method = %message.method_name(), "a modern server sent a request; ignored");
            return;
        }
        if message.method() == Method::Ping {
            if let Some(id) = message.id() {
                self.answer_peer(&message, Message::response(&id, "{}").payload());
            }
            return;
        }
        if message.method() == Method::RootsList
            && !self.spec().roots.is_empty()
            && let Some(id) = message.id()
        {
            let result = roots::answer(&self.spec().roots);
            return self.answer_peer(&message, Message::response(&id, &result).payload());
        }
        if let Some(owner) = self.audience().tasks().owner_of(&message) {
            return self.ask_owner(message, &owner, during);
        }
        match self.calls().attribute(during) {
            Attribution::Call {
                request,
                inbox,
                client,
                over,
                ..
            } => {
                let asked = self.question(message, client.as_deref(), over, Some(request));
                let Some(input) = asked else { return };
                self.calls().asks(request);
                inbox.input(input);
            }
            Attribution::Nobody => self.outside_any_call(message),
            Attribution::Several => {
                self.take_turns();
                self.refuse(
                    &message,
                    &ErrorObject::new(
                        code::INTERNAL,
                        "several clients have calls in flight and nothing says whose question this is; \
                         set \"isolation\": \"session\" for this server",
                    ),
                );
            }
        }
    }

    /// A task asks after its call has been answered: its owner, and nobody else. One
    /// that can hear nothing outside its calls is asked within the call that it has.
    fn ask_owner(&self, message: Message, owner: &Identity, during: Option<u64>) {
        let attached = self.attached();
        let Some(client) = attached.iter().find(|client| owner.lets(client)) else {
            return match self.calls().attribute(during) {
                Attribution::Call {
                    request,
                    inbox,
                    client: Some(client),
                    over,
                    ..
                } if owner.lets(&client) => {
                    let asked = self.question(message, Some(&client), over, Some(request));
                    let Some(input) = asked else { return };
                    self.calls().asks(request);
                    inbox.input(input);
                }
                _ => self.refuse(&message, &unsupported(&message)),
            };
        };
        if let Some(input) = self.question(message, Some(client), CancellationToken::new(), None) {
            ask_outside(client, input);
        }
    }

    fn outside_any_call(&self, message: Message) {
        let attached = self.attached();
        match attached.as_slice() {
            [client] if self.is_exclusive() => {
                let client = client.clone();
                let asked = self.question(message, Some(&client), CancellationToken::new(), None);
                if let Some(input) = asked {
                    ask_outside(&client, input);
                }
            }
            _ => self.refuse(&message, &unsupported(&message)),
        }
    }

    /// A question for `client`, registered so that it can be withdrawn; refused at once where that client cannot answer it.
    /// `during` is the call that it belongs to.
    fn question(
        &self,
        message: Message,
        client: Option<&Client>,
        over: CancellationToken,
        during: Option<u64>,
    ) -> Option<Input> {
        let capability = match message.method() {
            Method::ElicitationCreate => Some("elicitation"),
            Method::SamplingCreateMessage => Some("sampling"),
            Method::RootsList => Some("roots"),
            _ => None,
        };
        let asks_inbox = |client: &Client| client.asked_at().asks_inbox();
        let is_its_own = self.is_exclusive() || client.is_some_and(|client| client.alone);
        let able = match (client, capability) {
            (None, _) => false,
            // A client's own roots are not for a server that it shares with others.
            (Some(_), Some("roots")) if !is_its_own => false,
            (Some(client), Some("elicitation" | "sampling")) if asks_inbox(client) => true,
            (Some(client), Some("elicitation")) if is_url_mode(&message) => client.opens_pages(),
            (Some(client), Some(capability)) => client.declares(capability),
            (Some(_), None) => true,
        };
        if !able {
            let is_modern = |client: &&Client| client.era() == Era::Modern;
            let is_theirs = |capability: &&str| *capability != "roots" || is_its_own;
            if let (Some(client), Some(capability)) =
                (client.filter(is_modern), capability.filter(is_theirs))
            {
                self.questions().note_undeclared(client.id, capability);
            }
            self.refuse(&message, &unsupported(&message));
            return None;
        }
        if let Some(client) = client.filter(|_| is_url_mode(&message)) {
            self.audience().note_page(message.body(), client);
        }
        let withdrawn = over.child_token();
        let id = message.id()?;
        if !self.questions().open(id, withdrawn.clone()) {
            let error = ErrorObject::new(code::INTERNAL, "too many questions are open");
            self.refuse(&message, &error);
            return None;
        }
        let connection = self.shared()?;
        let reply = move |question: &Message, answer: Answer| {
            let id = question.id();
            let payload = match (answer, &id) {
                (Answer::Response(response), Some(id)) => response.edited(&response.with_id(id)),
                (Answer::Response(_), None) => return,
                (Answer::Refused(error), id) => error.response(id.as_ref()),
            };
            connection.answer(during, question.clone(), payload);
        };
        Some(Input::new(
            message,
            self.server_name().clone(),
            withdrawn,
            reply,
        ))
    }

    pub(super) fn refuse(&self, message: &Message, error: &ErrorObject) {
        tracing::debug!(server = %self.server_name(), method = %message.method_name(), why = %error.message, "refused");
        self.answer_peer(message, error.response(message.id().as_ref()));
    }
}

/// Asks what belongs to no call: the client, or whoever else is to be asked.
fn ask_outside(client: &Arc<Client>, input: Input) {
    let plan = client.desk().map(|desk| (desk, desk.plan(&input, client)));
    let left = match plan {
        Some((desk, plan)) if plan.desk => desk.put(input, client, None, plan).client,
        _ => Some(input),
    };
    if let Some(input) = left {
        client.sink().ask(input);
    }
}

/// Whether an elicitation wants a page to be opened, and no form filled in.
fn is_url_mode(message: &Message) -> bool {
    let body = message.body();
    raw::field(body, "mode")
        .ok()
        .flatten()
        .is_some_and(|span| span.of(body) == b"\"url\"")
}

fn unsupported(message: &Message) -> ErrorObject {
    ErrorObject::new(
        code::METHOD_NOT_FOUND,
        format!("the client does not support {}", message.method_name()),
    )
}
