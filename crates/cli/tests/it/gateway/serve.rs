//! `serve`, `up` and `builtin`: the program as a server.

use rustix::process::Signal;
use serde_json::json;
use std::{os::unix::fs::PermissionsExt, time::Duration};
use switchboard_testkit::world::{config, echo, run, switchboard, tool_names};
use switchboard_testkit::{DEADLINE, HttpClient, StdioClient, text_of};

const SOON: Duration = DEADLINE;

/// A client of `serve` with these arguments that has shaken hands.
async fn serving(servers: &serde_json::Value, args: &[&str]) -> StdioClient {
    let launch = switchboard().args(["--mcp-config", &config(servers), "serve"]);
    let mut client = StdioClient::new(launch.args(args).spawn());
    client.initialize("2025-11-25").await;
    client
}

#[tokio::test]
async fn names_do_not_depend_on_how_many_servers_there_are() {
    let alone = json!({"b": echo(&[])});
    let broken = json!({"b": echo(&[]), "broken": {"command": 1}});
    let several = json!({"a": echo(&[]), "b": echo(&[]), "broken": {"command": 1}});
    for servers in [&alone, &broken, &several] {
        for (args, tool) in [
            (&[][..], "b__echo"),
            (&["--names", "short"], "b__echo"),
            (&["--names", "full"], "mcp__b__echo"),
            // One that was asked for is served as it is, unless names are asked for too.
            (&["--only", "b"], "echo"),
            (&["--only", "b", "--names", "short"], "b__echo"),
            (&["--only", "b", "--names", "full"], "mcp__b__echo"),
            (&["--only", "b", "--names", "bare"], "echo"),
        ] {
            let mut client = serving(servers, args).await;
            let names = tool_names(&mut client).await;
            assert!(names.iter().any(|name| name == tool), "{args:?}: {names:?}");
            let answer = client.call(tool, json!({"nonce": "n"})).await;
            assert_eq!(text_of(&answer), "n", "{args:?}");
        }
    }
}

#[tokio::test]
async fn a_long_name_of_a_server_leaves_room_for_the_tools() {
    let server = "s".repeat(70);
    let mut client = serving(&json!({&server: echo(&[])}), &[]).await;
    let names = tool_names(&mut client).await;
    for tool in ["change_list", "echo", "elicit"] {
        let name = names
            .iter()
            .find(|name| name.contains(&format!("ss__{tool}_")));
        let name = name.unwrap_or_else(|| panic!("{tool} is not in {names:?}"));
        assert!(name.len() <= 46, "{name}");
    }
    let name = names.iter().find(|name| name.contains("__echo_")).unwrap();
    assert_eq!(
        text_of(&client.call(name, json!({"nonce": "n"})).await),
        "n"
    );
}

#[tokio::test]
async fn http_wants_the_token_that_was_made() {
    let servers = config(&json!({"a": echo(&[])}));
    let mut program = switchboard()
        .args(["--mcp-config", &servers, "serve", "--http", "127.0.0.1:0"])
        .spawn();
    let url = format!("{}/mcp/a", program.url().await);
    let reply = HttpClient::new(&url).modern("tools/list", json!({})).await;
    assert_eq!(reply.status, 401);
    let file = program
        .home()
        .join(".local/share/switchboard/tokens/default");
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let token = std::fs::read_to_string(&file).unwrap();
    let mut client =
        HttpClient::new(&url).header("authorization", &format!("Bearer {}", token.trim()));
    assert_eq!(client.modern("tools/list", json!({})).await.status, 200);
    program.signal(Signal::TERM);
    assert_eq!(
        program.wait(SOON).await.code(),
        Some(0),
        "{}",
        program.stderr()
    );
}

#[tokio::test]
async fn http_without_servers_or_with_open_doors() {
    let broken = config(&json!({"broken": {"command": 1}}));
    let ended = run(switchboard().args(["--mcp-config", &broken, "serve"])).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let program = switchboard()
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .spawn();
    program.wait_for_line("warning: --no-auth").await;
    let reply = HttpClient::new(&format!("{}/mcp", program.url().await))
        .modern("tools/list", json!({}))
        .await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_built_in_server_on_its_own() {
    let mut client = StdioClient::new(switchboard().args(["builtin", "system"]).spawn());
    client.initialize("2025-11-25").await;
    let reply = client.call("time", json!({})).await;
    assert!(text_of(&reply).contains("\"utc\""), "{reply}");
    for (args, code, says) in [
        (&["sistem"][..], 2, "did you mean system?"),
        (&["shell"], 2, "--enable-shell"),
        (&["tools"], 2, "--folder is missing"),
        (
            &["system", "--root", "/"],
            2,
            "--root means nothing to system",
        ),
        (&["files", "--enable-shell"], 2, "it is for shell"),
        (
            &["files", "--root", "/no/such"],
            3,
            "the root /no/such cannot be used",
        ),
    ] {
        let ended = run(switchboard().arg("builtin").args(args)).await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.err.contains(says), "{ended:?}");
    }
}

#[tokio::test]
async fn generated_texts() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(switchboard().args(["completions", shell])).await;
        assert!(
            ended.code == Some(0) && ended.out.contains("switchboard"),
            "{ended:?}"
        );
    }
    let man = run(switchboard().arg("man")).await;
    assert!(
        man.out.contains(".TH") && man.out.contains("mcp\\-config"),
        "{man:?}"
    );
    let help = run(switchboard().args(["mcp", "list", "--help"])).await;
    assert!(
        help.code == Some(0) && help.out.contains("--no-connect"),
        "{help:?}"
    );
}
