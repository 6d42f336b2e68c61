//! The file tools that find, look, move and delete.

use crate::common::{connected, read};
use serde_json::{Value, json};
use std::fs;

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
async fn what_grep_shows_is_bounded() {
    let (directory, mut client) = connected().await;
    let lines = format!("{}\n", "x".repeat(600)).repeat(3000);
    fs::write(directory.path().join("lines"), lines).unwrap();
    let arguments = json!({ "pattern": "x", "context": 5, "limit": 1000 });
    let answer = client.call("grep", arguments).await;
    assert_eq!(answer["stopped"], "size");
    let size = answer.to_string().len();
    assert!((200_000..400_000).contains(&size), "{size}");
}
