//! Fault 105: twenty secrets run through every command, log level, error and
//! crash. None is printed, none is in a file where it does not belong, none in
//! any process's arguments, and none reaches a server that it is not for.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use switchboard_testkit::world::{self, World, expire, protected, worker_of};
use switchboard_testkit::{HttpClient, bin, oauth::Site};
use tokio::time::{Instant, sleep};

/// A secret, by what it is.
type Secrets = BTreeMap<&'static str, String>;

/// Reads the arguments of all processes, again and again, while the test runs.
struct Watcher {
    secrets: Arc<Mutex<Vec<(String, String)>>>,
    found: Arc<Mutex<Vec<String>>>,
    looks: Arc<Mutex<u64>>,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watcher {
    fn start() -> Self {
        let secrets = Arc::<Mutex<Vec<(String, String)>>>::default();
        let found = Arc::<Mutex<Vec<String>>>::default();
        let looks = Arc::<Mutex<u64>>::default();
        let over = Arc::new(AtomicBool::new(false));
        let (known, seen, count, end) =
            (secrets.clone(), found.clone(), looks.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let known = known.lock().unwrap().clone();
                for line in arguments() {
                    for (name, secret) in &known {
                        if line.contains(secret.as_str()) {
                            seen.lock().unwrap().push(format!("{name} in {line}"));
                        }
                    }
                }
                *count.lock().unwrap() += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            secrets,
            found,
            looks,
            over,
            thread: Some(thread),
        }
    }

    fn add(&self, secrets: &Secrets) {
        let mut known = self.secrets.lock().unwrap();
        *known = secrets
            .iter()
            .map(|(name, secret)| ((*name).to_owned(), secret.clone()))
            .collect();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The command line of every process of this machine.
fn arguments() -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = entries.filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    });
    numbered
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .collect()
}

/// All that was printed, with what printed it.
#[derive(Default)]
struct Printed(Vec<(String, String)>);

impl Printed {
    fn add(&mut self, what: &str, ran: &world::Ran) {
        self.0
            .push((what.to_owned(), format!("{}\n{}", ran.out, ran.err)));
    }

    #[track_caller]
    fn holds_none_of(&self, secrets: &Secrets) {
        for (what, text) in &self.0 {
            for (name, secret) in secrets {
                assert!(
                    !text.contains(secret.as_str()),
                    "{name} in the output of {what}:\n{text}"
                );
            }
        }
    }
}

fn token_in(person: &World, server: &str, field: &str) -> String {
    let found = person.vault().into_iter().find_map(|(path, text)| {
        let name = path.file_name()?.to_str()?.to_owned();
        if !name.starts_with(server) || !name.ends_with(".json") {
            return None;
        }
        let record: Value = serde_json::from_str(&text).ok()?;
        record.pointer(field)?.as_str().map(str::to_owned)
    });
    found.unwrap_or_else(|| panic!("no {field} of {server}"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_canaries_stay_where_they_belong() {
    // Two sites that must not learn of each other's secrets.
    let near = Site::with(json!({"dcr_secret": true, "methods": ["client_secret_basic", "client_secret_post"], "clients": {
        "by-hand": {"secret": "canary01-vault-client-secret"},
        "in-entry": {"secret": "canary02-entry-client-secret"},
        "robot": {"secret": "canary03-robot-secret"},
        "idp-client": {"secret": "canary04-idp-client-secret"},
        "xaa-client": {"secret": "canary05-xaa-client-secret"},
    }}))
    .await;
    let far = Site::start().await;
    let person = World::person()
        .variable("ENTRY_SECRET", "canary02-entry-client-secret")
        .variable("ROBOT_SECRET", "canary03-robot-secret")
        .variable("MCP_XAA_IDP_CLIENT_SECRET", "canary04-idp-client-secret")
        .variable("XAA_SECRET", "canary05-xaa-client-secret")
        .variable("HEADER_SECRET", "canary06-header-variable")
        .variable("ENV_SECRET", "canary07-env-variable")
        .variable(
            "HTTPS_PROXY",
            "http://user:canary08-proxy-password@127.0.0.1:9",
        );
    person.write(
        "home/helper.json",
        "{\"X-Helped\": \"canary09-helper-header\"}",
    );
    let far_with = |more: Value| {
        let mut entry = protected(&far, "/mcp");
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        entry
    };
    let signed = |path: &str, oauth: Value| {
        let mut entry = protected(&near, path);
        entry["oauth"] = oauth;
        entry
    };
    let password = far
        .url("/mcp/password")
        .to_string()
        .replace("http://", "http://user:canary10-password@");
    person.write_settings(&json!({
        "xaaIdp": {"issuer": near.url("/idp").as_str(), "clientId": "idp-client"},
        "mcpServers": {
            "registered": protected(&near, "/mcp/registered"),
            "entry": signed("/mcp/entry", json!({"clientId": "in-entry", "clientSecret": "${ENTRY_SECRET}"})),
            "robot": signed("/mcp/robot", json!({"grant": "client_credentials", "clientId": "robot", "clientSecret": "${ROBOT_SECRET}"})),
            "xaa": signed("/mcp/xaa", json!({"clientId": "xaa-client", "clientSecret": "${XAA_SECRET}", "xaa": true})),
            "bearer": far_with(json!({"headers": {"Authorization": "Bearer canary11-static-token"}})),
            "custom": far_with(json!({"headers": {"X-Whatever": "canary12-odd-header", "X-Key": "${HEADER_SECRET}"}})),
            "helped": far_with(json!({"headersHelper": "cat $HOME/helper.json"})),
            "helper-fails": far_with(json!({"headersHelper": "cat $HOME/helper.json; echo trouble >&2; exit 4"})),
            "password": {"type": "http", "url": password},
            "query": {"type": "http", "url": format!("{}?api_key=canary13-query-key", far.url("/mcp/query"))},
            "proxied": {"type": "http", "url": "https://mcp.switchboard.invalid/mcp"},
            "local": {"command": bin("echo-server"), "args": ["--stdio"], "env": {"SOME_VALUE": "canary14-env-value", "OTHER": "${ENV_SECRET}"}},
            "dies": {"command": "sh", "args": ["-c", "echo cannot start >&2; exit 3"], "env": {"API_KEY": "canary15-env-key"}},
        },
    }));
    let mut secrets: Secrets = [
        ("client secret in the vault", "canary01-vault-client-secret"),
        ("client secret of an entry", "canary02-entry-client-secret"),
        ("client secret of a robot", "canary03-robot-secret"),
        (
            "client secret at the identity provider",
            "canary04-idp-client-secret",
        ),
        (
            "client secret of the enterprise's client",
            "canary05-xaa-client-secret",
        ),
        ("header value from a variable", "canary06-header-variable"),
        ("env value from a variable", "canary07-env-variable"),
        ("password of a proxy", "canary08-proxy-password"),
        ("header value of a helper", "canary09-helper-header"),
        ("password in an address", "canary10-password"),
        ("static bearer token", "canary11-static-token"),
        ("header value under an odd name", "canary12-odd-header"),
        ("key in a query", "canary13-query-key"),
        ("env value under an odd name", "canary14-env-value"),
        ("env value", "canary15-env-key"),
    ]
    .map(|(name, secret)| (name, secret.to_owned()))
    .into();
    let watcher = Watcher::start();
    watcher.add(&secrets);
    let mut printed = Printed::default();

    // A client registered by hand, whose secret goes to the vault alone.
    let with_secret = person
        .clone()
        .variable("MCP_CLIENT_SECRET", "canary01-vault-client-secret");
    let url = near.url("/mcp/by-hand").to_string();
    let add = [
        "add",
        "by-hand",
        &url,
        "-s",
        "user",
        "--client-id",
        "by-hand",
        "--client-secret",
    ];
    printed.add("add", &with_secret.run(&add).await.ok());
    for server in ["registered", "entry", "by-hand", "xaa"] {
        printed.add("login", &person.sign_in(server).await.ok());
    }
    let created = person.run(&["token", "create", "alice"]).await.ok();
    let more = [
        (
            "access token",
            token_in(&person, "server-registered", "/tokens/access"),
        ),
        (
            "refresh token",
            token_in(&person, "server-registered", "/tokens/refresh"),
        ),
        (
            "registered client secret",
            token_in(&person, "server-registered", "/client/secret"),
        ),
        ("identity token", token_in(&person, "idp-", "/id_token")),
        (
            "token by the enterprise",
            token_in(&person, "server-xaa", "/tokens/access"),
        ),
        ("client token", created.out.trim().to_owned()),
    ];
    secrets.extend(more);
    // What passed by on the way: codes and their proofs.
    let log = near.log().await;
    let forms: Vec<(String, String)> = log
        .iter()
        .filter(|entry| entry["path"] == "/as/main/token")
        .flat_map(|entry| {
            let body = entry["body"].as_str().unwrap_or_default().to_owned();
            url::form_urlencoded::parse(body.as_bytes())
                .into_owned()
                .collect::<Vec<_>>()
        })
        .collect();
    let of = |name: &str| {
        forms
            .iter()
            .find(|(known, _)| known == name)
            .unwrap()
            .1
            .clone()
    };
    secrets.insert("authorization code", of("code"));
    secrets.insert("code verifier", of("code_verifier"));
    assert!(secrets.len() >= 20, "{}", secrets.len());
    watcher.add(&secrets);

    // Every command, at every level of logging, well and badly.
    for level in ["error", "warn", "info", "debug", "trace"] {
        for args in [
            &["list"][..],
            &["list", "--json"],
            &["tools", "--json"],
            &["call", "registered__t"],
            &["call", "by-hand__t", "--json"],
            &["call", "xaa__t"],
            &["call", "bearer__t"],
            &["call", "custom__t", "--json"],
            &["call", "helper-fails__t"],
            &["call", "proxied__t"],
            &["call", "dies__t"],
            &["call", "local__echo", "{\"nonce\": 1}"],
        ] {
            let mut all = vec!["--log", level];
            all.extend(args);
            printed.add(&all.join(" "), &person.run(&all).await);
        }
    }
    let names = [
        "registered",
        "entry",
        "robot",
        "xaa",
        "bearer",
        "custom",
        "helped",
        "helper-fails",
        "password",
        "query",
        "proxied",
        "local",
        "dies",
        "by-hand",
    ];
    for name in names {
        for args in [
            &["get", name][..],
            &["get", name, "--json"],
            &["explain", name],
            &["explain", name, "--json"],
        ] {
            printed.add(&args.join(" "), &person.run(args).await);
        }
    }
    for args in [
        &["token", "list"][..],
        &["token", "list", "--json"],
        &["login", "bearer"],
        &["login", "proxied", "--no-browser", "--log", "trace"],
        &["disable", "dies"],
        &["enable", "dies"],
        &["doctor"],
        &["remove", "none"],
        &[
            "add",
            "custom",
            "http://127.0.0.1:1",
            "-s",
            "user",
            "-H",
            "X-Key: canary16-typed",
        ],
        &[
            "--mcp-config",
            "{\"mcpServers\": {\"a\": {\"url\": 1, \"headers\": {\"X\": \"canary16-typed\"}}}}",
            "list",
        ],
    ] {
        printed.add(args[0], &person.run(args).await);
    }
    // A renewal, one that fails, and an answer of the issuer's that is no answer.
    person.age("registered", expire);
    printed.add(
        "renewal",
        &person
            .run(&["--log", "trace", "call", "registered__t"])
            .await
            .ok(),
    );
    secrets.insert(
        "renewed access token",
        token_in(&person, "server-registered", "/tokens/access"),
    );
    secrets.insert(
        "renewed refresh token",
        token_in(&person, "server-registered", "/tokens/refresh"),
    );
    watcher.add(&secrets);
    near.turn(json!({"fault": "html"})).await;
    person.age("registered", expire);
    printed.add(
        "failed renewal",
        &person
            .run(&["--log", "trace", "call", "registered__t"])
            .await,
    );
    near.turn(json!({"fault": null})).await;

    // A gateway that tells everything it does, and then crashes.
    let (gateway, url) = person.serve(&["--log", "trace"]).await;
    let bearer = format!("Bearer {}", created.out.trim());
    let mut client = HttpClient::new(&format!("{url}/mcp")).header("authorization", &bearer);
    for params in [
        json!({"name": "by-hand__t"}),
        json!({"name": "local__echo", "arguments": {"nonce": 1}}),
        json!({"name": "bearer__t"}),
    ] {
        client.modern("tools/call", params).await;
    }
    let _ = HttpClient::new(&format!("{url}/mcp"))
        .header("authorization", "Bearer canary17-wrong-token")
        .modern("tools/list", json!({}))
        .await;
    secrets.insert("wrong client token", "canary17-wrong-token".into());
    let worker = Pid::from_raw(worker_of(gateway.pid()).await).unwrap();
    kill_process(worker, Signal::ABORT).unwrap();
    let ended = Instant::now() + world::RUN_LIMIT;
    let mut gateway = gateway;
    while gateway.ended().is_none() {
        assert!(Instant::now() < ended, "the gateway lives on");
        sleep(Duration::from_millis(20)).await;
    }
    printed.0.push(("serve".into(), gateway.stderr()));
    printed.add(
        "logout",
        &person
            .run(&["--log", "trace", "logout", "registered"])
            .await
            .ok(),
    );

    printed.holds_none_of(&secrets);
    // Typed by the user, so in the arguments of that one process; not in its answer.
    for (what, text) in &printed.0 {
        assert!(!text.contains("canary16-typed"), "{what}: {text}");
    }

    // Files: the settings hold what was written there, the vault and the tokens
    // what belongs there, and nothing else holds anything.
    let mut all = Vec::new();
    files(&person.path("home/."), &mut all);
    for path in all {
        let place = path.display().to_string();
        let theirs = place.contains("/vault/")
            || place.contains("/switchboard/tokens/")
            || place.ends_with("/settings.json")
            || place.ends_with("/helper.json");
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for (name, secret) in secrets.iter().filter(|_| !theirs) {
            assert!(!text.contains(secret.as_str()), "{name} in {place}");
        }
        if place.ends_with("/settings.json") {
            for name in [
                "client secret in the vault",
                "access token",
                "refresh token",
            ] {
                assert!(!text.contains(&secrets[name]), "{name} in {place}");
            }
        }
    }

    // Servers: each site sees its own secrets and none of the other's.
    let (near_log, far_log) = (
        json!(near.log().await).to_string(),
        json!(far.log().await).to_string(),
    );
    let for_far = [
        "canary06", "canary09", "canary10", "canary11", "canary12", "canary13",
    ];
    for (name, secret) in &secrets {
        let far_one = for_far.iter().any(|prefix| secret.starts_with(prefix));
        let log = if far_one { &near_log } else { &far_log };
        assert!(
            !log.contains(secret.as_str()),
            "{name} was sent to the wrong server"
        );
    }
    assert!(
        far_log.contains("canary09-helper-header") && far_log.contains("canary12-odd-header"),
        "the test sees headers"
    );
    for nowhere in ["canary07", "canary08", "canary14", "canary15", "canary17"] {
        assert!(
            !near_log.contains(nowhere) && !far_log.contains(nowhere),
            "{nowhere}"
        );
    }

    let looks = *watcher.looks.lock().unwrap();
    assert!(
        looks > 50,
        "only {looks} looks at the arguments of processes"
    );
    let seen = watcher.found.lock().unwrap().clone();
    assert!(seen.is_empty(), "{seen:#?}");
    let control = format!("control-{}", std::process::id());
    watcher.add(&[("control", control.clone())].into());
    let mut waiting = std::process::Command::new("sh")
        .args(["-c", "read line", &control])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + world::RUN_LIMIT;
    while watcher.found.lock().unwrap().is_empty() {
        assert!(Instant::now() < deadline, "arguments are not seen at all");
        sleep(Duration::from_millis(10)).await;
    }
    waiting.kill().unwrap();
    waiting.wait().unwrap();
}
