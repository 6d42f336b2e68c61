//! Replicas of two versions side by side, as in an upgrade of one after the other: today's
//! program, and one of the same sources that says and writes everything in the next form
//! (`cargo xtask soak versions` builds it). What is newer than a replica knows is left alone.

use super::{AGAIN, Fleet, Replica, is_unknown, ping, until_ok, wire::Listener};
use http::StatusCode;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use switchboard_testkit::{HttpClient, text_of, world::World};

/// Names the program of the next form.
const NEXT: &str = "SWITCHBOARD_TEST_NEXT";

fn next_program() -> PathBuf {
    let file = std::env::var_os(NEXT).map(PathBuf::from);
    file.filter(|file| file.is_file())
        .expect("this test needs a program of the next form: `cargo xtask soak versions` builds it")
}

impl Fleet {
    /// A replica that runs this program.
    async fn replica_of(&self, program: &Path, certificate: &str) -> Replica {
        self.certify(&self.folder.clone(), certificate).await;
        let (url, key) = (self.nats.url(), self.key());
        let world = World::with(&self.servers);
        let file = self.folder.join(format!("{certificate}.pem"));
        let program = world
            .launch_any(program)
            .args(["serve", "--no-auth", "--http", "127.0.0.1:0"])
            .args(["--cluster", &url, "--cluster-key-file", &key])
            .arg("--cluster-cert")
            .arg(file)
            .spawn();
        let url = program.url().await;
        Replica {
            world,
            program,
            url,
        }
    }
}

/// Asks for a session until what is said of it stays the same for longer than replicas need
/// to hear of each other: that it cannot be had now, and never that there is none.
async fn is_left_alone(client: &mut HttpClient) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(15) {
        let reply = client.post(ping()).await;
        assert!(!is_unknown(&reply), "{reply:?}");
        let is_refused = matches!(
            reply.status,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY
        );
        assert!(is_refused, "{reply:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn works(client: &mut HttpClient) {
    until_ok(client).await;
    let said = client.call("far__echo", json!({"nonce": "n"})).await;
    assert_eq!(text_of(&said), "n", "{said}");
}

#[tokio::test]
#[ignore = "needs a second program: cargo xtask soak versions"]
async fn replicas_of_two_versions_leave_alone_what_they_do_not_know() {
    let next = next_program();
    let mut fleet = Fleet::start(1).await;
    let mut newer = fleet.replica_of(&next, "n0").await;
    let line = "a replica is of a newer version";
    fleet.replicas[0].program.wait_for_line(line).await;
    // The newer one knows all that the older one says: its sessions are the same there.
    let of_older = fleet.replicas[0].legacy().await;
    works(&mut newer.as_well(&of_older)).await;
    // The older one leaves the newer one's to it.
    let of_newer = newer.legacy().await;
    works(&mut newer.as_well(&of_newer)).await;
    is_left_alone(&mut fleet.replicas[0].as_well(&of_newer)).await;
    let line = "a session was written by a newer version";
    fleet.replicas[0].program.wait_for_line(line).await;
    works(&mut newer.as_well(&of_newer)).await;
    // Also when the newer one has died: what it wrote stays as it is, until one comes that
    // knows it.
    let mut listener = Listener::new(&fleet.nats.url()).await;
    newer.kill().await;
    is_left_alone(&mut fleet.replicas[0].as_well(&of_newer)).await;
    let newer = fleet.replica_of(&next, "n1").await;
    works(&mut newer.as_well(&of_newer)).await;
    // The older one ends, as in an upgrade: its sessions go on, in the next form.
    fleet.replicas[0].kill().await;
    let begun = Instant::now();
    works(&mut newer.as_well(&of_older)).await;
    assert!(begun.elapsed() < AGAIN);
    // And an older one that is started again leaves them alone from then on.
    fleet.again(0).await;
    is_left_alone(&mut fleet.replicas[0].as_well(&of_older)).await;
    works(&mut newer.as_well(&of_older)).await;
    // Nobody has written a session but those who may.
    let mut writes = 0;
    let quiet = Duration::from_millis(200);
    while let Ok((subject, _)) = tokio::time::timeout(quiet, listener.next()).await {
        writes += usize::from(subject.starts_with("sb.kv.sessions/"));
    }
    assert_eq!(writes, 2, "each was taken over once");
    // Both are shown, with a word about the one that is not understood.
    assert_eq!(fleet.status().await.len(), 2);
}
