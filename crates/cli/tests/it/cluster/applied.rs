//! What is applied to all replicas: followed by each without a restart, if it is signed and
//! newer, and by nobody otherwise.

mod vouched;

use super::{AGAIN, Fleet, Replica, ping, private, wire::Listener};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use switchboard_testkit::{
    HttpClient,
    nats::Nats,
    text_of,
    world::{Ran, World, address, echo_http},
};
use tokio::time::{Instant, sleep};

impl Fleet {
    /// Replicas without servers of their own, which follow what is applied.
    pub(super) async fn following(count: usize, more: &[&str]) -> Self {
        let mut fleet = Self::on(Nats::one().await, 0).await;
        fleet.servers = json!({});
        for number in 0..count {
            let name = format!("r{number}");
            fleet.certify(&fleet.folder.clone(), &name).await;
            let keys = fleet.applies("pub");
            let follows = ["--cluster-apply-keys", &keys];
            let replica = fleet.replica(&name, &[&follows[..], more].concat()).await;
            fleet.replicas.push(replica);
        }
        fleet
    }

    pub(super) fn applies(&self, half: &str) -> String {
        let file = self.folder.join(format!("apply.{half}"));
        file.display().to_string()
    }

    /// Settings with the server of the fleet under these names.
    fn settings(&self, far: &Value, names: &[&str]) -> PathBuf {
        let entries = names.iter().map(|name| ((*name).to_owned(), far.clone()));
        let all: serde_json::Map<String, Value> = entries.collect();
        let text = json!({ "mcpServers": all });
        self.world.write("fleet.json", text.to_string())
    }

    pub(super) async fn apply_with(&self, key: &str, args: &[&str]) -> Ran {
        let (url, cluster) = (self.nats.url(), self.key());
        let command = ["cluster", "apply", "--cluster", &url];
        let keys = ["--cluster-key-file", &cluster, "--sign-with", key];
        let mut args = [&command[..], &keys, args].concat();
        let creds = self.creds.as_ref().map(|file| file.display().to_string());
        if let Some(creds) = &creds {
            args.extend(["--cluster-creds", creds]);
        }
        self.world.run(&args).await
    }

    pub(super) async fn apply(&self, args: &[&str]) -> Value {
        let args = [&["--yes", "--json"][..], args].concat();
        self.apply_with(&self.applies("key"), &args).await.json()
    }

    async fn asked(&self, words: &[&str]) -> Ran {
        let (url, cluster, keys) = (self.nats.url(), self.key(), self.applies("pub"));
        let options = ["--cluster", &url, "--cluster-key-file", &cluster];
        let keys = ["--cluster-apply-keys", &keys];
        let args = [&["cluster"][..], words, &options, &keys].concat();
        self.world.run(&args).await
    }

    /// Waits until all replicas say that they run this version.
    pub(super) async fn until_run(&self, version: u64) {
        let begun = Instant::now();
        loop {
            let status = self.status().await;
            let replicas = status.iter().filter(|row| row.get("worker").is_none());
            let runs = replicas.filter(|row| row["applied"] == version);
            if runs.count() == self.replicas.len() {
                return;
            }
            let logs = self.replicas.iter().map(|one| one.program.stderr());
            let logs: Vec<String> = logs.collect();
            assert!(begun.elapsed() < AGAIN, "{status:?}\n{}", logs.join("\n"));
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Replica {
    async fn tools(&self) -> Vec<String> {
        let mut client = self.legacy().await;
        let listed = client.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().cloned();
        let tools = tools.unwrap_or_default();
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.map(str::to_owned).collect()
    }

    async fn has(&self, tool: &str) -> bool {
        self.tools().await.iter().any(|name| name == tool)
    }
}

async fn far() -> (switchboard_testkit::Program, Value) {
    let server = echo_http(&[]);
    let at = address(&server).await;
    (server, at)
}

#[tokio::test]
async fn what_is_applied_holds_at_all_replicas_and_can_be_taken_back() {
    let (_server, far) = far().await;
    let mut fleet = Fleet::following(2, &[]).await;
    let file = fleet.settings(&far, &["one"]);
    let file = file.to_str().unwrap();
    // Nobody is asked, and nobody has said yes.
    let key = fleet.applies("key");
    let unasked = fleet.apply_with(&key, &[file]).await;
    assert_eq!(unasked.code, Some(5), "{unasked:?}");
    assert!(unasked.out.contains("fleet.json (new)"), "{unasked:?}");
    let first = fleet.apply(&[file, "--note", "the first"]).await;
    assert_eq!(
        (&first["version"], &first["applied"]),
        (&json!(1), &json!(true))
    );
    fleet.until_run(1).await;
    for replica in &fleet.replicas {
        assert!(
            replica.has("one__echo").await,
            "{:?}",
            replica.tools().await
        );
    }
    let again = fleet.apply(&[file]).await;
    assert_eq!(
        (&again["version"], &again["applied"]),
        (&json!(1), &json!(false))
    );
    // A second version; the session of a client goes on, with what holds then.
    let mut client = fleet.replicas[0].legacy().await;
    fleet.settings(&far, &["two"]);
    let second = fleet.apply(&[file]).await;
    assert_eq!(second["version"], 2);
    assert!(second["difference"].to_string().contains("two"), "{second}");
    fleet.until_run(2).await;
    let said = client.call("two__echo", json!({"nonce": "n"})).await;
    assert_eq!(text_of(&said), "n");
    for replica in &fleet.replicas {
        assert!(!replica.has("one__echo").await);
    }
    // What nobody could use is not signed.
    fleet
        .world
        .write("bad.json", r#"{"mcpServers": {"x": {"command": 5}}}"#);
    let bad = fleet.world.path("bad.json");
    let bad = fleet
        .apply_with(&key, &[bad.to_str().unwrap(), "--yes"])
        .await;
    assert_eq!(bad.code, Some(3), "{bad:?}");
    // Back, as a new version.
    let third = fleet.apply(&["--version", "1"]).await;
    assert_eq!(third["version"], 3);
    fleet.until_run(3).await;
    for replica in &fleet.replicas {
        assert!(replica.has("one__echo").await && !replica.has("two__echo").await);
    }
    let history = fleet.asked(&["history", "--json"]).await.json();
    let versions: Vec<&Value> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["version"])
        .collect();
    assert_eq!(versions, [&json!(3), &json!(2), &json!(1)]);
    assert_eq!(
        (&history[0]["holds"], &history[2]["note"]),
        (&json!(true), &json!("the first"))
    );
    let shown = fleet.asked(&["show", "2"]).await.ok().out;
    assert!(shown.contains("\"two\""), "{shown}");
    let none = fleet.asked(&["show", "9"]).await;
    assert_eq!(none.code, Some(2), "{none:?}");
    // One that starts again begins with it, also where NATS is away.
    fleet.nats.kill(0).await;
    fleet.replicas[0].kill().await;
    let (world, keys) = (fleet.replicas[0].world.clone(), fleet.applies("pub"));
    let alone = ["--cluster-apply-keys", &keys, "--cluster-optional"];
    let program = fleet.launch(&world, &fleet.folder.join("r0.pem"), &alone);
    let url = program.url().await;
    let replica = Replica {
        world,
        program,
        url,
    };
    assert!(
        replica.has("one__echo").await,
        "{}",
        replica.program.stderr()
    );
}

/// Whoever reaches NATS, and whoever has the cluster's key, can start nothing.
#[tokio::test]
async fn what_is_not_signed_or_not_newer_is_refused_and_said() {
    let (_server, far) = far().await;
    let fleet = Fleet::following(2, &[]).await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    let file = fleet.settings(&far, &["one"]);
    let file = file.to_str().unwrap();
    fleet.apply(&[file]).await;
    fleet.until_run(1).await;
    let (subject, first) = loop {
        let (subject, payload) = listener.next().await;
        if subject.contains(".applied.") {
            break (subject, payload);
        }
    };
    for word in ["one", "mcpServers", "fleet.json"] {
        let text = String::from_utf8_lossy(&first);
        assert!(!text.contains(word), "{word} is in {text}");
    }
    fleet.settings(&far, &["two"]);
    fleet.apply(&[file]).await;
    fleet.until_run(2).await;
    let refused = async |line: &str| {
        for replica in &fleet.replicas {
            replica.program.wait_for_line(line).await;
            assert!(replica.has("two__echo").await && !replica.has("evil__echo").await);
        }
    };
    // The first one again, as it was; with what NATS puts before it cut off.
    let first = value_of(&first);
    listener.publish(&subject, first).await;
    refused("it is version 1, and 2 holds already").await;
    // Altered, and never sealed.
    let mut altered = first.to_vec();
    let middle = altered.len() / 2;
    altered[middle] ^= 1;
    listener.publish(&subject, &altered).await;
    refused("it was not written by anybody of this cluster").await;
    let plain = json!({"version": 9, "documents": [{"name": "x", "text": "{}"}]});
    listener
        .publish(&subject, plain.to_string().as_bytes())
        .await;
    // Signed by somebody who has the cluster's key, and may not.
    let elsewhere = World::new();
    let folder = elsewhere.path("keys").display().to_string();
    elsewhere.run(&["cluster", "ca", &folder]).await.ok();
    fleet.settings(&far, &["evil"]);
    let theirs = format!("{folder}/apply.key");
    fleet.apply_with(&theirs, &[file, "--yes"]).await.ok();
    refused("is none of those that may").await;
    // Whoever may goes on from what holds.
    fleet.settings(&far, &["two", "three"]);
    let next = fleet.apply(&[file]).await;
    assert!(next["version"].as_u64() > Some(2), "{next}");
    fleet.until_run(next["version"].as_u64().unwrap()).await;
    assert!(fleet.replicas[1].has("three__echo").await);
    // The other half of the pair is no replica's.
    let world = World::new();
    let wrong = fleet.applies("key");
    let certificate = fleet.folder.join("r0.pem");
    let program = fleet.launch(&world, &certificate, &["--cluster-apply-keys", &wrong]);
    let (status, _, said) = program.output(AGAIN).await;
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("which is for whoever applies"), "{said}");
}

/// What a message holds behind the head that NATS may put before it.
pub(super) fn value_of(payload: &[u8]) -> &[u8] {
    let end = payload.len() - 2;
    let head = payload.windows(4).position(|part| part == b"\r\n\r\n");
    match payload.starts_with(b"NATS/1.0") {
        true => &payload[head.unwrap() + 4..end],
        false => &payload[..end],
    }
}

#[tokio::test]
async fn a_token_that_is_applied_opens_all_replicas_and_one_that_is_revoked_none() {
    let (_server, far) = far().await;
    let own = World::new();
    let file = own.write("own", "own-token-of-this-replica-0123456789abcdef\n");
    private(&file);
    let token = format!("r={}", file.display());
    let fleet = Fleet::following(2, &["--token-file", &token]).await;
    let settings = fleet.settings(&far, &["one"]);
    let secret = "alices-token-0123456789abcdefghijklmnopqrstuv";
    let file = own.write("alice", format!("{secret}\n"));
    private(&file);
    let alice = format!("alice={}", file.display());
    let mut listener = Listener::new(&fleet.nats.url()).await;
    fleet
        .apply(&[settings.to_str().unwrap(), "--token", &alice])
        .await;
    fleet.until_run(1).await;
    let (_, payload) = listener.next().await;
    assert!(!String::from_utf8_lossy(&payload).contains("alice"));
    let shown = fleet.asked(&["show", "--json", "--reveal"]).await.json();
    assert!(!shown.to_string().contains(secret), "{shown}");
    let bearer = format!("Bearer {secret}");
    let status = async |replica: &Replica| {
        let client = HttpClient::new(&format!("{}/mcp", replica.url));
        let mut client = client.header("authorization", &bearer);
        client.post(ping()).await.status.as_u16()
    };
    for replica in &fleet.replicas {
        // Let in; without a session there is nothing to ping.
        assert_ne!(status(replica).await, 401);
    }
    fleet.apply(&["--revoke", "alice"]).await;
    fleet.until_run(2).await;
    for replica in &fleet.replicas {
        assert_eq!(status(replica).await, 401);
    }
}
