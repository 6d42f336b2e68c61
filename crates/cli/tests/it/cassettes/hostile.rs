//! Cassettes that are none, or too much of one: a clear word, with the place, and no more
//! memory than a line.

use serde_json::json;
use switchboard_testkit::world::World;

fn header() -> String {
    format!(
        "{}\n",
        json!({"cassette": 1, "recorded": "", "by": "", "servers": []})
    )
}

#[tokio::test]
async fn what_is_no_cassette_is_told_with_its_place() {
    let world = World::new();
    let call = json!({
        "server": "a", "era": "legacy", "at": 0, "took": 0,
        "method": "tools/call", "params": {}, "result": {},
    });
    let deep = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
    let less_deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let nested = |inside: &str| {
        let line = call.to_string();
        format!(
            "{}{}\n",
            header(),
            line.replace("\"params\":{}", &format!("\"params\":{{\"a\":{inside}}}"))
        )
    };
    for (name, text, says) in [
        ("empty", String::new(), ":1: the file is empty"),
        ("text", "hello\n".to_owned(), ":1: no JSON"),
        ("other", "{\"a\":1}\n".to_owned(), ":1: "),
        (
            "list",
            "[1]\n".to_owned(),
            ":1: a line must be a JSON object",
        ),
        (
            "version",
            "{\"cassette\":2}\n".to_owned(),
            ":1: this is version 2",
        ),
        (
            "half",
            format!("{}{{\"server\":\"a\",", header()),
            ":2: no JSON",
        ),
        (
            "field",
            format!("{}{}\n", header(), json!({"method": "x"})),
            ":2: \"server\" is missing",
        ),
        (
            "era",
            format!(
                "{}{}\n",
                header(),
                json!({"method": "x", "server": "a", "era": "new"})
            ),
            ":2: \"era\" must be",
        ),
        ("deep", nested(&deep), ":2: no JSON: "),
        ("tree", nested(&less_deep), ":2: it cannot be compared"),
        (
            "twice",
            format!("{}{}", header(), header()),
            ":2: a second first line",
        ),
    ] {
        let file = world.write(format!("home/{name}.mcp.jsonl"), text);
        let file = file.display().to_string();
        for args in [&["replay", &file][..], &["verify", &file, "--", "true"]] {
            // What can be replayed is compared only when it is verified, and there it is a case.
            if name == "tree" && args[0] == "verify" {
                continue;
            }
            let ran = world.run(args).await;
            assert_eq!(ran.code, Some(3), "{name}: {ran:?}");
            assert!(ran.err.contains(says), "{name}: {}", ran.err);
        }
    }
}

#[tokio::test]
async fn a_line_without_an_end_is_not_read_to_its_end() {
    let world = World::new();
    // Sparse: a gigabyte of nothing on one line.
    let file = world.write("home/long.mcp.jsonl", header());
    let opened = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    opened.set_len(1024 * 1024 * 1024).unwrap();
    let text = file.display().to_string();
    let ran = world.run(&["replay", &text]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.err.contains(":2: the line has more than"),
        "{}",
        ran.err
    );
}
