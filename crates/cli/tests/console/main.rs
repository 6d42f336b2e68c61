//! The page in a real Chromium, in front of the real program with real servers.

mod apps;
mod door;
mod inspector;
mod pictures;
mod rows;
mod steps;
mod story;
mod together;

use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::{
    DEADLINE, HttpClient, Program,
    browser::{Browser, key},
    raw_exchange,
    world::{World, echo, servers},
};

/// A gateway, and somebody who has come in by a code.
struct Desk {
    world: World,
    gateway: Program,
    browser: Browser,
}

impl Desk {
    async fn with(world: World) -> Self {
        Self::served_with(world, &[]).await
    }

    /// The same, where the gateway has these options.
    async fn served_with(world: World, options: &[&str]) -> Self {
        let world = from_disk(world);
        let gateway = world.gateway_with(options).await;
        let browser = Browser::start(1280, 900).await;
        let desk = Self {
            world,
            gateway,
            browser,
        };
        let address = desk.way_in().await;
        desk.browser.open(&address).await;
        desk.browser.wait("#main").await;
        desk
    }

    /// An address that opens the page once.
    async fn way_in(&self) -> String {
        let said = self.world.run(&["console", "--json"]).await.ok().json();
        said["address"].as_str().expect("an address").to_owned()
    }

    async fn go(&self, view: &str) {
        let script = format!("location.hash = {view:?}");
        self.browser.run(&script).await;
    }

    /// Writes a picture for the pages, where `SWITCHBOARD_WRITE_DOCS` asks for that.
    async fn picture(&self, name: &str) {
        if std::env::var_os("SWITCHBOARD_WRITE_DOCS").is_some() {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let file = root.join("docs/pictures").join(name);
            self.browser.picture(&file).await;
        }
    }

    async fn is_quiet(&self) {
        let complaints = self.browser.complaints().await;
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

/// Has the page served from a folder, where whoever works on it says so.
fn from_disk(world: World) -> World {
    let folder = "SWITCHBOARD_CONSOLE_DIR";
    match std::env::var_os(folder) {
        Some(path) => world.variable(folder, path),
        None => world,
    }
}

#[tokio::test]
async fn the_page_is_there_without_a_token_and_nothing_else_is() {
    let world = World::with(&servers([("left", echo(&[]))]));
    let gateway = world.gateway().await;
    let url = gateway.url().await;
    let authority = url.strip_prefix("http://").expect("an address");
    let ask = |path: &str, more: &str| {
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{more}\r\n");
        let authority = authority.to_owned();
        async move { raw_exchange(&authority, head.as_bytes(), DEADLINE).await }
    };
    let page = String::from_utf8_lossy(&ask("/", "").await).into_owned();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let head = page
        .split("\r\n\r\n")
        .next()
        .expect("a head")
        .to_lowercase();
    assert!(
        head.contains("content-security-policy: default-src 'none';"),
        "{head}"
    );
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    assert!(!head.contains("set-cookie"), "{head}");
    let tag = head
        .split("etag: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let tag = page_tag(&page, tag.expect("a tag"));
    let again = ask("/", &format!("If-None-Match: {tag}\r\n")).await;
    assert!(
        again.starts_with(b"HTTP/1.1 304"),
        "{}",
        String::from_utf8_lossy(&again)
    );
    let packed = ask("/console/main.js", "Accept-Encoding: gzip\r\n").await;
    assert!(
        String::from_utf8_lossy(&packed)
            .to_lowercase()
            .contains("content-encoding: gzip")
    );
    for path in ["/api/v1/state", "/consoles", "/console"] {
        let answer = ask(path, "").await;
        assert!(
            answer.starts_with(b"HTTP/1.1 401"),
            "{path}: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    for path in ["/console/../Cargo.toml", "/console/nothing.js"] {
        let answer = ask(path, "").await;
        assert!(answer.starts_with(b"HTTP/1.1 404"), "{path}");
    }
    // A page of another origin, and a name that was rebound to us, get nothing.
    for more in ["Origin: http://evil.example\r\n", "Host: evil.example\r\n"] {
        let answer = ask("/", more).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{more}");
    }
}

/// The tag as the page's head has it: its case counts.
fn page_tag(page: &str, lower: &str) -> String {
    let found = page
        .lines()
        .find(|line| line.to_lowercase().contains(lower.trim()));
    let (_, tag) = found.and_then(|line| line.split_once(": ")).expect("a tag");
    tag.trim().to_owned()
}

#[tokio::test]
async fn somebody_comes_in_and_sees_servers_as_they_are() {
    let world = World::with(&servers([("left", echo(&[])), ("right", echo(&[]))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    page.says("[data-server=left]", "left").await;
    page.says("[data-server=right]", "right").await;
    // A client calls one of them, and the page sees that it is connected.
    let mut client = desk.world.attached(&[]).await;
    let reply = client.call("left__echo", json!({"nonce": "n"})).await;
    assert!(reply.get("result").is_some(), "{reply}");
    page.says("[data-server=left]", "connected").await;
    // An entry that is added is seen without asking.
    desk.world.configure(&servers([
        ("left", echo(&[])),
        ("right", echo(&[])),
        ("third", echo(&[])),
    ]));
    page.says("[data-server=third]", "third").await;
    desk.is_quiet().await;
    // The code was good once.
    let address = desk.way_in().await;
    let code = address.split_once('#').expect("a code").1.to_owned();
    let api = address.split_once("/#").expect("an address").0.to_owned();
    for expected in [200, 401] {
        let mut client = HttpClient::new(&format!("{api}/api/v1/session"));
        let reply = client.post(json!({ "code": code }).to_string()).await;
        assert_eq!(reply.status.as_u16(), expected);
    }
    page.click("[data-testid=sign-out]").await;
    page.says("main", "signed out").await;
}

#[tokio::test]
async fn what_a_server_calls_itself_runs_nowhere() {
    let evil = "<img src=x onerror=window.hacked=1>";
    let entry = json!({"command": "/bin/sh", "args": ["-c", format!("echo '{evil}' >&2; exit 1")]});
    let world = World::with(&servers([(evil, entry), ("left", echo(&[]))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    page.says("main", "<img src=x").await;
    for view in ["#/servers", "#/tools", "#/traffic"] {
        desk.go(view).await;
        page.wait("main h1").await;
        assert_eq!(page.run("return window.hacked ?? null").await, Value::Null);
    }
    drop(desk.gateway);
}

#[tokio::test]
async fn a_tool_is_called_by_its_form_and_its_call_is_made_again() {
    let world = World::with(&servers([("left", echo(&[]))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/tools").await;
    page.says("[data-testid=tool]", "echo").await;
    desk.go("#/servers/left/tools/echo").await;
    // What is missing is said, by the gateway's own validator.
    page.says("[data-path='/nonce'] .wrong", "is missing").await;
    page.type_into("[data-path='/nonce'] textarea", "first words")
        .await;
    page.until("return !document.querySelector('main').innerText.includes('is missing')")
        .await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "first words").await;
    // Both sides of it.
    page.click("[data-testid=both-sides]").await;
    page.wait("[data-testid=call-page]").await;
    page.says("[data-testid=message][data-edge=to-server]", "first words")
        .await;
    page.says(
        "[data-testid=message][data-edge=from-server]",
        "first words",
    )
    .await;
    // Once more, with other words; the difference is shown.
    page.click("[data-testid=replay]").await;
    page.fill(
        "[data-testid=replay-arguments]",
        "{\"nonce\": \"other words\"}",
    )
    .await;
    let sure = page.count("[data-testid=replay-sure]").await;
    if sure > 0 {
        page.click("[data-testid=replay-sure]").await;
    }
    page.click("[data-testid=replay-run]").await;
    page.says("[data-testid=differences]", "first words").await;
    page.says("[data-testid=differences]", "other words").await;
    // It is in the list, and a filter finds it.
    desk.go("#/traffic").await;
    page.wait("[data-testid=call]").await;
    page.type_into("[data-testid=filter]", "tool:echo").await;
    page.says("[data-testid=matching]", "of").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn calls_of_clients_are_seen_with_both_sides() {
    let world = World::with(&servers([("left", echo(&[]))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/traffic").await;
    page.says("main", "No calls yet").await;
    let mut client = desk.world.attached(&[]).await;
    client
        .call("left__echo", json!({"nonce": "of a client"}))
        .await;
    // The handshake is listed as well; the newest call is on top.
    page.says("[data-testid=call]", "echo").await;
    page.click("[data-testid=call]").await;
    page.wait("[data-testid=call-page]").await;
    page.wait("[data-edge=to-client]").await;
    // The name is the server's own on its side, and that is marked.
    page.says("[data-edge=from-client]", "left__echo").await;
    page.says("[data-edge=to-server] mark", "echo").await;
    page.says("[data-edge=to-client]", "of a client").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn a_server_is_looked_at_from_all_sides() {
    let world = World::with(&servers([("left", echo(&[]))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    let mut client = desk.world.attached(&[]).await;
    client.call("left__echo", json!({"nonce": "n"})).await;
    desk.go("#/servers/left").await;
    page.says("[data-testid=server-page]", "connected").await;
    page.says("main", "/mcp/left").await;
    desk.go("#/servers/left/tools").await;
    page.says("[data-testid=listed-tool]", "echo").await;
    desk.go("#/servers/left/handshake").await;
    page.says("main", "serverInfo").await;
    desk.go("#/servers/left/explain").await;
    page.says("[data-testid=explained]", "left").await;
    desk.go("#/servers/left").await;
    page.click("[data-testid=verb-reconnect]").await;
    page.wait(".toast").await;
    desk.go("#/setup/files").await;
    page.says("[data-testid=file]", "left").await;
    desk.go("#/insight").await;
    page.says("main", "echo").await;
    client.request("tools/list", json!({})).await;
    desk.go("#/insight/bill").await;
    page.says("[data-testid=bill]", "never called cost").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn rules_tokens_and_entries_are_written_after_their_difference() {
    let world = World::with(&servers([("left", echo(&[]))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/tools").await;
    page.click("[data-testid=tool] input[type=checkbox]").await;
    page.click("[data-testid=rule-ask]").await;
    page.says("[data-testid=patch]", "ask").await;
    let before = desk.world.read(desk.world.settings());
    assert!(!before.contains("\"ask\""), "{before}");
    page.click("[data-testid=write]").await;
    page.wait(".toast").await;
    let after = desk.world.read(desk.world.settings());
    assert!(after.contains("\"ask\""), "{after}");
    desk.go("#/setup/tokens").await;
    page.type_into("[data-testid=token-name]", "laptop").await;
    page.click("[data-testid=make-token]").await;
    page.wait("[data-testid=token-secret]").await;
    page.press(key::ESCAPE).await;
    page.says("[data-testid=token]", "laptop").await;
    assert!(desk.world.token("tokens/laptop").len() > 20);
    page.run("[...document.querySelectorAll('[data-testid=token]')].find((row) => row.innerText.includes('laptop')).querySelector('button').click()")
        .await;
    page.click("[data-testid=revoke]").await;
    page.until("return ![...document.querySelectorAll('[data-testid=token]')].some((row) => row.innerText.includes('laptop'))")
        .await;
    let file = desk
        .world
        .path("home/.local/share/switchboard/tokens/laptop");
    assert!(!file.exists(), "it is revoked");
    desk.go("#/setup/add").await;
    page.type_into("[data-testid=snippet]", "https://mcp.example.com/mcp")
        .await;
    page.says("[data-testid=explained]", "mcp.example.com")
        .await;
    page.click("[data-testid=show-difference]").await;
    page.says("[data-testid=patch]", "mcp.example.com").await;
    page.click("[data-testid=write]").await;
    page.says("[data-testid=proposed]", "Written to").await;
    desk.go("#/servers").await;
    page.says("main", "mcp.example.com").await;
    desk.is_quiet().await;
}

/// A stream that says nothing, not even that it is there, is given up for another, and the
/// page says so meanwhile.
#[tokio::test]
async fn a_stream_that_hangs_is_as_good_as_gone() {
    let desk = Desk::with(World::with(&servers([("left", echo(&[]))]))).await;
    let page = &desk.browser;
    page.says("header", "live").await;
    let script = "const { follow } = await import('/console/stream.js');
        const words = [];
        const close = follow({ topics: 'state' }, { state: (word) => words.push(word), event: () => {} },
            { answer: 10_000, silence: 300 });
        while (words.filter((word) => word === 'live').length < 2) await new Promise((done) => setTimeout(done, 20));
        close();
        return words.slice(0, 5).join(' ');";
    assert_eq!(page.run(script).await, "connecting live lost lost live");
    let script = "const { follow } = await import('/console/stream.js');
        const words = [];
        const close = follow({ topics: 'state' }, { state: (word) => words.push(word), event: () => {} },
            { answer: 0, silence: 300 });
        while (!words.includes('lost')) await new Promise((done) => setTimeout(done, 20));
        close();
        return words[0];";
    assert_eq!(page.run(script).await, "connecting");
}
