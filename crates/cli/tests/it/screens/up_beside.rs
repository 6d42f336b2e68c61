//! `up` beside another, and `serve --gateway`, which is what clients start.

use crate::support::screen::Shown;
use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo, servers, tool_names};
use switchboard_testkit::{LEGACY, StdioClient, bin, text_of};

/// `up` in a home with one server, on a port of its own.
fn up(home: &World, more: &[&str]) -> Shown {
    let mut shown = Shown::log(home.command(&[&["up", "--port", "0"], more].concat()));
    shown.until("it is ready", |rows| rows.has("Ready."));
    shown
}

/// A client that starts `serve --gateway` in this folder.
async fn client_in(home: &World, folder: &str) -> StdioClient {
    let launch = home
        .clone()
        .working_in(folder)
        .launch(&["serve", "--gateway"]);
    let mut client = StdioClient::new(launch.spawn());
    client.initialize(LEGACY).await;
    client
}

/// A repository of its own with a server that nobody has approved.
fn other_repository(home: &World) {
    std::fs::create_dir_all(home.path("home/other/.git")).unwrap();
    let theirs = servers([("theirs", echo(&[]))]);
    home.write(
        "home/other/.mcp.json",
        json!({"mcpServers": theirs}).to_string(),
    );
}

#[tokio::test]
async fn the_gateways_set_and_rules_hold_and_the_clients_own_are_named() {
    let home = World::repository();
    home.write_settings(&json!({
        "mcpServers": servers([("own", echo(&[]))]),
        "permissions": {"deny": ["mcp__own__count"]},
    }));
    other_repository(&home);
    let shown = up(&home, &[]);
    let mut inside = client_in(&home, "home/repo").await;
    let expected = tool_names(&mut inside).await;
    assert!(expected.contains(&"files__read".to_owned()), "{expected:?}");
    assert!(expected.contains(&"own__echo".to_owned()), "{expected:?}");
    assert!(!expected.contains(&"own__count".to_owned()), "{expected:?}");
    let mut outside = client_in(&home, "home/other").await;
    outside
        .program
        .wait_for_line("attached to the gateway")
        .await;
    assert_eq!(tool_names(&mut outside).await, expected);
    let told = outside.notification("notifications/message").await;
    let text = told["params"]["data"].as_str().unwrap();
    let program = bin("switchboard").display().to_string();
    let entry = json!({"command": program, "args": ["serve"]}).to_string();
    for part in [
        "\"theirs\"",
        "is not served",
        "home/other",
        "home/repo",
        &entry,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    outside.program.wait_for_line("is not served").await;
    // It works in the gateway's directory.
    home.write("home/repo/here.txt", "of the repository");
    let read = outside
        .call("files__read", json!({"path": "here.txt"}))
        .await;
    assert!(text_of(&read).contains("of the repository"), "{read}");
    assert_eq!(shown.end(), Some(0));
    // The client stays, with the same set; so has one that comes when none runs.
    let again = outside
        .call("files__read", json!({"path": "here.txt"}))
        .await;
    assert!(text_of(&again).contains("of the repository"), "{again}");
    let mut later = client_in(&home, "home/other").await;
    later.program.wait_for_line("no gateway runs").await;
    later.program.wait_for_line("is not served").await;
    let told = later.notification("notifications/message").await;
    assert!(
        told["params"]["data"]
            .as_str()
            .unwrap()
            .contains("\"theirs\""),
        "{told}"
    );
    let read = later.call("files__read", json!({"path": "here.txt"})).await;
    assert!(text_of(&read).contains("of the repository"), "{read}");
    let mut names = tool_names(&mut later).await;
    names.sort();
    let mut expected = expected;
    expected.sort();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn options_of_up_are_part_of_the_set_and_others_files_are_not_believed() {
    let home = World::repository();
    let shown = up(&home, &["--enable-shell", "--read-only"]);
    assert_eq!(shown.end(), Some(0));
    let mut client = client_in(&home, "etc").await;
    let names = tool_names(&mut client).await;
    assert!(
        names.iter().any(|name| name.starts_with("shell__")),
        "{names:?}"
    );
    assert!(!names.contains(&"files__write".to_owned()), "{names:?}");
    drop(client);
    let record = home.path("home/.local/state/switchboard/up.json");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(record, mode).unwrap();
    let mut client = client_in(&home, "etc").await;
    client
        .program
        .wait_for_line("others could have written it")
        .await;
    let names = tool_names(&mut client).await;
    assert!(
        !names.iter().any(|name| name.starts_with("shell__")),
        "{names:?}"
    );
    let ran = home.show(&["serve", "--gateway", "--mcp-config", "{}"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn a_second_up_finds_the_first() {
    let home = World::repository();
    let mut shown = up(&home, &[]);
    let first = home.show(&["up"]).ok();
    for part in [
        "A gateway runs already, at http://127.0.0.1:",
        "home/repo",
        "serve --gateway",
    ] {
        assert!(first.out.contains(part), "{part}: {first:?}");
    }
    // What it was to serve cannot be had from the first.
    let ran = home.show(&["up", "--enable-shell"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("runs already") && ran.err.contains("--port"),
        "{ran:?}"
    );
    // A person is asked.
    for (answer, has) in [("n\n", "Connect a client"), ("y\n", "Ready.")] {
        let mut second = Shown::screen(home.on_terminal(60, 150, "up"));
        second.until("it asks", |rows| rows.has("on another port? [y/N]"));
        second.types(answer);
        second.sees(has);
        assert!(
            !second.rows().has("is taken by another program"),
            "{}",
            second.rows()
        );
        if has == "Ready." {
            assert_eq!(second.end(), Some(0));
        }
    }
    shown.until("the first goes on", |rows| rows.has("Ready."));
    assert_eq!(shown.end(), Some(0));
    let _: Value =
        serde_json::from_str(&home.read("home/.local/state/switchboard/up.json")).unwrap();
}
