//! Pages that a legacy server wants visited before it does what it was asked
//! (-32042): the client is asked to open them, and then to come back.

use super::{Answer, Relayed, Request, address, refused};
use crate::{
    gateway::Gateway,
    session::{
        parked::{self, Waiting},
        rewrite,
    },
};
use serde_json::json;
use switchboard_host::{CallError, Scope};
use switchboard_wire::{Edits, ErrorObject, Id, Message, Method, code, json as text};

impl Relayed {
    /// A legacy server's error as the question that it stands for, if it is one.
    pub(super) fn visit(&self, error: &Message) -> Option<Answer> {
        let body = error.body();
        let data = text::field(body, "data").ok().flatten()?.of(body);
        let list = text::field(data, "elicitations").ok().flatten()?.of(data);
        if !self.client.opens_pages() {
            return Some(refused(&needs_pages(error), &self.id));
        }
        let mut requests = Vec::new();
        for span in text::elements(list) {
            let params = self.named(span.of(list));
            let params = params.as_slice();
            let key = text::field(params, "elicitationId").ok().flatten();
            let key = key
                .and_then(|span| text::text(span.of(params)))
                .map_or_else(|| requests.len().to_string(), String::from);
            let params = String::from_utf8_lossy(params);
            let method = Method::ElicitationCreate.as_str();
            let request = format!("{{\"method\":\"{method}\",\"params\":{params}}}");
            requests.push((key, request));
        }
        if requests.is_empty() {
            return None;
        }
        let visits = self.visits + 1;
        ask_to_visit(&self.gateway, &self.request, requests, visits, &self.id).ok()
    }

    /// An elicitation's parameters; among all servers they tell who asks.
    fn named(&self, params: &[u8]) -> Vec<u8> {
        let mut edits = Edits::new();
        if let (Scope::All, Some(exchange)) = (&self.request.scope, &self.exchange)
            && let Ok(Some(span)) = text::field(params, "message")
        {
            let server = exchange.connection().server_name();
            rewrite::name_in_front(server, params, span, &mut edits);
        }
        edits.apply_to_slice(params).to_vec()
    }
}

/// Asks a client to open pages and to come back.
pub(super) fn ask_to_visit(
    gateway: &Gateway,
    request: &Request,
    requests: Vec<(String, String)>,
    visits: u32,
    id: &Id,
) -> Result<Answer, CallError> {
    let shown = requests.clone();
    let waiting = Waiting::Visit { requests, visits };
    let lot = gateway.lot();
    let ticket = lot.park(waiting, request, &address(&request.scope))?;
    Ok(Answer {
        begun: None,
        payload: parked::input_required(&shown, &ticket, id).payload(),
        code: None,
    })
}

/// Whether the client says that it opened the page of this key, if it says anything.
pub(super) fn visited(responses: &[u8], key: &str) -> Option<bool> {
    let member = text::members(responses)
        .find(|member| text::text(member.key.of(responses)).is_some_and(|name| name == key))?;
    let answer = member.value.of(responses);
    let action = text::field(answer, "action").ok().flatten();
    Some(action.is_some_and(|span| span.of(answer) == b"\"accept\""))
}

/// The server wants a page visited, by a client that said it cannot do that.
fn needs_pages(error: &Message) -> ErrorObject {
    let said: serde_json::Value = serde_json::from_slice(error.body()).unwrap_or_default();
    let required = json!({ "elicitation": { "url": {} } });
    ErrorObject::new(
        code::MISSING_CAPABILITY,
        "the server needs elicitation by URL",
    )
    .with_data(json!({ "requiredCapabilities": required, "answer": said }))
}
