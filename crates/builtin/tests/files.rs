//! The file tools with good and bad arguments.

mod common;

use common::Client;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use switchboard_builtin::Files;
use tempfile::TempDir;

async fn connected() -> (TempDir, Client) {
    let directory = tempfile::tempdir().expect("a directory");
    let files = Files::new("1", &[directory.path().to_path_buf()]).expect("files");
    let client = Client::connect(files.session()).await;
    (directory, client)
}

fn read(directory: &TempDir, path: &str) -> String {
    fs::read_to_string(directory.path().join(path)).expect("a file")
}

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
    assert!(begun.elapsed().as_secs() < 10, "it is not read to its end");
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

#[tokio::test]
async fn listing_and_trees() {
    let (directory, mut client) = connected().await;
    fs::create_dir_all(directory.path().join("d/e/f")).unwrap();
    fs::write(directory.path().join("d/x.rs"), "12345").unwrap();
    fs::write(directory.path().join(".hidden"), "").unwrap();
    let answer = client.call("list", json!({})).await;
    assert_eq!(answer["total"], 2);
    let answer = client.call("list", json!({ "path": "d" })).await;
    assert_eq!(answer["entries"][1]["size"], 5);
    assert_eq!(answer["entries"][0]["kind"], "directory");
    let page = client
        .call("list", json!({ "path": "d", "offset": 1, "limit": 1 }))
        .await;
    assert_eq!(
        (&page["entries"][0]["name"], page.get("nextOffset")),
        (&json!("x.rs"), None)
    );
    let answer = client.call("tree", json!({ "depth": 2 })).await;
    assert_eq!(answer["tree"], "d/\n  e/\n  x.rs\n");
    let answer = client.call("tree", json!({ "includeHidden": true })).await;
    assert_eq!(answer["tree"], ".hidden\nd/\n  e/\n    f/\n  x.rs\n");
    let error = client.error("list", json!({ "path": "d/x.rs" })).await;
    assert!(error.contains("not a directory"), "{error}");
    let error = client.error("tree", json!({ "path": "nowhere" })).await;
    assert!(error.contains("does not exist"), "{error}");
}

#[tokio::test]
async fn searching_by_name_and_content() {
    let (directory, mut client) = connected().await;
    fs::create_dir_all(directory.path().join("src/deep")).unwrap();
    fs::write(
        directory.path().join("src/a.rs"),
        "fn one() {}\nfn two() {}\n// end\n",
    )
    .unwrap();
    fs::write(
        directory.path().join("src/deep/b.rs"),
        "let x = \"fn(one)\";\r\n",
    )
    .unwrap();
    fs::write(directory.path().join("src/c.md"), "fn three\n").unwrap();
    fs::write(directory.path().join("src/bin"), b"fn \0").unwrap();
    let names = |answer: &Value| -> Vec<String> {
        let results = answer["results"].as_array().unwrap().iter();
        results
            .map(|one| {
                one["path"]
                    .as_str()
                    .unwrap()
                    .rsplit('/')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    };
    let answer = client.call("search", json!({ "pattern": "*.rs" })).await;
    assert_eq!(names(&answer), ["a.rs", "b.rs"]);
    let answer = client
        .call(
            "search",
            json!({ "pattern": "src/*.{rs,md}", "kind": "file" }),
        )
        .await;
    assert_eq!(names(&answer), ["a.rs", "c.md"]);
    let answer = client
        .call("search", json!({ "pattern": "*", "limit": 1 }))
        .await;
    assert_eq!(answer["stopped"], "limit");
    let error = client.error("search", json!({ "pattern": "[" })).await;
    assert!(error.contains("cannot be used"), "{error}");

    let answer = client
        .call(
            "grep",
            json!({ "pattern": r"^fn \w+", "glob": "*.rs", "context": 1 }),
        )
        .await;
    assert_eq!(answer["matches"].as_array().unwrap().len(), 2);
    assert_eq!(answer["matches"][1]["line"], 2);
    assert_eq!(answer["matches"][1]["before"], json!(["fn one() {}"]));
    assert_eq!(answer["matches"][1]["after"], json!(["// end"]));
    assert_eq!(answer["matches"][0]["after"], json!(["fn two() {}"]));
    let answer = client
        .call("grep", json!({ "pattern": "fn(one)", "literal": true }))
        .await;
    assert_eq!(answer["matches"][0]["text"], "let x = \"fn(one)\";");
    assert_eq!(
        (&answer["filesSearched"], &answer["filesSkipped"]),
        (&json!(3), &json!(1))
    );
    let answer = client
        .call(
            "grep",
            json!({ "pattern": "FN", "ignoreCase": true, "limit": 2 }),
        )
        .await;
    assert_eq!(answer["stopped"], "limit");
    for pattern in ["(", "(?=look)", r"(a)\1", "(a{1000}){1000}"] {
        let error = client.error("grep", json!({ "pattern": pattern })).await;
        assert!(error.contains("pattern cannot be used"), "{error}");
    }
    // What makes other engines run for ever.
    fs::write(directory.path().join("src/evil"), "a".repeat(100_000)).unwrap();
    let begun = std::time::Instant::now();
    client
        .call("grep", json!({ "pattern": "(a+)+$b", "path": "src/evil" }))
        .await;
    assert!(begun.elapsed().as_secs() < 10);
}

#[tokio::test]
async fn info_move_and_delete() {
    let (directory, mut client) = connected().await;
    fs::create_dir_all(directory.path().join("d/e")).unwrap();
    fs::write(directory.path().join("d/f.md"), "x").unwrap();
    fs::write(directory.path().join("g"), "y").unwrap();
    std::os::unix::fs::symlink("d/f.md", directory.path().join("link")).unwrap();
    let answer = client.call("info", json!({ "path": "d/f.md" })).await;
    assert_eq!(
        (&answer["kind"], &answer["size"]),
        (&json!("file"), &json!(1))
    );
    assert_eq!(
        (&answer["mimeType"], &answer["binary"]),
        (&json!("text/markdown"), &json!(false))
    );
    let answer = client.call("info", json!({ "path": "link" })).await;
    assert_eq!(
        (&answer["linkTarget"], &answer["linkAllowed"]),
        (&json!("d/f.md"), &json!(true))
    );
    assert_eq!(
        client.call("info", json!({ "path": "." })).await["kind"],
        "directory"
    );
    assert_eq!(
        client.call("read", json!({ "path": "link" })).await["text"],
        "x"
    );

    client
        .call("move", json!({ "from": "d/f.md", "to": "new/place.md" }))
        .await;
    assert_eq!(read(&directory, "new/place.md"), "x");
    let error = client
        .error("move", json!({ "from": "g", "to": "new/place.md" }))
        .await;
    assert!(error.contains("exists already"), "{error}");
    assert_eq!(read(&directory, "new/place.md"), "x");
    client
        .call(
            "move",
            json!({ "from": "g", "to": "new/place.md", "overwrite": true }),
        )
        .await;
    assert_eq!(read(&directory, "new/place.md"), "y");
    let error = client
        .error("move", json!({ "from": "d", "to": "d/e/d" }))
        .await;
    assert!(error.contains("into itself"), "{error}");
    let error = client
        .error("move", json!({ "from": "nowhere", "to": "x" }))
        .await;
    assert!(error.contains("does not exist"), "{error}");

    let error = client.error("delete", json!({ "path": "d" })).await;
    assert!(error.contains("not empty"), "{error}");
    let answer = client
        .call("delete", json!({ "path": "d", "recursive": true }))
        .await;
    assert_eq!(answer["deleted"], 2);
    client.call("delete", json!({ "path": "link" })).await;
    assert!(!directory.path().join("link").exists());
    let error = client
        .error("delete", json!({ "path": ".", "recursive": true }))
        .await;
    assert!(error.contains("allowed directory itself"), "{error}");
    assert!(directory.path().exists());
}

#[tokio::test]
async fn resources_and_prompts() {
    let (directory, mut client) = connected().await;
    for number in 0..250 {
        fs::write(directory.path().join(format!("f{number:03}.txt")), "text").unwrap();
    }
    fs::write(directory.path().join("a.bin"), b"\0\xff").unwrap();
    let first = client.request("resources/list", json!({})).await["result"].clone();
    assert_eq!(first["resources"].as_array().unwrap().len(), 200);
    let next = client
        .request("resources/list", json!({ "cursor": first["nextCursor"] }))
        .await;
    assert_eq!(next["result"]["resources"].as_array().unwrap().len(), 51);
    let wrong = client
        .request("resources/list", json!({ "cursor": "x" }))
        .await;
    assert_eq!(wrong["error"]["code"], -32602);

    let blob = client
        .request(
            "resources/read",
            json!({ "uri": first["resources"][0]["uri"] }),
        )
        .await;
    assert_eq!(blob["result"]["contents"][0]["blob"], "AP8=");
    let text = client
        .request(
            "resources/read",
            json!({ "uri": first["resources"][1]["uri"] }),
        )
        .await;
    assert_eq!(text["result"]["contents"][0]["text"], "text");
    for uri in [
        "file:///etc/passwd",
        "file:///nowhere",
        "memory:///1",
        "f000.txt",
    ] {
        let wrong = client
            .request("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(wrong["error"]["code"], -32002, "{wrong}");
    }
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "file:///{+path}"
    );
    let typed = directory.path().canonicalize().unwrap().join("f24");
    let completed = client
        .request(
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "file:///{+path}" },
                "argument": { "name": "path", "value": &typed.to_str().unwrap()[1..] },
            }),
        )
        .await;
    let values = completed["result"]["completion"]["values"]
        .as_array()
        .unwrap();
    assert_eq!(values.len(), 10, "{completed}");

    let prompts = client.request("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"][0]["name"], "explain-file");
    let prompt = client
        .request(
            "prompts/get",
            json!({ "name": "explain-file", "arguments": { "path": "f000.txt" } }),
        )
        .await;
    assert_eq!(
        prompt["result"]["messages"][1]["content"]["resource"]["text"],
        "text"
    );
    for params in [
        json!({ "name": "explain-file" }),
        json!({ "name": "explain-file", "arguments": { "path": "/etc/passwd" } }),
        json!({ "name": "no-such" }),
    ] {
        let wrong = client.request("prompts/get", params).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    }
}

#[tokio::test]
async fn subscriptions() {
    let (directory, mut client) = connected().await;
    let file = directory.path().canonicalize().unwrap().join("f");
    fs::write(&file, "1").unwrap();
    let uri = format!("file://{}", file.display());
    let answer = client
        .request("resources/subscribe", json!({ "uri": uri }))
        .await;
    assert!(answer["result"].is_object(), "{answer}");
    let wrong = client
        .request(
            "resources/subscribe",
            json!({ "uri": "file:///etc/passwd" }),
        )
        .await;
    assert_eq!(wrong["error"]["code"], -32002);
    fs::write(&file, "22").unwrap();
    let notice = client.notice("notifications/resources/updated").await;
    assert_eq!(notice["params"]["uri"], uri);
    fs::remove_file(&file).unwrap();
    client.notice("notifications/resources/updated").await;
    client
        .request("resources/unsubscribe", json!({ "uri": uri }))
        .await;
    fs::write(&file, "333").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    client.request("ping", json!({})).await;
    assert!(client.notices.is_empty(), "{:?}", client.notices);
}

#[tokio::test]
async fn several_roots_and_read_only() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(two.path().join("f"), "two").unwrap();
    let roots = [one.path().to_path_buf(), two.path().to_path_buf()];
    let files = Files::new("1", &roots).unwrap().read_only();
    let mut client = Client::connect(files.session()).await;
    assert_eq!(client.tools().await.len(), 6);
    assert!(
        client
            .error("write", json!({ "path": "x", "content": "" }))
            .await
            .contains("Unknown tool")
    );
    assert_eq!(client.call("list", json!({})).await["total"], 2);
    let path = two.path().join("f");
    assert_eq!(
        client.call("read", json!({ "path": path })).await["text"],
        "two"
    );
    assert!(Files::new("1", &[Path::new("/no/such/root").to_path_buf()]).is_err());
    assert!(Files::new("1", &[]).is_err());
}
