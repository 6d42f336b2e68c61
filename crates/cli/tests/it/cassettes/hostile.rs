//! Cassettes that are none, or too much of one: a clear word, with the place, and no more
//! memory than a line.

use serde_json::json;
use switchboard_testkit::world::{World, echo, servers, shell_server};

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
            "without this line it can be used",
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

/// A cassette of a server with the tool `ok`, of which it says that it changes nothing.
fn of_ok() -> String {
    let list = json!({
        "server": "s", "era": "legacy", "at": 0, "took": 0, "method": "tools/list", "params": {},
        "result": {"tools": [{
            "name": "ok", "description": "", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        }]},
    });
    let call = json!({
        "server": "s", "era": "legacy", "at": 0, "took": 0, "method": "tools/call",
        "params": {"name": "ok", "arguments": {}}, "result": {},
    });
    let other = json!({
        "server": "s", "era": "legacy", "at": 0, "took": 0, "method": "admin/wipe",
        "params": {}, "result": {},
    });
    format!("{}{list}\n{call}\n{other}\n", header())
}

/// Whoever wrote it may be anybody: what the server itself does not say of a tool is not
/// believed, and what nobody knows is not asked.
#[tokio::test]
async fn a_cassette_cannot_say_that_a_tool_does_no_harm() {
    let world = World::new();
    let folder = world.home();
    world.configure(&servers([("s", shell_server("", "", &folder))]));
    let file = world.write("home/s.mcp.jsonl", of_ok());
    let file = file.display().to_string();
    let ran = world
        .run(&["verify", &file, "--configured", "s", "--json"])
        .await;
    let report = ran.json();
    let outcomes: Vec<&str> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|case| case["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["differs", "skipped", "skipped"], "{report:#}");
    let got = world.read(folder.join("got"));
    assert!(!got.contains("tools/call"), "{got}");
    assert!(!got.contains("admin/wipe"), "{got}");
    world
        .run(&["verify", &file, "--configured", "s", "--all"])
        .await;
    let got = world.read(folder.join("got"));
    assert!(got.contains("tools/call"), "{got}");
}

/// Silence is no yes: where nothing was asked, nothing is as it was.
#[tokio::test]
async fn what_compares_nothing_is_no_yes() {
    let world = World::new();
    let folder = world.home();
    world.configure(&servers([("s", shell_server("", "", &folder))]));
    let file = world.write("home/s.mcp.jsonl", of_ok());
    let file = file.display().to_string();
    for (filter, why) in [
        ("nope", "matches --filter"),
        ("ok", "--all calls every tool"),
    ] {
        let args = ["verify", &file, "--configured", "s", "--filter", filter];
        let ran = world.run(&args).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("nothing was compared"), "{ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
    }
}

/// A server of the configuration is held to it under its rules.
#[tokio::test]
async fn what_is_forbidden_is_not_called_to_verify_it() {
    let world = World::new();
    let folder = world.home();
    let mut settings = servers([("s", shell_server("", "", &folder))]);
    settings = json!({"mcpServers": settings, "permissions": {"deny": ["mcp__s__ok"]}});
    world.write_settings(&settings);
    let file = world.write("home/s.mcp.jsonl", of_ok());
    let file = file.display().to_string();
    let args = ["verify", &file, "--configured", "s", "--all"];
    let ran = world.run(&args).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let got = world.read(folder.join("got"));
    assert!(!got.contains("tools/call"), "{got}");
    let ran = world.run(&["verify", &file, "--configured", "sss"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("there is no server \"sss\""), "{ran:?}");
}

#[tokio::test]
async fn an_address_is_verified_with_its_headers() {
    let world = World::with(&servers([("s", echo(&[]))]));
    let (_gateway, url) = world.serve(&[]).await;
    let url = format!("{}/mcp", url.trim_end_matches("/mcp").trim_end_matches('/'));
    let token = format!("Authorization: Bearer {}", world.token("tokens/default"));
    let file = world.write("home/s.mcp.jsonl", of_ok());
    let file = file.display().to_string();
    let ran = world.run(&["verify", &file, "--", &url]).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let ran = world
        .run(&["verify", &file, "-H", &token, "--", &url])
        .await;
    assert_eq!(ran.code, Some(1), "it is another server: {ran:?}");
    assert!(ran.out.contains("tools/list"), "{ran:?}");
    let ran = world
        .run(&["verify", &file, "-H", &token, "--", "sh"])
        .await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[tokio::test]
async fn names_in_a_cassette_move_no_cursor() {
    let world = World::new();
    let name = "a\u{1b}[2J";
    let call = |server: &str| {
        json!({
            "server": server, "era": "legacy", "at": 0, "took": 0,
            "method": "tools/call", "params": {}, "result": {},
        })
    };
    let text = format!("{}{}\n{}\n", header(), call(name), call("../b"));
    let file = world.write("home/a.mcp.jsonl", text);
    let ran = world.run(&["replay", &file.display().to_string()]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("../b") && !ran.err.contains('\u{1b}'),
        "{ran:?}"
    );
}
