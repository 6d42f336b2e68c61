//! Every act of the other client's `/mcp`, typed on a real terminal: enable, disable, all of
//! them, reconnect, authenticate, clear authentication, view tools, approve. What came of it
//! is looked at from outside the screen.

use crate::support::tty::Tty;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::{
    bin,
    oauth::{Site, redirected},
    world::{World, echo, fake_browser, protected, servers, shell_server},
};

/// How `list` of another process sees a server.
fn state(world: &World, name: &str) -> String {
    let listed = world.show(&["list", "--json"]).ok().json();
    let rows = listed.as_array().unwrap().iter();
    let row = rows.clone().find(|row| row["name"] == name);
    let state = row.map(|row| row["state"].clone());
    state
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or("absent")
        .to_owned()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Goes to the line of a server.
fn go_to(tty: &mut Tty, name: &str) {
    tty.types(&format!("1/{name}\r"));
    tty.sees(&format!("/ {name}"));
}

fn starts(world: &World, name: &str) -> usize {
    std::fs::read_to_string(world.path(name))
        .unwrap_or_default()
        .lines()
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn switching_reconnecting_and_looking() {
    let world = World::repository();
    let counted = |name: &str| {
        let folder = world.path("home");
        shell_server(&format!("echo x >> {name}"), "", &folder)
    };
    world.configure(&servers([
        ("alpha", counted("alpha")),
        ("beta", counted("beta")),
    ]));
    let gateway = world.gateway().await;
    assert_eq!(state(&world, "alpha"), "connected");
    let mut tty = Tty::start(&world, &[]);
    tty.sees("at 127.0.0.1:");
    tty.sees_line(&["alpha", "connected"]);
    tty.sees_line(&["beta", "connected"]);

    // One off, and on again.
    go_to(&mut tty, "alpha");
    tty.types("e");
    tty.sees_line(&["alpha", "disabled"]);
    assert_eq!(state(&world, "alpha"), "disabled");
    assert_eq!(state(&world, "beta"), "connected");
    tty.types("e");
    tty.sees_line(&["alpha", "connected"]);
    assert_eq!(state(&world, "alpha"), "connected");

    // All of them, once with a second thought.
    tty.types("\x1b");
    tty.sees_line(&["beta", "connected"]);
    tty.types("D");
    tty.sees("disable all?");
    tty.types("n");
    assert_eq!(state(&world, "beta"), "connected");
    tty.types("Dy");
    until("all are off", || {
        state(&world, "alpha") == "disabled" && state(&world, "beta") == "disabled"
    });
    tty.types("Ey");
    until("all are on", || {
        state(&world, "alpha") == "connected" && state(&world, "beta") == "connected"
    });
    tty.sees_line(&["beta", "connected"]);

    // A fresh connection: another process.
    let before = (starts(&world, "home/alpha"), starts(&world, "home/beta"));
    go_to(&mut tty, "beta");
    tty.types("r");
    until("beta is started again", || {
        starts(&world, "home/beta") > before.1
    });
    assert_eq!(starts(&world, "home/alpha"), before.0);

    // Its tools.
    tty.types("t");
    tty.sees("[tools]");
    tty.sees_line(&["ok"]);
    tty.quits();
    drop(gateway);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projects_server_is_approved_after_it_was_shown() {
    let world = World::repository();
    let entry = echo(&[]);
    world.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"theirs": entry}}).to_string(),
    );
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["theirs", "to approve"]);
    assert_eq!(state(&world, "theirs"), "pending-approval");
    tty.types("A");
    tty.sees("approve theirs?");
    tty.sees("echo-server");
    tty.types("Gy");
    tty.sees_line(&["theirs", "connected"]);
    assert_eq!(state(&world, "theirs"), "connected");
    tty.quits();

    // And another one is rejected.
    world.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"evil": {"command": "/bin/false"}}}).to_string(),
    );
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["evil", "to approve"]);
    tty.types("A");
    tty.sees("/bin/false");
    tty.types("n");
    until("it is rejected", || state(&world, "evil") == "rejected");
    tty.quits();
}

/// An entry that is longer than the terminal: its end has to be on it before a yes counts.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_shown_is_not_approved() {
    let world = World::repository();
    let mut entry = echo(&[]);
    let mut variables = serde_json::Map::new();
    for at in 0..20 {
        variables.insert(format!("PLAIN_{at:02}"), json!("x"));
    }
    variables.insert("ZZ_LAST".into(), json!("the-last-variable"));
    entry["env"] = Value::Object(variables);
    world.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"theirs": entry}}).to_string(),
    );
    for opens in ["A", "4\r"] {
        let mut tty = Tty::start(&world, &[]);
        tty.sees_line(&["theirs", "to approve"]);
        if opens != "A" {
            tty.sees("Inbox(1)");
        }
        tty.types(opens);
        tty.sees("y counts at the end");
        tty.types("y");
        tty.sees("not yet: what you say yes to goes on below");
        assert_eq!(state(&world, "theirs"), "pending-approval");
        tty.quits();
    }
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["theirs", "to approve"]);
    tty.types("A");
    tty.sees("y counts at the end");
    tty.types("G");
    tty.sees("y approve");
    // Another size is another page.
    tty.resize(60, 14);
    tty.types("g");
    tty.sees("y counts at the end");
    tty.types("y");
    tty.sees("not yet");
    tty.types("G");
    tty.sees("y approve");
    tty.types("y");
    tty.until("it is approved", |text| {
        text.contains("theirs") && text.contains("connected")
    });
    assert_eq!(state(&world, "theirs"), "connected");
    tty.quits();
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_and_out() {
    let site = Site::start().await;
    let servers = servers([("site", protected(&site, "/mcp"))]);
    let world = World::person_with(&servers);
    fake_browser(&world);
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["site", "wanted"]);
    // Nothing says that it is connected.
    assert!(!tty.text().contains("connected"), "{}", tty.text());
    assert!(world.vault().is_empty());
    tty.types("a");
    tty.sees("Sign in on this page:");
    tty.types("\r");
    tty.sees_line(&["site", "connected", "signed-in"]);
    assert!(!world.vault().is_empty());
    assert_eq!(state(&world, "site"), "connected");
    tty.types("x");
    tty.sees("Sign out of site?");
    tty.types("y");
    tty.sees_line(&["site", "wanted"]);
    until("the sign-in is gone", || {
        state(&world, "site") == "needs-auth"
    });
    tty.quits();
}

/// Where the browser is on another machine, the address that it ended at is pasted.
#[tokio::test(flavor = "multi_thread")]
async fn signing_in_by_hand() {
    let site = Site::start().await;
    let servers = servers([("site", protected(&site, "/mcp"))]);
    let world = World::person_with(&servers);
    let program = bin("switchboard");
    let mut tty = Tty::any(&world, (600, 24), &[program.to_str().unwrap()]);
    tty.sees_line(&["site", "wanted"]);
    tty.types("a");
    tty.sees("Sign in on this page:");
    tty.sees("code_challenge=");
    let text = tty.text();
    let page = text
        .split_whitespace()
        .find(|word| word.starts_with("http") && word.contains("code_challenge="));
    let page = page.unwrap_or_else(|| panic!("no address on {text}"));
    let ended = redirected(&page.parse().unwrap()).await;
    // What is no such address goes nowhere.
    tty.types("\x1b[200~http://127.0.0.1:1/other\x1b[201~\r");
    tty.sees("not the address");
    tty.types("\x15");
    tty.types(&format!("\x1b[200~{ended}\x1b[201~\r"));
    tty.sees_line(&["site", "connected", "signed-in"]);
    assert!(!world.vault().is_empty());
    tty.quits();
}

/// A sign-in that has become void shows at the next request, and by which one it was seen:
/// from then on nothing says that the server is connected.
#[tokio::test(flavor = "multi_thread")]
async fn a_void_sign_in_is_never_called_connected() {
    let site = Site::with(json!({"token_life": 8})).await;
    let servers = servers([("site", protected(&site, "/mcp"))]);
    let world = World::person_with(&servers);
    fake_browser(&world);
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["site", "wanted"]);
    tty.sees_line(&["sign-in", "wanted", "by HTTP 401"]);
    tty.types("a");
    tty.sees("Sign in on this page:");
    tty.types("\r");
    tty.sees_line(&["site", "connected", "signed-in"]);
    tty.sees_line(&["sign-in", "signed-in", "by initialize"]);
    tty.sees_line(&["usable", "yes", "by "]);
    tty.types("2");
    tty.sees("mcp__site__t");
    // From now on nobody is given a token any more, and those that were given run out.
    site.turn(json!({"insists": "nobody"})).await;
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        tty.types("\r");
        tty.sees("site · t");
        tty.types("\x13");
        tty.until("it is answered", |text| {
            text.contains("· done in") || text.contains("· error in") || text.contains("· refused")
        });
        let is_done = tty.text().contains("· done in");
        // Back from the answer, and from the form.
        tty.types("\x1b");
        tty.sees("Ctrl-S run");
        tty.types("\x1b");
        tty.sees("mcp__site__t");
        if !is_done {
            break;
        }
        assert!(Instant::now() < until, "{}", tty.text());
    }
    tty.types("1");
    tty.until("nothing says connected", |text| {
        let row = |line: &&str| line.trim_start().starts_with("site");
        let rows: Vec<&str> = text.lines().filter(row).collect();
        !rows.is_empty() && !rows.iter().any(|row| row.contains("connected"))
    });
    tty.sees_line(&["usable", "no"]);
    tty.quits();
}
