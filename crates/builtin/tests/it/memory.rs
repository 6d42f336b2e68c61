//! The memory: remembering, finding, forgetting, and what it survives.

use crate::common::Client;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};
use switchboard_builtin::Memory;
use tempfile::TempDir;

async fn connected() -> (TempDir, Memory, Client) {
    let directory = tempfile::tempdir().expect("a directory");
    let memory = Memory::open("1", &directory.path().join("data")).expect("a memory");
    let client = Client::connect(memory.session()).await;
    (directory, memory, client)
}

fn texts(answer: &Value) -> Vec<&str> {
    let entries = answer["entries"].as_array().expect("entries").iter();
    entries
        .map(|entry| entry["text"].as_str().expect("text"))
        .collect()
}

#[tokio::test]
async fn remembering_and_recalling() {
    let (directory, _memory, mut client) = connected().await;
    client.call("remember", json!({ "text": "The release is cut on Thursdays", "key": "release", "tags": ["process"] })).await;
    client
        .call(
            "remember",
            json!({ "text": "Müller prefers tea", "tags": ["people", "tea"] }),
        )
        .await;
    let answer = client
        .call("remember", json!({ "text": "日本語のメモ" }))
        .await;
    assert_eq!(
        (&answer["replaced"], &answer["entry"]["id"]),
        (&json!(false), &json!(3))
    );

    for (query, expected) in [
        ("release thursday", "The release is cut on Thursdays"),
        ("RELEAS", "The release is cut on Thursdays"),
        ("muller", "Müller prefers tea"),
        ("process", "The release is cut on Thursdays"),
        ("本語", "日本語のメモ"),
        ("coffee tea", "Müller prefers tea"),
    ] {
        let found = client.call("recall", json!({ "query": query })).await;
        assert_eq!(texts(&found)[0], expected, "{query}");
    }
    let found = client
        .call("recall", json!({ "query": "the", "tags": ["people"] }))
        .await;
    assert_eq!(texts(&found), Vec::<&str>::new());
    // What would be operators, or break the language of the index.
    for query in [
        "\"",
        "* OR *",
        "NEAR(",
        "a AND",
        "'; DROP TABLE entry; --",
        "text:x",
        "^",
        "-",
        "\u{0}",
        "((((",
    ] {
        client.call("recall", json!({ "query": query })).await;
    }

    let answer = client
        .call(
            "remember",
            json!({ "text": "On Fridays now", "key": "release" }),
        )
        .await;
    assert_eq!(
        (&answer["replaced"], &answer["entry"]["id"]),
        (&json!(true), &json!(1))
    );
    let found = client.call("recall", json!({ "query": "thursdays" })).await;
    assert_eq!(texts(&found), Vec::<&str>::new(), "the index follows");
    let listed = client.call("list", json!({ "limit": 2 })).await;
    assert_eq!(
        (&listed["total"], &listed["nextOffset"]),
        (&json!(3), &json!(2))
    );
    let listed = client
        .call("list", json!({ "tags": ["people", "tea"] }))
        .await;
    assert_eq!(texts(&listed), ["Müller prefers tea"]);

    client.call("forget", json!({ "key": "release" })).await;
    client.call("forget", json!({ "id": 2 })).await;
    for arguments in [
        json!({ "id": 2 }),
        json!({ "key": "x" }),
        json!({}),
        json!({ "id": 3, "key": "x" }),
    ] {
        client.error("forget", arguments).await;
    }
    assert_eq!(client.call("list", json!({})).await["total"], 1);

    // It outlives the connection and the server.
    drop(client);
    let again = Memory::open("1", &directory.path().join("data")).unwrap();
    let mut client = Client::connect(again.session()).await;
    assert_eq!(
        texts(&client.call("list", json!({})).await),
        ["日本語のメモ"]
    );
}

#[tokio::test]
async fn bad_arguments() {
    let (_directory, _memory, mut client) = connected().await;
    for (tool, arguments) in [
        ("remember", json!({ "text": "" })),
        ("remember", json!({ "text": "x".repeat(70_000) })),
        ("remember", json!({ "text": "x", "tags": vec!["t"; 33] })),
        ("remember", json!({ "text": "x", "tags": "t" })),
        ("remember", json!({ "text": "x", "key": "" })),
        ("recall", json!({ "query": "" })),
        ("recall", json!({ "query": "x", "limit": 0 })),
        ("forget", json!({ "id": "1" })),
        ("list", json!({ "offset": -1 })),
    ] {
        let text = client.fail(tool, arguments).await;
        assert!(text.starts_with("Validation error"), "{text}");
    }
    let error = client
        .error("remember", json!({ "text": "ü".repeat(60_000) }))
        .await;
    assert!(error.contains("too long"), "{error}");
}

#[tokio::test]
async fn entries_are_resources() {
    let (_directory, memory, mut client) = connected().await;
    let mut other = Client::connect(memory.session()).await;
    let uri = client
        .call("remember", json!({ "text": "one", "key": "k" }))
        .await["entry"]["uri"]
        .clone();
    assert_eq!(uri, "memory:///1");
    other.notice("notifications/resources/list_changed").await;
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"][0]["name"], "k");
    let read = client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "one");
    for uri in [
        "memory:///99",
        "memory:///x",
        "memory:///1/../1",
        "file:///etc/passwd",
    ] {
        let wrong = client
            .request("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(wrong["error"]["code"], -32002, "{wrong}");
    }
    other
        .request("resources/subscribe", json!({ "uri": uri }))
        .await;
    client
        .call("remember", json!({ "text": "two", "key": "k" }))
        .await;
    let notice = other.notice("notifications/resources/updated").await;
    assert_eq!(notice["params"]["uri"], uri);
    let prompt = client
        .request(
            "prompts/get",
            json!({ "name": "recall-about", "arguments": { "topic": "two" } }),
        )
        .await;
    let text = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(text.contains("- two\n"), "{text}");
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "memory:///{id}"
    );
}

#[tokio::test]
async fn the_file_is_the_owners_alone() {
    let (directory, _memory, mut client) = connected().await;
    client.call("remember", json!({ "text": "private" })).await;
    let data = directory.path().join("data");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(client);
    // One that was made for all to read is closed.
    let file = data.join("memory.sqlite3");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    Memory::open("1", &data).unwrap();
    assert_eq!(mode(&file), 0o600);
    // A link, and a file that is no database, are refused.
    let elsewhere = directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&file, elsewhere.join("memory.sqlite3")).unwrap();
    assert!(Memory::open("1", &elsewhere).is_err());
    fs::remove_file(elsewhere.join("memory.sqlite3")).unwrap();
    fs::write(
        elsewhere.join("memory.sqlite3"),
        "no database, but long enough to look at".repeat(100),
    )
    .unwrap();
    let fault = Memory::open("1", &elsewhere).unwrap_err();
    assert!(fault.to_string().contains("not a database"), "{fault}");
}

#[tokio::test]
async fn two_programs_at_once() {
    let (directory, _memory, mut client) = connected().await;
    let other = Memory::open("1", &directory.path().join("data")).unwrap();
    let mut other = Client::connect(other.session()).await;
    let mut ids = Vec::new();
    for number in 0..50 {
        let params =
            json!({ "name": "remember", "arguments": { "text": format!("fact {number}") } });
        ids.push((
            client.begin("tools/call", params.clone()).await,
            other.begin("tools/call", params).await,
        ));
    }
    for (one, two) in ids {
        assert_ne!(client.answer(one).await["result"]["isError"], true);
        assert_ne!(other.answer(two).await["result"]["isError"], true);
    }
    assert_eq!(client.call("list", json!({})).await["total"], 100);
}

#[tokio::test]
async fn no_query_is_taken_for_anything_but_words() {
    let (_directory, _memory, mut client) = connected().await;
    client
        .call("remember", json!({ "text": "hello world", "key": "k" }))
        .await;
    for query in [
        "\"",
        "*",
        "hello*",
        "hello OR",
        "NEAR(hello world)",
        "text:hello",
        "^hello",
        "hello AND",
        "-hello",
        "hello\"*",
        "(hello",
        "hello)",
        "{text}:hello",
        "hello + world",
        "hello\0world",
        "'; DROP TABLE entry; --",
        "%",
        "_",
        "\0",
        "🦀",
    ] {
        let answer = client.call("recall", json!({ "query": query })).await;
        let found = answer["entries"].as_array().unwrap().len();
        assert_eq!(
            found,
            usize::from(query.contains("hello")),
            "{query:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn answers_hold_so_much_text_and_no_more() {
    let (_directory, _memory, mut client) = connected().await;
    for number in 0..10 {
        let text = format!("moon {number} {}", "y".repeat(60_000));
        client.call("remember", json!({ "text": text })).await;
    }
    let answer = client
        .call("recall", json!({ "query": "moon", "limit": 100 }))
        .await;
    assert_eq!(answer["cut"], true);
    assert_eq!(answer["entries"].as_array().unwrap().len(), 4);
    let mut seen = 0;
    let mut offset = json!(0);
    while offset.is_number() {
        let arguments = json!({ "limit": 100, "offset": offset });
        let answer = client.call("list", arguments).await;
        assert!(answer.to_string().len() < 300_000);
        seen += answer["entries"].as_array().unwrap().len();
        offset = answer["nextOffset"].clone();
    }
    assert_eq!(seen, 10, "the rest comes when it is asked for");
}

#[tokio::test]
async fn a_file_that_is_damaged_or_made_to_harm_is_said_so() {
    let (directory, memory, mut client) = connected().await;
    client.call("remember", json!({ "text": "hello" })).await;
    drop((client, memory));
    let data = directory.path().join("harmed");
    fs::create_dir(&data).unwrap();
    let file = data.join("memory.sqlite3");
    let whole = rusqlite::Connection::open(directory.path().join("data/memory.sqlite3")).unwrap();
    whole.execute("VACUUM INTO ?1", [file.to_str()]).unwrap();
    // Damaged in the middle.
    let mut bytes = fs::read(&file).unwrap();
    for at in (4096..bytes.len()).step_by(7) {
        bytes[at] = b'A';
    }
    fs::write(&file, bytes).unwrap();
    match Memory::open("1", &data) {
        Err(fault) => assert!(
            fault.to_string().contains("move memory.sqlite3 away"),
            "{fault}"
        ),
        Ok(memory) => {
            let mut client = Client::connect(memory.session()).await;
            let said = client.fail("recall", json!({ "query": "hello" })).await;
            assert!(said.contains("the memory could not be used"), "{said}");
            let said = client.fail("remember", json!({ "text": "more" })).await;
            assert!(said.contains("the memory could not be used"), "{said}");
        }
    }
    let fresh = |script: &str| {
        for entry in fs::read_dir(&data).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let made = rusqlite::Connection::open(&file).unwrap();
        made.execute_batch(script).unwrap();
    };
    // Of a version that nobody knows yet.
    fresh("PRAGMA user_version = 2;");
    let fault = Memory::open("1", &data).unwrap_err();
    assert!(fault.to_string().contains("a newer version"), "{fault}");
    // Rows without end.
    fresh(
        "CREATE VIEW entry AS WITH RECURSIVE endless(id, key, text, tags, created, updated) AS
         (SELECT 1, 'a', 'b', '[]', '', '' UNION ALL SELECT id + 1, key, text, tags, created, updated FROM endless)
         SELECT * FROM endless; PRAGMA user_version = 1;",
    );
    let memory = Memory::open("1", &data).unwrap();
    let mut client = Client::connect(memory.session()).await;
    let said = client.fail("list", json!({})).await;
    assert!(said.contains("the memory took too long"), "{said}");
}
