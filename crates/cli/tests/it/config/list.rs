//! `list` against servers that work, fail, hang and wait for approval.

use switchboard_testkit::DEADLINE;
use switchboard_testkit::world::{self, Ran, echo, run, run_with, switchboard};

use serde_json::{Value, json};
use std::time::Instant;

fn states(run: &Ran) -> Vec<(String, String)> {
    let rows = run.json();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.as_array()
        .expect("a list of rows")
        .iter()
        .map(|row| (text(row, "name"), text(row, "state")))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()))
        .collect()
}

#[tokio::test]
async fn good_and_bad_servers_side_by_side() {
    let servers = json!({
        "legacy": echo(&["--era", "legacy"]),
        "modern": echo(&["--era", "modern"]),
        "system": {"type": "builtin"},
        "none": {"command": "/nonexistent/program"},
        "dies": {"command": "sh", "args": ["-c", "echo last words >&2; exit 3"]},
        "typo": {"command": "x", "args": "y"},
        "variable": {"command": "${NOT_SET_ANYWHERE}"},
        "off": {"command": "x", "disabled": true},
        "us": {"command": "switchboard", "args": ["serve"]},
    });
    let run = run_with(&servers, &["list", "--json"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let expected = [
        ("legacy", "connected"),
        ("modern", "connected"),
        ("system", "connected"),
        ("none", "failed"),
        ("dies", "failed"),
        ("typo", "failed"),
        ("variable", "failed"),
        ("off", "disabled"),
        ("us", "disabled"),
    ];
    assert_eq!(states(&run), pairs(&expected), "{}", run.out);
    let rows = run.json();
    let keys: Vec<&str> = rows[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "name",
            "scope",
            "file",
            "transport",
            "target",
            "state",
            "reason",
            "shadowedBy",
            "version",
            "era",
            "serverInfo",
            "tools",
            "resources",
            "prompts",
            "ms",
            "copies",
            "used"
        ]
    );
    assert_eq!(
        (&rows[0]["era"], &rows[0]["version"]),
        (&json!("legacy"), &json!("2025-11-25"))
    );
    assert_eq!(
        (&rows[1]["era"], &rows[1]["version"]),
        (&json!("modern"), &json!("2026-07-28"))
    );
    assert_eq!(rows[0]["serverInfo"]["name"], "echo-server");
    assert_eq!(
        (
            &rows[0]["tools"],
            &rows[0]["resources"],
            &rows[0]["prompts"]
        ),
        (&json!(14), &json!(5), &json!(1))
    );
    let reason = |i: usize| rows[i]["reason"].as_str().unwrap();
    assert!(reason(3).contains("/nonexistent/program"), "{}", reason(3));
    assert!(reason(4).contains("last words"), "{}", reason(4));
    assert!(
        reason(5).contains("`args`: must be a list of strings"),
        "{}",
        reason(5)
    );
    assert!(
        reason(6).contains("`command`: the environment variable NOT_SET_ANYWHERE is not set"),
        "{}",
        reason(6)
    );
}

#[tokio::test]
async fn check_and_no_connect() {
    let bad = json!({"a": {"command": "/nonexistent/program"}, "b": {"command": 1}});
    assert_eq!(run_with(&bad, &["list"]).await.code, Some(0));
    assert_eq!(run_with(&bad, &["list", "--check"]).await.code, Some(4));
    let run = run_with(&bad, &["list", "--no-connect", "--json"]).await;
    assert_eq!(
        states(&run),
        pairs(&[("a", "not-connected"), ("b", "failed")])
    );
}

#[tokio::test]
async fn a_project_file_is_shown_and_not_started() {
    let launch = switchboard();
    let touched = launch.home().join("touched");
    let file = json!({"mcpServers": {"p": {"command": "touch", "args": [touched]}}});
    std::fs::write(launch.home().join(".mcp.json"), file.to_string()).unwrap();
    let program = launch.args(["list", "--json"]).spawn();
    let home = program.home().to_owned();
    let (status, out, err) = program.output(DEADLINE).await;
    let run = Ran {
        code: status.code(),
        out: String::from_utf8(out).unwrap(),
        err,
    };
    assert_eq!(states(&run), pairs(&[("p", "pending-approval")]));
    assert_eq!(run.json()[0]["scope"], "project");
    assert!(!home.join("touched").exists());

    let launch = switchboard();
    std::fs::write(launch.home().join(".mcp.json"), file.to_string()).unwrap();
    let run = world::run(launch.args(["call", "p__x"])).await;
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(run.err.contains("is not approved"), "{run:?}");
}

#[tokio::test]
async fn later_files_win_and_the_other_stays_visible() {
    let one = world::config(&json!({"a": {"command": "/nonexistent/one"}}));
    let two = world::config(&json!({"a": {"command": "/nonexistent/two"}}));
    let run = run(switchboard().args([
        "--mcp-config",
        &one,
        "list",
        "--no-connect",
        "--json",
        "--mcp-config",
        &two,
    ]))
    .await;
    assert_eq!(
        states(&run),
        pairs(&[("a", "shadowed"), ("a", "not-connected")])
    );
    assert_eq!(
        run.json()[0]["shadowedBy"],
        "dynamic (--mcp-config (no. 2):1)"
    );
}

#[tokio::test]
async fn a_hung_server_holds_up_nobody() {
    let servers = json!({"hangs": {"command": "sleep", "args": ["60"]}, "good": echo(&[])});
    let started = Instant::now();
    let launch = switchboard().env("MCP_TIMEOUT", "1500").args([
        "--mcp-config",
        &world::config(&servers),
        "list",
    ]);
    let run = run(launch).await;
    assert!(started.elapsed().as_secs() < 8, "{:?}", started.elapsed());
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(
        lines[0].starts_with("good") && lines[0].contains("connected"),
        "{run:?}"
    );
    assert!(
        lines[1].starts_with("hangs") && lines[1].contains("failed: did not start within 1.5s"),
        "{run:?}"
    );
}

#[tokio::test]
async fn unreadable_files_are_told_and_hide_nothing() {
    let good = world::config(&json!({"a": echo(&[])}));
    let launch = switchboard();
    std::fs::write(
        launch.home().join("bad.json"),
        "{\n  \"mcpServers\": {,}\n}",
    )
    .unwrap();
    let run = run(launch.args([
        "--mcp-config",
        "bad.json",
        "--mcp-config",
        &good,
        "list",
        "--json",
    ]))
    .await;
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(states(&run), pairs(&[("a", "connected")]));
    let error = run.error();
    assert_eq!(error["error"]["code"], "configuration");
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("bad.json:2:18: not JSON"),
        "{error}"
    );
}

#[tokio::test]
async fn secrets_and_control_characters_are_not_shown() {
    let servers = json!({"e\u{1b}[2Jvil": {"command": "/nonexistent/x", "args": ["--token", "s3cret", "\u{202e}"]}});
    let run = run_with(&servers, &["list"]).await;
    assert!(
        run.out
            .starts_with("e\\u{1b}[2Jvil  /nonexistent/x --token [redacted] '\\u{202e}'"),
        "{run:?}"
    );
    assert!(
        !run.out.contains('\u{1b}') && !run.out.contains("s3cret"),
        "{run:?}"
    );
}

/// Ten servers that need two seconds each, and one that never answers.
fn ten_slow_and_one_hung() -> Value {
    let program = switchboard_testkit::bin("echo-server");
    let line = format!("sleep 2; exec '{}' --stdio", program.display());
    let slow = json!({"command": "sh", "args": ["-c", line]});
    let mut all: serde_json::Map<String, Value> = (0..10)
        .map(|n| (format!("slow{n}"), slow.clone()))
        .collect();
    all.insert("hung".into(), json!({"command": "sleep", "args": ["600"]}));
    Value::Object(all)
}

/// How long it took until ten servers were listed, and whether the hung one came last.
async fn ten_lines(size: Option<&str>) -> std::time::Duration {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let servers = json!({ "mcpServers": ten_slow_and_one_hung() }).to_string();
    let mut launch = switchboard()
        .args(["--strict-mcp-config", "--mcp-config", &servers, "list"])
        .env("MCP_TIMEOUT", "15000");
    if let Some(size) = size {
        launch = launch.env("MCP_SERVER_CONNECTION_BATCH_SIZE", size);
    }
    let started = Instant::now();
    let mut program = launch.spawn();
    let mut lines = BufReader::new(program.stdout.take().expect("stdout is piped")).lines();
    for _ in 0..10 {
        let line = lines
            .next_line()
            .await
            .expect("stdout is text")
            .expect("a line each");
        assert!(
            line.starts_with("slow") && line.contains("connected"),
            "{line}"
        );
    }
    started.elapsed()
}

#[tokio::test]
async fn slow_servers_are_met_side_by_side() {
    let three = ten_lines(None).await;
    let ten = ten_lines(Some("10")).await;
    eprintln!(
        "ten servers of 2 s: {three:?} run_with the default pool, {ten:?} run_with a pool of ten"
    );
    // 10 s and 2.5 s on a machine that does nothing else. One after the other they would
    // take 20 s at least, and three at once 8 s, however fast it is.
    assert!(three < std::time::Duration::from_secs(20), "{three:?}");
    assert!(ten < std::time::Duration::from_secs(8), "{ten:?}");
}

/// An entry that waits and could not work anyway says both.
#[tokio::test]
async fn a_fault_shows_before_the_approval() {
    let launch = switchboard();
    let folder = launch.home().join("project");
    std::fs::create_dir_all(&folder).expect("a folder");
    let entry = r#"{"mcpServers": {"a": {"command": ["npx", "server"]}}}"#;
    std::fs::write(folder.join(".mcp.json"), entry).expect("written");
    let ran = run(launch.cwd(&folder).args(["list", "--no-connect", "--json"])).await;
    let row = &ran.json()[0];
    assert_eq!(row["state"], "pending-approval", "{ran:?}");
    let reason = row["reason"].as_str().expect("a reason");
    assert!(reason.contains("`command`: must be a string"), "{ran:?}");
}
