//! What a gateway counts, at `/metrics` and for `switchboard stats`.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{World, command, echo, servers};
use switchboard_testkit::{HttpClient, LEGACY, Program, bin};

/// A gateway that lets everybody in, and counts at an address of its own.
pub struct Counted {
    pub world: World,
    /// `http://127.0.0.1:PORT`, for clients.
    pub url: String,
    /// The same, for whoever reads what is counted.
    pub metrics: String,
    pub program: Program,
}

impl Counted {
    pub async fn start(world: World) -> Self {
        let args = ["--no-auth", "--metrics", "127.0.0.1:0"];
        let program = world.gateway_with(&args).await;
        let url = program.url().await;
        let line = program.wait_for_line("metrics on http://").await;
        let metrics = line.split_once("metrics on ").unwrap().1.trim().to_owned();
        Self {
            world,
            url,
            metrics,
            program,
        }
    }

    pub async fn legacy(&self, path: &str) -> HttpClient {
        let mut client = HttpClient::new(&format!("{}{path}", self.url));
        client.initialize(LEGACY).await;
        client
    }

    /// The page, in Prometheus's own format.
    pub async fn page(&self) -> String {
        self.page_as("text/plain").await
    }

    pub async fn page_as(&self, accept: &str) -> String {
        let reply = read(&format!("{}/metrics", self.metrics), &[("accept", accept)]).await;
        assert_eq!(reply.0, StatusCode::OK);
        reply.1
    }
}

async fn read(url: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let mut client = HttpClient::new(url);
    client.headers.clear();
    let reply = client.send(Method::GET, headers, "").await;
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    (reply.status, text)
}

/// The value of the sample that begins so.
#[track_caller]
fn value(page: &str, sample: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(sample));
    let value = line.unwrap_or_else(|| panic!("no {sample} in\n{page}"));
    value.trim().parse().unwrap()
}

fn count(server: &str, tool: &str, error: &str) -> String {
    let error = match error {
        "" => String::new(),
        error => format!(",error_type=\"{error}\""),
    };
    format!(
        "mcp_server_operation_duration_seconds_count{{mcp_server_name=\"{server}\",\
         mcp_method_name=\"tools/call\",gen_ai_tool_name=\"{tool}\"{error}}}"
    )
}

#[tokio::test]
async fn calls_are_counted_by_server_tool_and_outcome() {
    let mut settings = json!({"mcpServers": servers([("a", echo(&[])), ("b", echo(&[]))])});
    settings["permissions"] = json!({"deny": ["mcp__a__pid"]});
    let world = World::new();
    world.write_settings(&settings);
    let here = Counted::start(world).await;
    let mut all = here.legacy("/mcp").await;
    for nonce in ["x", "y"] {
        all.call("a__echo", json!({"nonce": nonce})).await;
    }
    // Under the server's own name, and in the other era, it is the same tool.
    let mut alone = HttpClient::new(&format!("{}/mcp/a", here.url));
    let params = json!({"name": "echo", "arguments": {"nonce": "z"}});
    alone.modern("tools/call", params).await;
    all.call("a__echo", json!({})).await;
    all.call("a__pid", json!({})).await;
    all.call("b__no_such_tool", json!({})).await;

    let page = here.page().await;
    assert_eq!(value(&page, &count("a", "echo", "")), 3.0);
    assert_eq!(value(&page, &count("a", "echo", "tool_error")), 1.0);
    // Names that only a client knows are counted together.
    assert_eq!(value(&page, &count("a", "other", "not_permitted")), 1.0);
    assert!(!page.contains("no_such_tool"), "{page}");
    let denied = "switchboard_denials_total{mcp_server_name=\"a\",mcp_method_name=\"tools/call\",\
                  gen_ai_tool_name=\"other\",error_type=\"not_permitted\"}";
    assert_eq!(value(&page, denied), 1.0);
    let theirs = count("a", "echo", "").replace("mcp_server_operation", "mcp_client_operation");
    assert_eq!(value(&page, &theirs), 3.0);
    let state = r#"switchboard_server_state{mcp_server_name="a",state="connected"}"#;
    assert_eq!(value(&page, state), 1.0);
    let name = r#"{mcp_server_name="a"}"#;
    for (family, at_least) in [
        ("switchboard_server_processes", 1.0),
        ("switchboard_server_resident_memory_bytes", 100_000.0),
        ("switchboard_server_starts_total", 1.0),
    ] {
        let found = value(&page, &format!("{family}{name}"));
        assert!(found >= at_least, "{family} is {found}");
    }
    assert!(value(&page, "process_resident_memory_bytes ") > 1e6);
    assert!(value(&page, "switchboard_sessions ") >= 1.0);
    assert!(value(&page, "switchboard_list_lookups_total{cache=\"miss\"}") >= 1.0);

    // Where examples are wanted, each leads to a call.
    let open = here
        .page_as("application/openmetrics-text;version=1.0.0")
        .await;
    assert!(open.ends_with("# EOF\n"));
    assert!(open.contains("# {call=\""), "{open}");
    assert!(!page.contains("# {"), "{page}");
    drop(here.program);
}

#[tokio::test]
async fn the_page_is_under_the_control_token_or_at_an_address_of_its_own() {
    let here = Counted::start(World::with(&servers([("a", echo(&[]))]))).await;
    let own = format!("{}/metrics", here.url);
    assert_eq!(read(&own, &[]).await.0, StatusCode::UNAUTHORIZED);
    let client = [("authorization", "Bearer wrong")];
    assert_eq!(read(&own, &client).await.0, StatusCode::UNAUTHORIZED);
    let control = format!("Bearer {}", here.world.token("control-token"));
    let (status, page) = read(&own, &[("authorization", &control)]).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(value(&page, "switchboard_door_refusals_total "), 2.0);
    // A web page whose name was rebound to the address reads nothing, and there is
    // nothing else at it.
    let rebound = [("host", "evil.example")];
    let (status, _) = read(&format!("{}/metrics", here.metrics), &rebound).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for path in ["/mcp", "/api/status", "/"] {
        let (status, _) = read(&format!("{}{path}", here.metrics), &[]).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn where_nothing_is_to_be_counted_nothing_is() {
    let world = World::with(&servers([("a", echo(&[]))]));
    let program = world.gateway_with(&["--metrics", "off"]).await;
    let url = format!("{}/metrics", program.url().await);
    let control = format!("Bearer {}", world.token("control-token"));
    let (status, _) = read(&url, &[("authorization", &control)]).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let stats = world.run(&["stats"]).await;
    assert_eq!(stats.code, Some(4), "{}", stats.err);
    assert!(stats.err.contains("--metrics off"), "{}", stats.err);
    // Others reach an address only where that is said; and on stdio nobody would.
    let ran = world
        .run(&["serve", "--http", "127.0.0.1:0", "--metrics", "0.0.0.0:0"])
        .await;
    assert!(ran.err.contains("--allow-remote"), "{}", ran.err);
    let ran = world.run(&["serve", "--metrics", "127.0.0.1:0"]).await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("say --http as well"), "{}", ran.err);
}

#[tokio::test]
async fn stats_shows_a_line_for_each_tool() {
    let here = Counted::start(World::with(&servers([("notes", echo(&[]))]))).await;
    let empty = here.world.run(&["stats"]).await.ok();
    assert_eq!(empty.out, "Nothing was called yet.\n");
    let mut client = here.legacy("/mcp").await;
    for n in 0..4 {
        client
            .call("notes__echo", json!({"nonce": "n".repeat(400 * n)}))
            .await;
    }
    client.call("notes__echo", json!({})).await;
    let shown = here.world.run(&["stats"]).await.ok();
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(lines[0].starts_with("SERVER"), "{}", shown.out);
    let words: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(words[..3], ["notes", "echo", "5"], "{}", shown.out);
    let json = here.world.run(&["stats", "--json"]).await.ok().json();
    let line = &json["lines"][0];
    assert_eq!(line["calls"], 5);
    assert_eq!(line["errors"], 1);
    assert!(line["tokens"].as_u64().unwrap() > 600, "{line}");
    for times in [&line["took"], &line["atServer"]] {
        let of = |name: &str| times[name].as_f64().unwrap();
        assert!(of("p50") > 0.0 && of("p50") <= of("p99"), "{line}");
    }
    // A server that is there and was not called has no lines; one that is not is told.
    let none = here.world.run(&["stats", "nobody", "--json"]).await;
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.contains("has no server"), "{none:?}");
}

#[tokio::test]
async fn tools_without_end_do_not_grow_the_page_without_end() {
    let here = Counted::start(World::with(&servers([("a", echo(&[]))]))).await;
    let mut client = HttpClient::new(&format!("{}/mcp/a", here.url)).keep_alive();
    let tools = |page: &str| {
        let counts = page.lines().filter(|line| {
            line.starts_with("mcp_server_operation_duration_seconds_count{mcp_server_name=\"a\"")
        });
        counts.count()
    };
    for _ in 0..260 {
        let params = json!({"name": "change_list", "arguments": {}});
        client.modern("tools/call", params).await;
    }
    // What it has is known once it was asked for after the last change.
    let mut all = HttpClient::new(&format!("{}/mcp", here.url)).keep_alive();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let list = all.modern("tools/list", json!({})).await.message();
        if list.to_string().contains("\"a__added_260\"") {
            break;
        }
        assert!(Instant::now() < deadline, "{list}");
    }
    let mut sizes = Vec::new();
    for n in 1..=260 {
        let params = json!({"name": format!("added_{n}"), "arguments": {}});
        let reply = client.modern("tools/call", params).await.message();
        assert!(reply["result"].is_object(), "{reply}");
        if n > 200 && n % 20 == 0 {
            sizes.push(tools(&here.page().await));
        }
    }
    assert_eq!(sizes, [101, 101, 101], "a hundred of them, and the others");
    let page = here.page().await;
    assert_eq!(value(&page, &count("a", "other", "")), 161.0);
}

/// The server answers to every name of this kind, and has none of them.
#[tokio::test]
async fn names_that_only_a_client_knows_are_no_labels() {
    let here = Counted::start(World::with(&servers([("a", echo(&[]))]))).await;
    let mut all = HttpClient::new(&format!("{}/mcp", here.url)).keep_alive();
    let list = all.modern("tools/list", json!({})).await.message();
    assert!(list.to_string().contains("\"a__echo\""), "{list}");
    let mut client = HttpClient::new(&format!("{}/mcp/a", here.url)).keep_alive();
    for n in 0..20 {
        let params = json!({"name": format!("added_{n}"), "arguments": {}});
        let reply = client.modern("tools/call", params).await.message();
        assert!(reply["result"].is_object(), "{reply}");
    }
    let page = here.page().await;
    assert!(!page.contains("added_"), "{page}");
    assert_eq!(value(&page, &count("a", "other", "")), 20.0);
}

/// Twenty things that nobody is to see.
fn canaries() -> Vec<String> {
    (0..20)
        .map(|n| format!("canary{n:02}-q7w8e9r0t1"))
        .collect()
}

#[tokio::test]
async fn twenty_canaries_are_in_no_count() {
    let canary = canaries();
    let mut entry = echo(&[]);
    entry["env"] = json!({"SECRET": canary[0], "OTHER": canary[1]});
    let token = command("echo-server", ["--stdio", "--name", &canary[2]]);
    assert!(bin("echo-server").exists());
    let all = servers([("a", entry), ("b", token)]);
    let world = World::with(&all).variable("MY_SECRET", &canary[3]);
    let here = Counted::start(world).await;
    let mut client = here.legacy("/mcp").await;
    for (at, name) in ["authorization", "cookie", "x-secret", "baggage"]
        .iter()
        .enumerate()
    {
        client = client.header(name, &canary[4 + at]);
    }
    client.call("a__echo", json!({"nonce": canary[8]})).await;
    client
        .call("b__echo", json!({"nonce": {"deep": canary[9]}}))
        .await;
    client
        .call("a__echo", json!({&canary[10]: canary[11]}))
        .await;
    client
        .call("a__echo", Value::String(canary[12].clone()))
        .await;
    client.call(&format!("a__{}", canary[13]), json!({})).await;
    client.call(&canary[14], json!({})).await;
    for (n, method) in [(15, "resources/read"), (16, "prompts/get"), (17, "no/such")] {
        let params = json!({"uri": format!("secret://{}", canary[n]), "name": canary[n]});
        client.request(method, params).await;
    }
    client.request(&canary[18], json!({})).await;
    let params =
        json!({"name": "a__echo", "arguments": {"nonce": "n"}, "_meta": {"x": canary[19]}});
    client.request("tools/call", params).await;
    let stats = here.world.run(&["stats"]).await.ok();
    let json = here.world.run(&["stats", "--json"]).await.ok();
    let seen = [
        ("metrics", here.page().await),
        (
            "openmetrics",
            here.page_as("application/openmetrics-text").await,
        ),
        ("stats", stats.out + &stats.err),
        ("stats --json", json.out + &json.err),
    ];
    assert!(seen.iter().all(|(_, text)| text.contains("echo")));
    for (place, text) in seen {
        for canary in &canary {
            assert!(
                !text.contains(canary.as_str()),
                "{canary} in {place}:\n{text}"
            );
        }
    }
}
