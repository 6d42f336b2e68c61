//! What nobody has signed whom a worker believes starts nothing there, whoever puts it into
//! NATS, and whoever asks for it.

use super::{
    super::{Fleet, applied::value_of, wire::Listener},
    Worker,
    hired::{ended, signed, until_said},
    pid,
};
use serde_json::json;
use switchboard_testkit::world::{World, children};

const SUBJECT: &str = "sb.kv.hired.now";
const REFUSED: &str = "what workers were to run is refused";

/// What is put there next, as it is.
async fn next(listener: &mut Listener, subject: &str) -> Vec<u8> {
    loop {
        let (found, payload) = listener.next().await;
        if found == subject {
            return value_of(&payload).to_vec();
        }
    }
}

/// A worker has refused something, and runs what it ran.
async fn refused(worker: &Worker, why: &str, runs: &[i32]) {
    let line = worker.program.wait_for_line(why).await;
    assert!(line.contains(REFUSED), "{line}");
    assert_eq!(children(worker.pid().await), runs);
}

#[tokio::test]
async fn a_worker_starts_nothing_that_is_altered_old_or_signed_by_a_stranger() {
    let fleet = Fleet::hiring().await;
    let mut worker = fleet.hired("home", &[]).await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    fleet.hire(&[("notes", signed(&["--name", "old"]))]).await;
    let first = next(&mut listener, SUBJECT).await;
    for word in ["notes", "echo-server", "--name"] {
        let text = String::from_utf8_lossy(&first);
        assert!(!text.contains(word), "{word} is in {text}");
    }
    let mut client = fleet.replicas[0].legacy().await;
    let old = pid(&mut client).await;
    fleet.hire(&[("notes", signed(&[]))]).await;
    ended(old).await;
    let process = pid(&mut client).await;
    // The first one again, as it was.
    listener.publish(SUBJECT, &first).await;
    let again = "it is version 1, and 2 holds already";
    refused(&worker, again, &[process]).await;
    // Altered, and never sealed; and what was sealed for replicas.
    let mut altered = first.clone();
    let middle = altered.len() / 2;
    altered[middle] ^= 1;
    listener.publish(SUBJECT, &altered).await;
    let strange = "it was not written by anybody of this cluster";
    refused(&worker, strange, &[process]).await;
    let plain = json!({"version": 9, "hires": {"evil": {"runs": {"command": "true"}}}});
    listener
        .publish(SUBJECT, plain.to_string().as_bytes())
        .await;
    // One that starts again is not shown an older one either.
    listener.publish(SUBJECT, &first).await;
    worker.kill().await;
    let worker = fleet.hired_in(worker.world.clone(), "home", &[]).await;
    refused(&worker, again, &[]).await;
    let process = pid(&mut client).await;
    let line = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap();
    assert!(!line.contains("old"), "{line:?}");
    // Signed by somebody who has the cluster's own key, and whom the worker does not know.
    let elsewhere = World::new();
    let folder = elsewhere.path("keys").display().to_string();
    elsewhere.run(&["cluster", "ca", &folder]).await.ok();
    let evil = json!({"mcpServers": {"evil": signed(&[]), "notes": signed(&["--name", "evil"])}});
    let file = fleet.world.write("evil.json", evil.to_string());
    let args = [file.to_str().unwrap(), "--yes"];
    let theirs = format!("{folder}/apply.key");
    fleet.apply_with(&theirs, &args).await.ok();
    refused(&worker, "is none of those that may", &[process]).await;
    assert_eq!(pid(&mut client).await, process);
    // Whoever may goes on from what holds, and what is there by then is put right.
    let version = fleet.hire(&[("notes", signed(&["--name", "new"]))]).await;
    ended(process).await;
    let process = pid(&mut client).await;
    assert_eq!(children(worker.pid().await), [process]);
    listener.publish(SUBJECT, &first).await;
    let file = fleet.world.path("fleet.json");
    let told = fleet.apply(&[file.to_str().unwrap()]).await;
    assert_eq!(told["version"], version, "{told}");
    let fresh = fleet.hired("fresh", &[]).await;
    let shown = fleet
        .until_shown("fresh", |row| row["applied"] == version)
        .await;
    assert_eq!(shown["hires"][0]["runs"], true, "{shown}");
    assert!(!fresh.program.stderr().contains(REFUSED));
}

/// What a replica asks for is not what starts something: it has to be what was signed.
#[tokio::test]
async fn a_replica_cannot_have_a_worker_start_something_else() {
    let mut fleet = Fleet::hiring().await;
    let worker = fleet.hired("home", &[]).await;
    fleet.hire(&[("notes", signed(&[]))]).await;
    // A replica whose own settings say otherwise, under the same name and another.
    fleet.servers = json!({
        "notes": signed(&["--name", "evil"]),
        "evil": signed(&[]),
        "bare": {"type": "worker", "server": "notes"},
    });
    fleet.certify(&fleet.folder.clone(), "r9").await;
    let replica = fleet.replica("r9", &[]).await;
    let line = "a worker is there";
    replica.program.wait_for_line(line).await;
    let mut client = replica.legacy().await;
    for (server, why) in [
        ("notes", "home has another version of it"),
        ("evil", "home has not heard of it"),
        ("bare", "no worker offers"),
    ] {
        until_said(&mut client, server, why).await;
    }
    assert!(children(worker.pid().await).is_empty());
    let mut client = fleet.replicas[0].legacy().await;
    pid(&mut client).await;
}
