//! More sessions than fit into memory: none is refused, and the first is still there.

use http::StatusCode;
use serde_json::json;
use std::sync::Arc;
use switchboard_testkit::{
    HttpClient, LEGACY, PROGRAMS,
    history::Life,
    initialize_params,
    world::{World, echo, kib, servers, soak_rounds, tries, worker_of},
};
use tokio::sync::Mutex;

/// Clients that open sessions at the same time.
const LANES: usize = 8;

async fn pss(life: &Life<'_>) -> u64 {
    kib(worker_of(life.program().pid()).await, "smaps_rollup", "Pss")
}

/// Opens so many, on connections that are kept; all ids.
async fn open(url: &str, many: usize) -> Vec<String> {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let lanes = (0..LANES).map(|lane| {
        let (url, ids) = (url.to_owned(), ids.clone());
        tokio::spawn(async move {
            let mut client = HttpClient::new(&url).keep_alive();
            let params = initialize_params(LEGACY);
            let hello =
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            for _ in (lane..many).step_by(LANES) {
                let reply = client.post(hello.to_string()).await;
                assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
                let id = reply.header("mcp-session-id").expect("a session");
                ids.lock().await.push(id.to_owned());
            }
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await.expect("no session is refused");
    }
    Arc::into_inner(ids).expect("all have gone").into_inner()
}

#[tokio::test]
async fn more_sessions_than_memory_has_room_for() {
    let world = World::with(&servers([("near", echo(&[]))]));
    let life = Life::begin(&world, &["--no-auth"]).await;
    let url = format!("{}/mcp", life.url());
    let many = soak_rounds().map_or(tries(20_000, 1_000_000), |count| count * 1000);
    let first = open(&url, many / 2).await;
    let half = pss(&life).await;
    let last = open(&url, many - many / 2).await;
    let all = pss(&life).await;
    let kept: u64 = world
        .everything()
        .iter()
        .filter(|(path, _)| path.starts_with(world.path("home/.local/state/switchboard/sessions")))
        .map(|(_, bytes)| bytes.len() as u64)
        .sum();
    println!(
        "{many} sessions: {half} KiB after the first half, {all} KiB after all; {} KiB on disk",
        kept / 1024
    );
    assert!(all < half + 24 * 1024, "{half} KiB became {all} KiB");
    // What it may have of memory; without optimisation most of it is code.
    let is_optimised = !cfg!(debug_assertions) || std::env::var_os(PROGRAMS).is_some();
    assert!(!is_optimised || all < 64 * 1024, "{all} KiB");
    let ends = [first.first(), first.last(), last.first(), last.last()];
    for id in ends.into_iter().flatten() {
        let mut client = HttpClient::new(&url).header("mcp-session-id", id);
        let said = client.call("near__echo", json!({"nonce": "here"})).await;
        assert_eq!(switchboard_testkit::text_of(&said), "here", "{said}");
    }
}
