//! A newcomer's day: what runs, stopping it and starting it with the machine, and the
//! small things that people type.

use crate::support::{
    screen::Shown,
    scripted::{Scripted, able_to},
};
use serde_json::{Value, json};
use std::{path::Path, process::Command, time::Duration};
use switchboard_testkit::world::{World, echo, servers};
use switchboard_testkit::{HttpClient, LEGACY, Program, StdioClient, raw_exchange, with_meta};

const LONG: Duration = Duration::from_secs(30);

fn up(home: &World) -> Shown {
    let mut shown = Shown::log(home.command(&["up", "--port", "0", "--no-builtins"]));
    shown.until("it is ready", |rows| rows.has("Ready."));
    shown
}

fn status(home: &World) -> Vec<Value> {
    let ran = home.show(&["status", "--json"]);
    ran.json().as_array().unwrap().clone()
}

#[tokio::test]
async fn status_says_who_is_connected_and_what_runs() {
    let home = World::with(&servers([
        ("echo", echo(&[])),
        ("gone", json!({"command": "no-such-program"})),
    ]));
    let none = home.show(&["status"]);
    assert_eq!(none.code, Some(4), "{none:?}");
    assert!(none.out.contains("switchboard up"), "{none:?}");
    assert_eq!(status(&home), Vec::<Value>::new());
    let shown = up(&home);
    let mut client = StdioClient::new(home.launch(&["serve", "--gateway"]).spawn());
    client.initialize(LEGACY).await;
    client.request("tools/list", json!({})).await;
    let mut modern = StdioClient::new(home.launch(&["serve", "--gateway"]).spawn());
    modern
        .request("server/discover", with_meta(json!({})))
        .await;
    let now = status(&home);
    assert_eq!(now.len(), 1, "{now:?}");
    let clients = now[0]["clients"].as_array().unwrap();
    let mut eras: Vec<&str> = clients
        .iter()
        .filter_map(|one| one["era"].as_str())
        .collect();
    // They came within the same second.
    eras.sort_unstable();
    assert_eq!(eras, ["legacy", "modern"], "{now:?}");
    for client in clients {
        assert!(client["name"].is_string(), "{client}");
        assert_eq!(client["principal"], "default");
    }
    let servers = now[0]["servers"].as_array().unwrap();
    let states: Vec<(&str, &str)> = servers
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(states, [("echo", "connected"), ("gone", "failed")]);
    assert!(
        servers[1]["reason"]
            .as_str()
            .unwrap()
            .contains("no-such-program")
    );
    let text = home.show(&["status"]).ok().out;
    for part in [
        "Switchboard ",
        "running for ",
        "legacy era), connected for ",
        "gone  failed  ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Who has gone is gone.
    drop((client, modern));
    let until = std::time::Instant::now() + LONG;
    while status(&home)[0]["clients"] != json!([]) {
        assert!(std::time::Instant::now() < until, "{:?}", status(&home));
        std::thread::sleep(Duration::from_millis(20));
    }
    home.show(&["stop"]).ok();
    assert!(status(&home).is_empty());
    assert_eq!(shown.ended(), Some(0), "in good order");
    let again = home.show(&["stop"]);
    assert_eq!(again.code, Some(4), "{again:?}");
}

#[test]
fn restart_and_replace_go_on_with_the_same() {
    let home = World::repository();
    home.configure(&servers([("echo", echo(&[]))]));
    let first = up(&home);
    let address = status(&home)[0]["address"].clone();
    let elsewhere = home.clone().working_in("etc");
    let mut second = Shown::log(elsewhere.command(&["restart"]));
    second.until("it goes on here", |rows| rows.has("Ready."));
    assert_eq!(first.ended(), Some(0));
    let now = status(&home);
    assert_eq!(now.len(), 1, "{now:?}");
    assert_eq!(now[0]["address"], address);
    let directory = now[0]["directory"].as_str().unwrap();
    assert!(directory.ends_with("home/repo"), "{directory}");
    assert!(
        !second.rows().has("files"),
        "as it was said: {}",
        second.rows()
    );
    let mut third = Shown::log(home.command(&["up", "--port", "0", "--replace"]));
    third.until("it is ready", |rows| rows.has("Ready."));
    assert_eq!(second.ended(), Some(0));
    assert_eq!(status(&home).len(), 1);
    assert!(third.rows().has("files"), "{}", third.rows());
    assert_eq!(third.end(), Some(0));
}

/// What systemd says of a unit; none where that cannot be asked.
fn verified(home: &World, unit: &Path) -> Option<String> {
    let run = home.path("tmp");
    let asked = Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no"])
        .arg(unit)
        .env("XDG_RUNTIME_DIR", &run)
        .env("HOME", home.home())
        .output();
    match asked {
        Ok(said) => {
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            Some(format!("{:?} {text}", said.status.code()))
        }
        Err(_) => {
            println!(
                "NOT CHECKED: there is no systemd-analyze here, so nobody has verified the unit"
            );
            None
        }
    }
}

#[test]
fn a_service_starts_with_the_machine() {
    let home = World::repository();
    let told = home.path("told");
    let manager = format!(
        "#!/bin/sh\necho \"$@\" >> {}\ncase \"$*\" in *is-active*) echo active;; esac\n",
        told.display()
    );
    home.program("systemctl", &manager);
    let none = home.show(&["service", "status"]).ok();
    assert!(none.out.contains("service install"), "{none:?}");
    let wrong = home.show(&["service", "install", "--", "--no-such-option"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let installed = home
        .show(&["service", "install", "--", "--no-builtins", "--port", "0"])
        .ok();
    assert!(installed.out.contains("enable-linger"), "{installed:?}");
    let unit = home.path("home/.config/systemd/user/switchboard.service");
    let text = home.read(&unit);
    let line = format!(
        "ExecStart=\"{}\" \"-C\" \"{}\" \"up\" \"--no-builtins\" \"--port\" \"0\"",
        env!("CARGO_BIN_EXE_switchboard"),
        home.path("home/repo").display()
    );
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("WantedBy=default.target"), "{text}");
    if let Some(said) = verified(&home, &unit) {
        assert_eq!(said, "Some(0) ", "{text}");
        let broken = home.write(
            "home/broken.service",
            text.replace("on-failure", "sometimes"),
        );
        let said = verified(&home, &broken).unwrap();
        assert!(said.contains("sometimes"), "it would be noticed: {said}");
    }
    let state = home.show(&["service", "status", "--json"]).ok().json();
    assert_eq!(
        (&state["installed"], &state["state"]),
        (&json!(true), &json!("active"))
    );
    let restarted = home.show(&["restart"]).ok();
    assert!(restarted.out.contains("service"), "{restarted:?}");
    home.show(&["service", "uninstall"]).ok();
    assert!(!unit.exists());
    let told = home.read("told");
    for part in [
        "--user enable --now switchboard.service",
        "--user reload switchboard.service",
        "--user disable --now switchboard.service",
        "--user daemon-reload",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // Where nobody manages services, what was not done is said.
    home.program("systemctl", "#!/bin/sh\necho no bus >&2; exit 1\n");
    let ran = home.show(&["service", "install"]).ok();
    assert!(
        ran.err.contains("not done") && ran.err.contains("no bus"),
        "{ran:?}"
    );
    assert!(
        ran.err.contains("systemctl --user daemon-reload"),
        "{ran:?}"
    );
}

#[test]
fn what_is_left_out_is_guessed_or_said() {
    let home = World::repository();
    let added = home
        .show(&["add", "https://mcp.linear.app/mcp", "-H", "X-Team: a"])
        .ok();
    assert!(added.out.contains("linear"), "{added:?}");
    let entry = home.show(&["get", "linear", "--json"]).ok();
    assert!(entry.out.contains("X-Team"), "{entry:?}");
    let hint = "switchboard add memory -- npx -y @modelcontextprotocol/server-memory";
    for words in [
        &["add", "npx", "-y", "@modelcontextprotocol/server-memory"][..],
        &[
            "mcp",
            "add",
            "npx",
            "-y",
            "@modelcontextprotocol/server-memory",
        ],
    ] {
        let ran = home.show(words);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(hint), "{ran:?}");
    }
    let ran = home.show(&["add", "uvx", "mcp-server-git"]);
    assert!(
        ran.err
            .contains("switchboard add git -- uvx mcp-server-git"),
        "{ran:?}"
    );
    let ran = home.show(&["add", "notes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("switchboard add notes COMMAND"), "{ran:?}");
    let update = home.show(&["update"]).ok();
    assert!(update.out.contains("does not update itself"), "{update:?}");
    let bare = home.show(&[]);
    assert_eq!(bare.code, Some(2));
    assert!(
        bare.err.contains("switchboard up starts a gateway"),
        "{bare:?}"
    );
}

#[tokio::test]
async fn call_and_prompt_take_arguments_the_same_way() {
    let home = World::with(&servers([("echo", echo(&[]))]));
    home.write("home/text", "from a file");
    for given in [
        &["nonce=n"][..],
        &["-a", "nonce=n"],
        &[r#"{"nonce": "n"}"#],
        &[r#"{"nonce": "other"}"#, "nonce=n"],
    ] {
        let ran = home
            .run(&[&["call", "echo__echo"], given].concat())
            .await
            .ok();
        assert_eq!(ran.out, "n\n", "{given:?}");
    }
    let prompt = home.run(&["prompts", "--json"]).await.ok().json();
    let prompts = prompt.as_array().unwrap();
    let with = prompts
        .iter()
        .find(|one| one["arguments"] != json!([]))
        .expect("one with arguments");
    let (name, argument) = (
        with["name"].as_str().unwrap(),
        with["arguments"][0]["name"].as_str().unwrap(),
    );
    let pair = format!("{argument}=moon=far");
    let whole = json!({argument: "moon=far"}).to_string();
    let first = home.run(&["prompt", name, &pair]).await.ok();
    for given in [&["-a", &pair][..], &[&whole]] {
        let ran = home.run(&[&["prompt", name], given].concat()).await.ok();
        assert_eq!(ran.out, first.out, "{given:?}");
    }
    let file = format!("{argument}=@text");
    let ran = home.run(&["prompt", name, "-a", &file]).await.ok();
    assert!(ran.out.contains("from a file"), "{ran:?}");
    let ran = home.run(&["prompt", name, "x", "y"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

/// The answer to `tools/list` of a server with this many tools.
fn many(count: usize) -> Value {
    let tool = |n: usize| {
        json!({"name": format!("t{n}"), "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    };
    let tools: Vec<Value> = (0..count).map(tool).collect();
    json!({"method": "tools/list", "reply": json!({"tools": tools}).to_string()})
}

#[tokio::test]
async fn lists_count_right_and_say_what_it_comes_to() {
    let [hello, _] = able_to(&json!({"tools": {}}));
    let (one, forty) = (
        Scripted::new("legacy", &[hello.clone(), many(1)]),
        Scripted::new("legacy", &[hello.clone(), many(40)]),
    );
    let broken = json!({"method": "tools/list",
        "message": r#"{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32603,"message":"fetch failed"}}"#});
    let broken = Scripted::new("legacy", &[hello, broken]);
    let home = World::with(&servers([
        ("one", one.stdio()),
        ("forty", forty.stdio()),
        ("broken", broken.stdio()),
    ]));
    let tools = home
        .run(&["tools", "--server", "one", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(
        tools[0]["outputSchema"]["properties"]["n"]["type"],
        "integer"
    );
    let text = home.run(&["tools"]).await.ok();
    assert!(text.out.contains("one  1 tool, about "), "{text:?}");
    assert!(text.out.contains("forty  40 tools, about "), "{text:?}");
    for ran in [text, home.run(&["list"]).await.ok()] {
        assert!(ran.err.contains("2 servers, 41 tools, about "), "{ran:?}");
        assert!(ran.err.contains("Cursor uses 40 at most"), "{ran:?}");
        assert!(!ran.err.contains("VS Code"), "{ran:?}");
    }
    let listed = home.run(&["list", "--json"]).await.ok().json();
    let broken = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "broken")
        .unwrap();
    assert_eq!(broken["state"], "failed", "{broken}");
    assert_eq!(broken["reason"], "tools/list fails: fetch failed");
    let doctor = home.run(&["doctor"]).await;
    assert!(doctor.out.contains(" 1 tool\n"), "{doctor:?}");
    let mut shown = Shown::log(home.command(&["up", "--port", "0", "--no-builtins"]));
    shown.until("all were met", |rows| rows.has("Ready."));
    assert!(shown.rows().says("broken", "failed"), "{}", shown.rows());
    assert_eq!(shown.end(), Some(0));
}

#[test]
fn a_result_is_indented_on_a_terminal_alone() {
    let home = World::repository();
    let call = "--mcp-config '{\"mcpServers\":{\"s\":{\"type\":\"builtin\",\"builtin\":\"system\"}}}' call s__time";
    let shown = Shown::screen(home.on_terminal(40, 100, call));
    shown.sees("  \"utc\": \"");
    let piped = home.show(&[
        "--mcp-config",
        r#"{"mcpServers":{"s":{"type":"builtin","builtin":"system"}}}"#,
        "call",
        "s__time",
    ]);
    assert!(piped.ok().out.starts_with("{\""), "as it came");
}

/// A whole answer, without its head's date.
async fn answer(gateway: &Program, head: &str) -> String {
    let url = gateway.url().await;
    let authority = url.strip_prefix("http://").unwrap();
    let bytes =
        format!("{head}\r\nHost: {authority}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let answer = raw_exchange(authority, bytes.as_bytes(), LONG).await;
    String::from_utf8_lossy(&answer).to_lowercase()
}

#[tokio::test]
async fn at_the_door_each_is_told_what_is_wrong() {
    let stage = World::with(&servers([("echo", echo(&[]))]));
    let gateway = stage
        .gateway_with(&["--origin", "http://localhost:5173"])
        .await;
    // Nobody signs in here: clients must not be led to believe it.
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/openid-configuration",
        "/register",
    ] {
        for verb in ["GET", "POST"] {
            let said = answer(&gateway, &format!("{verb} {path} HTTP/1.1")).await;
            assert!(said.starts_with("http/1.1 404 "), "{verb} {path}: {said}");
        }
    }
    let none = answer(&gateway, "GET /mcp HTTP/1.1").await;
    assert!(
        none.starts_with("http/1.1 401 ") && none.contains("a client token is needed"),
        "{none}"
    );
    let wrong = answer(&gateway, "GET /mcp HTTP/1.1\r\nAuthorization: Bearer nope").await;
    assert!(
        wrong.starts_with("http/1.1 401 ") && wrong.contains("is not accepted"),
        "{wrong}"
    );
    // A browser asks first, without a token, for a page that was named.
    let ask = |origin: &str| {
        format!(
            "OPTIONS /mcp HTTP/1.1\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: authorization,mcp-session-id"
        )
    };
    let yes = answer(&gateway, &ask("http://localhost:5173")).await;
    for part in [
        "http/1.1 204 ",
        "access-control-allow-origin: http://localhost:5173\r",
        "access-control-allow-headers: authorization,mcp-session-id\r",
        "access-control-allow-methods: post",
    ] {
        assert!(yes.contains(part), "{part}: {yes}");
    }
    for (origin, status) in [
        ("http://localhost:9999", " 401 "),
        ("https://evil.example", " 403 "),
    ] {
        let no = answer(&gateway, &ask(origin)).await;
        assert!(
            no.contains(status) && !no.contains("access-control-allow-origin"),
            "{origin}: {no}"
        );
    }
    // And then it may read the answers, refusals too.
    let mut page = HttpClient::new(&format!("{}/mcp", gateway.url().await));
    page.headers
        .insert("origin".into(), "http://localhost:5173".into());
    let reply = page.modern("tools/list", json!({})).await;
    assert_eq!(
        (
            reply.status.as_u16(),
            reply.header("access-control-allow-origin")
        ),
        (401, Some("http://localhost:5173"))
    );
    let token = format!("Bearer {}", stage.token("tokens/default"));
    page.headers.insert("authorization".into(), token);
    let reply = page.modern("tools/list", json!({})).await;
    assert_eq!(
        (
            reply.status.as_u16(),
            reply.header("access-control-allow-origin")
        ),
        (200, Some("http://localhost:5173"))
    );
    assert!(
        reply
            .header("access-control-expose-headers")
            .unwrap()
            .contains("mcp-session-id")
    );
}

/// What goes as it should is no warning, whichever era a client speaks.
#[tokio::test]
async fn a_modern_client_is_no_reason_to_warn() {
    let home = World::repository();
    let program = home.launch(&["up", "--port", "0"]).spawn();
    program.wait_for_line("listening on").await;
    let mut client = StdioClient::new(home.launch(&["serve", "--gateway"]).spawn());
    client
        .program
        .wait_for_line("attached to the gateway")
        .await;
    client
        .request("server/discover", with_meta(json!({})))
        .await;
    let listed = client.request("tools/list", with_meta(json!({}))).await;
    assert!(listed.to_string().contains("files__read"), "{listed}");
    let call = json!({"name": "system__time", "arguments": {}});
    let called = client.request("tools/call", with_meta(call)).await;
    assert!(called["result"].is_object(), "{called}");
    let said = program.stderr();
    assert!(!said.contains(" WARN "), "{said}");
}
