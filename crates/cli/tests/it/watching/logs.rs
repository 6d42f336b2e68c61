//! What gateways log and servers write to stderr, kept and shown together.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, time::Duration};
use switchboard_testkit::{
    HttpClient, LEGACY, bin,
    world::{World, echo, servers, until},
};
use tokio::io::{AsyncBufReadExt, BufReader};

const LONG: Duration = Duration::from_secs(60);

/// A server that says this on stderr when it is started, and works.
fn talks(text: &str) -> Value {
    let line = format!(
        "printf '{text}' >&2; exec '{}' --stdio",
        bin("echo-server").display()
    );
    json!({"command": "/bin/sh", "args": ["-c", line]})
}

/// The lines of `switchboard logs --json`.
async fn lines(world: &World, more: &[&str]) -> Vec<Value> {
    let mut words = vec!["logs", "--json"];
    words.extend(more);
    let ran = world.run(&words).await.ok();
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The gateway's log and the servers' stderr stand together in the order of time, and
/// each line says whose it is; also when the gateway has gone.
#[tokio::test]
async fn all_logs_stand_together_in_the_order_of_time() {
    let world = World::with(&servers([
        ("a", talks("the \\033[31mred\\033[0m one\\n")),
        ("b", talks("from b\\nand no end")),
    ]));
    let (mut gateway, url) = world.serve(&["--no-auth", "--log", "debug"]).await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client.call("a__echo", json!({"nonce": "secret"})).await;
    client.call("b__echo", json!({"nonce": "secret"})).await;
    gateway.signal(Signal::TERM);
    gateway.wait(LONG).await;

    let all = lines(&world, &[]).await;
    assert!(all.iter().all(|one| one["time"].is_string()), "{all:#?}");
    let of = |source: &str, text: &str| {
        let found = all.iter().position(|one| {
            one["source"] == source && one["text"].as_str().unwrap().contains(text)
        });
        found.unwrap_or_else(|| panic!("{text} of {source} in {all:#?}"))
    };
    let (red, called) = (of("server", "red"), of("gateway", "call ended"));
    assert_eq!(all[red]["server"], "a");
    let (said, gone) = (of("server", "and no end"), of("gateway", "b__echo"));
    assert!(red < called && said > 0, "{all:#?}");
    let ended = all
        .iter()
        .rposition(|one| one["text"].to_string().contains("call ended"));
    assert!(said < ended.unwrap() && gone < ended.unwrap(), "{all:#?}");
    assert_eq!(all[called]["level"], "debug");
    assert!(all[called]["process"].is_number(), "{}", all[called]);
    assert_eq!(all[of("server", "and no end")]["server"], "b");

    // For people: whose a line is, and nothing that a terminal would obey.
    let ran = world.run(&["logs"]).await.ok();
    assert!(
        !ran.out.contains('\u{1b}') && !ran.out.contains("secret"),
        "{}",
        ran.out
    );
    assert_eq!(ran.out.lines().count(), all.len());
    for words in [
        ["  a ", "red"],
        ["  b ", "from b"],
        ["  gateway  ", "DEBUG"],
    ] {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(ran.out.lines().any(has), "{words:?} in {}", ran.out);
    }

    // Only what is asked for.
    assert_eq!(lines(&world, &["--since", "2100-01-01"]).await.len(), 0);
    assert_eq!(lines(&world, &["--since", "1h"]).await.len(), all.len());
    let since = all[called]["time"].as_str().unwrap();
    let some = lines(&world, &["--since", since]).await;
    assert_eq!(some, all[called..]);
    let one = lines(&world, &["b"]).await;
    assert!(
        !one.is_empty() && one.iter().all(|line| line["server"] == "b"),
        "{one:#?}"
    );

    let file = world.path("home/.local/state/switchboard/gateway.log");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn what_is_written_is_shown_as_it_comes() {
    let world = World::with(&servers([
        ("a", talks("hello from a\\n")),
        ("b", echo(&[])),
    ]));
    let mut following = world.launch(&["logs", "-f"]).spawn();
    drop(following.stdin.take());
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    // The gateway's file is there before it begins, and the server's is not.
    let (_gateway, url) = world.serve(&["--no-auth", "--log", "debug"]).await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client.call("a__echo", json!({"nonce": "n"})).await;
    let mut wanted = vec!["hello from a", "call ended"];
    while !wanted.is_empty() {
        let line = tokio::time::timeout(LONG, lines.next_line()).await;
        let line = line.expect("a line").unwrap().expect("it goes on");
        wanted.retain(|word| !line.contains(word));
    }
    following.signal(Signal::INT);
    assert_eq!(following.wait(LONG).await.code(), Some(0));
}

/// Where a gateway logs to a file of its own, that is what is shown.
#[tokio::test]
async fn the_file_that_a_gateway_was_told_of_is_read() {
    let world = World::with(&servers([("a", echo(&[]))]));
    let file = world.path("elsewhere.log");
    let file = file.to_str().unwrap();
    let args = ["--no-auth", "--log", "debug", "--log-file", file];
    let (_gateway, url) = world.serve(&args).await;
    let mut client = HttpClient::new(&format!("{url}/mcp/a"));
    client.initialize(LEGACY).await;
    client.call("echo", json!({"nonce": "n"})).await;
    let all = lines(&world, &[]).await;
    let is_call = |one: &Value| one["text"].as_str().unwrap().contains("call ended");
    assert!(all.iter().any(is_call), "{all:#?}");
    assert!(
        !world
            .path("home/.local/state/switchboard/gateway.log")
            .exists()
    );
}

/// A line at debug says which connection, session and server it belongs to.
#[tokio::test]
async fn lines_say_what_they_belong_to() {
    let world = World::with(&servers([("a", echo(&[]))]));
    let (gateway, url) = world.serve(&["--no-auth", "--log", "debug"]).await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client.call("a__echo", json!({"nonce": "n"})).await;
    let found = until(LONG, || {
        let log = gateway.stderr();
        let line = log.lines().find(|line| line.contains("call ended"));
        line.map(|line| (line.to_owned(), log.clone()))
    });
    let (line, log) = found.await.expect("the call is logged");
    let begins = |word: &str| {
        line.find(word)
            .unwrap_or_else(|| panic!("{word} in {line}"))
    };
    let order = [
        begins("connection{from=127.0.0.1}"),
        begins(":session{id="),
        begins(":call{number="),
    ];
    assert!(order.is_sorted(), "{line}");
    assert_eq!(line.matches("server=\"a\"").count(), 1, "{line}");
    for words in [
        ["upstream{server=\"a\"}:process{pid=", "started"],
        ["upstream{server=\"a\"}", "connected"],
        ["session{id=", "a session begins"],
    ] {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(log.lines().any(has), "{words:?} in {log}");
    }
}

/// A stderr that is the journal's gets priorities, and no times; what is kept has both.
#[tokio::test]
async fn the_journal_gets_what_it_reads() {
    use std::os::unix::fs::MetadataExt;
    let missing = json!({"command": "/nowhere/at/all", "required": true});
    let world = World::with(&servers([("a", missing)]));
    let file = world.path("journal");
    fs::write(&file, "").unwrap();
    let about = fs::metadata(&file).unwrap();
    let stream = format!("{}:{}", about.dev(), about.ino());
    let line = "exec \"$0\" serve --http 127.0.0.1:0 --no-auth 2>>\"$1\"";
    let launch = world.launch_any("/bin/sh").args(["-c", line]);
    let launch = launch.arg(bin("switchboard")).arg(&file);
    let _gateway = launch.env("JOURNAL_STREAM", &stream).spawn();
    let found = until(LONG, || {
        let text = fs::read_to_string(&file).ok()?;
        text.lines()
            .find(|line| line.contains("the server cannot be used"))
            .map(str::to_owned)
    });
    let line = found.await.expect("it is logged");
    assert!(line.starts_with("<6>switchboard_host"), "{line}");
    let kept = lines(&world, &[]).await;
    let levels: BTreeSet<&str> = kept
        .iter()
        .filter_map(|one| one["level"].as_str())
        .collect();
    assert!(levels.contains("info"), "{kept:#?}");
}
