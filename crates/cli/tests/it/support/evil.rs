//! A gateway with one server that misbehaves and one that does not.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{
    self, Client, Gateway, address, command, echo, peak_mib, servers,
};
use switchboard_testkit::{DEADLINE, Program, bin, text_of};

/// Both, and a client of the bad one.
pub struct Evil {
    pub gateway: Gateway,
    pub client: Client,
    _remote: Option<Program>,
}

impl Evil {
    /// Over stdio.
    pub async fn stdio(mode: &str, args: &[&str], modern: bool) -> Self {
        Self::with(
            command("evil-stdio", ["--mode", mode].iter().chain(args)),
            modern,
            None,
        )
        .await
    }

    /// The same with a limit for tool calls, in milliseconds.
    pub async fn timed(mode: &str, args: &[&str], modern: bool, limit: u64) -> Self {
        let mut entry = command("evil-stdio", ["--mode", mode].iter().chain(args));
        entry["timeout"] = limit.into();
        Self::with(entry, modern, None).await
    }

    /// Over HTTP.
    pub async fn http(mode: &str, args: &[&str], modern: bool) -> Self {
        let remote = Program::new(bin("evil-http"))
            .args(["--http", "0", "--mode", mode])
            .args(args)
            .spawn();
        let entry = address(&remote).await;
        Self::with(entry, modern, Some(remote)).await
    }

    /// With an entry of the test's own.
    pub async fn with(entry: Value, modern: bool, remote: Option<Program>) -> Self {
        let gateway = Gateway::start(&servers([("evil", entry), ("echo", echo(&[]))])).await;
        let client = Client::new(&gateway, "/mcp/evil", modern).await;
        Self {
            gateway,
            client,
            _remote: remote,
        }
    }

    /// Calls the tool that misbehaves.
    pub async fn strike(&mut self) -> Value {
        self.client.try_call("strike", json!({})).await
    }

    /// The same, and how long it took.
    pub async fn timed_strike(&mut self) -> (Value, Duration) {
        let started = Instant::now();
        let answer = self.strike().await;
        (answer, started.elapsed())
    }

    /// The misbehaving server is of use again, or still; it may have to be started first.
    pub async fn works_again(&mut self, what: &str) {
        for _ in 0..60 {
            let answer = self.client.try_call("ok", json!({})).await;
            if answer.get("result").is_some() {
                assert_eq!(text_of(&answer), "ok", "{what}");
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{what}: the server never worked again");
    }

    /// What the server saw.
    pub async fn stats(&mut self) -> Value {
        let text = self.client.call("stats", json!({})).await;
        serde_json::from_str(&text).expect("stats are JSON")
    }

    /// The other server works, at once.
    pub async fn other_works(&self, what: &str) {
        let mut client = Client::new(&self.gateway, "/mcp/echo", true).await;
        client.http.deadline = DEADLINE;
        assert_eq!(client.call("echo", json!({"nonce": what})).await, what);
    }

    /// The most memory that the gateway has ever had, in MiB.
    pub async fn peak(&self) -> u64 {
        peak_mib(self.gateway.worker().await)
    }

    /// Waits for a line of the gateway's log that has all these words.
    pub async fn logged(&self, words: &[&str]) {
        let found = world::until(DEADLINE, || {
            let log = self.gateway.program.stderr();
            let mut lines = log.lines();
            lines
                .any(|line| words.iter().all(|word| line.contains(word)))
                .then_some(())
        });
        let log = || self.gateway.program.stderr();
        assert!(
            found.await.is_some(),
            "no line with {words:?} in:\n{}",
            log()
        );
    }
}

/// That an answer is an error which says whose fault it is.
pub fn assert_blames(answer: &Value, server: &str) {
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(server), "{answer}");
    assert!(answer["error"]["data"]["server"] == server, "{answer}");
}
