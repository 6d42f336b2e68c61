//! The test's side of any link.

use std::{sync::Arc, time::Duration};
use switchboard_testkit::DEADLINE;
use switchboard_transport::{
    About, Closed, Inbound, Link, Outgoing, Receive, Undelivered, http::HttpTarget,
};
use switchboard_wire::{Method, ParseError, Payload};
use tokio::{sync::mpsc, time::timeout};

#[derive(Debug)]
pub enum Heard {
    Message(String),
    Unreadable(#[expect(dead_code, reason = "shown by assertions that fail")] String),
    Undelivered(u64, Undelivered),
    Closed(Closed),
}

struct Ear(mpsc::UnboundedSender<Heard>);

impl Receive for Ear {
    fn message(&self, inbound: Inbound) {
        let text = String::from_utf8(inbound.message.raw().to_vec()).unwrap();
        let _ = self.0.send(Heard::Message(text));
    }

    fn unreadable(&self, fault: ParseError, _: Option<u64>) {
        let _ = self.0.send(Heard::Unreadable(fault.to_string()));
    }

    fn undelivered(&self, request: u64, why: Undelivered) {
        let _ = self.0.send(Heard::Undelivered(request, why));
    }

    fn closed(&self, why: Closed) {
        let _ = self.0.send(Heard::Closed(why));
    }
}

pub struct Peer {
    pub link: Link,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Peer {
    pub fn new(open: impl FnOnce(Arc<dyn Receive>) -> Link) -> Self {
        let (ear, heard) = mpsc::unbounded_channel();
        Self {
            link: open(Arc::new(Ear(ear))),
            heard,
        }
    }

    pub fn ask(&self, id: u64, method: Method) {
        self.link.send(request(id, method)).unwrap();
    }

    pub async fn next(&mut self) -> Heard {
        let heard = timeout(DEADLINE, self.heard.recv()).await;
        heard.expect("nothing was heard").expect("the link is gone")
    }

    pub async fn message(&mut self) -> String {
        match self.next().await {
            Heard::Message(text) => text,
            other => panic!("expected a message, heard {other:?}"),
        }
    }

    pub async fn ping(&mut self, id: u64) {
        self.ask(id, Method::Ping);
        let text = self.message().await;
        assert!(text.contains(&format!("\"id\":{id},\"result\"")), "{text}");
    }

    /// The end, and what was said about it.
    pub async fn closed(&mut self) -> String {
        loop {
            match self.next().await {
                Heard::Closed(why) => return why.to_string(),
                Heard::Message(_) | Heard::Unreadable(_) | Heard::Undelivered(..) => {}
            }
        }
    }
}

pub fn request(id: u64, method: Method) -> Outgoing {
    Outgoing {
        payload: Payload::from(format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{}\"}}",
            method.as_str()
        )),
        about: About::Request {
            id,
            method,
            method_name: None,
            name: None,
            params: Vec::new(),
            headers: Vec::new(),
            timeout: Some(Duration::from_secs(5)),
        },
    }
}

pub fn target(url: &str) -> HttpTarget {
    HttpTarget::new(url.parse().unwrap())
}

/// The reply to a request with this text.
pub fn reply(request: &str) -> String {
    let id: serde_json::Value = serde_json::from_str(request).unwrap();
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}",
        id["id"]
    )
}
