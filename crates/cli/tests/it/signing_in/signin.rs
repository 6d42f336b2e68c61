//! Signing in with the real program, against a strict authorization server:
//! rotating refresh tokens, PKCE, `resource`, `iss`, exact redirect addresses.

use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, process::Stdio};
use switchboard_testkit::oauth::{Site, redirected};
use switchboard_testkit::world::{self, RUN_LIMIT, World, expire, fake_browser, protected, states};
use tokio::{io::AsyncWriteExt, time::timeout};

fn pair(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

#[tokio::test]
async fn the_whole_way_without_a_browser_on_this_machine() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    // Nobody is signed in: the state, the hint and the exit code say so.
    let list = person.run(&["list", "--json"]).await.ok();
    assert_eq!(states(&list), [pair("docs", "needs-auth")]);
    assert_eq!(list.json()[0]["reason"], "switchboard login docs");
    assert_eq!(person.run(&["list", "--check"]).await.code, Some(4));
    let call = person.run(&["call", "docs__t", "--json"]).await;
    assert_eq!(call.code, Some(6), "{call:?}");
    assert!(call.err.contains("\"code\":\"needs-auth\""), "{call:?}");
    assert!(call.err.contains("switchboard login docs"), "{call:?}");
    let get = person.run(&["get", "docs", "--json"]).await.ok();
    assert_eq!(get.json()["signIn"]["state"], "needs-auth");

    let done = person.sign_in("docs").await.ok();
    assert!(
        done.out
            .starts_with("Signed in to docs by http://127.0.0.1:"),
        "{done:?}"
    );
    assert!(
        done.err.contains("not encrypted"),
        "the file store is named: {done:?}"
    );

    let list = person.run(&["list", "--json"]).await.ok();
    assert_eq!(states(&list), [pair("docs", "connected")]);
    let call = person.run(&["call", "docs__t"]).await.ok();
    assert_eq!(call.out, "let in\n");
    let get = person.run(&["get", "docs", "--json"]).await.ok();
    assert_eq!(get.json()["signIn"]["state"], "signed-in");
    for (path, _) in person.vault() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }

    let out = person.run(&["logout", "docs"]).await.ok();
    assert!(
        out.out.contains("The issuer has withdrawn the tokens."),
        "{out:?}"
    );
    assert!(site.count("revoke").await >= 1);
    let list = person.run(&["list", "--json"]).await.ok();
    assert_eq!(states(&list), [pair("docs", "needs-auth")]);
    let again = person.run(&["logout", "docs"]).await.ok();
    assert_eq!(again.out, "Nobody was signed in to docs.\n");
}

#[tokio::test]
async fn a_browser_is_opened_without_a_shell_and_outlives_us() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    fake_browser(&person);
    let done = person.run(&["login", "docs"]).await.ok();
    assert!(done.out.contains("Signed in to docs"), "{done:?}");
    let opened = fs::read_to_string(person.path("home/opened")).unwrap();
    assert!(
        done.err.contains(opened.trim()),
        "the address is shown too: {done:?}"
    );
    assert_eq!(site.count("authorize").await, 1);
    let list = person.run(&["list", "--json"]).await.ok();
    assert_eq!(states(&list), [pair("docs", "connected")]);
}

#[tokio::test]
async fn a_server_that_refused_is_not_asked_again_for_a_while() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.run(&["list"]).await.ok();
    let asked = site.count("mcp.401").await;
    assert!(asked >= 1);
    for _ in 0..3 {
        let list = person.run(&["list", "--json"]).await.ok();
        assert_eq!(states(&list), [pair("docs", "needs-auth")]);
    }
    assert_eq!(site.count("mcp.401").await, asked);
    let cache = person.path("home/.cache/switchboard/mcp-needs-auth-cache.json");
    let cached: Value = serde_json::from_str(&fs::read_to_string(&cache).unwrap()).unwrap();
    assert!(cached["docs"]["timestamp"].as_u64().unwrap() > 1_700_000_000_000);
    // Sixteen minutes later it is.
    let old = json!({"docs": {"timestamp": world::now_ms() - 16 * 60_000}});
    fs::write(&cache, old.to_string()).unwrap();
    person.run(&["list"]).await.ok();
    assert!(site.count("mcp.401").await > asked);
}

#[tokio::test]
async fn a_sign_in_is_renewed_and_survives_rotation() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    for round in 1..=3 {
        person.age("docs", expire);
        assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
        assert_eq!(site.count("token.refresh_token").await, round);
    }
    assert_eq!(site.count("reuse").await, 0);
    // The issuer takes it all back: somebody has to sign in again.
    site.turn(json!({"expire": true, "clients": {}})).await;
    person.age("docs", |record| {
        expire(record);
        record["tokens"]["refresh"] = json!("never-given");
    });
    let call = person.run(&["call", "docs__t"]).await;
    assert_eq!(call.code, Some(6), "{call:?}");
}

#[tokio::test]
async fn wrong_answers_of_a_browser_are_refused() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    for (change, code) in [
        ("state", Some(6)),
        ("iss", Some(5)),
        ("host", Some(6)),
        ("nothing", Some(6)),
    ] {
        let login = person.login(&["docs"]).await;
        let page = login.page.clone().unwrap();
        let back = redirected(&page).await;
        let back = match change {
            "state" => back.replace("state=", "state=x"),
            "iss" => back.replace("iss=", "iss=https%3A%2F%2Fevil.example%2F"),
            "host" => back.replace("127.0.0.1", "127.0.0.2"),
            _ => String::new(),
        };
        let ran = login.paste(&back).await;
        assert_eq!(ran.code, code, "{change}: {ran:?}");
    }
    assert_eq!(site.count("token.authorization_code").await, 0);
    assert!(
        person
            .vault()
            .iter()
            .all(|(path, _)| path.extension().is_none_or(|e| e != "json"))
    );
    site.turn(json!({"deny": true})).await;
    let denied = person.sign_in("docs").await;
    assert_eq!(denied.code, Some(6), "{denied:?}");
    assert!(denied.err.contains("access_denied"), "{denied:?}");
}

#[tokio::test]
async fn without_a_keychain_the_other_way_is_named() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}))
        .without("SWITCHBOARD_TOKEN_STORE")
        .variable("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus");
    let login = person.login(&["docs"]).await;
    assert!(
        login.page.is_none(),
        "nobody is sent anywhere: {:?}",
        login.page
    );
    assert!(login.err.contains("--token-store file"), "{}", login.err);
    assert_eq!(site.count("authorize").await, 0);
    let login = person.login(&["docs", "--token-store", "file"]).await;
    let back = redirected(login.page.as_ref().unwrap()).await;
    login.paste(&back).await.ok();
    // What is in the file is used from then on, whatever the setting says.
    let list = person.run(&["list", "--json"]).await.ok();
    assert_eq!(states(&list), [pair("docs", "connected")]);
}

#[tokio::test]
async fn what_one_cannot_sign_in_to() {
    let site = Site::start().await;
    let url = site.url("/mcp").to_string();
    let person = World::person_with(&json!({
        "local": {"command": "true"},
        "token": {"url": url, "headers": {"Authorization": "Bearer refused-token"}},
        "typo": {"url": url, "oauth": {"clientID": "x", "callbackPort": "8"}},
    }));
    let run = async |name: &str| person.run(&["login", name]).await;
    assert_eq!(run("none").await.code, Some(2));
    assert_eq!(run("local").await.code, Some(2));
    assert_eq!(run("token").await.code, Some(2));
    let typo = run("typo").await;
    assert_eq!(typo.code, Some(3));
    assert!(typo.err.contains("settings.json:1"), "{typo:?}");
    assert!(
        typo.err.contains("`oauth.clientID`: is unknown"),
        "{typo:?}"
    );
    assert!(
        typo.err.contains("`oauth.callbackPort`: must be a port"),
        "{typo:?}"
    );
    let call = person.run(&["call", "token__t"]).await;
    assert_eq!(call.code, Some(6), "{call:?}");
    assert!(call.err.contains("refuses the token"), "{call:?}");
    assert!(!call.err.contains("refused-token"), "{call:?}");
}

#[tokio::test]
async fn a_client_registered_by_hand_keeps_its_secret_out_of_the_file() {
    let redirect = "http://localhost:18976/callback";
    let site = Site::with(json!({"dcr": false, "clients": {"by-hand": {"secret": "canary-secret", "redirect": redirect}}})).await;
    let person = World::person().variable("MCP_CLIENT_SECRET", "canary-secret");
    let url = site.url("/mcp").to_string();
    let add = [
        "add",
        "docs",
        &url,
        "--client-id",
        "by-hand",
        "--client-secret",
        "--callback-port",
        "18976",
    ];
    person.run(&add).await.ok();
    let person = person.without("MCP_CLIENT_SECRET");
    let file = fs::read_to_string(person.path("home/.config/switchboard/settings.json")).unwrap();
    assert!(file.contains("by-hand") && file.contains("18976"), "{file}");
    assert!(!file.contains("canary"), "{file}");
    person.sign_in("docs").await.ok();
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    assert_eq!(site.count("register").await, 0);
    // Nobody there and no variable: asked for nothing, told what to do.
    let other = [
        "add",
        "more",
        &url,
        "--client-id",
        "by-hand",
        "--client-secret",
    ];
    let refused = person.run(&other).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("set MCP_CLIENT_SECRET"), "{refused:?}");
}

#[tokio::test]
async fn a_headers_helper_lets_us_in() {
    let site = Site::start().await;
    let url = site.url("/mcp").to_string();
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    let vault = person.vault();
    let token = vault.iter().find_map(|(_, text)| {
        let record: Value = serde_json::from_str(text).ok()?;
        record["tokens"]["access"].as_str().map(str::to_owned)
    });
    person.write("home/token", token.unwrap());
    let command = "printf '{\"Authorization\":\"Bearer %s\",\"X-Seen\":\"%s\"}' \"$(cat $HOME/token)\" \"$CLAUDE_CODE_MCP_SERVER_NAME\"";
    person.write_settings(&json!({"mcpServers": {
        "helped": {"url": url, "headersHelper": command, "headers": {"Authorization": "Bearer wrong"}},
        "broken": {"url": url, "headersHelper": "echo no luck >&2; exit 3"},
        "missing": {"url": url, "headersHelper": "echo ${NOT_SET_ANYWHERE}"},
    }}));
    let list = person.run(&["list", "--json"]).await.ok();
    let expected = [
        pair("helped", "connected"),
        pair("broken", "failed"),
        pair("missing", "failed"),
    ];
    assert_eq!(states(&list), expected, "{list:?}");
    let reason = |i: usize| list.json()[i]["reason"].as_str().unwrap().to_owned();
    assert!(reason(1).contains("no luck"), "{}", reason(1));
    assert!(reason(2).contains("NOT_SET_ANYWHERE"), "{}", reason(2));
}

#[tokio::test]
async fn a_repositorys_helper_waits_for_approval() {
    let site = Site::start().await;
    let person = World::person();
    let touched = person.path("home/touched");
    let helper = format!("touch {}; echo '{{}}'", touched.display());
    let file = json!({"mcpServers": {"theirs": {"url": site.url("/mcp").as_str(), "headersHelper": helper}}});
    person.write("home/work/.mcp.json", file.to_string());
    for args in [
        &["list", "--json"][..],
        &["login", "theirs"],
        &["get", "theirs"],
        &["call", "theirs__t"],
    ] {
        person.run(args).await;
    }
    assert!(!touched.exists());
    assert!(
        site.log().await.is_empty(),
        "the server was not asked either"
    );
    assert_eq!(person.run(&["login", "theirs"]).await.code, Some(5));
    let shown = person.run(&["approve", "theirs", "--show"]).await.ok();
    let digest = shown
        .out
        .lines()
        .find_map(|line| line.strip_prefix("  digest    "));
    let digest = digest.expect("the digest is shown");
    person
        .run(&["approve", "theirs", "--digest", digest])
        .await
        .ok();
    person.run(&["list"]).await.ok();
    assert!(touched.exists());
}

#[tokio::test]
async fn a_hundred_processes_at_one_expiry_renew_once() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    person.age("docs", expire);
    // All wait for the same gate, so that they come at once.
    let mut children = Vec::new();
    for _ in 0..100 {
        let mut command = person.async_command(&["call", "docs__t", "-"]);
        children.push(command.stdin(Stdio::piped()).spawn().unwrap());
    }
    for child in &mut children {
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"{}").await.unwrap();
    }
    for child in children {
        let output = timeout(RUN_LIMIT * 3, child.wait_with_output())
            .await
            .unwrap()
            .unwrap();
        let ran = world::Ran::of(output).ok();
        assert_eq!(ran.out, "let in\n");
    }
    assert_eq!(site.count("token.refresh_token").await, 1);
    assert_eq!(site.count("reuse").await, 0);
}

/// Fault 56: what a server calls its page is an address for a browser and nothing
/// else, whatever it looks like to a shell.
#[tokio::test]
async fn fault_56_a_page_is_no_command() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let (log, pwned) = (person.path("home/opened"), person.path("home/pwned"));
    person.program(
        "xdg-open",
        &format!(
            // There whole or not at all: it is looked for from outside.
            "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > {log}.new && mv {log}.new {log}\n",
            log = log.display()
        ),
    );
    for page in [
        "javascript:alert(1)".to_owned(),
        "file:///etc/passwd".to_owned(),
        "--version".to_owned(),
        format!("$(touch {})", pwned.display()),
        format!("http://127.0.0.1@evil.example/$(touch {})", pwned.display()),
    ] {
        site.turn(json!({"metadata": {"authorization_endpoint": page}}))
            .await;
        let ran = person.run(&["login", "docs"]).await;
        assert_ne!(ran.code, Some(0), "{page}: {ran:?}");
        assert!(!log.exists(), "{page} was opened");
    }
    // A good one that a shell would make much of is one argument.
    let page = format!(
        "{}?x=$(touch%20{p});`touch%20{p}`&y=;touch%20{p}",
        site.url("/as/main/authorize"),
        p = pwned.display()
    );
    site.turn(json!({"metadata": {"authorization_endpoint": page}}))
        .await;
    let mut child = person.async_command(&["login", "docs"]).spawn().unwrap();
    let deadline = tokio::time::Instant::now() + RUN_LIMIT;
    while !log.exists() {
        assert!(tokio::time::Instant::now() < deadline, "nothing was opened");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    child.kill().await.unwrap();
    let opened = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = opened.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "1"), "{opened}");
    assert!(lines[1].starts_with("http://127.0.0.1:"), "{opened}");
    assert!(!pwned.exists());
}

#[tokio::test]
async fn a_server_that_asks_for_more_gets_all_of_it_at_the_next_sign_in() {
    let site = Site::with(json!({"scope": "read", "prm_scopes": ["read"]})).await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    site.turn(json!({"scope": "read write"})).await;
    let call = person.run(&["call", "docs__t"]).await;
    assert_eq!(call.code, Some(6), "{call:?}");
    person.sign_in("docs").await.ok();
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    let get = person.run(&["get", "docs", "--json"]).await.ok();
    let mut scopes: Vec<String> =
        serde_json::from_value(get.json()["signIn"]["scopes"].clone()).unwrap();
    scopes.sort();
    assert_eq!(scopes, ["read", "write"]);
}

#[tokio::test]
async fn a_server_that_is_removed_leaves_no_sign_in() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    let removed = person.run(&["remove", "docs"]).await.ok();
    assert!(
        removed.out.contains("Forgot the sign-in to it."),
        "{removed:?}"
    );
    assert!(
        person
            .vault()
            .iter()
            .all(|(_, text)| !text.contains("access-"))
    );
}
