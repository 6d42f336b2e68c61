//! The record of calls and changes: what is in it, and that nothing of it can be lost
//! or changed without being noticed.

use http::Method;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    slice,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use switchboard_testkit::{
    HttpClient, LEGACY, bin,
    world::{World, echo, kill, servers, until, worker_of},
};

const LONG: Duration = Duration::from_secs(60);

/// Servers and settings, with a record that is kept as `audit` says.
fn world(audit: &Value) -> World {
    let world = World::new();
    world.write_settings(&json!({
        "mcpServers": servers([("a", echo(&[])), ("b", echo(&[]))]),
        "permissions": {"deny": ["mcp__b__echo"]},
        "observe": {"audit": audit},
    }));
    world
}

fn folder(world: &World) -> PathBuf {
    world.path("home/.local/state/switchboard/audit")
}

/// All records, as `switchboard audit` prints them.
async fn records(world: &World, more: &[&str]) -> Vec<Value> {
    let mut words = vec!["audit", "--json"];
    words.extend(more);
    let ran = world.run(&words).await.ok();
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

async fn verified(world: &World) -> Value {
    world.run(&["audit", "verify", "--json"]).await.json()
}

/// A gateway that lets everybody in, and where it is.
async fn open(world: &World) -> (switchboard_testkit::Program, String) {
    world.serve(&["--no-auth"]).await
}

async fn legacy(url: &str) -> HttpClient {
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client
}

#[tokio::test]
async fn calls_are_recorded_with_who_what_and_why() {
    let world = world(&json!({"sync": "each"}));
    let (gateway, url) = open(&world).await;
    let mut client = legacy(&url).await;
    client.call("a__echo", json!({"nonce": "canary"})).await;
    client.call("b__echo", json!({"nonce": "canary"})).await;
    let calls = records(&world, &["--tool", "echo"]).await;
    let [first, second] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(
        (&first["server"], &first["decision"]),
        (&json!("a"), &json!("allowed"))
    );
    assert_eq!(
        (&first["outcome"], &first["method"]),
        (&json!("ok"), &json!("tools/call"))
    );
    assert_eq!(first["address"], "127.0.0.1");
    assert!(
        first["principal"].is_string() && first["client"].is_string(),
        "{first}"
    );
    assert_eq!(first["argumentsSha256"].as_str().map(str::len), Some(64));
    assert!(
        first["rule"].is_string() && first.get("arguments").is_none(),
        "{first}"
    );
    assert_eq!(
        (&second["server"], &second["outcome"]),
        (&json!("b"), &json!("denied"))
    );
    assert!(
        second["rule"].as_str().unwrap().contains("mcp__b__echo"),
        "{second}"
    );
    assert_eq!(
        records(&world, &["--denied"]).await,
        slice::from_ref(second)
    );
    assert_eq!(
        records(&world, &["--server", "a", "--tool", "echo"]).await,
        slice::from_ref(first)
    );
    assert_eq!(records(&world, &["--since", "2100-01-01"]).await.len(), 0);
    // What was asked with is nowhere in it.
    for file in fs::read_dir(folder(&world)).unwrap() {
        let path = file.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("canary"), "{text}");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let told = world.run(&["audit", "--denied"]).await.ok();
    assert!(told.out.contains("outcome=denied"), "{}", told.out);
    // The end is recorded too.
    let mut gateway = gateway;
    gateway.signal(rustix::process::Signal::TERM);
    gateway.wait(LONG).await;
    let all = records(&world, &[]).await;
    let events: Vec<&str> = all
        .iter()
        .map(|one| one["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        (events.first(), events.last()),
        (Some(&"start"), Some(&"stop"))
    );
    let verified = verified(&world).await;
    assert_eq!(
        (&verified["whole"], &verified["afterHead"]),
        (&json!(true), &json!(0))
    );
}

/// Whichever way it comes, what is not permitted is recorded as that.
#[tokio::test]
async fn a_denied_call_of_the_plain_dialect_is_recorded() {
    let world = world(&json!({"sync": "each"}));
    let (_gateway, url) = open(&world).await;
    legacy(&url).await.request("tools/list", json!({})).await;
    let mut sse = HttpClient::new(&format!("{url}/plain/sse"));
    let mut stream = sse.open(Method::GET, &[], "").await;
    let hello = stream.next().await.expect("a first event").json();
    let mut client = HttpClient::new(&format!("{url}/plain/messages"));
    let asked = json!({"type": "invoke_tool", "id": "1", "clientId": hello["clientId"],
        "content": {"name": "b__echo", "parameters": {"nonce": "n"}}});
    let reply = client.post(asked.to_string()).await;
    assert_eq!(reply.status, 400);
    let calls = records(&world, &["--denied"]).await;
    let [denied] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(
        (&denied["server"], &denied["tool"]),
        (&json!("b"), &json!("echo"))
    );
}

#[tokio::test]
async fn what_is_changed_in_the_record_is_found() {
    let world = world(&json!({"sync": "each"}));
    let (_gateway, url) = open(&world).await;
    let mut client = legacy(&url).await;
    for _ in 0..4 {
        client.call("a__echo", json!({})).await;
    }
    let file = folder(&world).join("audit.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let altered = whole.replacen("\"server\":\"a\"", "\"server\":\"x\"", 1);
    let removed = joined(&[&lines[..1], &lines[2..]].concat());
    let mut moved = lines.clone();
    moved.swap(1, 2);
    let cut = joined(&lines[..lines.len() - 1]);
    for (text, why) in [
        (altered, "is not what it was"),
        (removed, "is missing before this"),
        (joined(&moved), "missing before this"),
        (cut, "the end is missing"),
    ] {
        fs::write(&file, text).unwrap();
        let ran = world.run(&["audit", "verify"]).await;
        assert_eq!(ran.code, Some(1));
        assert!(
            ran.out.contains(why) && ran.out.contains("NOT whole"),
            "{}",
            ran.out
        );
    }
    fs::write(&file, &whole).unwrap();
    world.run(&["audit", "verify"]).await.ok();
}

#[tokio::test]
async fn commands_and_files_that_change_something_are_recorded() {
    let world = world(&json!({}));
    let (_gateway, _) = world.serve(&[]).await;
    world.run(&["token", "create", "robot"]).await.ok();
    world.run(&["token", "revoke", "robot"]).await.ok();
    fs::create_dir_all(world.path("home/repo/.git")).unwrap();
    world.run(&["trust", "repo"]).await.ok();
    world.run(&["untrust", "repo"]).await.ok();
    let secret = "sk-canary-0123456789abcdef0123456789abcdef";
    let variable = format!("API_KEY={secret}");
    world
        .run(&["add", "c", "-e", &variable, "--", "true"])
        .await
        .ok();
    // The gateway sees the file change as well.
    let found = until(LONG, || {
        let text = fs::read_to_string(folder(&world).join("audit.jsonl")).ok()?;
        text.contains("\"by\":\"a file\"").then_some(text)
    });
    let text = found.await.expect("the change is recorded");
    assert!(!text.contains("canary"), "{text}");
    let all = records(&world, &[]).await;
    for event in [
        "start",
        "token.create",
        "token.revoke",
        "trust",
        "untrust",
        "add",
    ] {
        assert!(
            all.iter().any(|one| one["event"] == event),
            "{event} in {all:?}"
        );
    }
    let made = all
        .iter()
        .find(|one| one["event"] == "token.create")
        .unwrap();
    assert_eq!(made["principal"], "robot");
    let changed = all
        .iter()
        .find(|one| one["by"] == "switchboard add")
        .unwrap();
    let after = changed["after"].as_object().unwrap();
    let (key, value) = after
        .iter()
        .find(|(key, _)| key.starts_with("server c in "))
        .unwrap();
    assert!(value.as_str().unwrap().contains("true"), "{value}");
    assert_eq!(changed["before"][key], Value::Null);
    // So is what is set besides servers.
    let mut settings: Value = serde_json::from_str(&world.read(world.settings())).unwrap();
    settings["permissions"]["trustedServers"] = json!(["a"]);
    settings["permissions"]["pins"] = json!("off");
    world.write_settings(&settings);
    let found = until(LONG, || {
        let text = fs::read_to_string(folder(&world).join("audit.jsonl")).ok()?;
        let is_it = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            let says = |setting: &str, what: &str| {
                let after = record["after"].as_object();
                after.is_some_and(|after| {
                    after
                        .iter()
                        .any(|(key, value)| key.starts_with(setting) && value == what)
                })
            };
            says("permissions.trustedServers in ", "a") && says("permissions.pins in ", "off")
        };
        text.lines().any(is_it).then_some(())
    });
    found.await.expect("what was set is recorded");
    let verified = verified(&world).await;
    assert_eq!(verified["whole"], true, "{verified}");
}

/// Who was asked, and what they said.
#[tokio::test]
async fn consent_is_recorded_with_who_gave_it() {
    let world = World::new();
    world.write_settings(&json!({
        "mcpServers": servers([("a", echo(&[]))]),
        "permissions": {"ask": ["mcp__a__echo"]},
        "observe": {"audit": {"sync": "each"}},
    }));
    let mut client = world.client(&["--only", "a"]);
    client.on_request(
        |_, _| json!({"result": {"action": "accept", "content": {"answer": "yes, this time"}}}),
    );
    let info = json!({"name": "asker", "version": "1"});
    let hello =
        json!({"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}, "clientInfo": info});
    client.request("initialize", hello).await;
    client.notify("notifications/initialized", json!({})).await;
    client.call("echo", json!({"nonce": "n"})).await;
    let calls = records(&world, &["--tool", "echo"]).await;
    let [call] = calls.as_slice() else {
        panic!("{calls:#?}");
    };
    assert_eq!(
        (&call["decision"], &call["consent"]),
        (&json!("asked"), &json!("yes, this time"))
    );
    assert_eq!(
        (&call["consentBy"], &call["client"]),
        (&json!("client"), &json!("asker"))
    );
    assert!(
        call["rule"].as_str().unwrap().contains("mcp__a__echo"),
        "{call}"
    );
}

/// How often the gateway is killed, and from which seed on.
fn rounds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let first = number("SWITCHBOARD_SOAK_SEED").unwrap_or_default();
    first..first + number("SWITCHBOARD_SOAK_ROUNDS").unwrap_or(5)
}

#[tokio::test]
async fn a_killed_gateway_loses_no_record_of_a_call_that_was_answered() {
    let world = world(&json!({"sync": "each", "arguments": true}));
    let answered: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    for round in rounds() {
        let (gateway, url) = open(&world).await;
        let worker = worker_of(gateway.pid()).await;
        let stop = Arc::new(AtomicBool::new(false));
        let load: Vec<_> = (0..3)
            .map(|lane| {
                let (url, stop, answered) = (url.clone(), stop.clone(), answered.clone());
                tokio::spawn(async move {
                    let mut client = legacy(&url).await;
                    for number in 0.. {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let nonce = format!("<{round}-{lane}-{number}>");
                        let said = client.call("a__echo", json!({"nonce": nonce})).await;
                        if said.get("result").is_some() {
                            answered.lock().unwrap().insert(nonce);
                        }
                    }
                })
            })
            .collect();
        // After some answers, and a moment that differs from round to round.
        let before = answered.lock().unwrap().len();
        let wanted = 5 + usize::try_from(round * 7 % 23).unwrap();
        let enough = || (answered.lock().unwrap().len() >= before + wanted).then_some(());
        until(LONG, enough).await.expect("calls are answered");
        tokio::time::sleep(Duration::from_micros(round * 977 % 5000)).await;
        kill(&worker.to_string());
        stop.store(true, Ordering::Relaxed);
        for lane in load {
            // Its connection broke off, which the client does not take well.
            let _ = lane.await;
        }
        drop(gateway);
        let verified = verified(&world).await;
        assert_eq!(verified["whole"], true, "round {round}: {verified}");
    }
    let all = records(&world, &["--tool", "echo"]).await;
    let recorded: BTreeSet<&str> = all
        .iter()
        .filter_map(|one| one["arguments"]["nonce"].as_str())
        .collect();
    for nonce in answered.lock().unwrap().iter() {
        assert!(
            recorded.contains(nonce.as_str()),
            "{nonce} was answered and is not recorded"
        );
    }
}

#[tokio::test]
async fn a_full_disk_does_what_the_setting_says() {
    for (on_failure, refuses) in [("warn", false), ("refuse", true)] {
        let world = world(&json!({"sync": "each", "onFailure": on_failure}));
        // No file may become larger than this many blocks of 512 bytes.
        let limited = "trap '' XFSZ; ulimit -f 12; exec \"$0\" \"$@\"";
        let launch = world.launch_any("/bin/sh").args(["-c", limited]);
        let launch = launch.arg(bin("switchboard"));
        let gateway = launch
            .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
            .spawn();
        let url = gateway.url().await;
        let mut client = legacy(&url).await;
        let mut refused = 0;
        for _ in 0..60 {
            let said = client.call("a__echo", json!({"nonce": "n"})).await;
            refused += usize::from(said.get("error").is_some());
        }
        assert_eq!(refused > 0, refuses, "{on_failure}: {refused} were refused");
        gateway
            .wait_for_line("records of calls cannot be written")
            .await;
        let verified = verified(&world).await;
        assert_eq!(verified["whole"], true, "{verified}");
        assert!(verified["records"].as_u64() < Some(60), "{verified}");
    }
}

/// What was asked with is in nothing that is kept, also where it looks like any word.
#[tokio::test]
async fn twenty_words_are_in_no_log_and_no_record() {
    let canary = |number: usize| format!("wombat{number:02}");
    let world = World::new().variable("MY_OWN_VARIABLE", canary(0));
    let mut stdio = echo(&[]);
    stdio["env"] = json!({"MODE": canary(1), "PLACE": canary(2)});
    let remote = switchboard_testkit::world::echo_http(&[]);
    let headers = json!({"X-Mode": canary(3), "X-Place": canary(4), "Cookie": canary(5)});
    let access = world.path("access.log");
    world.write_settings(&json!({
        "mcpServers": {"a": stdio, "r": {"type": "http", "url": remote.url().await, "headers": headers}},
        "observe": {"accessLog": {"file": access, "format": "json"}, "audit": {"sync": "each"}},
    }));
    let (gateway, url) = world.serve(&["--no-auth", "--log", "trace"]).await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    for (at, name) in ["authorization", "cookie", "x-mine", "baggage"]
        .iter()
        .enumerate()
    {
        client = client.header(name, &canary(6 + at));
    }
    client.initialize(LEGACY).await;
    for number in 10..20 {
        let server = if number % 2 == 0 { "a" } else { "r" };
        let arguments =
            json!({"nonce": canary(number), canary(number): {"deep": [canary(number)]}});
        let said = client.call(&format!("{server}__echo"), arguments).await;
        assert!(said.to_string().contains(&canary(number)), "{said}");
    }
    let lines = until(LONG, || {
        let text = fs::read_to_string(&access).ok()?;
        (text.lines().filter(|line| line.contains("__echo")).count() >= 10).then_some(text)
    });
    let access = lines.await.expect("the access log is written");
    let audit = fs::read_to_string(folder(&world).join("audit.jsonl")).unwrap();
    let kept = world.path("home/.local/state/switchboard/gateway.log");
    for (what, text) in [
        ("log", gateway.stderr()),
        ("kept log", fs::read_to_string(kept).unwrap()),
        ("switchboard logs", world.run(&["logs"]).await.ok().out),
        ("access log", access),
        ("audit", audit),
        ("switchboard audit", world.run(&["audit"]).await.ok().out),
    ] {
        assert!(
            text.contains("__echo") || text.contains("tool=echo") || text.contains("\"echo\""),
            "{what}: {text}"
        );
        for number in 0..20 {
            let found = text.lines().find(|line| line.contains(&canary(number)));
            assert_eq!(found, None, "{} is in the {what}", canary(number));
        }
    }
}

/// Secrets in arguments, headers and the environment are in nothing that is kept.
#[tokio::test]
async fn no_secret_is_in_the_log_the_access_log_or_the_record() {
    let canary = |number: usize| format!("sk-canary{number:02}-0123456789abcdefABCDEF");
    let mut env = serde_json::Map::new();
    for number in 0..5 {
        env.insert(format!("SECRET_{number}"), json!(canary(number)));
    }
    let mut stdio = echo(&[]);
    stdio["env"] = Value::Object(env);
    let remote = switchboard_testkit::world::echo_http(&[]);
    let address = remote.url().await;
    let headers: serde_json::Map<String, Value> = (5..10)
        .map(|number| (format!("X-Api-Key-{number}"), json!(canary(number))))
        .collect();
    let world = World::new();
    let access = world.path("access.log");
    world.write_settings(&json!({
        "mcpServers": {
            "a": stdio,
            "r": {"type": "http", "url": address, "headers": headers},
        },
        "observe": {
            "accessLog": {"file": access, "format": "json"},
            "audit": {"sync": "each", "arguments": true},
        },
    }));
    let (gateway, url) = world.serve(&["--no-auth", "--log", "trace"]).await;
    let mut client = legacy(&url).await;
    for number in 10..20 {
        let server = if number % 2 == 0 { "a" } else { "r" };
        let arguments =
            json!({"nonce": "n", "password": canary(number), "in": {"token": canary(number)}});
        let said = client.call(&format!("{server}__echo"), arguments).await;
        assert!(said.get("result").is_some(), "{said}");
    }
    let lines = until(LONG, || {
        let text = fs::read_to_string(&access).ok()?;
        (text.lines().filter(|line| line.contains("__echo")).count() >= 10).then_some(text)
    });
    let access = lines.await.expect("the access log is written");
    let audit = fs::read_to_string(folder(&world).join("audit.jsonl")).unwrap();
    assert!(
        audit.contains("\"nonce\":\"n\"") && audit.contains("[redacted]"),
        "{audit}"
    );
    for (what, text) in [
        ("log", gateway.stderr()),
        ("access log", access),
        ("audit", audit),
    ] {
        for number in 0..20 {
            let found = text.lines().find(|line| line.contains(&canary(number)));
            assert_eq!(found, None, "canary {number} is in the {what}");
        }
    }
}
