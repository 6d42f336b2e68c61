//! The file tools with hostile arguments: fault 86.

use crate::common::{self, Client};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use switchboard_builtin::Files;
use switchboard_testkit::LATE;
use tempfile::TempDir;

/// `allowed` is the root; `allowed_evil/secret` beside it is not to be reached.
async fn connected() -> (TempDir, PathBuf, Client) {
    let directory = tempfile::tempdir().expect("a directory");
    let base = directory.path().canonicalize().expect("a path");
    fs::create_dir(base.join("allowed")).expect("made");
    fs::create_dir(base.join("allowed_evil")).expect("made");
    fs::write(base.join("allowed_evil/secret"), "SECRET").expect("written");
    fs::write(base.join("allowed/file"), "fine").expect("written");
    let files = Files::new("1", &[base.join("allowed")], common::protection()).expect("files");
    let client = Client::connect(files.session()).await;
    (directory, base, client)
}

/// Every way to name a path in every tool.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({ "path": path })),
        ("read", json!({ "path": path, "encoding": "base64" })),
        ("write", json!({ "path": path, "content": "EVIL" })),
        (
            "write",
            json!({ "path": path, "content": "EVIL", "mode": "append" }),
        ),
        (
            "write",
            json!({ "path": path, "content": "EVIL", "mode": "create" }),
        ),
        (
            "edit",
            json!({ "path": path, "oldText": "SECRET", "newText": "EVIL" }),
        ),
        ("list", json!({ "path": path })),
        ("tree", json!({ "path": path })),
        ("search", json!({ "pattern": "*", "path": path })),
        ("grep", json!({ "pattern": "SECRET", "path": path })),
        ("info", json!({ "path": path })),
        ("move", json!({ "from": path, "to": "stolen" })),
        (
            "move",
            json!({ "from": "file", "to": path, "overwrite": true }),
        ),
        ("delete", json!({ "path": path, "recursive": true })),
    ]
}

#[tokio::test]
async fn nothing_outside_is_reached() {
    let (_directory, base, mut client) = connected().await;
    let evil = base.join("allowed_evil");
    let allowed = base.join("allowed");
    symlink(&evil, allowed.join("out")).unwrap();
    symlink(evil.join("secret"), allowed.join("out-file")).unwrap();
    symlink("../allowed_evil", allowed.join("out-relative")).unwrap();
    symlink("out", allowed.join("out-twice")).unwrap();
    symlink(base.join("allowed_evil/new"), allowed.join("dangling")).unwrap();
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let paths = [
        text(evil.join("secret")),
        text(evil.clone()),
        text(base.join("allowed/../allowed_evil/secret")),
        text(base.clone()),
        "../allowed_evil/secret".to_owned(),
        "./x/../../allowed_evil/secret".to_owned(),
        "out/secret".to_owned(),
        "out/new/deep".to_owned(),
        "out-relative/secret".to_owned(),
        "out-twice/secret".to_owned(),
        "dangling/x".to_owned(),
        "/etc/passwd".to_owned(),
        "/".to_owned(),
        "/proc/self/root/etc/passwd".to_owned(),
        "..".to_owned(),
        format!("file://{}", text(evil.join("secret"))),
        format!(
            "file://{}/%2e%2e/allowed_evil/secret",
            text(allowed.clone())
        ),
        "file:///etc/passwd".to_owned(),
        "file://evil/etc/passwd".to_owned(),
        "a\0b".to_owned(),
        String::new(),
        "x/".repeat(3000),
    ];
    for path in &paths {
        for (tool, arguments) in calls(path) {
            let said = client.fail(tool, arguments.clone()).await;
            assert!(!said.contains("SECRET\""), "{tool} {arguments}: {said}");
        }
    }
    // A link at the end: not followed out, though it may itself be looked at, moved or deleted.
    for path in ["out-file", "dangling", "out"] {
        for (tool, arguments) in calls(path) {
            let itself = matches!(tool, "info" | "move" | "delete");
            if !itself {
                client.fail(tool, arguments).await;
            }
        }
        let info = client.call("info", json!({ "path": path })).await;
        assert_eq!(
            (&info["kind"], &info["linkAllowed"]),
            (&json!("link"), &json!(false))
        );
        client
            .call("delete", json!({ "path": path, "recursive": true }))
            .await;
    }
    assert_eq!(fs::read_to_string(evil.join("secret")).unwrap(), "SECRET");
    assert_eq!(
        fs::read_dir(&evil).unwrap().count(),
        1,
        "nothing was made there"
    );
    assert_eq!(fs::read_to_string(allowed.join("file")).unwrap(), "fine");
    assert!(!allowed.join("stolen").exists());
}

#[tokio::test]
async fn what_is_outside_is_not_even_told_apart() {
    let (_directory, base, mut client) = connected().await;
    let there = client
        .error("read", json!({ "path": base.join("allowed_evil/secret") }))
        .await;
    let missing = client
        .error("read", json!({ "path": base.join("allowed_evil/missing") }))
        .await;
    let through = client
        .error(
            "read",
            json!({ "path": base.join("allowed_evil/secret/x") }),
        )
        .await;
    for error in [there, missing, through] {
        assert!(error.contains("outside the allowed directories"), "{error}");
    }
    // Nor by way of a link: neither of one on the way, nor of where one leads.
    let allowed = base.join("allowed");
    symlink(base.join("allowed_evil"), allowed.join("out")).expect("a link");
    let mut said = Vec::new();
    for (at, target) in ["secret", "secret/x", "missing/x"].into_iter().enumerate() {
        let on_the_way = format!("out/{target}");
        let error = client.error("read", json!({ "path": on_the_way })).await;
        assert!(error.contains("outside the allowed directories"), "{error}");
        symlink(
            base.join("allowed_evil").join(target),
            allowed.join(format!("to{at}")),
        )
        .expect("a link");
        let error = client
            .error("read", json!({ "path": format!("to{at}/y") }))
            .await;
        said.push(error.replace(&format!("to{at}"), "to"));
    }
    said.dedup();
    assert!(
        said.len() <= 2 && !said.concat().contains("not a directory"),
        "{said:?}"
    );
}

#[tokio::test]
async fn what_could_not_be_gone_through_is_not_made() {
    let (_directory, base, mut client) = connected().await;
    let deep = format!("{}file", "d/".repeat(1000));
    for (tool, arguments) in [
        ("write", json!({ "path": deep, "content": "x" })),
        ("move", json!({ "from": "file", "to": deep })),
    ] {
        let error = client.error(tool, arguments).await;
        assert!(error.contains("too many levels"), "{error}");
    }
    let made = json!({ "path": format!("{}file", "e/".repeat(64)), "content": "x" });
    client.call("write", made).await;
    let deleted = json!({ "path": "e", "recursive": true });
    client.call("delete", deleted).await;
    assert_eq!(
        fs::read_dir(base.join("allowed")).expect("listed").count(),
        1
    );
}

#[tokio::test]
async fn links_that_stay_inside_work() {
    let (_directory, base, mut client) = connected().await;
    let allowed = base.join("allowed");
    fs::create_dir(allowed.join("d")).unwrap();
    symlink(allowed.join("d"), allowed.join("absolute")).unwrap();
    symlink("d", allowed.join("relative")).unwrap();
    symlink(&allowed, base.join("way-in")).unwrap();
    client
        .call("write", json!({ "path": "absolute/x", "content": "1" }))
        .await;
    client
        .call("write", json!({ "path": "relative/y", "content": "2" }))
        .await;
    assert_eq!(
        client.call("list", json!({ "path": "d" })).await["total"],
        2
    );
    let path = base.join("way-in/d/../file");
    assert_eq!(
        client.call("read", json!({ "path": path })).await["text"],
        "fine"
    );
    let found = client.call("search", json!({ "pattern": "x" })).await;
    assert_eq!(
        found["results"].as_array().unwrap().len(),
        1,
        "links are not walked through"
    );
    symlink("loop", allowed.join("loop")).unwrap();
    client.fail("read", json!({ "path": "loop" })).await;
    client
        .fail("write", json!({ "path": "loop/x", "content": "" }))
        .await;
}

/// Swaps a directory and a link to the outside as fast as it can.
fn swapper(base: &Path, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    let (allowed, evil) = (base.join("allowed"), base.join("allowed_evil"));
    fs::create_dir(allowed.join("real")).expect("made");
    fs::write(allowed.join("real/secret"), "fine").expect("written");
    symlink(&evil, allowed.join("link")).expect("linked");
    let (here, real, link) = (
        allowed.join("here"),
        allowed.join("real"),
        allowed.join("link"),
    );
    std::thread::spawn(move || {
        let mut swaps = 0;
        while !stop.load(Ordering::Relaxed) {
            let _ = fs::rename(&real, &here);
            std::hint::spin_loop();
            let _ = fs::rename(&here, &real);
            let _ = fs::rename(&link, &here);
            std::hint::spin_loop();
            let _ = fs::rename(&here, &link);
            swaps += 1;
        }
        swaps
    })
}

#[tokio::test]
async fn a_link_swapped_in_between_check_and_use_leads_nowhere() {
    let (_directory, base, mut client) = connected().await;
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = swapper(&base, Arc::clone(&stop));
    let begun = Instant::now();
    let (mut reached, mut refused, mut round) = (0, 0, 0u32);
    while begun.elapsed() < Duration::from_secs(6) {
        round += 1;
        for (tool, arguments) in [
            ("read", json!({ "path": "here/secret" })),
            ("write", json!({ "path": "here/new", "content": "EVIL" })),
            (
                "write",
                json!({ "path": format!("here/made{round}/deep"), "content": "EVIL" }),
            ),
            (
                "edit",
                json!({ "path": "here/secret", "oldText": "SECRET", "newText": "EVIL" }),
            ),
            ("list", json!({ "path": "here" })),
            ("grep", json!({ "pattern": "SECRET", "path": "here" })),
            ("delete", json!({ "path": "here/secret2" })),
            (
                "move",
                json!({ "from": "here/secret", "to": "here/secret" }),
            ),
        ] {
            let result = client.raw_call(tool, arguments).await;
            let said = result["content"][0]["text"].as_str().expect("text");
            if tool != "edit" && tool != "grep" {
                assert!(!said.contains("SECRET"), "{tool}: {said}");
            }
            if tool == "grep" && result["isError"] != true {
                assert_eq!(result["structuredContent"]["matches"], json!([]), "{said}");
            }
            match result["isError"] == true {
                true => refused += 1,
                false => reached += 1,
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapping.join().expect("the swapper");
    assert!(
        swaps > 100 && reached > 10 && refused > 10,
        "{swaps} swaps, {reached} reached, {refused} refused"
    );
    let evil = base.join("allowed_evil");
    assert_eq!(fs::read_to_string(evil.join("secret")).unwrap(), "SECRET");
    assert_eq!(
        fs::read_dir(&evil).unwrap().count(),
        1,
        "nothing was made there"
    );
}

#[tokio::test]
async fn deleting_never_leaves_the_roots() {
    let (_directory, base, mut client) = connected().await;
    let (allowed, evil) = (base.join("allowed"), base.join("allowed_evil"));
    fs::create_dir_all(allowed.join("d/e")).unwrap();
    symlink(&evil, allowed.join("d/e/out")).unwrap();
    let answer = client
        .call("delete", json!({ "path": "d", "recursive": true }))
        .await;
    assert_eq!(answer["deleted"], 3);
    assert_eq!(fs::read_to_string(evil.join("secret")).unwrap(), "SECRET");
    fs::create_dir(allowed.join("many")).unwrap();
    for number in 0..10_001 {
        fs::write(allowed.join(format!("many/{number}")), "").unwrap();
    }
    let error = client
        .error("delete", json!({ "path": "many", "recursive": true }))
        .await;
    assert!(error.contains("too much"), "{error}");
    assert_eq!(fs::read_dir(allowed.join("many")).unwrap().count(), 10_001);
}

#[tokio::test]
async fn names_that_are_no_text_are_safe_and_reachable() {
    let (_directory, base, mut client) = connected().await;
    let allowed = base.join("allowed");
    let names: [&[u8]; 5] = [
        b"bad\xff\xfename",
        b"new\nline",
        b"\x1b[31mred",
        "rtl\u{202e}txt".as_bytes(),
        b"per%41cent",
    ];
    for name in names {
        fs::write(allowed.join(OsStr::from_bytes(name)), "inside").unwrap();
    }
    let listed = client.call("list", json!({})).await;
    assert_eq!(listed["total"], names.len() + 1);
    for entry in listed["entries"].as_array().unwrap() {
        let shown = format!(
            "{}{}",
            entry["name"].as_str().unwrap(),
            entry["path"].as_str().unwrap()
        );
        assert!(
            !shown.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{shown:?}"
        );
        let read = client.call("read", json!({ "path": entry["path"] })).await;
        assert!(["inside", "fine"].contains(&read["text"].as_str().unwrap()));
        client.call("info", json!({ "path": entry["path"] })).await;
    }
    let found = client.call("search", json!({ "pattern": "bad*" })).await;
    let path = found["results"][0]["path"].as_str().unwrap();
    assert!(
        path.starts_with("file:///") && path.ends_with("bad%FF%FEname"),
        "{path}"
    );
    let matches = client.call("grep", json!({ "pattern": "inside" })).await;
    assert_eq!(matches["matches"].as_array().unwrap().len(), names.len());
    client
        .call("move", json!({ "from": path, "to": "good" }))
        .await;
    client.call("delete", json!({ "path": "good" })).await;
    let tree = client.call("tree", json!({})).await;
    assert!(!tree["tree"].as_str().unwrap().contains('\u{1b}'));
}

#[tokio::test]
async fn pipes_and_devices_do_not_hang() {
    let (_directory, base, mut client) = connected().await;
    let pipe = base.join("allowed/pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    for (tool, arguments) in calls("pipe") {
        let begun = Instant::now();
        let result = client.raw_call(tool, arguments).await;
        assert!(begun.elapsed() < Duration::from_secs(5) + LATE, "{tool}");
        if tool == "read" || tool == "write" {
            assert_eq!(result["isError"], true, "{tool}: {result}");
        }
        if !pipe.exists() {
            rustix::fs::mkfifoat(
                rustix::fs::CWD,
                &pipe,
                rustix::fs::Mode::from_raw_mode(0o600),
            )
            .unwrap();
        }
    }
}
