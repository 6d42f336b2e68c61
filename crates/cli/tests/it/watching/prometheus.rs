//! A real Prometheus reads a running gateway, and what `contrib/observability` has is
//! tried with it: every name, every query, every rule.

use super::metrics::Counted;
use http::Method;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    env, fs,
    io::Write,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};
use switchboard_testkit::world::{World, echo, servers};
use switchboard_testkit::{HttpClient, Program};
use tokio::time::{Instant, sleep};

const LONG: Duration = Duration::from_secs(120);

fn contrib() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/observability")
}

/// A program of Debian's package `prometheus`.
#[track_caller]
fn program(name: &str) -> PathBuf {
    let installed =
        env::var_os("SWITCHBOARD_TEST_PROMETHEUS").map(|folder| PathBuf::from(folder).join(name));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(name));
    let mut all = installed.into_iter().chain(on_path);
    all.find(|file| file.is_file()).unwrap_or_else(|| {
        panic!(
            "THERE IS NO {name}: nothing was tried with a real Prometheus. `cargo xtask setup` \
             fetches Debian's package prometheus and prints where it is; \
             SWITCHBOARD_TEST_PROMETHEUS names the folder of its programs"
        )
    })
}

fn promtool(args: &[&str], input: &str) -> Output {
    let mut tool = Command::new(program("promtool"))
        .args(args)
        .current_dir(contrib())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tool.stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    tool.wait_with_output().unwrap()
}

#[track_caller]
fn assert_fine(output: &Output) {
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
}

/// The queries of the dashboard, as Grafana would send them.
fn queries() -> Vec<(String, String)> {
    let dashboard = fs::read_to_string(contrib().join("dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array().unwrap();
        targets.iter().map(|target| {
            let query = target["expr"].as_str().unwrap();
            let query = query
                .replace("$__rate_interval", "1m")
                .replace("$__range", "5m")
                .replace("$server", ".*");
            (panel["title"].as_str().unwrap().to_owned(), query)
        })
    });
    queries.collect()
}

/// Names of metrics in a query or rule.
fn names(text: &str) -> HashSet<String> {
    let pattern = regex::Regex::new(r"\b(switchboard|mcp|process)_[a-z_]+\b").unwrap();
    let found = pattern
        .find_iter(text)
        .map(|found| found.as_str().to_owned());
    // Labels, and not names of what is counted.
    let labels = ["mcp_server_name", "mcp_method_name"];
    found
        .filter(|name| !labels.contains(&name.as_str()))
        .collect()
}

/// What Prometheus is asked for over HTTP.
struct Prometheus {
    url: String,
    _program: Program,
}

impl Prometheus {
    async fn start(world: &World, target: &str) -> Self {
        let config = fs::read_to_string(contrib().join("prometheus.yml")).unwrap();
        assert!(config.contains("127.0.0.1:9464") && config.contains("15s"));
        let config = config
            .replace("127.0.0.1:9464", target)
            .replace("15s", "1s");
        world.write("home/prometheus.yml", config);
        let rules = fs::read_to_string(contrib().join("alerts.yml")).unwrap();
        fs::write(world.path("home/alerts.yml"), rules).unwrap();
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let program = world
            .launch_any(program("prometheus"))
            .arg(format!(
                "--config.file={}",
                world.path("home/prometheus.yml").display()
            ))
            .arg(format!(
                "--storage.tsdb.path={}",
                world.path("home/data").display()
            ))
            .arg(format!("--web.listen-address={free}"))
            .arg("--enable-feature=exemplar-storage")
            .spawn();
        program
            .wait_for_line("Server is ready to receive web requests")
            .await;
        Self {
            url: format!("http://{free}"),
            _program: program,
        }
    }

    async fn get(&self, path: &str, query: &str) -> Value {
        let query: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("query", query)
            .finish();
        let mut client = HttpClient::new(&format!("{}/api/v1/{path}?{query}", self.url));
        let reply = client.send(Method::GET, &[], "").await;
        serde_json::from_slice(&reply.body).unwrap()
    }

    /// The series that a query finds; waits until there is one.
    async fn finds(&self, query: &str) -> Result<Vec<Value>, Value> {
        let until = Instant::now() + LONG;
        loop {
            let answer = self.get("query", query).await;
            if answer["status"] != "success" {
                return Err(answer);
            }
            let found = answer["data"]["result"].as_array().unwrap();
            if !found.is_empty() {
                return Ok(found.clone());
            }
            if Instant::now() > until {
                return Err(json!("nothing was found"));
            }
            sleep(Duration::from_millis(500)).await;
        }
    }
}

/// A gateway where all that a dashboard could show has happened.
async fn busy() -> Counted {
    let broken = json!({"command": "no-such-program-anywhere"});
    let mut settings = json!({"mcpServers": servers([("a", echo(&[])), ("broken", broken)])});
    settings["permissions"] = json!({"deny": ["mcp__a__pid"]});
    let world = World::new();
    world.write_settings(&settings);
    Counted::start(world).await
}

async fn some_calls(here: &Counted) {
    let mut client = here.legacy("/mcp").await;
    client.call("a__echo", json!({"nonce": "n"})).await;
    client.call("a__echo", json!({})).await;
    client.call("a__pid", json!({})).await;
    client.call("broken__x", json!({})).await;
}

#[tokio::test]
async fn the_page_is_what_promtool_wants() {
    let here = busy().await;
    some_calls(&here).await;
    let page = here.page().await;
    let checked = promtool(&["check", "metrics"], &page);
    assert_fine(&checked);
    // It says what it does not like, and ends well all the same.
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    let said = said + &String::from_utf8_lossy(&checked.stdout);
    assert_eq!(said.trim(), "", "{page}");
}

#[test]
fn the_rules_do_what_their_tests_say() {
    assert_fine(&promtool(&["check", "rules", "alerts.yml"], ""));
    assert_fine(&promtool(&["check", "config", "prometheus.yml"], ""));
    assert_fine(&promtool(&["test", "rules", "alerts.test.yml"], ""));
}

#[tokio::test]
async fn every_name_is_one_that_the_program_has() {
    let here = busy().await;
    some_calls(&here).await;
    let page = here.page().await;
    let has = |name: &str| page.lines().any(|line| line.starts_with(name));
    let mut used = names(&fs::read_to_string(contrib().join("alerts.yml")).unwrap());
    used.extend(names(
        &fs::read_to_string(contrib().join("dashboard.json")).unwrap(),
    ));
    assert!(used.len() > 20, "{used:?}");
    let missing: Vec<&String> = used.iter().filter(|name| !has(name)).collect();
    assert!(missing.is_empty(), "{missing:?} are not in\n{page}");
}

#[tokio::test]
async fn every_query_of_the_dashboard_finds_its_series() {
    let here = busy().await;
    let target = here.metrics.trim_start_matches("http://").to_owned();
    some_calls(&here).await;
    let prometheus = Prometheus::start(&here.world, &target).await;
    let up = prometheus.finds("up{job=\"switchboard\"} == 1").await;
    up.expect("it is scraped");
    // Rates need two looks with something in between.
    some_calls(&here).await;
    let mut failed = Vec::new();
    for (panel, query) in queries() {
        if let Err(why) = prometheus.finds(&query).await {
            failed.push(format!("{panel}: {query}: {why}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // Examples come along, and lead to calls.
    let examples = prometheus.get(
        "query_exemplars",
        "mcp_server_operation_duration_seconds_bucket",
    );
    let examples = examples.await;
    let call = &examples["data"][0]["exemplars"][0]["labels"]["call"];
    assert!(call.is_string(), "{examples}");
}
