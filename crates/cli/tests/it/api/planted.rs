//! Secrets that come in by every way there is: none of them is in any answer of a route that
//! only reads, in the events, in what commands show or in what is written, without the second
//! act. Two places are left out, since they are there to be used: the address of a page that
//! waits to be visited, and addresses of resources, which are read by them.

use super::Asker;
use crate::support::scripted::Scripted;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use switchboard::api::types::routes::ROUTES;
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY,
    world::{World, until},
};

/// The ways in, each with a secret of its own: words that only their name or place tells, and
/// those that tell by themselves.
#[derive(Default)]
struct Planted(BTreeMap<&'static str, String>);

impl Planted {
    /// One that could be a word or a number like any other.
    fn plain(&mut self, way: &'static str) -> String {
        let n = self.0.len();
        self.add(way, format!("canary-{n:02}-plumbago"))
    }

    /// One that looks like a secret.
    fn telling(&mut self, way: &'static str) -> String {
        let n = self.0.len();
        self.add(
            way,
            format!("sk-canary{n:02}-Qz7xW3vB9kLmN2pR5tY8Qz7xW3vB9kLmN2pR"),
        )
    }

    fn add(&mut self, way: &'static str, secret: String) -> String {
        self.0.insert(way, secret.clone());
        secret
    }

    /// Those that stand in a text.
    fn found(&self, place: &str, text: &str) -> Vec<String> {
        let found = self
            .0
            .iter()
            .filter(|(_, secret)| text.contains(secret.as_str()));
        let found = found.map(|(way, secret)| {
            let at = text.find(secret.as_str()).unwrap_or_default();
            let from = text.floor_char_boundary(at.saturating_sub(80));
            let to = text.floor_char_boundary((at + 80).min(text.len()));
            format!("{place}: {way}: …{}…", &text[from..to])
        });
        found.collect()
    }
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn request(id: &str, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A server that repeats its own secret, and says others in every way that servers have.
fn server(planted: &mut Planted) -> (Scripted, Value) {
    let own = planted.plain("a variable of the entry, in instructions, lists, errors and texts");
    let info = json!({"name": "scripted", "version": "1"});
    let capabilities =
        json!({"tools": {}, "resources": {}, "prompts": {}, "logging": {}, "completions": {}});
    let hello = json!({"protocolVersion": LEGACY, "capabilities": capabilities, "serverInfo": info,
        "instructions": format!("sign with {own}")});
    let tools = json!({"tools": [
        {"name": "act", "description": format!("sends {own} along, such as {}", planted.telling("a description")),
         "annotations": {"readOnlyHint": true},
         "inputSchema": {"type": "object", "properties": {
            "token": {"type": "string", "default": planted.telling("a default in a schema")}}}},
        {"name": "fail", "inputSchema": {"type": "object"}},
        {"name": "ask", "inputSchema": {"type": "object"}},
    ]});
    let progress = message(
        "notifications/progress",
        &json!({"progressToken": "@TOKEN@", "progress": 1,
        "message": format!("uploads with {own}, password={}", planted.plain("progress"))}),
    )
    .replace("\"@TOKEN@\"", "@TOKEN@");
    let log = message(
        "notifications/message",
        &json!({"level": "error", "logger": own,
        "data": {"password": planted.plain("a log message"), "note": own}}),
    );
    let number = planted.add("a number", "918273645091827".to_owned());
    let number: u64 = number.parse().expect("a number");
    let result = json!({
        "content": [
            {"type": "text", "text": format!("api_key={} and {own}", planted.plain("the text of a result"))},
            {"type": "image", "mimeType": "image/png", "data": planted.telling("data in a result")},
        ],
        "structuredContent": {"credentials": {"user": "ada", "pin": number,
            "more": [{"deep": planted.plain("a nested object")}]}},
    });
    let error = json!({"code": -32000, "message": format!("wrong token: {}; {own}", planted.telling("the text of an error")),
        "data": {"secret": planted.plain("the data of an error")}});
    let form = request(
        "form-1",
        "elicitation/create",
        &json!({
        "message": format!("for {own}: which password beside {}?", planted.telling("the text of a question")),
        "requestedSchema": {"type": "object", "properties": {"password": {"type": "string",
            "default": planted.telling("a default in a question")}}}}),
    );
    let sampling = request(
        "sample-1",
        "sampling/createMessage",
        &json!({"maxTokens": 5, "messages": [
        {"role": "user", "content": {"type": "text", "text": format!("it is {}", planted.telling("a sampling"))}}]}),
    );
    let resource = json!({"resources": [{"name": "notes", "uri": "notes://one",
        "description": format!("opens with {}", planted.telling("the description of a resource"))}]});
    let contents = json!({"contents": [
        {"uri": "notes://one", "text": format!("password: {}", planted.plain("a resource"))},
        {"uri": "notes://two", "blob": planted.telling("the blob of a resource")}]});
    let prompts = json!({"prompts": [{"name": "p", "arguments": [{"name": "apiKey"}]}]});
    let prompt = json!({"messages": [{"role": "user", "content": {"type": "text",
        "text": format!("Authorization: Bearer {}", planted.plain("a prompt"))}}]});
    let completed = json!({"completion": {"values": [planted.telling("a completion")]}});
    let line = |method: &str, reply: &Value| json!({"method": method, "reply": reply.to_string()});
    let call = |tool: &str, reply: &Value, kind: &str, before: &[String]| {
        json!({"method": "tools/call", "match": format!("\"{tool}\""), "kind": kind,
            "reply": reply.to_string(), "before": before})
    };
    let scripted = Scripted::new(
        "legacy",
        &[
            line("initialize", &hello),
            line("tools/list", &tools),
            line("resources/list", &resource),
            line(
                "resources/templates/list",
                &json!({"resourceTemplates": []}),
            ),
            line("resources/read", &contents),
            line("prompts/list", &prompts),
            line("prompts/get", &prompt),
            line("completion/complete", &completed),
            line("logging/setLevel", &json!({})),
            call("act", &result, "result", &[progress, log]),
            call("fail", &error, "error", &[]),
            call("ask", &result, "result", &[form, sampling]),
        ],
    );
    let mut entry = scripted.stdio();
    entry["env"] = json!({"SERVICE_TOKEN": own});
    (scripted, entry)
}

/// Settings with secrets of their own beside that server.
fn settings(planted: &mut Planted, entry: &Value) -> Value {
    let (user, key) = (
        planted.plain("the user of an address"),
        planted.plain("the query of an address"),
    );
    json!({
        "mcpServers": {
            "s": entry,
            "far": {"type": "http", "url": format!("http://u:{user}@127.0.0.1:1/mcp?api_key={key}"),
                "headers": {"Authorization": format!("Bearer {}", planted.plain("a header of an entry"))}},
            "noisy": {"command": "/bin/sh", "args": ["-c",
                format!("echo 'password: {}' >&2; exit 1", planted.plain("stderr, and arguments of a shell"))]},
        },
        "permissions": {"ask": ["mcp__s__fail"]},
        "approvals": {"askAt": "inbox", "notify": false, "webhook": {"address": "http://127.0.0.1:1/hook",
            "secret": planted.plain("settings: the webhook")}},
        "observe": {"audit": {"sync": "each", "arguments": true}},
    })
}

/// Answers the question of this kind once it is there.
async fn answer(asker: &Asker, kind: &str, answer: Value) {
    let limit = tokio::time::Instant::now() + DEADLINE;
    loop {
        let all = asker.get("questions").await;
        let found = all["questions"].as_array().unwrap().iter();
        let found: Vec<&Value> = found.filter(|one| one["kind"] == kind).collect();
        if let Some(id) = found.first().and_then(|one| one["id"].as_str()) {
            asker.post(&format!("questions/{id}"), answer).await;
            return;
        }
        assert!(tokio::time::Instant::now() < limit, "no {kind}: {all}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Everything that a client does, with secrets in all that it sends.
async fn use_it(world: &World, asker: &Asker, planted: &mut Planted) -> Vec<String> {
    let key = planted.plain("the query of a client's address");
    let mut client = HttpClient::new(&format!("{}/mcp/s?api_key={key}", asker.url))
        .header(
            "authorization",
            &format!("Bearer {}", world.token("tokens/default")),
        )
        .header("x-api-key", &planted.plain("a header of a client"));
    client.initialize(LEGACY).await;
    client
        .request("logging/setLevel", json!({"level": "debug"}))
        .await;
    let number = planted.add("a number in arguments", "827364509182736".to_owned());
    let number: u64 = number.parse().expect("a number");
    let arguments = json!({"auth": {"password": planted.plain("nested arguments")}, "passcode": number,
        "note": format!("--token {}", planted.telling("the text of an argument")),
        "list": ["x", planted.telling("a list of arguments")]});
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        (
            "tools/call",
            json!({"name": "act", "arguments": arguments, "_meta": {"progressToken": "p1",
            "authorization": planted.plain("_meta")}}),
        ),
        ("resources/read", json!({"uri": "notes://one"})),
        (
            "resources/read",
            json!({"uri": format!("notes://u:{}@h/x?access_token={}",
            planted.plain("the user of a resource"), planted.plain("the query of a resource"))}),
        ),
        (
            "prompts/get",
            json!({"name": "p", "arguments": {"apiKey": planted.plain("arguments of a prompt")}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "apiKey", "value": planted.telling("an argument to complete")}}),
        ),
    ] {
        let reply = client.request(method, params).await;
        assert!(reply.get("result").is_some(), "{method}: {reply}");
    }
    let secret = planted.plain("arguments that wait for a yes");
    let failing = client.clone_for(&[]);
    let waiting = tokio::spawn(async move {
        let mut client = failing;
        client.call("fail", json!({"password": secret})).await
    });
    let seen = peek(asker, "permission").await;
    answer(asker, "permission", json!({"action": "allow"})).await;
    assert!(waiting.await.unwrap()["error"]["code"] == -32000);
    let waiting = tokio::spawn(async move { client.call("ask", json!({})).await });
    let more = peek(asker, "form").await;
    let content = json!({"password": planted.plain("what is answered to a question")});
    answer(
        asker,
        "form",
        json!({"action": "accept", "content": content}),
    )
    .await;
    let model = planted.telling("a model's answer");
    answer(
        asker,
        "sampling",
        json!({"action": "accept", "content": model}),
    )
    .await;
    assert!(waiting.await.unwrap().get("result").is_some());
    vec![seen, more]
}

/// What is shown of a question of this kind while it waits, in the list and by itself.
async fn peek(asker: &Asker, kind: &str) -> String {
    let limit = tokio::time::Instant::now() + DEADLINE;
    loop {
        let all = asker.get("questions").await;
        let found = all["questions"].as_array().unwrap().iter();
        if let Some(one) = found.into_iter().find(|one| one["kind"] == kind) {
            let id = one["id"].as_str().unwrap();
            let alone = asker.get(&format!("questions/{id}")).await;
            return format!("{all}{alone}");
        }
        assert!(tokio::time::Instant::now() < limit, "no {kind}: {all}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Every route that only reads, for every server and call.
async fn read_all(asker: &Asker) -> Vec<(String, String)> {
    let calls = asker.get("calls?limit=1000").await;
    let calls = calls["calls"].as_array().unwrap();
    let ids: Vec<String> = calls.iter().map(|call| call["id"].to_string()).collect();
    assert!(ids.len() >= 9, "{ids:?}");
    let servers = ["s", "far", "noisy"];
    let mut read = Vec::new();
    for route in ROUTES
        .iter()
        .filter(|route| route.verb == "GET" && route.path != "events")
    {
        let mut paths = vec![route.path.to_owned()];
        for (part, values) in [
            ("{segment}", servers.map(str::to_owned).to_vec()),
            ("{server}", servers.map(str::to_owned).to_vec()),
            (
                "{name}",
                [&servers[..], &["mcp__s__act", "mcp__s__fail"]]
                    .concat()
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect(),
            ),
            (
                "{list}",
                ["tools", "resources", "templates", "prompts"]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            ("{id}", ids.clone()),
        ] {
            paths = paths
                .iter()
                .flat_map(|path| match path.contains(part) {
                    true => values
                        .iter()
                        .map(|value| path.replace(part, value))
                        .collect(),
                    false => vec![path.clone()],
                })
                .collect();
        }
        for path in paths {
            let query = match route.path {
                "servers" => "?used=true",
                "questions" => "?all=true",
                "calls" | "audit" => "?limit=1000",
                _ => "",
            };
            let (status, said) = asker.ask("GET", &format!("{path}{query}"), "").await;
            assert!(status < 500, "{path}: {status} {said}");
            read.push((format!("GET {path}"), said.to_string()));
        }
    }
    read
}

#[tokio::test]
async fn none_is_shown_or_written_without_the_second_act() {
    let mut planted = Planted::default();
    let (_scripted, entry) = server(&mut planted);
    let world = World::new();
    world.write_settings(&settings(&mut planted, &entry));
    let args = [
        "--log",
        "debug",
        "--log-file",
        "run.log",
        "--tap",
        "--record",
        "cassettes",
        "--access-log",
        "access.log",
        "--access-log-format",
        "json",
    ];
    let gateway = world.gateway_with(&args).await;
    let control = Asker::control(&world, &gateway).await;
    let session = control.session().await;
    let own = Asker::new(&control.url, Some(&world.token("tokens/default")));
    for name in ["a client's token", "the control token"] {
        let file = if name.starts_with("the") {
            "control-token"
        } else {
            "tokens/default"
        };
        planted.add(name, world.token(file));
    }
    let mut events = control.events("topics=state,calls,questions").await;
    for server in ["far", "noisy"] {
        control
            .ask("POST", &format!("servers/{server}/reconnect"), "{}")
            .await;
    }
    let mut shown: Vec<(String, String)> = Vec::new();
    let seen = use_it(&world, &control, &mut planted).await;
    shown.extend(
        seen.into_iter()
            .map(|text| ("a question that waits".to_owned(), text)),
    );
    assert!(planted.0.len() >= 30, "{}", planted.0.len());
    for asker in [&control, &session] {
        shown.extend(read_all(asker).await);
    }
    for path in ["session", "calls", "questions"] {
        shown.push((format!("own {path}"), own.get(path).await.to_string()));
    }
    // The second act shows what is cut, so that there was something to cut.
    let id = control.get("calls?filter=tool:act").await["calls"][0]["id"].to_string();
    let revealed = control.post(&format!("calls/{id}/reveal"), json!({})).await;
    assert!(
        planted.found("", &revealed.to_string()).len() >= 8,
        "{revealed}"
    );
    while let Some(event) = events.next_within(Duration::from_millis(500)).await {
        let text = String::from_utf8_lossy(&event.raw).into_owned();
        shown.push(("events".to_owned(), text));
    }
    let page = HttpClient::new(&format!("{}/metrics", control.url))
        .header(
            "authorization",
            &format!("Bearer {}", world.token("control-token")),
        )
        .send(::http::Method::GET, &[], "")
        .await;
    shown.push((
        "/metrics".to_owned(),
        String::from_utf8_lossy(&page.body).into_owned(),
    ));
    for args in [
        &["status", "--json"][..],
        &["stats", "--json"],
        &["list", "--json"],
        &["doctor", "--no-connect"],
        &["explain", "far"],
        &["explain", "mcp__s__act"],
        &["get", "far"],
        &["get", "noisy"],
        &["inbox", "--json"],
        &["logs", "s"],
        &["logs", "noisy"],
        &["audit", "--json"],
        &["traffic", "--no-follow", "--json", "-n", "1000"],
        &["traffic", "show", &id],
        &["traffic", "copy", &id],
        &["traffic", "export", ""],
    ] {
        let ran = world.run(args).await;
        shown.push((
            format!("switchboard {}", args.join(" ")),
            format!("{}{}", ran.out, ran.err),
        ));
    }
    let heard = |word: &str| shown.iter().any(|(_, text)| text.contains(word));
    assert!(heard("notes://one") && heard("structuredContent") && heard("[redacted]"));
    // What is written: logs, the record, cassettes, the access log.
    let written = until(DEADLINE, || {
        let all = world.everything();
        let has = |name: &str| all.keys().any(|path| path.to_string_lossy().contains(name));
        (has("access.log") && has("cassettes/") && has("run.log") && has("audit")).then_some(all)
    });
    drop(gateway);
    let written = written.await.expect("all of it is written");
    for (path, bytes) in written {
        let name = path.display().to_string();
        // What holds them on purpose, for nobody but its user: settings and tokens; what
        // servers list, kept to be listed and compared as it is; what they wrote to stderr.
        let holds = [
            "settings.json",
            "control-token",
            "/tokens/",
            "/catalogs/",
            "/pins/",
            "state/switchboard/servers/",
        ]
        .iter()
        .any(|part| name.contains(part));
        if !holds {
            shown.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    let found: Vec<String> = shown
        .iter()
        .flat_map(|(place, text)| planted.found(place, text))
        .collect();
    assert!(
        found.is_empty(),
        "{} places:\n{}",
        found.len(),
        found.join("\n")
    );
}
