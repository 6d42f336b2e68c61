//! `tools` and `call`: names, arguments, forms of the result, exit codes.

use rustix::process::Signal;
use serde_json::json;
use switchboard_testkit::world::{self, config, echo, run, run_with, switchboard};
use switchboard_testkit::{DEADLINE, bin};

#[tokio::test]
async fn tools_have_canonical_names() {
    let servers = json!({"one": echo(&[]), "my.two": echo(&["--era", "modern"])});
    let run = run_with(&servers, &["tools", "--search", "NONCE delay", "--json"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let tools = run.json();
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["mcp__one__echo", "mcp__my_two__echo"]);
    assert_eq!(
        (&tools[1]["server"], &tools[1]["tool"]),
        (&json!("my.two"), &json!("echo"))
    );
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["nonce"]));
    assert_eq!(tools[0]["annotations"], json!({"readOnlyHint": true}));
    assert_eq!(tools[0]["deferred"], false);

    let run = run_with(&servers, &["tools", "--server", "one"]).await;
    assert!(
        run.out.starts_with("one  14 tools, about ") && run.out.contains("  mcp__one__sleep "),
        "{run:?}"
    );
    assert_eq!(
        run_with(&servers, &["tools", "--server", "on"]).await.code,
        Some(2)
    );
}

#[tokio::test]
async fn a_tool_under_all_its_names_in_both_eras() {
    for era in ["legacy", "modern"] {
        let servers = json!({"my-echo": echo(&["--era", era])});
        for name in [
            "mcp__my-echo__echo",
            "my-echo__echo",
            "my_echo__echo",
            "echo",
        ] {
            let run = run_with(&servers, &["call", name, "-a", "nonce=7"]).await;
            assert_eq!(
                (run.code, run.out.as_str()),
                (Some(0), "7\n"),
                "{name} {era}: {run:?}"
            );
        }
    }
}

#[tokio::test]
async fn forms_of_the_result() {
    let servers = json!({"e": echo(&[])});
    let run = run_with(
        &servers,
        &["call", "echo", r#"{"nonce": "n\u00fc"}"#, "--json"],
    )
    .await;
    assert_eq!(
        run.out, "{\"content\":[{\"type\":\"text\",\"text\":\"n\\u00fc\"}]}\n",
        "{run:?}"
    );
    let run = run_with(
        &servers,
        &["call", "echo", "-a", "nonce=n", "--format", "anthropic"],
    )
    .await;
    assert_eq!(
        run.json(),
        json!({"content": [{"type": "text", "text": "n"}], "is_error": false})
    );
    let run = run_with(
        &servers,
        &["call", "echo", r#"{"nonce": "\u001b[31m\u202e"}"#],
    )
    .await;
    assert_eq!(run.out, "\\u{1b}[31m\\u{202e}\n");
    let run = run_with(
        &servers,
        &["call", "progress", "-a", "steps=3", "--progress"],
    )
    .await;
    assert!(run.err.contains("progress: 3/3 (100 %)"), "{run:?}");
}

#[tokio::test]
async fn exit_codes() {
    let servers = json!({
        "e": echo(&[]), "f": echo(&[]),
        "down": {"command": "/nonexistent/program"},
        "typo": {"command": 1},
    });
    for (args, code, words) in [
        (&["call", "e__ehco"][..], 2, "did you mean mcp__e__echo?"),
        (
            &["call", "nothing-like-it"],
            2,
            "there is no tool \"nothing-like-it\"",
        ),
        (
            &["call", "echo", "-a", "nonce=1"],
            2,
            "say which: mcp__e__echo, mcp__f__echo",
        ),
        (&["call", "e__echo", "{"], 2, "the arguments are not JSON"),
        (
            &["call", "e__echo", "[]"],
            2,
            "the arguments must be a JSON object",
        ),
        (
            &["call", "e__echo"],
            2,
            "the tool needs the argument \"nonce\"",
        ),
        (
            &["call", "e__sleep", "-a", "ms=long"],
            2,
            "-a ms=long: the tool wants an integer here",
        ),
        (
            &["call", "e__echo", "-a", "nonce=@/nonexistent"],
            2,
            "@/nonexistent: No such file",
        ),
        (&["call", "typo__x"], 3, "`command`: must be a string"),
        (&["call", "down__x"], 4, "/nonexistent/program"),
        (&["call"], 2, "Usage: switchboard call"),
        (
            &["serve", "--http", "0.0.0.0:0"],
            2,
            "can be reached from other machines",
        ),
        (
            &["serve", "--only", "echoo"],
            2,
            "there is no server \"echoo\"",
        ),
    ] {
        let run = run_with(&servers, args).await;
        assert_eq!(run.code, Some(code), "{args:?}: {run:?}");
        assert!(run.err.contains(words), "{args:?}: {run:?}");
    }
}

#[tokio::test]
async fn errors_as_json() {
    let servers = json!({"e": echo(&[])});
    let run = run_with(&servers, &["call", "e__ehco", "--json"]).await;
    let expected = json!({"error": {
        "code": "usage", "message": "there is no tool \"e__ehco\"", "hint": "did you mean mcp__e__echo?"
    }});
    assert_eq!(run.error(), expected);
    let run = world::run(switchboard().args(["list", "--jsn", "--json"])).await;
    assert_eq!(
        (run.code, &run.error()["error"]["code"]),
        (Some(2), &json!("usage"))
    );
}

#[tokio::test]
async fn a_call_that_takes_too_long() {
    let launch = switchboard().env("MCP_TOOL_TIMEOUT", "300");
    let servers = config(&json!({"e": echo(&[])}));
    let run = run(launch.args([
        "--mcp-config",
        &servers,
        "call",
        "e__sleep",
        "-a",
        "ms=60000",
    ]))
    .await;
    assert_eq!(run.code, Some(7), "{run:?}");
}

#[tokio::test]
async fn a_signal_cancels_the_call_and_says_which_it_was() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        cancelled_by(signal, code).await;
    }
}

async fn cancelled_by(signal: Signal, code: i32) {
    // What the server gets is written down on its way in.
    let launch = switchboard();
    let seen = launch.home().join("seen");
    let script = format!(
        "tee {} | {} --stdio",
        seen.display(),
        bin("echo-server").display()
    );
    let servers = config(&json!({"e": {"command": "sh", "args": ["-c", script]}}));
    let args = [
        "--log",
        "debug",
        "--mcp-config",
        &servers,
        "call",
        "e__progress",
        "-a",
        "steps=1000",
        "-a",
        "intervalMs=20",
        "--progress",
    ];
    let mut program = launch.args(args).spawn();
    program.wait_for_line("progress: 1/").await;
    program.signal(signal);
    let status = program.wait(DEADLINE).await;
    assert_eq!(status.code(), Some(code), "{}", program.stderr());
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("notifications/cancelled"), "{seen}");
}

#[tokio::test]
async fn tools_that_the_entry_hides_are_not_there() {
    let mut entry = echo(&[]);
    entry["tools"] = json!({"allow": ["e*", "sleep"], "deny": ["elicit"]});
    let servers = json!({"e": entry});
    let run = run_with(&servers, &["tools", "--json"]).await;
    let names: Vec<String> = run
        .json()
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["tool"].as_str().map(String::from))
        .collect();
    assert_eq!(names, ["echo", "sleep"]);
    assert_eq!(run_with(&servers, &["call", "e__pid"]).await.code, Some(2));
}

/// Where tools wait to be searched for, those of an entry that says so do not.
#[tokio::test]
async fn an_entry_can_have_its_tools_always_at_hand() {
    let mut at_hand = echo(&[]);
    at_hand["alwaysLoad"] = true.into();
    let servers = json!({"waits": echo(&[]), "at_hand": at_hand});
    let launch = switchboard()
        .args(["--strict-mcp-config", "--mcp-config", &config(&servers)])
        .args(["tools", "--json"])
        .env("ENABLE_TOOL_SEARCH", "true");
    let run = run(launch).await;
    let tools = run.json();
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["deferred"], tool["server"] == "waits", "{tool}");
    }
}

/// A call is logged when it leaves and when it ends.
#[tokio::test]
async fn a_call_is_logged() {
    let servers = json!({"e": echo(&[])});
    let run = run_with(&servers, &["--log", "info", "call", "counted"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let said: Vec<&str> = run
        .err
        .lines()
        .filter(|line| line.contains("counted"))
        .collect();
    assert_eq!(said.len(), 2, "{run:?}");
    assert!(
        said[1].contains("call ended") && said[1].contains(" ms"),
        "{run:?}"
    );
    assert!(said[1].contains("failed=false"), "{run:?}");
}

#[tokio::test]
async fn an_argument_that_the_tool_does_not_have_is_told_with_the_closest() {
    let servers = json!({"e": echo(&[])});
    let ran = run_with(&servers, &["call", "echo", "-a", "nonec=n"]).await;
    assert!(
        ran.err.contains("the tool has no argument \"nonec\"")
            && ran.err.contains("did you mean nonce?"),
        "{ran:?}"
    );
}
