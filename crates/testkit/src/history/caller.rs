//! A client that asks, comes back for what it was not told, and notes all of it.

use super::{History, Op, What, Who};
use crate::program::DEADLINE;
use crate::world::until;
use crate::{EventStream, HttpClient, LEGACY, Reply};
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How often a client that was sent away tries to come back.
const AGAIN: Duration = Duration::from_millis(20);

/// What a client does.
#[derive(Clone, Debug)]
pub struct Work {
    /// The tool `progress` of an echo server, as it is called here.
    pub tool: String,
    /// Where the server writes down what it carries out.
    pub effects: PathBuf,
    /// Steps of a request that takes a while.
    pub steps: u64,
    /// How long each takes, in milliseconds.
    pub interval: u64,
}

/// One client, with a session.
#[derive(Debug)]
pub struct Caller {
    who: Who,
    http: HttpClient,
    /// Where it asks, in turn; nowhere else than before if it is empty.
    places: Vec<String>,
    turn: usize,
    history: History,
    work: Work,
}

/// How a request went on.
enum Went {
    /// It has ended, and that is noted.
    Over,
    /// The stream broke; the last event that was seen, if any was.
    Away(Option<String>),
}

fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Caller {
    /// One that shakes hands at this address.
    pub async fn new(url: &str, history: &History, work: &Work) -> Self {
        let mut http = HttpClient::new(url);
        http.initialize(LEGACY).await;
        Self {
            who: next(),
            http,
            places: Vec::new(),
            turn: 0,
            history: history.clone(),
            work: work.clone(),
        }
    }

    /// The same, and each request goes to another of these addresses.
    #[must_use]
    pub fn spraying(mut self, places: &[String]) -> Self {
        self.places = places.to_vec();
        self
    }

    /// Goes to the next place.
    fn move_on(&mut self) {
        if let Some(place) = self.places.get(self.turn % self.places.len().max(1)) {
            self.http.move_to(place);
            self.turn += 1;
        }
    }

    /// Asks for something that is answered at once.
    pub async fn quick(&mut self) {
        self.ask(0).await;
    }

    /// Asks for something whose answer comes on a stream, after some steps.
    pub async fn slow(&mut self) {
        self.ask(self.work.steps).await;
    }

    /// Ends the session.
    pub async fn end(&mut self) {
        self.move_on();
        self.history.note(What::Ended { who: self.who });
        let _ = self.http.try_send(Method::DELETE, &[], Bytes::new()).await;
    }

    async fn ask(&mut self, steps: u64) {
        let (op, who) = (next(), self.who);
        let body = json!({"jsonrpc": "2.0", "id": op, "method": "tools/call", "params": {
            "name": self.work.tool,
            "arguments": {"steps": steps, "intervalMs": self.work.interval,
                "marker": op.to_string(), "file": self.work.effects},
        }});
        self.move_on();
        self.history.note(What::Asked { op, who, steps });
        let opened = self.http.try_open(Method::POST, &[], body.to_string());
        let mut seen = None;
        match opened.await {
            Ok(stream) if stream.is_events() => match self.listen(op, stream).await {
                Went::Over => return,
                Went::Away(last) => seen = last,
            },
            Ok(stream) => {
                if let Ok(reply) = stream.whole().await {
                    return self.answered(op, &reply);
                }
            }
            Err(_) => {}
        }
        match seen {
            Some(last) => self.come_back(op, last).await,
            // Nothing to come back with: it must not ask again, and nobody can tell it.
            None => self.history.note(What::Broke { op, who }),
        }
    }

    /// Comes back for the rest of a stream until it has the answer. One that never
    /// gets it notes nothing, which is found out.
    async fn come_back(&mut self, op: Op, mut last: String) {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            self.move_on();
            let headers = [("accept", "text/event-stream"), ("last-event-id", &last)];
            match self.http.try_open(Method::GET, &headers, "").await {
                Ok(stream) if stream.is_events() => match self.listen(op, stream).await {
                    Went::Over => return,
                    Went::Away(seen) => last = seen.unwrap_or(last),
                },
                Ok(stream) if stream.status == StatusCode::NOT_FOUND => {
                    let who = self.who;
                    return self.history.note(What::Unknown { who });
                }
                _ => {}
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn listen(&mut self, op: Op, mut stream: EventStream) -> Went {
        let who = self.who;
        let mut last = None;
        while let Some(event) = stream.next_within(DEADLINE).await {
            last = event.id.clone().or(last);
            if event.data.as_ref().is_none_or(Vec::is_empty) {
                continue;
            }
            let message = event.json();
            if message["method"] == "notifications/message" {
                let data = &message["params"]["data"];
                let of = data["marker"].as_str().and_then(|of| of.parse().ok());
                let step = data["step"].as_u64().unwrap_or(0);
                let op = of.unwrap_or(0);
                self.history.note(What::Heard { op, who, step });
            } else if message.get("id").is_some() {
                self.outcome(op, &message);
                return Went::Over;
            }
        }
        Went::Away(last)
    }

    fn answered(&self, op: Op, reply: &Reply) {
        let who = self.who;
        if reply.status == StatusCode::NOT_FOUND {
            self.history.note(What::Unknown { who });
            let text = "404".to_owned();
            return self.history.note(What::Told { op, who, text });
        }
        match serde_json::from_slice::<Value>(&reply.body) {
            Ok(message) => self.outcome(op, &message),
            Err(_) => {
                let text = reply.status.to_string();
                self.history.note(What::Told { op, who, text });
            }
        }
    }

    fn outcome(&self, op: Op, message: &Value) {
        let who = self.who;
        let text = message["result"]["content"][0]["text"].as_str();
        let names = text.and_then(|text| text.parse().ok());
        self.history.note(match names {
            Some(names) if message["id"] == json!(op) => What::Answered { op, who, names },
            // The answer to another request: its number says so.
            Some(_) => What::Answered { op, who, names: 0 },
            None => What::Told {
                op,
                who,
                text: message["error"].to_string(),
            },
        });
    }

    /// Asks until somebody answers, after which the session is known to be known.
    ///
    /// # Panics
    /// When nobody does.
    pub async fn until_answered(&mut self) {
        let begun = Instant::now();
        let ping = json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}).to_string();
        loop {
            self.move_on();
            let sent = self.http.try_send(Method::POST, &[], ping.clone().into());
            if let Ok(reply) = sent.await {
                if reply.status == StatusCode::NOT_FOUND {
                    let who = self.who;
                    self.history.note(What::Unknown { who });
                }
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "nobody answers");
            until(AGAIN, || None::<()>).await;
        }
    }
}
