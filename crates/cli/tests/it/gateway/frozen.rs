//! Faults 26 and 53: a gateway that runs and does not answer. Commands pass it
//! by and say so, and a client behind it is told.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::world::{self, World, address, echo, echo_http, servers};
use switchboard_testkit::{Program, text_of};

/// Stops a gateway, and lets it go on when it is dropped.
struct Frozen(Vec<Pid>);

impl Frozen {
    async fn new(gateway: &Program) -> Self {
        let worker = world::worker_of(gateway.pid()).await;
        let pids: Vec<Pid> = [gateway.pid(), worker]
            .into_iter()
            .filter_map(Pid::from_raw)
            .collect();
        for pid in &pids {
            kill_process(*pid, Signal::STOP).unwrap();
        }
        Self(pids)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}

/// Commands do without it, after a second and not after twenty.
#[tokio::test]
async fn commands_pass_a_frozen_gateway_by() {
    let stage = World::with(&servers([("a", echo(&[]))]));
    let gateway = stage.gateway().await;
    stage.run(&["call", "mcp__a__pid", "{}"]).await.ok();
    // How long it takes without any gateway to ask, on this machine now.
    let started = Instant::now();
    stage
        .run(&["--direct", "call", "mcp__a__pid", "{}"])
        .await
        .ok();
    let usual = started.elapsed();
    let frozen = Frozen::new(&gateway).await;
    for args in [
        &["call", "mcp__a__pid", "{}"][..],
        &["list"],
        &["list", "--no-connect"],
        &["tools"],
    ] {
        let started = Instant::now();
        let ran = stage.run(args).await.ok();
        let took = started.elapsed();
        assert!(ran.err.contains("is passed by"), "{args:?}: {ran:?}");
        assert!(
            ran.err.contains(&gateway.pid().to_string()) || ran.err.contains("process"),
            "{ran:?}"
        );
        assert_eq!(ran.err.matches("is passed by").count(), 1, "{ran:?}");
        let allowed = usual * 4 + Duration::from_secs(8);
        assert!(
            took < allowed,
            "{args:?} took {took:?}, without a gateway {usual:?}"
        );
    }
    let doctor = stage.run(&["doctor"]).await;
    assert!(
        doctor.out.contains("runs, but does not answer"),
        "{doctor:?}"
    );
    // A client's own command starts servers itself.
    let mut client = stage.client(&[]);
    client.initialize(switchboard_testkit::LEGACY).await;
    assert!(
        text_of(&client.call("a__pid", json!({})).await)
            .parse::<u32>()
            .is_ok()
    );
    drop(frozen);
    let ran = stage.run(&["call", "mcp__a__pid", "{}"]).await.ok();
    assert!(!ran.err.contains("passed by"), "{ran:?}");
}

/// A client that is attached to it is told, and does not wait for ever.
#[tokio::test]
async fn an_attached_client_notices_a_frozen_gateway() {
    let stage = World::with(&servers([("a", echo(&[]))]));
    let gateway = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    client.call("a__pid", json!({})).await;
    let _frozen = Frozen::new(&gateway).await;
    client.deadline = Duration::from_secs(90);
    let answer = client.call("a__pid", json!({})).await;
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("does not answer any more"), "{answer}");
    // It goes on with servers of its own.
    let answer = client.call("a__pid", json!({})).await;
    assert!(text_of(&answer).parse::<u32>().is_ok(), "{answer}");
}

/// One that only takes long is not given up: it says that it is there.
#[tokio::test]
async fn an_attached_client_waits_for_a_slow_call() {
    let remote = echo_http(&[]);
    let stage = World::with(&servers([("a", address(&remote).await)]));
    let _gateway = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    client.deadline = Duration::from_secs(90);
    // Longer than a frozen gateway is waited for.
    let answer = client.call("a__sleep", json!({"ms": 24_000})).await;
    assert_eq!(text_of(&answer), "slept", "{answer}");
}

/// The note by which commands find it: damaged or gone, it comes back.
#[tokio::test]
async fn a_damaged_note_is_named_and_written_again() {
    let stage = World::with(&servers([("a", echo(&[]))]));
    let gateway = stage.gateway().await;
    let note = stage.notes().pop().unwrap();
    let whole = std::fs::read_to_string(&note).unwrap();
    for damage in [Some(&whole[..20]), Some(""), None] {
        match damage {
            Some(text) => std::fs::write(&note, text).unwrap(),
            None => std::fs::remove_file(&note).unwrap(),
        }
        let list = stage.run(&["list"]).await.ok();
        // It may have been written again already.
        let back = || std::fs::read_to_string(&note).is_ok_and(|text| text == whole);
        if damage.is_some() {
            let named = list.err.contains(&note.display().to_string());
            assert!(named || back(), "{list:?}");
        }
        let again = world::until(Duration::from_secs(60), || back().then_some(()));
        again.await.expect("the note is written again");
    }
    let ran = stage.run(&["reconnect", "a"]).await.ok();
    assert!(ran.out.contains("connected"), "{ran:?}");
    drop(gateway);
}
