//! What replicas have recorded, searched and checked in one place.

use super::{AGAIN, Fleet, wire::Listener};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, time::Instant};
use switchboard_testkit::{text_of, world::Ran};

impl Fleet {
    async fn audit(&self, more: &[&str]) -> Ran {
        let (url, key) = (self.nats.url(), self.key());
        let place = ["--cluster", &url, "--cluster-key-file", &key];
        let args = [&["audit"][..], more, &place].concat();
        self.world.run(&args).await
    }

    /// All records of calls, asked for until there are so many.
    async fn calls(&self, count: usize) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let ran = self.audit(&["--tool", "echo", "--json"]).await;
            let lines = ran.out.lines();
            let found: Vec<Value> = lines.map(|it| serde_json::from_str(it).unwrap()).collect();
            if found.len() == count {
                return found;
            }
            assert!(begun.elapsed() < AGAIN, "{ran:?}");
        }
    }

    /// Whether all that was recorded is whole, and what is known of each chain.
    async fn checked(&self) -> (bool, Vec<Value>) {
        let ran = self.audit(&["verify", "--json"]).await;
        let said: Value = serde_json::from_str(&ran.out).unwrap();
        let is_whole = said["whole"].as_bool().unwrap();
        assert_eq!(ran.code, Some(i32::from(!is_whole)), "{ran:?}");
        (is_whole, said["chains"].as_array().unwrap().clone())
    }
}

#[tokio::test]
async fn what_all_replicas_have_recorded_is_searched_and_checked_in_one_place() {
    let mut fleet = Fleet::start(0).await;
    for name in ["r0", "r1"] {
        fleet.certify(&fleet.folder.clone(), name).await;
        let replica = fleet.replica(name, &["--audit"]).await;
        fleet.replicas.push(replica);
    }
    fleet.until_all_are_known().await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    let clients = [
        fleet.replicas[0].legacy().await,
        fleet.replicas[1].legacy().await,
    ];
    for round in 0..3 {
        for client in &clients {
            let nonce = format!("canary {round}");
            let mut client = client.clone_for(&[]);
            let said = client.call("far__echo", json!({"nonce": nonce})).await;
            assert_eq!(text_of(&said), nonce);
        }
    }
    let found = fleet.calls(6).await;
    let times: Vec<&str> = found
        .iter()
        .map(|it| it["record"]["time"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let of = |replica: &Value| found.iter().filter(|it| it["replica"] == *replica).count();
    assert_eq!((of(&found[0]["replica"]), found.len()), (3, 6), "{found:?}");
    let (is_whole, chains) = fleet.checked().await;
    assert!(is_whole && chains.len() == 2, "{chains:?}");
    // Nobody else can read it.
    let piece = loop {
        let (subject, payload) = listener.next().await;
        let text = String::from_utf8_lossy(&payload).into_owned();
        assert!(
            !text.contains("\"prev\"") && !text.contains("far__echo"),
            "{text}"
        );
        if subject.starts_with("sb.kv.audit/") {
            break subject;
        }
    };
    // One whose record is cut off says so itself, and what it was is still here.
    let world = fleet.replicas[1].world.clone();
    fleet.replicas[1].program.signal(Signal::TERM);
    fleet.replicas[1].program.wait(AGAIN).await;
    let folder = world.path("home/.local/state/switchboard/audit");
    for file in ["audit.jsonl", "head"] {
        fs::remove_file(folder.join(file)).unwrap();
    }
    let again = fleet.launch(&world, &fleet.folder.join("r1.pem"), &["--audit"]);
    again.url().await;
    let line = "is not what other replicas have of it: records were cut off or altered";
    again.wait_for_line(line).await;
    let begun = Instant::now();
    let chains = loop {
        let (is_whole, chains) = fleet.checked().await;
        if chains.len() == 3 {
            assert!(!is_whole, "{chains:?}");
            break chains;
        }
        assert!(begun.elapsed() < AGAIN, "{chains:?}");
    };
    let left: Vec<&Value> = chains.iter().filter(|it| it["begunAnew"] == true).collect();
    assert_eq!(left.len(), 1, "{chains:?}");
    assert_eq!(left[0]["problemCount"], 0, "what was copied is whole");
    assert_eq!(fleet.calls(6).await.len(), 6);
    let text = fleet.audit(&["verify"]).await.out;
    assert!(text.contains("cut off or altered there"), "{text}");
    // What nobody of ours has written is not believed.
    listener.publish(&piece, b"{}").await;
    let (_, chains) = fleet.checked().await;
    let foreign = chains.iter().filter(|it| it["foreign"] == 1);
    assert_eq!(foreign.count(), 1, "{chains:?}");
    // A worker's key opens none of it.
    let workers = fleet.folder.join("worker.key").display().to_string();
    let url = fleet.nats.url();
    let args = ["audit", "--cluster", &url, "--cluster-key-file", &workers];
    let ran = fleet.world.run(&args).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
}
