//! Keeping a sign-in fresh: once, whoever needs it, and losing nothing.

use super::{
    peer::{ask, needs_auth, served},
    site::{Site, make_expired, make_stale, stored},
};
use serde_json::json;
use std::{path::PathBuf, process::Stdio, time::Duration, time::Instant};
use switchboard_testkit::LATE;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    task::JoinSet,
};

/// The program of `examples/renewer.rs`, which cargo builds with the tests.
fn renewer() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples/renewer");
    assert!(
        path.exists(),
        "{} is missing: cargo build -p switchboard-auth --examples",
        path.display()
    );
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_66_a_hundred_processes_renew_once() {
    let site = Site::start().await;
    site.signed_in().await;
    make_expired(site.folder.path());
    let mut children = Vec::new();
    for _ in 0..100 {
        let child = Command::new(renewer())
            .arg(site.folder.path())
            .args(["main", site.url("/mcp").as_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        children.push(child);
    }
    // All at once.
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"x").await.unwrap();
    }
    let mut tokens = Vec::new();
    for mut child in children {
        let mut text = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .await
            .unwrap();
        assert!(child.wait().await.unwrap().success());
        tokens.push(text);
    }
    assert_eq!(site.count("token.refresh_token").await, 1);
    assert_eq!(site.count("reuse").await, 0);
    tokens.dedup();
    assert_eq!(tokens.len(), 1);
    assert!(tokens[0].starts_with("Bearer access-"));
}

#[tokio::test]
async fn fault_66_a_hundred_holders_in_one_process_renew_once() {
    let site = Site::start().await;
    site.signed_in().await;
    make_expired(site.folder.path());
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let authority = site.authority().build();
        let url = site.url("/mcp");
        tasks.spawn(async move { served(&ask(&authority, &url).await) });
    }
    assert!(tasks.join_all().await.into_iter().all(|good| good));
    assert_eq!(site.count("token.refresh_token").await, 1);
    assert_eq!(site.count("mcp.401").await, 1, "the one from signing in");
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_for_all() {
    let site = Site::start().await;
    let authority = site.signed_in().await;
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    site.turn(json!({"expire": true})).await;
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let (authority, url) = (authority.clone(), site.url("/mcp"));
        tasks.spawn(async move { served(&ask(&authority, &url).await) });
    }
    assert!(tasks.join_all().await.into_iter().all(|good| good));
    assert_eq!(site.count("token.refresh_token").await, 1);
}

#[tokio::test]
async fn generations_of_rotation() {
    let site = Site::start().await;
    site.signed_in().await;
    for round in 1..=5 {
        make_expired(site.folder.path());
        // A new process each time.
        assert!(served(
            &ask(&site.authority().build(), &site.url("/mcp")).await
        ));
        assert_eq!(site.count("token.refresh_token").await, round);
    }
    assert_eq!(site.count("reuse").await, 0);
}

#[tokio::test]
async fn a_server_that_does_not_rotate() {
    let site = Site::with(json!({"rotate": false})).await;
    site.signed_in().await;
    for _ in 0..2 {
        make_expired(site.folder.path());
        assert!(served(
            &ask(&site.authority().build(), &site.url("/mcp")).await
        ));
    }
    assert!(stored(site.folder.path())["tokens"]["refresh"].is_string());
}

#[tokio::test]
async fn fault_67_while_the_token_is_still_good() {
    for fault in [
        "500",
        "503",
        "429",
        "misleading",
        "html",
        "hang",
        "cut",
        "redirect",
        "big",
    ] {
        let site = Site::start().await;
        let authority = site.signed_in().await;
        let before = stored(site.folder.path());
        make_stale(site.folder.path());
        authority.reload();
        site.turn(json!({"fault": fault})).await;
        let begun = Instant::now();
        for _ in 0..10 {
            assert!(served(&ask(&authority, &site.url("/mcp")).await), "{fault}");
        }
        // A hang costs two seconds once, not each time.
        assert!(
            begun.elapsed() < Duration::from_secs(6) + LATE,
            "{fault}: {:?}",
            begun.elapsed()
        );
        assert!(site.count("token.refresh_token").await <= 2, "{fault}");
        tokio::time::sleep(Duration::from_millis(300)).await;
        let after = stored(site.folder.path());
        for field in ["access", "refresh"] {
            assert_eq!(before["tokens"][field], after["tokens"][field], "{fault}");
        }
        assert_eq!(before["client"], after["client"], "{fault}");
    }
}

#[tokio::test]
async fn fault_67_and_when_it_is_over_all_is_well() {
    for fault in [
        "500",
        "503",
        "429",
        "misleading",
        "html",
        "hang",
        "cut",
        "redirect",
        "big",
        "loose",
    ] {
        let site = Site::with(json!({"grace": true})).await;
        let authority = site.signed_in().await;
        make_expired(site.folder.path());
        authority.reload();
        site.turn(json!({"fault": fault, "fault_times": 1})).await;
        let first = ask(&authority, &site.url("/mcp")).await;
        if fault == "loose" {
            assert!(served(&first), "{first:?}");
            continue;
        }
        // Not sent, so safe to send again: the token had ended, and there was no other.
        assert!(
            matches!(first, Err(switchboard_transport::Undelivered::NotSent(_))),
            "{fault}: {first:?}"
        );
        assert!(stored(site.folder.path())["tokens"]["refresh"].is_string());
        let begun = Instant::now();
        loop {
            if served(&ask(&authority, &site.url("/mcp")).await) {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(10) + LATE, "{fault}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(site.count("token.refresh_token").await, 2, "{fault}");
        assert_eq!(site.count("elsewhere").await, 0);
    }
}

#[tokio::test]
async fn fault_67_a_strict_server_that_cut_us_off() {
    // The server has rotated and we have not heard: as long as the old access token
    // works, nothing is done that looks like theft.
    let site = Site::start().await;
    let authority = site.signed_in().await;
    make_stale(site.folder.path());
    authority.reload();
    site.turn(json!({"fault": "cut", "fault_times": 1})).await;
    for _ in 0..20 {
        assert!(served(&ask(&authority, &site.url("/mcp")).await));
    }
    assert_eq!(site.count("reuse").await, 0);
    assert_eq!(site.count("token.refresh_token").await, 1);
    // When it has ended there is nothing to lose; the server says no, and so do we.
    super::site::edit(site.folder.path(), |record| {
        record["tokens"]["expires_at"] = json!(super::site::now_ms() - 1);
        record["trouble"]["until"] = json!(super::site::now_ms() - 1);
    });
    authority.reload();
    assert!(needs_auth(&ask(&authority, &site.url("/mcp")).await));
    let kept = stored(site.folder.path());
    assert!(kept["client"]["id"].is_string(), "the registration is kept");
    assert!(kept["tokens"]["refresh"].is_null());
}

#[tokio::test]
async fn trouble_is_shared_between_processes() {
    let site = Site::with(json!({})).await;
    site.signed_in().await;
    make_expired(site.folder.path());
    site.turn(json!({"fault": "500"})).await;
    for _ in 0..10 {
        assert!(!served(
            &ask(&site.authority().build(), &site.url("/mcp")).await
        ));
    }
    assert!(site.count("token.refresh_token").await <= 2);
}

#[tokio::test]
async fn a_sign_in_elsewhere_is_found() {
    let site = Site::start().await;
    let running = site.authority().build();
    assert!(needs_auth(&ask(&running, &site.url("/mcp")).await));
    // `switchboard login` in another process.
    site.signed_in().await;
    assert!(served(&ask(&running, &site.url("/mcp")).await));
}
