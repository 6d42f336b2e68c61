//! Faults 100 and 102: files of our own that are damaged, and a home that cannot
//! be written. Each is named by whoever needs it, and none is written over.

use serde_json::json;
use std::{
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use switchboard_testkit::world::{World, echo, run, until};
use switchboard_testkit::{HttpClient, LEGACY, Launch, text_of};

fn data(stage: &World) -> PathBuf {
    stage.home().join(".local/share/switchboard")
}

/// The only file in a folder of ours.
fn only(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|file| file.path());
    let files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Writes a file that only its owner can read.
fn write(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).mode(0o600).open(path);
    std::io::Write::write_all(&mut file.unwrap(), bytes).unwrap();
}

#[tokio::test]
async fn row_102_damaged_pins_are_named() {
    let stage = World::with(&json!({}));
    let settings =
        json!({"mcpServers": {"a": echo(&[])}, "permissions": {"pinDefinitions": "all"}});
    stage.write(stage.settings(), settings.to_string());
    stage.run(&["call", "mcp__a__pid", "{}"]).await.ok();
    let file = only(&data(&stage).join("pins"));
    let whole = fs::read(&file).unwrap();
    for damaged in [
        &b""[..],
        &whole[..whole.len() / 2],
        b"{}",
        b"[]",
        b"\xff\xfe",
    ] {
        write(&file, damaged);
        let named = file.display().to_string();
        for args in [
            &["list"][..],
            &["tools"],
            &["call", "mcp__a__pid", "{}"],
            &["doctor"],
        ] {
            let ran = stage.run(args).await;
            let said = format!("{}{}", ran.out, ran.err);
            assert!(said.contains(&named), "{args:?} with {damaged:?}: {ran:?}");
            assert_eq!(
                fs::read(&file).unwrap(),
                damaged,
                "{args:?}: it is left as it is"
            );
        }
        let ran = stage.run(&["call", "mcp__a__pid", "{}"]).await;
        assert_ne!(ran.code, Some(0), "{ran:?}");
    }
    write(&file, &whole);
    stage.run(&["call", "mcp__a__pid", "{}"]).await.ok();
}

#[tokio::test]
async fn row_102_approvals_of_a_wrong_shape_are_named_and_kept() {
    let stage = World::with(&json!({}));
    let repo = stage.home().join("repo");
    fs::create_dir_all(repo.join(".git")).unwrap();
    stage.write(
        repo.join(".mcp.json"),
        json!({"mcpServers": {"a": echo(&[])}}).to_string(),
    );
    let file = data(&stage).join("approvals.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in [
        "[]",
        "null",
        "\"x\"",
        "{\"projects\":[]}",
        "{\"projects\":\"x\"}",
        "{\"projects\":{\"/x\":[]}}",
        "",
    ] {
        write(&file, text.as_bytes());
        let here = |args: &[&str]| run(stage.launch(args).cwd(&repo));
        let ran = here(&["list", "--no-connect"]).await;
        assert!(
            ran.err.contains("approvals.json"),
            "list with {text}: {ran:?}"
        );
        let ran = here(&["doctor", "--no-connect"]).await;
        assert!(
            ran.out.contains("approvals.json"),
            "doctor with {text}: {ran:?}"
        );
        let ran = here(&["approve", "a", "--yes"]).await;
        assert_ne!(ran.code, Some(0), "{text}: {ran:?}");
        assert!(
            ran.err.contains("approvals.json"),
            "approve with {text}: {ran:?}"
        );
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            text,
            "it is left as it is"
        );
    }
}

#[tokio::test]
async fn row_102_damaged_tokens_are_named() {
    let stage = World::with(&json!({}));
    let made = stage.run(&["token", "create", "alice"]).await.ok().out;
    stage.run(&["token", "create", "bob"]).await.ok();
    let file = data(&stage).join("tokens/alice");
    let named = file.display().to_string();
    for damaged in [&b""[..], &made.as_bytes()[..20], b"\xff\x00\x01 binary"] {
        write(&file, damaged);
        let list = stage.run(&["token", "list"]).await.ok();
        assert_eq!(list.out, "alice\nbob\n", "{list:?}");
        assert!(
            list.err.contains(&named) && !list.err.contains("bob"),
            "{damaged:?}: {list:?}"
        );
        let rows = stage.run(&["token", "list", "--json"]).await.ok().json();
        assert!(
            rows[0]["problem"]
                .as_str()
                .is_some_and(|text| text.contains(&named)),
            "{rows}"
        );
        assert!(rows[1]["problem"].is_null(), "{rows}");
        let doctor = stage.run(&["doctor", "--no-connect"]).await;
        assert!(doctor.out.contains(&named), "{damaged:?}: {doctor:?}");
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        assert_eq!(fs::read(&file).unwrap(), damaged, "it is left as it is");
    }
    // The control token is needed by a gateway: it says what to do.
    write(&data(&stage).join("control-token"), b"");
    let ran = stage.run(&["serve", "--http", "127.0.0.1:0"]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.err.contains("control-token") && ran.err.contains("delete"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn row_102_a_memory_that_cannot_be_opened_is_named() {
    let stage = World::with(&json!({"memory": {"type": "builtin"}, "a": echo(&[])}));
    let remember = ["call", "mcp__memory__remember", "{\"text\": \"x\"}"];
    stage.run(&remember).await.ok();
    let file = data(&stage).join("memory/memory.sqlite3");
    for damaged in [
        &b""[..],
        b"this is no database, and it never was one at all, not even a small one",
    ] {
        for more in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{more}", file.display()));
        }
        write(&file, damaged);
        let ran = stage.run(&remember).await;
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("memory.sqlite3"), "{ran:?}");
        let list = stage.run(&["list"]).await;
        assert!(list.out.contains("memory.sqlite3"), "{list:?}");
        let doctor = stage.run(&["doctor"]).await;
        assert!(doctor.out.contains("memory.sqlite3"), "{doctor:?}");
        // A gateway goes on with the rest, and says so in its log.
        let gateway = stage.gateway_with(&["--no-auth"]).await;
        let mut client = HttpClient::new(&format!("{}/mcp", gateway.url().await));
        client.initialize(LEGACY).await;
        let listed = client.request("tools/list", json!({})).await;
        assert!(listed.to_string().contains("a__pid"), "{listed}");
        let logged = until(Duration::from_secs(20), || {
            gateway.stderr().contains("memory.sqlite3").then_some(())
        });
        assert!(logged.await.is_some(), "{}", gateway.stderr());
        assert_eq!(fs::read(&file).unwrap(), damaged, "it is left as it is");
    }
}

/// A home in which nothing can be made, whoever we are.
fn read_only(stage: &World, args: &[&str]) -> Launch {
    let wall = stage.home().join("wall");
    fs::write(&wall, "").unwrap();
    stage
        .launch(args)
        .env("XDG_DATA_HOME", wall.join("data"))
        .env("XDG_STATE_HOME", wall.join("state"))
        .env("XDG_CACHE_HOME", wall.join("cache"))
}

#[tokio::test]
async fn row_100_a_read_only_home_serves() {
    let stage = World::with(&json!({"a": echo(&[])}));
    let token = stage.home().join("the-token");
    write(&token, b"0123456789abcdef0123456789abcdef\n");
    let token = token.display().to_string();
    for (args, secret) in [
        (vec!["--no-auth"], None),
        (
            vec!["--token-file", &token],
            Some("0123456789abcdef0123456789abcdef"),
        ),
    ] {
        let args = [&["serve", "--http", "127.0.0.1:0"][..], &args].concat();
        let program = read_only(&stage, &args).spawn();
        let mut client = HttpClient::new(&format!("{}/mcp", program.url().await));
        if let Some(secret) = secret {
            client = client.header("authorization", &format!("Bearer {secret}"));
        }
        client.initialize(LEGACY).await;
        let answer = client.call("a__echo", json!({"nonce": "here"})).await;
        assert_eq!(text_of(&answer), "here", "{answer}");
        assert!(
            program.stderr().contains("control-token"),
            "{}",
            program.stderr()
        );
        // Nobody has the token that was made for this once.
        let api = format!("{}/api/v1/servers", program.url().await);
        let refused = HttpClient::new(&api).send(http::Method::GET, &[], "").await;
        assert!(
            matches!(refused.status.as_u16(), 401 | 403),
            "{}",
            refused.status
        );
    }
    let ran = run(read_only(&stage, &["serve", "--http", "127.0.0.1:0"])).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("--token-file"), "{ran:?}");
}
