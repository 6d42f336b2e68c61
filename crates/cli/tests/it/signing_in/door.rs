//! Who is let in to a gateway: client tokens by name, and tokens of an identity
//! provider; and that neither goes any further.

use http::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{World, now_ms};
use switchboard_testkit::{HttpClient, LEGACY, Program, Reply, bin, oauth::Site};

/// A gateway in front of a server that records every header it sees.
struct Rig {
    _gateway: Program,
    url: String,
    person: World,
    upstream: Site,
}

impl Rig {
    async fn new(args: &[&str]) -> Self {
        let upstream = Site::start().await;
        let person = World::person_with(&json!({"echo": {
            "command": bin("echo-server"), "args": ["--stdio"],
        }}));
        let (gateway, url) = person.serve(args).await;
        Self {
            _gateway: gateway,
            url,
            person,
            upstream,
        }
    }

    async fn ask(&self, path: &str, authorization: Option<&str>) -> Reply {
        let mut client = HttpClient::new(&format!("{}{path}", self.url));
        if let Some(authorization) = authorization {
            client = client.header("authorization", authorization);
        }
        client.modern("tools/list", json!({})).await
    }

    async fn status(&self, authorization: Option<&str>) -> u16 {
        self.ask("/mcp", authorization).await.status.as_u16()
    }
}

#[tokio::test]
async fn tokens_by_name_come_and_go_while_a_gateway_runs() {
    let rig = Rig::new(&[]).await;
    assert_eq!(rig.status(None).await, 401);
    let alice = rig.person.run(&["token", "create", "alice"]).await.ok();
    let alice = format!("Bearer {}", alice.out.trim());
    assert_eq!(rig.status(Some(&alice)).await, 200);
    let list = rig.person.run(&["token", "list", "--json"]).await.ok();
    let rows = list.json();
    let names: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["alice", "default"]);
    assert!(!list.out.contains(alice.trim_start_matches("Bearer ")));
    let twice = rig.person.run(&["token", "create", "alice"]).await;
    assert_eq!(twice.code, Some(2), "{twice:?}");
    rig.person.run(&["token", "revoke", "alice"]).await.ok();
    // At once, not after a while.
    assert_eq!(rig.status(Some(&alice)).await, 401);
    let unknown = rig.person.run(&["token", "revoke", "alice"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[tokio::test]
async fn what_a_revoked_token_had_open_ends() {
    let rig = Rig::new(&[]).await;
    let create = async |name: &str| {
        let made = rig.person.run(&["token", "create", name]).await.ok();
        format!("Bearer {}", made.out.trim())
    };
    let (alice, bob) = (create("alice").await, create("bob").await);
    let mut streams = Vec::new();
    for token in [&alice, &bob] {
        let client = || HttpClient::new(&format!("{}/mcp", rig.url)).header("authorization", token);
        let mut legacy = client();
        legacy.initialize(LEGACY).await;
        let mut modern = client();
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let listening = modern.modern_stream("subscriptions/listen", filter).await;
        let older = HttpClient::new(&format!("{}/sse", rig.url))
            .header("authorization", token)
            .listen()
            .await;
        streams.push((legacy.listen().await, listening, older));
    }
    rig.person.run(&["token", "revoke", "alice"]).await.ok();
    let (general, listening, older) = &mut streams[0];
    for stream in [general, listening, older] {
        // What was on its way may still come; then it ends.
        while stream.next().await.is_some() {}
    }
    // Nobody else notices.
    let (general, _, _) = &mut streams[1];
    let quiet = tokio::time::timeout(Duration::from_millis(500), general.next()).await;
    assert!(!matches!(quiet, Ok(None)), "bob's stream has ended, too");
    assert_eq!(rig.status(Some(&bob)).await, 200);
}

#[tokio::test]
async fn fault_55_guessing_is_slow_and_says_nothing() {
    let rig = Rig::new(&[]).await;
    let begun = Instant::now();
    for guess in 0..14 {
        let reply = rig
            .ask("/mcp", Some(&format!("Bearer guess-number-{guess:04}")))
            .await;
        assert_eq!(reply.status, 401);
        assert_eq!(
            reply.header("www-authenticate"),
            Some("Bearer realm=\"switchboard\"")
        );
    }
    let took = begun.elapsed();
    assert!(
        took > Duration::from_millis(200),
        "14 guesses took {took:?}"
    );
    // Who has a good one is not held up by that.
    let good = rig.person.run(&["token", "create", "good"]).await.ok();
    assert_eq!(
        rig.status(Some(&format!("Bearer {}", good.out.trim())))
            .await,
        200
    );
}

async fn minted(site: &Site, wish: Value) -> String {
    let mut all = json!({"kid": "idp-1", "typ": "at+jwt", "claims": {
        "iss": format!("{}/idp", site.base), "aud": "the-gateway", "sub": "alice",
    }});
    for (name, value) in wish.as_object().unwrap() {
        if name == "claims" {
            for (claim, value) in value.as_object().unwrap() {
                all["claims"][claim] = value.clone();
            }
        } else {
            all[name] = value.clone();
        }
    }
    format!("Bearer {}", site.token(all).await)
}

#[tokio::test]
async fn fault_63_tokens_of_an_identity_provider() {
    let site = Site::start().await;
    let issuer = site.url("/idp").to_string();
    let rig = Rig::new(&[
        "--auth",
        "oidc",
        "--issuer",
        &issuer,
        "--audience",
        "the-gateway",
    ])
    .await;
    // Where to get a token is public, for each endpoint.
    for path in ["/mcp", "/mcp/echo"] {
        let refused = rig.ask(path, None).await;
        assert_eq!(refused.status, 401);
        let challenge = refused.header("www-authenticate").unwrap().to_owned();
        let metadata = format!("{}/.well-known/oauth-protected-resource{path}", rig.url);
        assert_eq!(
            challenge,
            format!("Bearer resource_metadata=\"{metadata}\"")
        );
        let mut reader = HttpClient::new(&metadata);
        let document = reader.send(Method::GET, &[], "").await;
        assert_eq!(document.status, 200);
        let document: Value = serde_json::from_slice(&document.body).unwrap();
        assert_eq!(document["resource"], format!("{}{path}", rig.url));
        assert_eq!(document["authorization_servers"], json!([issuer]));
    }
    assert_eq!(rig.status(Some(&minted(&site, json!({})).await)).await, 200);
    let past = now_ms() / 1000 - 600;
    for (what, wish) in [
        (
            "another audience",
            json!({"claims": {"aud": "somebody-else"}}),
        ),
        ("no audience", json!({"claims": {"aud": null}})),
        (
            "another issuer",
            json!({"claims": {"iss": "https://evil.example"}}),
        ),
        ("expired", json!({"claims": {"exp": past}})),
        ("not yet", json!({"claims": {"nbf": now_ms() / 1000 + 600}})),
        ("no algorithm", json!({"alg": "none"})),
        ("the public key as a secret", json!({"alg": "HS256"})),
        ("another key", json!({"key": "other"})),
        ("an unknown key", json!({"kid": "idp-2", "key": "other"})),
        ("nobody", json!({"claims": {"sub": ""}})),
    ] {
        let reply = rig.ask("/mcp", Some(&minted(&site, wish).await)).await;
        assert_eq!(reply.status, 401, "{what}");
        let challenge = reply.header("www-authenticate").unwrap().to_owned();
        assert!(
            challenge.contains("error=\"invalid_token\""),
            "{what}: {challenge}"
        );
    }
    // A token in the address is none.
    let token = minted(&site, json!({})).await;
    let path = format!("/mcp?access_token={}", token.trim_start_matches("Bearer "));
    assert_eq!(rig.ask(&path, None).await.status, 401);
    // The person's own token works beside it.
    let own = std::fs::read_to_string(
        rig.person
            .path("home/.local/share/switchboard/tokens/default"),
    );
    assert_eq!(
        rig.status(Some(&format!("Bearer {}", own.unwrap().trim())))
            .await,
        200
    );
}

/// Fault 64: what a client shows is not passed on, and what a server is shown does
/// not come back to a client or reach another server.
#[tokio::test]
async fn fault_64_tokens_are_passed_on_in_neither_direction() {
    let one = Site::start().await;
    let two = Site::start().await;
    let person = World::person_with(&json!({
        "one": {"type": "http", "url": one.url("/mcp").as_str()},
        "two": {"type": "http", "url": two.url("/mcp").as_str()},
        "fixed": {"type": "http", "url": two.url("/mcp/fixed").as_str(), "headers": {"Authorization": "Bearer canary-fixed"}},
    }));
    for server in ["one", "two"] {
        person.sign_in(server).await.ok();
    }
    let issuer = one.url("/idp").to_string();
    let (gateway, url) = person
        .serve(&[
            "--auth",
            "oidc",
            "--issuer",
            &issuer,
            "--audience",
            "the-gateway",
        ])
        .await;
    let shown = minted(&one, json!({})).await;
    let mut client = HttpClient::new(&format!("{url}/mcp")).header("authorization", &shown);
    let mut answers = String::new();
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "one__t", "arguments": {}})),
        ("tools/call", json!({"name": "two__t", "arguments": {}})),
        ("tools/call", json!({"name": "fixed__t", "arguments": {}})),
    ] {
        let reply = client.modern(method, params).await;
        answers.push_str(&String::from_utf8_lossy(&reply.body));
        answers.push_str(&format!("{:?}", reply.headers));
    }
    assert!(answers.matches("let in").count() == 2, "{answers}");
    let secrets = |records: &[Value]| -> Vec<String> {
        records
            .iter()
            .filter_map(|record| record["tokens"]["access"].as_str().map(str::to_owned))
            .collect()
    };
    let records: Vec<Value> = person
        .vault()
        .iter()
        .filter_map(|(_, text)| serde_json::from_str(text).ok())
        .collect();
    let tokens = secrets(&records);
    assert_eq!(tokens.len(), 2);
    let seen =
        |log: &[Value], secret: &str| log.iter().any(|entry| entry.to_string().contains(secret));
    let (log_one, log_two) = (one.log().await, two.log().await);
    let client_token = shown.trim_start_matches("Bearer ");
    for log in [&log_one, &log_two] {
        assert!(!seen(log, client_token), "the client's token was passed on");
        let each = tokens.iter().filter(|token| seen(log, token)).count();
        assert_eq!(each, 1, "each server sees its own token and no other");
    }
    assert!(!seen(&log_one, "canary-fixed") && seen(&log_two, "canary-fixed"));
    for secret in tokens
        .iter()
        .map(String::as_str)
        .chain(["canary-fixed", client_token])
    {
        assert!(!answers.contains(secret), "{answers}");
        assert!(!gateway.stderr().contains(secret), "{}", gateway.stderr());
    }
}

/// Fault 73: before somebody is let in there is nothing of theirs here.
#[tokio::test]
async fn fault_73_nothing_is_kept_for_those_outside() {
    let rig = Rig::new(&[]).await;
    for _ in 0..50 {
        let mut client = HttpClient::new(&format!("{}/mcp", rig.url));
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
        }});
        let reply = client.post(hello.to_string()).await;
        assert_eq!(reply.status, 401);
        assert!(reply.header("mcp-session-id").is_none());
    }
    // No server was started for them.
    let worker = rig._gateway.pid();
    let started = descendants(worker);
    assert!(
        !started
            .iter()
            .any(|command| command.contains("echo-server")),
        "{started:?}"
    );
    assert!(rig.upstream.log().await.is_empty());
}

/// The command lines of all processes below one.
fn descendants(pid: i32) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![pid];
    while let Some(pid) = waiting.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks {
            let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            waiting.extend(
                list.split_whitespace()
                    .filter_map(|word| word.parse::<i32>().ok()),
            );
        }
        found.push(std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    }
    found
}
