//! The file tools that read and write, with good and bad arguments.

use crate::common::{connected, read};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

#[tokio::test]
async fn reading_by_lines() {
    let (directory, mut client) = connected().await;
    let text: String = (1..=5000)
        .map(|number| format!("line {number}\n"))
        .collect();
    fs::write(directory.path().join("long.txt"), &text).unwrap();
    let all = client.call("read", json!({ "path": "long.txt" })).await;
    assert_eq!(
        (&all["count"], &all["nextOffset"]),
        (&json!(2000), &json!(2001))
    );
    assert_eq!(all["mimeType"], "text/plain");
    let part = client
        .call(
            "read",
            json!({ "path": "long.txt", "offset": 4999, "limit": 50 }),
        )
        .await;
    assert_eq!(part["text"], "line 4999\nline 5000\n");
    assert!(part.get("nextOffset").is_none());
    let exact = client
        .call(
            "read",
            json!({ "path": "long.txt", "offset": 1, "limit": 5000 }),
        )
        .await;
    assert!(
        exact.get("nextOffset").is_none(),
        "the limit ends at the end"
    );
    let error = client
        .error("read", json!({ "path": "long.txt", "offset": 9999 }))
        .await;
    assert!(error.contains("5000 lines"), "{error}");

    fs::write(directory.path().join("empty"), "").unwrap();
    assert_eq!(
        client.call("read", json!({ "path": "empty" })).await["text"],
        ""
    );
    fs::write(directory.path().join("no-end"), "a\r\nb").unwrap();
    assert_eq!(
        client.call("read", json!({ "path": "no-end" })).await["text"],
        "a\r\nb"
    );
    let uri = all["uri"].as_str().unwrap();
    let again = client
        .call("read", json!({ "path": uri, "limit": 1 }))
        .await;
    assert_eq!(again["text"], "line 1\n");
}

#[tokio::test]
async fn binary_files_and_other_encodings() {
    let (directory, mut client) = connected().await;
    fs::write(directory.path().join("image.png"), b"\x89PNG\0\0\xff").unwrap();
    let text = client.fail("read", json!({ "path": "image.png" })).await;
    assert!(text.contains("binary") && text.contains("base64"), "{text}");
    let blob = client
        .call("read", json!({ "path": "image.png", "encoding": "base64" }))
        .await;
    assert_eq!(
        (&blob["data"], &blob["mimeType"]),
        (&json!("iVBORwAA/w=="), &json!("image/png"))
    );
    let part = client
        .call(
            "read",
            json!({ "path": "image.png", "encoding": "base64", "offset": 1, "limit": 3 }),
        )
        .await;
    assert_eq!(
        (&part["data"], &part["nextOffset"]),
        (&json!("UE5H"), &json!(4))
    );

    fs::write(directory.path().join("latin.txt"), b"gr\xfc\xdfe\n").unwrap();
    let text = client.fail("read", json!({ "path": "latin.txt" })).await;
    assert!(text.contains("not UTF-8 in line 1"), "{text}");
    let lossy = client
        .call("read", json!({ "path": "latin.txt", "encoding": "lossy" }))
        .await;
    assert_eq!(lossy["text"], "gr\u{fffd}\u{fffd}e\n");
}

#[tokio::test]
async fn huge_files_and_very_long_lines() {
    let (directory, mut client) = connected().await;
    let huge = fs::File::create(directory.path().join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let text = client.fail("read", json!({ "path": "huge" })).await;
    assert!(text.contains("binary"), "{text}");
    let answer = client
        .call(
            "read",
            json!({ "path": "huge", "encoding": "base64", "limit": 10_000_000 }),
        )
        .await;
    assert_eq!(answer["count"], 1024 * 1024);
    let begun = std::time::Instant::now();
    let answer = client
        .call("read", json!({ "path": "huge", "encoding": "lossy" }))
        .await;
    assert!(
        answer["text"]
            .as_str()
            .unwrap()
            .contains("or more bytes in this line")
    );
    let error = client
        .error(
            "read",
            json!({ "path": "huge", "encoding": "lossy", "offset": 2 }),
        )
        .await;
    assert!(error.contains("too far"), "{error}");
    // Which would take a quarter of an hour and more.
    assert!(begun.elapsed().as_secs() < 120, "it is not read to its end");
    let answer = client.call("grep", json!({ "pattern": "x" })).await;
    assert_eq!(answer["filesSkipped"], 1);
    let error = client
        .error(
            "edit",
            json!({ "path": "huge", "oldText": "a", "newText": "b" }),
        )
        .await;
    assert!(error.contains("too large"), "{error}");

    let long = format!("{}ü{}\nshort\n", "ä".repeat(1999), "x".repeat(10_000_000));
    fs::write(directory.path().join("long"), &long).unwrap();
    let answer = client.call("read", json!({ "path": "long" })).await;
    let text = answer["text"].as_str().unwrap();
    assert!(
        text.len() < 10_000 && text.ends_with("more bytes in this line]\nshort\n"),
        "{}",
        text.len()
    );
    assert!(
        text.contains("äü… [10000000 more bytes"),
        "{}",
        &text[3990..]
    );
    assert_eq!(answer["cutLines"], 1);
    let answer = client
        .call("grep", json!({ "pattern": "xxü?x+$", "path": "long" }))
        .await;
    assert!(answer["matches"][0]["text"].as_str().unwrap().len() < 3000);

    let wide = "y".repeat(1500) + "\n";
    fs::write(directory.path().join("wide"), wide.repeat(2000)).unwrap();
    let answer = client.call("read", json!({ "path": "wide" })).await;
    assert!(
        answer["text"].as_str().unwrap().len() < 300_000,
        "capped by size too"
    );
    assert!(answer["nextOffset"].as_u64().unwrap() > 100);
}

#[tokio::test]
async fn writing() {
    let (directory, mut client) = connected().await;
    let answer = client
        .call("write", json!({ "path": "a/b/c.txt", "content": "one\n" }))
        .await;
    assert_eq!(
        (&answer["created"], &answer["size"]),
        (&json!(true), &json!(4))
    );
    assert_eq!(read(&directory, "a/b/c.txt"), "one\n");
    let answer = client
        .call(
            "write",
            json!({ "path": "a/b/c.txt", "content": "two\n", "mode": "append" }),
        )
        .await;
    assert_eq!(
        (&answer["created"], &answer["size"]),
        (&json!(false), &json!(8))
    );
    let error = client
        .error(
            "write",
            json!({ "path": "a/b/c.txt", "content": "", "mode": "create" }),
        )
        .await;
    assert!(error.contains("exists already"), "{error}");

    let file = directory.path().join("a/b/c.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    client
        .call(
            "write",
            json!({ "path": "a/b/c.txt", "content": "/wA=", "encoding": "base64" }),
        )
        .await;
    assert_eq!(fs::read(&file).unwrap(), b"\xff\0");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o750
    );
    let left: Vec<_> = fs::read_dir(directory.path().join("a/b"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "nothing is left beside it");

    for (arguments, expected) in [
        (json!({ "path": "a", "content": "" }), "is a directory"),
        (
            json!({ "path": "a/b/c.txt/d", "content": "" }),
            "not a directory",
        ),
        (
            json!({ "path": ".", "content": "" }),
            "allowed directory itself",
        ),
        (
            json!({ "path": "x", "content": "?", "encoding": "base64" }),
            "no base64",
        ),
        (
            json!({ "path": "x".repeat(300), "content": "" }),
            "too long",
        ),
    ] {
        let error = client.error("write", arguments).await;
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn editing_checks_the_count() {
    let (directory, mut client) = connected().await;
    fs::write(directory.path().join("f"), "one\ntwo two\nthree\n").unwrap();
    let answer = client
        .call(
            "edit",
            json!({ "path": "f", "oldText": "three", "newText": "3" }),
        )
        .await;
    assert_eq!(
        (&answer["replacements"], &answer["firstLine"]),
        (&json!(1), &json!(3))
    );
    let error = client
        .error(
            "edit",
            json!({ "path": "f", "oldText": "two", "newText": "2" }),
        )
        .await;
    assert!(error.contains("occurs 2 times"), "{error}");
    let error = client
        .error(
            "edit",
            json!({ "path": "f", "oldText": "four", "newText": "4" }),
        )
        .await;
    assert!(error.contains("occurs 0 times"), "{error}");
    let twice = json!({ "path": "f", "oldText": "two", "newText": "2", "expectedCount": 2 });
    let mut dry = twice.clone();
    dry["dryRun"] = true.into();
    assert_eq!(client.call("edit", dry).await["changed"], false);
    assert_eq!(read(&directory, "f"), "one\ntwo two\n3\n");
    client.call("edit", twice).await;
    assert_eq!(read(&directory, "f"), "one\n2 2\n3\n");
    let text = client
        .fail(
            "edit",
            json!({ "path": "f", "oldText": "", "newText": "x" }),
        )
        .await;
    assert!(text.starts_with("Validation error"), "{text}");
    fs::write(directory.path().join("latin"), b"\xff").unwrap();
    let error = client
        .error(
            "edit",
            json!({ "path": "latin", "oldText": "a", "newText": "b" }),
        )
        .await;
    assert!(error.contains("not UTF-8"), "{error}");
}

/// A small call that would make a file of terabytes.
#[tokio::test]
async fn an_edit_that_grows_without_end_is_refused_before_it_is_made() {
    let (directory, mut client) = connected().await;
    let before = "x".repeat(8_000_000);
    fs::write(directory.path().join("many"), &before).unwrap();
    let arguments = json!({
        "path": "many", "oldText": "x", "newText": "y".repeat(1_000_000), "expectedCount": 8_000_000,
    });
    let error = client.error("edit", arguments).await;
    assert!(
        error.contains("would become too large, 8000000000000 bytes"),
        "{error}"
    );
    assert_eq!(read(&directory, "many"), before);
}

#[tokio::test]
async fn edits_at_once_lose_nothing() {
    let (directory, mut client) = connected().await;
    let lines: String = (0..40).map(|number| format!("<{number}>\n")).collect();
    fs::write(directory.path().join("f"), lines).unwrap();
    let mut ids = Vec::new();
    for number in 0..40 {
        let arguments = json!({ "path": "f", "oldText": format!("<{number}>"), "newText": "done" });
        let params = json!({ "name": "edit", "arguments": arguments });
        ids.push(client.begin("tools/call", params).await);
    }
    for id in ids {
        assert_ne!(client.answer(id).await["result"]["isError"], true);
    }
    assert_eq!(read(&directory, "f"), "done\n".repeat(40));
}
