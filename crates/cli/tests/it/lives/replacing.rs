//! `up --replace` and `restart`: one gateway takes another's place while clients call.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use switchboard_testkit::{
    HttpClient, LEGACY, Program,
    world::{World, address, echo_http, servers, to_the_end, until},
};

const LONG: Duration = Duration::from_secs(60);

/// A world with a server that outlives gateways, and the first gateway of `up`.
async fn scene() -> (World, Program, Program, String) {
    let server = echo_http(&[]);
    let world = World::with(&servers([("far", address(&server).await)]));
    let first = world
        .launch(&["up", "--port", "0", "--no-builtins"])
        .spawn();
    let url = first.url().await;
    noted(&world).await;
    (world, server, first, url)
}

/// Waits until other commands find a gateway.
async fn noted(world: &World) {
    let found = until(LONG, || (!world.notes().is_empty()).then_some(()));
    found.await.expect("a note is left");
}

async fn client(world: &World, url: &str) -> HttpClient {
    let token = format!("Bearer {}", world.token("tokens/default"));
    let mut client = HttpClient::new(&format!("{url}/mcp")).header("authorization", &token);
    client.initialize(LEGACY).await;
    client
}

#[tokio::test]
async fn nobody_is_refused_while_one_takes_the_place_of_another() {
    let (world, _server, mut running, url) = scene().await;
    let (stop, calls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let mut lanes = Vec::new();
    for lane in 0..4 {
        let mut client = client(&world, &url).await;
        let (stop, calls) = (stop.clone(), calls.clone());
        lanes.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let nonce = format!("{lane}-{}", calls.fetch_add(1, Ordering::Relaxed));
                let arguments = json!({"nonce": nonce});
                let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": "far__echo", "arguments": arguments}});
                let sent = client.try_send(Method::POST, &[], call.to_string().into());
                let reply = sent.await.expect("every connection is taken and answered");
                assert_eq!(reply.status, StatusCode::OK, "{:?}", reply.body);
                let answer: Value = reply.message();
                assert_eq!(switchboard_testkit::text_of(&answer), nonce);
            }
        }));
    }
    for words in [&["up", "--replace", "--no-builtins"][..], &["restart"]] {
        let before = calls.load(Ordering::Relaxed);
        let enough = || (calls.load(Ordering::Relaxed) >= before + 20).then_some(());
        until(LONG, enough).await.expect("calls are answered");
        let next = world.launch(words).spawn();
        assert_eq!(next.url().await, url, "{words:?}");
        let ended = running.wait(LONG).await;
        assert!(ended.success(), "{words:?}: {}", running.stderr());
        running = next;
    }
    let before = calls.load(Ordering::Relaxed);
    let enough = || (calls.load(Ordering::Relaxed) >= before + 20).then_some(());
    until(LONG, enough).await.expect("calls are answered");
    stop.store(true, Ordering::Relaxed);
    for lane in lanes {
        lane.await.expect("a client that was refused nothing");
    }
    println!("{} calls", calls.load(Ordering::Relaxed));
}

/// A service's reload: what its unit says is done while clients call, and the manager hears
/// which process is the service before the first one ends.
#[tokio::test]
async fn a_service_is_reloaded_without_a_refused_connection() {
    let (world, _server, mut first, url) = scene().await;
    let port = url.rsplit_once(':').unwrap().1;
    let words = ["service", "install", "--", "--no-builtins", "--port", port];
    world.run(&words).await.ok();
    let unit = world.read("home/.config/systemd/user/switchboard.service");
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecReload="));
    let mut line = words_of(line.expect("a way to reload")).into_iter();
    let heard = world.path("manager");
    let manager = tokio::net::UnixDatagram::bind(&heard).unwrap();
    let mut client = client(&world, &url).await;
    let mut reload = world.launch_any(line.next().unwrap());
    reload = reload.args(line).env("NOTIFY_SOCKET", &heard);
    let reload = reload.spawn();
    let mut text = vec![0; 1000];
    let told = tokio::time::timeout(LONG, manager.recv(&mut text)).await;
    let told = String::from_utf8_lossy(&text[..told.unwrap().unwrap()]).into_owned();
    let pid = told.lines().find_map(|line| line.strip_prefix("MAINPID="));
    let pid: i32 = pid.expect("a process").parse().unwrap();
    assert_ne!(pid, first.pid());
    while first.ended().is_none() {
        let said = client.request("ping", json!({})).await;
        assert!(said.get("result").is_some(), "{said}");
    }
    assert!(first.wait(LONG).await.success(), "{}", first.stderr());
    let said = client.request("ping", json!({})).await;
    assert!(said.get("result").is_some(), "{said}");
    let id = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let gone = until(LONG, || {
        (!switchboard_testkit::world::alive(pid)).then_some(())
    });
    gone.await
        .expect("the process that was named is the gateway");
    drop(reload);
}

/// The words of a unit's line.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut in_quotes) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.extend(letters.next()),
            '"' => in_quotes = !in_quotes,
            ' ' if !in_quotes => words.push(std::mem::take(&mut word)),
            '$' | '%' => {
                letters.next_if_eq(&letter);
                word.push(letter);
            }
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

/// What is under way at the old one is ended there, and whoever comes back for it at the
/// new one gets it.
#[tokio::test]
async fn a_call_under_way_ends_where_it_began() {
    let (world, _server, mut first, url) = scene().await;
    let mut client = client(&world, &url).await;
    let file = world.path("effects");
    let arguments = json!({"steps": 40, "intervalMs": 50, "marker": "once", "file": file});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut stream = client.stream("tools/call", params).await;
    let seen = stream.next().await.expect("an event").id.expect("a number");
    drop(stream);
    let second = world.launch(&["up", "--replace", "--no-builtins"]).spawn();
    second.url().await;
    // The old one does not listen any more when it is gone; who asks now is at the new.
    let headers = [("accept", "text/event-stream"), ("last-event-id", &*seen)];
    first.wait(LONG).await;
    let again = client.open(Method::GET, &headers, "").await;
    assert_eq!(again.status, StatusCode::OK);
    let (steps, answer) = to_the_end(again).await;
    assert_eq!(switchboard_testkit::text_of(&answer), "once");
    assert_eq!(steps.len(), 40);
    assert_eq!(fs::read_to_string(file).unwrap(), "once\n");
}

/// One that cannot serve leaves the other where it is.
#[tokio::test]
async fn who_fails_to_take_the_place_takes_nothing() {
    let (world, _server, mut first, url) = scene().await;
    let mut client = client(&world, &url).await;
    let broken = world.write("broken.json", "{");
    let broken = broken.to_str().unwrap();
    let words = ["--mcp-config", broken, "up", "--replace"];
    let failed = world.run(&words).await;
    assert_ne!(failed.code, Some(0), "{failed:?}");
    assert_eq!(first.ended(), None, "{}", first.stderr());
    let said = client.request("ping", json!({})).await;
    assert!(said.get("result").is_some(), "{said}");
}

/// Several at once: one takes the place, the others say who did, and nobody is refused.
#[tokio::test]
async fn of_several_that_replace_at_once_one_does() {
    let (world, _server, mut first, url) = scene().await;
    let mut client = client(&world, &url).await;
    let words = ["up", "--replace", "--no-builtins"];
    let mut all: Vec<Program> = (0..4).map(|_| world.launch(&words).spawn()).collect();
    let mut losers = 0;
    let until = std::time::Instant::now() + LONG;
    while losers < 3 || first.ended().is_none() {
        assert!(std::time::Instant::now() < until, "{losers} have ended");
        let said = client.request("ping", json!({})).await;
        assert!(said.get("result").is_some(), "{said}");
        losers = all.iter_mut().filter_map(Program::ended).count();
    }
    assert_eq!(losers, 3, "one stays");
    for mut one in all {
        let Some(status) = one.ended() else {
            assert_eq!(one.url().await, url);
            continue;
        };
        // It was too late; or it came so late that it replaced, or was replaced, in turn.
        let said = one.stderr();
        let is_late = said.contains("took the place of process");
        assert!(is_late || status.success(), "{said}");
    }
    assert_eq!(world.notes().len(), 1);
}
