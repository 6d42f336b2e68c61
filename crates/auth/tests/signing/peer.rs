//! Asking an MCP server through the real transport.

use serde_json::Value;
use std::{sync::Arc, time::Duration};
use switchboard_auth::Authority;
use switchboard_transport::{
    About, Budget, Closed, Inbound, Outgoing, Receive, Undelivered,
    http::{Authorize, HttpLink, HttpOptions, HttpTarget},
};
use switchboard_wire::{Method, ParseError, Payload};
use tokio::sync::mpsc;
use url::Url;

struct Ear(mpsc::UnboundedSender<Result<Value, Undelivered>>);

impl Receive for Ear {
    fn message(&self, inbound: Inbound) {
        let value = serde_json::from_slice(inbound.message.raw()).unwrap();
        let _ = self.0.send(Ok(value));
    }

    fn unreadable(&self, _: ParseError, _: Option<u64>) {}

    fn undelivered(&self, _: u64, why: Undelivered) {
        let _ = self.0.send(Err(why));
    }

    fn closed(&self, _: Closed) {}
}

/// Sends one request and gives its answer.
pub async fn ask(authority: &Authority, url: &Url) -> Result<Value, Undelivered> {
    ask_with(Arc::new(authority.clone()), url).await
}

pub async fn ask_with(authorize: Arc<dyn Authorize>, url: &Url) -> Result<Value, Undelivered> {
    let mut target = HttpTarget::new(url.as_str().parse().unwrap());
    target.authorize = Some(authorize);
    let (ear, mut heard) = mpsc::unbounded_channel();
    let link = HttpLink::new(
        target,
        HttpOptions::default(),
        Budget::default(),
        Arc::new(Ear(ear)),
    );
    link.send(Outgoing {
        payload: Payload::from(String::from(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        )),
        about: About::Request {
            id: 1,
            method: Method::ToolsList,
            method_name: None,
            name: None,
            params: Vec::new(),
            headers: Vec::new(),
            timeout: Some(Duration::from_secs(20)),
        },
    })
    .unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(30), heard.recv()).await;
    answer.expect("no answer").expect("the link is gone")
}

/// Whether the answer is the server's.
pub fn served(answer: &Result<Value, Undelivered>) -> bool {
    matches!(answer, Ok(value) if value["result"]["tools"].is_array())
}

pub fn needs_auth(answer: &Result<Value, Undelivered>) -> bool {
    matches!(answer, Err(Undelivered::NeedsAuth { .. }))
}
