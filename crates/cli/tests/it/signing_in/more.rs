//! Signing in for many servers at once, with a real browser, and through proxies.

use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use switchboard_testkit::world::{self, RUN_LIMIT, World, protected, states};
use switchboard_testkit::{LEGACY, StdioClient, oauth::Site, text_of};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::{Instant, sleep, timeout},
};

async fn enterprise() -> (Site, World) {
    let site = Site::with(json!({"clients": {
        "idp-client": {"secret": "canary-idp-secret"},
        "xaa-client": {"secret": "canary-xaa-secret"},
    }}))
    .await;
    let servers: serde_json::Map<String, Value> = (0..5)
        .map(|n| {
            let mut entry = protected(&site, &format!("/mcp/s{n}"));
            entry["oauth"] =
                json!({"clientId": "xaa-client", "clientSecret": "${XAA_SECRET}", "xaa": true});
            (format!("s{n}"), entry)
        })
        .collect();
    let person = World::person()
        .variable("XAA_SECRET", "canary-xaa-secret")
        .variable("MCP_XAA_IDP_CLIENT_SECRET", "canary-idp-secret");
    person.write_settings(&json!({
        "mcpServers": servers,
        "xaaIdp": {"issuer": site.url("/idp").as_str(), "clientId": "idp-client"},
    }));
    (site, person)
}

#[tokio::test]
async fn five_servers_one_sign_in_five_audiences() {
    let (site, person) = enterprise().await;
    let list = person.run(&["list", "--json"]).await.ok();
    assert!(
        states(&list).iter().all(|(_, state)| state == "needs-auth"),
        "{list:?}"
    );
    person.sign_in("s0").await.ok();
    let list = person.run(&["list", "--json"]).await.ok();
    assert_eq!(states(&list).len(), 5);
    assert!(
        states(&list).iter().all(|(_, state)| state == "connected"),
        "{list:?}"
    );
    assert_eq!(site.count("idp.authorize").await, 1);
    assert_eq!(site.count("authorize").await, 0);
    // Each token was taken by its own server, which checks the audience, and
    // was shown to no other.
    let log = site.log().await;
    let mut tokens = HashSet::new();
    for n in 0..5 {
        let path = format!("/mcp/s{n}");
        assert!(site.count(&format!("200 {path}")).await > 0);
        let here = log.iter().filter(|entry| entry["path"] == path.as_str());
        let sent: HashSet<&str> = here
            .filter_map(|entry| entry["authorization"].as_str())
            .collect();
        assert_eq!(sent.len(), 1, "{path}: {sent:?}");
        tokens.extend(sent);
    }
    assert_eq!(tokens.len(), 5);
}

#[tokio::test]
async fn one_sign_in_reaches_all_servers_of_a_running_gateway() {
    let (site, person) = enterprise().await;
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    let list = client.request("tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 5);
    assert!(list.to_string().contains("s4__authenticate"), "{list}");
    person.sign_in("s0").await.ok();
    let deadline = Instant::now() + RUN_LIMIT;
    loop {
        let list = client.request("tools/list", json!({})).await;
        if !list.to_string().contains("authenticate") {
            break;
        }
        assert!(Instant::now() < deadline, "{list}");
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(text_of(&client.call("s4__t", json!({})).await), "let in");
    assert_eq!(site.count("idp.authorize").await, 1);
}

/// Whoever signs out of one server of an enterprise is not signed in there
/// again by the identity that the others go on with.
#[tokio::test]
async fn signed_out_stays_signed_out() {
    let (site, person) = enterprise().await;
    person.sign_in("s0").await.ok();
    assert_eq!(person.run(&["call", "s1__t"]).await.ok().out, "let in\n");
    let out = person.run(&["logout", "s1"]).await.ok();
    assert!(out.out.contains("Signed out of s1."), "{out:?}");
    for _ in 0..2 {
        let refused = person.run(&["call", "s1__t"]).await;
        assert_eq!(refused.code, Some(6), "{refused:?}");
    }
    let again = person.run(&["logout", "s1"]).await.ok();
    assert!(again.out.contains("Nobody was signed in"), "{again:?}");
    // Others are not concerned, and a sign-in is a sign-in.
    assert_eq!(person.run(&["call", "s2__t"]).await.ok().out, "let in\n");
    person.run(&["login", "s1"]).await.ok();
    assert_eq!(person.run(&["call", "s1__t"]).await.ok().out, "let in\n");
    assert_eq!(site.count("idp.authorize").await, 1);
}

/// Nobody is there, and nobody is needed: a client with a secret of its own, and
/// a workload with its platform's token.
#[tokio::test]
async fn grants_that_need_nobody() {
    let site = Site::with(json!({"clients": {"robot": {"secret": "canary-robot"}}})).await;
    let mut entry = protected(&site, "/mcp");
    entry["oauth"] =
        json!({"grant": "client_credentials", "clientId": "robot", "clientSecret": "${ROBOT}"});
    let person = World::person_with(&json!({"docs": entry})).variable("ROBOT", "canary-robot");
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    assert_eq!(site.count("authorize").await, 0);
    assert_eq!(site.count("token.client_credentials").await, 1);
    // The next process uses what the first one was given.
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    assert_eq!(site.count("token.client_credentials").await, 1);
}

/// A real browser, once: it is handed the address, follows the redirects and
/// shows the page that ends the sign-in, after `login` itself has ended.
#[tokio::test]
async fn a_real_browser_signs_in() {
    let chromium = [
        "/usr/bin/chromium",
        "/usr/local/bin/chromium",
        "/usr/bin/chromium-browser",
    ]
    .into_iter()
    .find(|path| std::path::Path::new(path).exists())
    .expect("chromium is missing: run `cargo xtask setup`, or install the package `chromium`");
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let (profile, dom) = (person.path("home/profile"), person.path("home/dom.html"));
    let script = format!(
        "#!/bin/sh\nexec {chromium} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
         --no-first-run --user-data-dir={} --dump-dom \"$1\" > {} 2>/dev/null\n",
        profile.display(),
        dom.display()
    );
    person.program("xdg-open", &script);
    let child = person.async_command(&["login", "docs"]).spawn().unwrap();
    let output = timeout(RUN_LIMIT * 3, child.wait_with_output()).await;
    let done = world::Ran::of(output.expect("the browser signs in").unwrap()).ok();
    assert!(done.out.contains("Signed in to docs"), "{done:?}");
    let deadline = Instant::now() + RUN_LIMIT;
    let page = loop {
        let page = std::fs::read_to_string(&dom).unwrap_or_default();
        if page.contains("</html>") {
            break page;
        }
        assert!(
            Instant::now() < deadline,
            "the browser did not live on: {page:?}"
        );
        sleep(Duration::from_millis(100)).await;
    };
    assert!(page.contains("return to Switchboard"), "{page}");
    assert!(!page.contains("code-"), "{page}");
    let agents = site.log().await;
    let browsed = agents
        .iter()
        .filter(|entry| entry["path"] == "/as/main/authorize");
    assert!(
        browsed
            .into_iter()
            .any(|entry| entry["headers"].to_string().contains("Chrome"))
    );
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
}

/// A proxy that writes down whom it is asked for, and lets nobody through.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!(
        "http://user:canary-proxy@{}",
        listener.local_addr().unwrap()
    );
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let n = stream.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..n]).into_owned();
                let line = head.lines().next().unwrap_or_default().to_owned();
                seen.lock().unwrap().push(line);
                let _ = stream
                    .write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
                    .await;
            });
        }
    });
    (address, asked)
}

#[tokio::test]
async fn signing_in_goes_through_the_proxy_like_everything_else() {
    let (address, asked) = proxy().await;
    let entry = |metadata: &str| json!({"docs": {"url": "https://mcp.switchboard.invalid/mcp", "oauth": {"authServerMetadataUrl": metadata}}});
    let person = World::person_with(&entry("https://login.switchboard.invalid/metadata"))
        .variable("HTTPS_PROXY", &address);
    let refused = person.run(&["login", "docs", "--no-browser"]).await;
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(!refused.err.contains("canary-proxy"), "{refused:?}");
    let lines = asked.lock().unwrap().clone();
    assert!(
        lines
            .iter()
            .any(|line| line == "CONNECT login.switchboard.invalid:443 HTTP/1.1"),
        "{lines:?}"
    );
    // A proxy is no way around the guard.
    asked.lock().unwrap().clear();
    person
        .write_settings(&json!({"mcpServers": entry("https://169.254.169.254/latest/meta-data")}));
    let refused = person.run(&["login", "docs", "--no-browser"]).await;
    assert!(
        refused.code == Some(5) || refused.code == Some(4),
        "{refused:?}"
    );
    let lines = asked.lock().unwrap().clone();
    assert!(
        !lines.iter().any(|line| line.contains("169.254")),
        "{lines:?}"
    );
}
