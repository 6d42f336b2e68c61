//! Clients of `serve` in folders that are trusted and that are not: they find
//! their servers, and are told where these were started.

use serde_json::{Value, json};
use std::{fs, path::Path, time::Duration};
use switchboard_testkit::world::{self, World};
use switchboard_testkit::{LEGACY, Launch, StdioClient, bin, with_meta};

const LIMIT: Duration = Duration::from_secs(60);

/// `serve` in this folder of the home, for a client.
fn launch(home: &World, folder: &Path, args: &[&str]) -> Launch {
    home.launch(&["serve"]).args(args).cwd(folder)
}

/// Servers that leave behind where they were started and what was there.
fn witnesses(home: &World, names: &[&str]) {
    let echo = bin("echo-server").display().to_string();
    let entry = |name: &&str| {
        let script = format!("(pwd; ls -A | wc -l) > ROOT/where-{name}; exec {echo} --stdio");
        (
            (*name).to_owned(),
            json!({"command": "sh", "args": ["-c", script]}),
        )
    };
    let servers: serde_json::Map<String, Value> = names.iter().map(entry).collect();
    home.write(
        "home/.claude.json",
        json!({ "mcpServers": servers }).to_string(),
    );
}

#[tokio::test]
async fn a_client_in_home_or_root_finds_its_servers_as_before() {
    for folder in ["home", "/"] {
        let home = World::untrusted();
        witnesses(&home, &["a", "b"]);
        let folder = home.path(folder);
        let mut client = StdioClient::new(launch(&home, &folder, &[]).spawn());
        client.initialize(LEGACY).await;
        let called = client.call("a__echo", json!({"nonce": "n"})).await;
        assert_eq!(called["result"]["content"][0]["text"], "n", "{called}");
        let place = home.read("where-a");
        assert_eq!(place.lines().next(), folder.to_str(), "{place}");
        let said = client.program.stderr();
        assert!(!said.contains("trusted"), "{said}");
        assert!(
            client.notifications.is_empty(),
            "{:?}",
            client.notifications
        );
    }
}

#[tokio::test]
async fn a_client_in_an_untrusted_clone_finds_its_servers_and_is_told() {
    for (args, tool) in [(&["--only", "a"][..], "echo"), (&[], "a__echo")] {
        let home = World::untrusted();
        witnesses(&home, &["a", "b"]);
        let repo = home.path("home/repo");
        let mut client = StdioClient::new(launch(&home, &repo, args).spawn());
        let hello = client.initialize(LEGACY).await;
        assert!(hello["capabilities"]["logging"].is_object(), "{hello}");
        let told = client.notification("notifications/message").await;
        let params = &told["params"];
        assert_eq!(
            [&params["level"], &params["logger"]],
            ["warning", "switchboard"]
        );
        let text = params["data"].as_str().unwrap().to_owned();
        let command = format!(": switchboard trust {}", repo.display());
        assert!(
            text.contains(" started in an empty directory") && text.ends_with(&command),
            "{text}"
        );
        client.program.wait_for_line(&text).await;
        let called = client.call(tool, json!({"nonce": "n"})).await;
        assert_eq!(called["result"]["content"][0]["text"], "n", "{called}");
        let place = home.read("where-a");
        let [room, count] = place.lines().collect::<Vec<_>>()[..] else {
            panic!("{place}");
        };
        let rooms = home.path("home/.local/state/switchboard/rooms");
        assert!(
            Path::new(room).starts_with(&rooms) && count.trim() == "0",
            "{place}"
        );
        // A level that it asks for is taken, whatever its server knows of levels.
        let level = client
            .request("logging/setLevel", json!({"level": "error"}))
            .await;
        assert!(level["result"].is_object(), "{level}");
    }
}

#[tokio::test]
async fn a_modern_client_is_told_with_the_first_request_that_wants_to_hear() {
    let home = World::untrusted();
    witnesses(&home, &["a", "b"]);
    let mut client = StdioClient::new(launch(&home, &home.path("home/repo"), &[]).spawn());
    client.modern("tools/list", json!({})).await;
    assert!(
        client.notifications.is_empty(),
        "{:?}",
        client.notifications
    );
    let mut params = with_meta(json!({}));
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    for _ in 0..2 {
        let listed = client.request("tools/list", params.clone()).await;
        assert!(listed["result"]["tools"].is_array(), "{listed}");
    }
    let told = &client.notifications;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0]["params"]["data"]
            .as_str()
            .unwrap()
            .contains("switchboard trust ")
    );
}

/// Started elsewhere a server is the same for all clones, so that a gateway's
/// serve them; and each client hears of the folder that it is in.
#[tokio::test]
async fn clients_behind_a_gateway_are_told_of_their_own_folder() {
    let home = World::untrusted();
    witnesses(&home, &["a", "b"]);
    let other = home.path("home/o\u{308}ther & more");
    fs::create_dir_all(other.join(".git")).unwrap();
    let gateway = launch(&home, &home.path("home/repo"), &["--http", "127.0.0.1:0"]).spawn();
    gateway.url().await;
    let notes = home.path("home/.local/state/switchboard/gateways");
    let noted = world::until(LIMIT, || fs::read_dir(&notes).ok()?.next().map(drop));
    noted.await.expect("a note is left");
    let mut client = StdioClient::new(launch(&home, &other, &[]).spawn());
    client.initialize(LEGACY).await;
    client
        .program
        .wait_for_line("attached to the gateway")
        .await;
    let told = client.notification("notifications/message").await;
    let text = told["params"]["data"].as_str().unwrap();
    let command = format!(": switchboard trust '{}'", other.display());
    assert!(text.ends_with(&command), "{text}");
    let called = client.call("a__echo", json!({"nonce": "n"})).await;
    assert_eq!(called["result"]["content"][0]["text"], "n", "{called}");
    // Trusted, it is another server, which that gateway does not have.
    let trusted = home
        .command(&["trust", &other.display().to_string()])
        .output()
        .unwrap();
    assert!(trusted.status.success());
    let mut client = StdioClient::new(launch(&home, &other, &[]).spawn());
    client.initialize(LEGACY).await;
    let called = client.call("a__echo", json!({"nonce": "n"})).await;
    assert_eq!(called["result"]["content"][0]["text"], "n", "{called}");
    assert_eq!(home.read("where-a").lines().next(), other.to_str());
    assert!(
        client.notifications.is_empty(),
        "{:?}",
        client.notifications
    );
}

/// A running gateway hears of it, and starts its servers anew.
#[tokio::test]
async fn a_running_gateway_follows_the_users_word() {
    let home = World::untrusted();
    witnesses(&home, &["a", "b"]);
    let repo = home.path("home/repo");
    let mut client = StdioClient::new(launch(&home, &repo, &[]).spawn());
    client.initialize(LEGACY).await;
    client.call("a__echo", json!({"nonce": "n"})).await;
    assert!(
        !home
            .read("where-a")
            .starts_with(&format!("{}\n", repo.display()))
    );
    let trusted = home.command(&["trust"]).output().unwrap();
    assert!(trusted.status.success());
    let moved = async {
        while !home
            .read("where-a")
            .starts_with(&format!("{}\n", repo.display()))
        {
            client
                .notification("notifications/tools/list_changed")
                .await;
            client.call("a__echo", json!({"nonce": "n"})).await;
        }
    };
    tokio::time::timeout(LIMIT, moved)
        .await
        .expect("it is started there");
}
