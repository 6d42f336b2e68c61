//! The test's side of a link: what it sends, and what it hears.

use super::server::Server;
use std::{sync::Arc, time::Duration};
use switchboard_testkit::DEADLINE;
use switchboard_transport::{
    About, Budget, Closed, Inbound, Outgoing, Receive, Undelivered,
    http::{HttpLink, HttpOptions, HttpTarget},
};
use switchboard_wire::{Method, ParseError, Payload};
use tokio::{sync::mpsc, time::timeout};

#[derive(Debug)]
pub enum Heard {
    Message(Inbound),
    Unreadable(
        #[expect(dead_code, reason = "shown by assertions that fail")] String,
        Option<u64>,
    ),
    Undelivered(u64, Undelivered),
    Closed(Closed),
}

struct Ear(mpsc::UnboundedSender<Heard>);

impl Receive for Ear {
    fn message(&self, inbound: Inbound) {
        let _ = self.0.send(Heard::Message(inbound));
    }

    fn unreadable(&self, fault: ParseError, during: Option<u64>) {
        let _ = self.0.send(Heard::Unreadable(fault.to_string(), during));
    }

    fn undelivered(&self, request: u64, why: Undelivered) {
        let _ = self.0.send(Heard::Undelivered(request, why));
    }

    fn closed(&self, why: Closed) {
        let _ = self.0.send(Heard::Closed(why));
    }
}

pub struct Peer {
    pub link: HttpLink,
    pub budget: Budget,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Peer {
    pub fn new(server: &Server) -> Self {
        Self::with(target(&server.url()), HttpOptions::default())
    }

    pub fn with(target: HttpTarget, options: HttpOptions) -> Self {
        Self::within(target, options, Budget::default())
    }

    pub fn within(target: HttpTarget, options: HttpOptions, budget: Budget) -> Self {
        let (ear, heard) = mpsc::unbounded_channel();
        let link = HttpLink::new(target, options, budget.clone(), Arc::new(Ear(ear)));
        Self {
            link,
            budget,
            heard,
        }
    }

    pub fn ask(&self, id: u64, method: Method) {
        self.ask_within(id, method, Duration::from_secs(5));
    }

    pub fn ask_within(&self, id: u64, method: Method, limit: Duration) {
        self.link.send(request(id, method, limit)).unwrap();
    }

    pub fn tell(&self, method: &str) {
        let payload = Payload::from(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}"));
        self.link
            .send(Outgoing {
                payload,
                about: About::Notification,
            })
            .unwrap();
    }

    pub async fn next(&mut self) -> Heard {
        let heard = timeout(DEADLINE, self.heard.recv()).await;
        heard.expect("nothing was heard").expect("the link is gone")
    }

    /// The next message's text and where it came.
    pub async fn message(&mut self) -> (String, Option<u64>) {
        match self.next().await {
            Heard::Message(inbound) => (
                String::from_utf8(inbound.message.raw().to_vec()).unwrap(),
                inbound.during,
            ),
            other => panic!("expected a message, heard {other:?}"),
        }
    }

    /// Asks and expects the reply.
    pub async fn ping(&mut self, id: u64) {
        self.ask(id, Method::Ping);
        let (text, during) = self.message().await;
        assert!(text.contains(&format!("\"id\":{id},")), "{text}");
        assert_eq!(during, Some(id));
    }

    pub async fn undelivered(&mut self) -> (u64, Undelivered) {
        match self.next().await {
            Heard::Undelivered(id, why) => (id, why),
            other => panic!("expected undelivered, heard {other:?}"),
        }
    }

    /// Asserts that nothing is heard for a while.
    pub async fn silence(&mut self, time: Duration) {
        if let Ok(heard) = timeout(time, self.heard.recv()).await {
            panic!("expected silence, heard {heard:?}");
        }
    }
}

pub fn target(url: &str) -> HttpTarget {
    HttpTarget::new(url.parse().unwrap())
}

pub fn request(id: u64, method: Method, limit: Duration) -> Outgoing {
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
            timeout: Some(limit),
        },
    }
}

/// The status and text of `Undelivered::Status`.
pub fn status(why: &Undelivered) -> (u16, &str) {
    match why {
        Undelivered::Status { status, preview } => (*status, preview),
        other => panic!("expected a status, got {other:?}"),
    }
}

/// The text of `Undelivered::Unknown`.
pub fn unknown(why: &Undelivered) -> &str {
    match why {
        Undelivered::Unknown(text) => text,
        other => panic!("expected an unknown outcome, got {other:?}"),
    }
}

/// The text of `Undelivered::NotSent`.
pub fn not_sent(why: &Undelivered) -> String {
    match why {
        Undelivered::NotSent(why) => why.to_string(),
        other => panic!("expected not sent, got {other:?}"),
    }
}
