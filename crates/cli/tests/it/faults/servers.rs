//! The faults of "What comes in" and "Processes and time" in
//! `docs/design/faults.md`, with a server over stdio that commits them. Rows 21 and 22 are
//! in `bad_headers.rs` and `no_crossing.rs`, row 24 in `relay_cancel.rs`, row 40 in `orphans.rs`.

use crate::support::evil::{Evil, assert_blames};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{
    self, Client, Gateway, alive, command, echo, http, servers, until,
};
use switchboard_testkit::{DEADLINE, LATE, LEGACY, StdioClient, initialize_params, text_of};

const BOTH: [bool; 2] = [false, true];

#[tokio::test]
async fn row_1_a_line_that_never_ends_memory() {
    for modern in BOTH {
        let mut evil = Evil::stdio("endless-line", &[], modern).await;
        evil.works_again("before").await;
        let before = evil.peak().await;
        let answer = evil.strike().await;
        assert_blames(&answer, "evil");
        evil.other_works("echo").await;
        let grown = evil.peak().await - before;
        eprintln!("figure: 256 MiB without an end cost {grown} MiB");
        assert!(
            grown <= 64,
            "twice the cap is 64 MiB, it grew by {grown} MiB"
        );
        evil.works_again("after").await;
    }
}

#[tokio::test]
async fn row_1_half_a_line_is_no_answer() {
    let mut evil = Evil::timed("half-line", &[], false, 500).await;
    let (answer, took) = evil.timed_strike().await;
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(took < Duration::from_millis(1500) + LATE, "{took:?}");
    evil.other_works("echo").await;
}

#[tokio::test]
async fn row_2_noise_on_stdout() {
    for modern in BOTH {
        let mut evil = Evil::stdio("banner", &[], modern).await;
        for _ in 0..5 {
            evil.works_again("banner").await;
        }
        let tools = evil.client.list("tools/list", "tools", "name").await;
        assert!(tools.contains(&"ok".to_owned()), "{tools:?}");
        // It was never answered: the server would have counted it as a call.
        assert_eq!(evil.stats().await["calls"], 6);
    }
}

#[tokio::test]
async fn row_3_100_000_levels() {
    for modern in BOTH {
        let mut evil = Evil::stdio("deep", &[], modern).await;
        assert_blames(&evil.strike().await, "evil");
        evil.works_again("deep").await;
        evil.other_works("echo").await;
    }
}

#[tokio::test]
async fn row_5_ids_that_are_almost_right() {
    for modern in BOTH {
        let mut evil = Evil::stdio("odd-ids", &[], modern).await;
        for _ in 0..3 {
            let answer = evil.strike().await;
            assert_eq!(text_of(&answer), "right");
        }
    }
}

#[tokio::test]
async fn row_6_bytes_that_are_no_text() {
    for mode in ["bad-utf8", "nul", "cr-only"] {
        for modern in BOTH {
            let mut evil = Evil::stdio(mode, &[], modern).await;
            assert_blames(&evil.strike().await, "evil");
            evil.works_again(mode).await;
        }
    }
}

/// The same from a client, on the face that frames by lines.
#[tokio::test]
async fn rows_3_and_6_from_a_client_on_stdio() {
    let mut client: StdioClient = world::stdio_client(&servers([("echo", echo(&[]))]));
    client.initialize(LEGACY).await;
    let deep = [
        &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":"[..],
        &[b'['; 100_000],
    ]
    .concat();
    let bad: [&[u8]; 5] = [
        b"hello",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}",
        b"{",
        b"[]",
        &deep,
    ];
    for line in bad {
        client.send_raw(line).await;
        let answer = client.next().await;
        let code = answer["error"]["code"].as_i64().unwrap();
        assert!([-32700, -32600].contains(&code), "{answer}");
        assert_eq!(answer["id"], Value::Null, "{answer}");
        assert_eq!(
            text_of(&client.call("echo", json!({"nonce": "n"})).await),
            "n"
        );
    }
    client.send_bytes(b"\r\n\n  \n").await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
}

#[tokio::test]
async fn row_11_lists_that_never_end() {
    for mode in ["pages-same", "pages-fresh", "pages-empty", "pages-huge"] {
        let evil = Evil::stdio(mode, &[], true).await;
        let mut all = Client::new(&evil.gateway, "/mcp", true).await;
        let started = Instant::now();
        let tools = all.list("tools/list", "tools", "name").await;
        assert!(
            started.elapsed() < Duration::from_secs(10) + LATE,
            "{mode}: {:?}",
            started.elapsed()
        );
        assert!(
            tools.contains(&"echo__echo".to_owned()),
            "{mode}: {tools:?}"
        );
        let partial: Vec<_> = tools
            .iter()
            .filter(|name| name.starts_with("evil__"))
            .collect();
        assert!(
            partial.is_empty(),
            "{mode}: a part of a list, silently: {partial:?}"
        );
        evil.logged(&["WARN", "evil", "tools/list"]).await;
        assert!(evil.peak().await < 100, "{mode}: {} MiB", evil.peak().await);
        evil.other_works(mode).await;
    }
}

#[tokio::test]
async fn row_13_one_bad_tool_in_a_hundred() {
    let evil = Evil::stdio("bad-tool", &[], true).await;
    let mut all = Client::new(&evil.gateway, "/mcp", true).await;
    let tools = all.list("tools/list", "tools", "name").await;
    let served = tools
        .iter()
        .filter(|name| name.starts_with("evil__"))
        .count();
    assert_eq!(served, 99, "{tools:?}");
    evil.logged(&["WARN", "evil", "bad"]).await;
}

#[tokio::test]
async fn row_23_late_replies() {
    for modern in BOTH {
        let mut evil = Evil::timed("late-reply", &["--delay", "700"], modern, 300).await;
        evil.works_again("before").await;
        let (answer, took) = evil.timed_strike().await;
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("300ms"),
            "{answer}"
        );
        assert!(took < Duration::from_millis(1300) + LATE, "{took:?}");
        // The late one comes now, and reaches nobody.
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            evil.works_again("late-reply").await;
        }
        assert_eq!(evil.stats().await["cancels"], 1);
    }
}

#[tokio::test]
async fn row_23_duplicate_and_orphan_replies() {
    for mode in ["duplicate-reply", "orphan-reply", "bad-result"] {
        for modern in BOTH {
            let mut evil = Evil::stdio(mode, &[], modern).await;
            for _ in 0..3 {
                assert_eq!(text_of(&evil.strike().await), "struck", "{mode}");
                evil.works_again(mode).await;
            }
        }
    }
}

#[tokio::test]
async fn row_41_a_child_that_ignores_signals() {
    let mut evil = Evil::stdio("stubborn", &[], false).await;
    let pid = evil.stats().await["pid"].as_i64().unwrap() as i32;
    let started = Instant::now();
    evil.gateway.program.signal(Signal::TERM);
    evil.gateway.program.wait(DEADLINE).await;
    let took = started.elapsed();
    eprintln!("figure: a stubborn child cost {took:?}");
    assert!(!alive(pid), "it is alive");
    assert!(
        took < Duration::from_millis(1600) + LATE,
        "600 ms and what stopping takes: {took:?}"
    );
}

#[tokio::test]
async fn row_43_a_child_that_stops_reading() {
    let mut evil = Evil::timed("deaf-later", &[], true, 1500).await;
    let worker = evil.gateway.worker().await;
    // From here on it reads nothing.
    let path = format!("{}/mcp/evil", evil.gateway.url);
    let mut running = tokio::task::JoinSet::new();
    for n in 0..24 {
        let mut http = switchboard_testkit::HttpClient::new(&path);
        running.spawn(async move {
            let arguments = json!({"filler": "x".repeat(512 << 10), "n": n});
            let params = json!({"name": "strike", "arguments": arguments});
            http.modern("tools/call", params).await.message()
        });
    }
    evil.other_works("while it is deaf").await;
    let started = Instant::now();
    for answer in running.join_all().await {
        assert!(answer.get("error").is_some(), "{answer}");
    }
    assert!(
        started.elapsed() < Duration::from_secs(8) + LATE,
        "{:?}",
        started.elapsed()
    );
    evil.other_works("after").await;
    let peak = world::peak_mib(worker);
    eprintln!("figure: a deaf server cost {peak} MiB");
    assert!(peak < 128, "{peak} MiB");
    assert!(
        evil.client
            .try_call("ok", json!({}))
            .await
            .get("error")
            .is_some()
    );
}

#[tokio::test]
async fn row_43_a_flood_on_stderr_memory() {
    let mut evil = Evil::stdio("stderr-flood", &["--limit", "268435456"], false).await;
    let before = evil.peak().await;
    for _ in 0..20 {
        evil.works_again("stderr-flood").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let grown = evil.peak().await - before;
    eprintln!("figure: 256 MiB on stderr cost {grown} MiB");
    assert!(grown < 16, "{grown} MiB");
    assert!(evil.gateway.program.stderr().len() < 1 << 20);
}

#[tokio::test]
async fn row_44_death_during_a_call() {
    for modern in BOTH {
        let mut evil = Evil::stdio("crash-call", &[], modern).await;
        evil.works_again("before").await;
        let (answer, took) = evil.timed_strike().await;
        assert_blames(&answer, "evil");
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("unknown"),
            "{answer}"
        );
        assert!(took < Duration::from_secs(1) + LATE, "{took:?}");
        evil.works_again("after").await;
        evil.other_works("echo").await;
    }
}

#[tokio::test]
async fn row_44_a_crash_loop_is_not_a_busy_loop() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let bin = switchboard_testkit::bin("evil-stdio");
    let line = format!(
        "echo x >> '{}'; exec '{}' --mode crash-loop",
        starts.display(),
        bin.display()
    );
    let entry = json!({"command": "sh", "args": ["-c", line]});
    let gateway = Gateway::start(&servers([("evil", entry), ("echo", echo(&[]))])).await;
    let mut all = Client::new(&gateway, "/mcp", true).await;
    let until = Instant::now() + Duration::from_secs(3);
    let mut calls = 0;
    while Instant::now() < until {
        let mut client = gateway.client("/mcp/evil");
        let answer = client
            .modern("tools/call", json!({"name": "ok", "arguments": {}}))
            .await;
        assert!(answer.message().get("error").is_some());
        calls += 1;
        assert_eq!(all.call("echo__echo", json!({"nonce": "n"})).await, "n");
    }
    let started = std::fs::read_to_string(&starts).unwrap().lines().count();
    eprintln!("figure: {calls} calls in 3 s started it {started} times");
    assert!(started <= 20, "{started} starts in 3 s");
}

#[tokio::test]
async fn row_44_a_server_that_cannot_start_says_why() {
    let gateway = Gateway::start(&servers([(
        "evil",
        command("evil-stdio", ["--mode", "crash-start"]),
    )]))
    .await;
    let mut client = gateway.client("/mcp/evil");
    let answer = client.modern("tools/list", json!({})).await.message();
    assert_blames(&answer, "evil");
    assert!(
        answer.to_string().contains("left-pad"),
        "its last words: {answer}"
    );
}

#[tokio::test]
async fn row_45_a_start_that_hangs() {
    let all = servers([
        ("evil", command("evil-stdio", ["--mode", "hang-start"])),
        ("echo", echo(&[])),
    ]);
    let gateway = Gateway::launch(http(&all).env("MCP_TIMEOUT", "8000")).await;
    let mut hanging = gateway.client("/mcp/evil");
    let waiting = tokio::spawn(async move {
        let started = Instant::now();
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params(LEGACY)});
        (
            hanging.post(hello.to_string()).await.message(),
            started.elapsed(),
        )
    });
    let mut client = Client::new(&gateway, "/mcp/echo", false).await;
    assert!(!client.list("tools/list", "tools", "name").await.is_empty());
    assert!(!waiting.is_finished(), "the other was waited for");
    let (answer, took) = waiting.await.unwrap();
    assert_blames(&answer, "evil");
    assert!(
        took > Duration::from_millis(7900) && took < Duration::from_secs(10) + LATE,
        "{took:?}"
    );
    let worker = gateway.worker().await;
    let gone = until(DEADLINE, || {
        let evil = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("hang-start")
        };
        (!world::children(worker).iter().any(evil)).then_some(())
    });
    assert!(gone.await.is_some(), "the hanging process is still there");
}

#[tokio::test]
async fn row_46_progress_for_ever() {
    for modern in BOTH {
        let mut evil = Evil::timed("endless-progress", &["--delay", "20"], modern, 1000).await;
        evil.works_again("before").await;
        let params = json!({"name": "strike", "arguments": {}, "_meta": {"progressToken": 1}});
        let started = Instant::now();
        let mut stream = evil.client.stream("tools/call", params).await;
        let mut told = 0;
        let answer = loop {
            let message = stream.message().await.unwrap();
            if message.get("method").is_none() {
                break message;
            }
            told += 1;
        };
        let took = started.elapsed();
        assert!(answer.get("error").is_some(), "{answer}");
        assert!(
            took < Duration::from_secs(2) + LATE,
            "the maximum and a second: {took:?}"
        );
        assert!(told > 5, "only {told}");
        evil.works_again("after").await;
        assert_eq!(evil.stats().await["cancels"], 1, "modern {modern}");
    }
}
