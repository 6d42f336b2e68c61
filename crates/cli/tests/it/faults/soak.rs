//! Faults 109 and 110: far more than is usual, for long. Most of this takes
//! minutes and is run by `cargo xtask faults --soak`.

use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use switchboard_testkit::world::{Gateway, echo, kib, servers, until};
use switchboard_testkit::{HttpClient, LEGACY, text_of};

/// Calls per second of this many clients, over this long.
async fn goodput(gateway: &Gateway, clients: usize, lasts: Duration) -> f64 {
    let (done, over) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let mut all = Vec::new();
    for n in 0..clients {
        let mut client: HttpClient = gateway.client("/mcp/a").keep_alive();
        client.deadline = Duration::from_secs(60);
        client.initialize(LEGACY).await;
        let (done, over) = (done.clone(), over.clone());
        all.push(tokio::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let nonce = n.to_string();
                let answer = client.call("echo", json!({"nonce": nonce})).await;
                assert_eq!(text_of(&answer), nonce, "{answer}");
                done.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let (before, started) = (done.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(lasts).await;
    let count = done.load(Ordering::Relaxed) - before;
    let rate = count as f64 / started.elapsed().as_secs_f64();
    over.store(true, Ordering::Relaxed);
    for client in all {
        client.await.expect("every call is answered");
    }
    rate
}

/// Ten times as many clients as it takes to be busy do not get less done, and
/// when they have gone it is as before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask faults --soak"]
async fn row_109_ten_times_the_load() {
    let gateway = Gateway::start(&servers([("a", echo(&[]))])).await;
    let lasts = Duration::from_secs(15);
    goodput(&gateway, 16, Duration::from_secs(5)).await;
    let peak = goodput(&gateway, 16, lasts).await;
    let under_load = goodput(&gateway, 160, lasts).await;
    let after = goodput(&gateway, 16, Duration::from_secs(10)).await;
    eprintln!(
        "figure: {peak:.0} calls/s of 16 clients, {under_load:.0} of 160, {after:.0} of 16 again"
    );
    assert!(
        under_load >= peak * 0.8,
        "{under_load:.0} of {peak:.0} calls/s"
    );
    assert!(
        after >= peak * 0.8,
        "{after:.0} of {peak:.0} calls/s within 10 s"
    );
}

fn descriptors(pid: i32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

/// Clients that come, shake hands and go, properly or not.
async fn come_and_go(rounds: usize) {
    let gateway = Gateway::start(&servers([("a", echo(&[]))])).await;
    let pid = gateway.worker().await;
    let visit = async |n: usize| {
        let mut client = gateway.client("/mcp/a");
        client.deadline = Duration::from_secs(60);
        client.initialize(LEGACY).await;
        // Every other one says goodbye.
        if n.is_multiple_of(2) {
            client.send(http::Method::DELETE, &[], "").await;
        }
    };
    // Until everything that is made once has been made.
    for n in 0..200 {
        visit(n).await;
    }
    let (memory, open) = (kib(pid, "smaps_rollup", "Pss"), descriptors(pid));
    for n in 0..rounds {
        visit(n).await;
    }
    let grown = kib(pid, "smaps_rollup", "Pss").saturating_sub(memory);
    eprintln!("figure: {rounds} clients came and went, {grown} KiB are left of them");
    // Those that said nothing are kept for a while, each at a small price.
    let allowed = 8 * 1024 + (rounds as u64 / 2).min(10_000) * 16;
    assert!(grown < allowed, "{grown} KiB, allowed are {allowed}");
    let back = until(Duration::from_secs(90), || {
        (descriptors(pid) <= open + 8).then_some(())
    });
    assert!(
        back.await.is_some(),
        "{} descriptors, before there were {open}",
        descriptors(pid)
    );
}

#[tokio::test]
async fn row_110_clients_come_and_go() {
    come_and_go(600).await;
}

#[tokio::test]
#[ignore = "takes many minutes: cargo xtask faults --soak"]
async fn row_110_clients_come_and_go_for_long() {
    come_and_go(200_000).await;
}
