//! 200 clients that all use the same ids and the same progress tokens share
//! their servers: every answer must reach its own caller (fault 22).
//!
//! `cargo xtask soak full` runs 1,000 calls of each client; otherwise fewer,
//! so that the debug build stays within a minute.

use serde_json::{Value, json};
use std::time::Instant;
use switchboard_testkit::world::{Gateway, address, echo, echo_http, servers, tries};
use switchboard_testkit::{HttpClient, LEGACY, MODERN, Reply, modern_headers, text_of, with_meta};

const CLIENTS: usize = 200;
const TOKEN: u64 = 1;

/// One client: all of them count their ids from one.
struct Caller {
    http: HttpClient,
    modern: bool,
    number: usize,
}

impl Caller {
    async fn send(&mut self, id: usize, name: &str, arguments: Value) -> Reply {
        let params =
            json!({"name": name, "arguments": arguments, "_meta": {"progressToken": TOKEN}});
        let params = if self.modern {
            with_meta(params)
        } else {
            params
        };
        let headers = if self.modern {
            modern_headers("tools/call", &params)
        } else {
            Vec::new()
        };
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.http
            .send(http::Method::POST, &headers, body.to_string())
            .await
    }

    /// Each call has a nonce of its own; now and then one that reports progress.
    async fn run(mut self, calls: usize) -> usize {
        if !self.modern {
            self.http.initialize(LEGACY).await;
        }
        let mut wrong = 0;
        for id in 1..=calls {
            let right = if id % 20 == 0 {
                self.reports(id).await
            } else {
                self.returns(id).await
            };
            wrong += usize::from(!right);
        }
        wrong
    }

    async fn returns(&mut self, id: usize) -> bool {
        let nonce = format!("{}-{id}", self.number);
        let delay = if id.is_multiple_of(3) { 60 } else { 10 };
        let reply = self
            .send(id, "echo", json!({"nonce": nonce, "randomDelay": delay}))
            .await;
        let answer = reply.message();
        let right = answer["id"] == id && text_of(&answer) == nonce;
        if !right {
            eprintln!("client {} asked for {nonce}, got {answer}", self.number);
        }
        right
    }

    /// Progress must be that of this call: as many steps as this client asked for.
    async fn reports(&mut self, id: usize) -> bool {
        let steps = 1 + self.number % 7;
        let reply = self
            .send(id, "progress", json!({"steps": steps, "intervalMs": 2}))
            .await;
        let mut messages = reply.messages();
        let answer = messages.pop().unwrap();
        let right = answer["id"] == id
            && text_of(&answer) == format!("{steps} steps")
            && messages.len() == steps
            && messages
                .iter()
                .all(|m| m["params"]["progressToken"] == TOKEN && m["params"]["total"] == steps);
        if !right {
            eprintln!(
                "client {} asked for {steps} steps, got {messages:?} {answer}",
                self.number
            );
        }
        right
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_crosses_between_200_clients_with_equal_ids() {
    let remote = echo_http(&["--random-delay", "5"]);
    let all = servers([
        ("local", echo(&["--random-delay", "5"])),
        ("remote", address(&remote).await),
    ]);
    let gateway = Gateway::start(&all).await;
    // Of every twenty one reports its progress.
    let (calls, started) = (tries(25, 1000), Instant::now());
    let mut running = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let path = ["/mcp/local", "/mcp/remote"][number % 2];
        let mut http = gateway.client(path).keep_alive();
        http.deadline = std::time::Duration::from_secs(60);
        let modern = number / 2 % 2 == 1;
        if modern {
            http.headers
                .insert("mcp-protocol-version".into(), MODERN.into());
        }
        running.spawn(
            Caller {
                http,
                modern,
                number,
            }
            .run(calls),
        );
    }
    let wrong: usize = running.join_all().await.into_iter().sum();
    let took = started.elapsed();
    eprintln!(
        "figure: {} calls in {took:.1?}, {wrong} wrong",
        CLIENTS * calls
    );
    assert_eq!(wrong, 0);
}
