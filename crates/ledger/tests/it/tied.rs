//! Servers that tests start end with them, also where a test is killed.

use std::{env, time::Duration};
use switchboard_testkit::{
    Program,
    nats::Nats,
    world::{kill, until},
};

/// That the other test below is wanted.
const HOLDS: &str = "SWITCHBOARD_TEST_HOLDS_NATS";
const LATE: Duration = Duration::from_secs(60);

/// Has a server for as long as it lives; only the other test asks for that.
#[tokio::test]
async fn one_that_has_a_server() {
    if env::var_os(HOLDS).is_none() {
        return;
    }
    let nats = Nats::one().await;
    eprintln!("it is {}", nats.pid(0).unwrap());
    tokio::time::sleep(LATE * 10).await;
}

#[tokio::test]
async fn a_server_ends_with_a_test_that_is_killed() {
    let test = env::current_exe().unwrap();
    let nats = env::var("SWITCHBOARD_TEST_NATS").unwrap_or_default();
    let held = Program::new(test)
        .args(["--exact", "tied::one_that_has_a_server", "--nocapture"])
        .env(HOLDS, "1")
        .env("SWITCHBOARD_TEST_NATS", nats)
        .spawn();
    let line = held.wait_for_line("it is ").await;
    let pid: u32 = line.split_once("it is ").unwrap().1.trim().parse().unwrap();
    // One that nobody has waited for yet has ended.
    let is_there = || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        state.is_ok_and(|state| !state.contains(") Z"))
    };
    assert!(is_there());
    kill(&held.pid().to_string());
    let gone = until(LATE, || (!is_there()).then_some(())).await;
    assert!(gone.is_some(), "the server {pid} lives on");
}
