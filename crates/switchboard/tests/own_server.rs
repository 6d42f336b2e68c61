//! The examples of servers of one's own, run as programs: on stdio and over
//! HTTP, HTTP+SSE and WebSocket, for clients of both eras.
//!
//! This program is its own child: told so by a variable it is one of the
//! examples, otherwise it tests.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it is its own harness"
)]

#[path = "../examples/greeter.rs"]
mod greeter;
#[path = "../examples/own_server.rs"]
mod own_server;

use serde_json::{Value, json};
use std::{process::ExitCode, time::Duration};
use switchboard_testkit::{Channel, HttpClient, LEGACY, Program, StdioClient, text_of};

/// Which example the child is.
const EXAMPLE: &str = "OWN_SERVER_EXAMPLE";
const TOKEN: &str = "a-token-for-this-test-alone-0123456789";
const SOON: Duration = Duration::from_secs(30);

type Test = fn();

macro_rules! tests {
    ($($name:ident,)*) => {
        const TESTS: &[(&str, Test)] = &[$((stringify!($name), $name)),*];
    };
}

tests! {
    ten_lines_on_stdio,
    on_stdio_in_both_eras,
    on_every_network_face,
    questions_in_both_eras,
    bad_arguments_by_revision,
    a_cancelled_call_is_dropped,
    questions_of_several_clients_at_once,
    the_end,
}

fn main() -> ExitCode {
    match std::env::var(EXAMPLE).as_deref() {
        Ok("greeter") => return ended(greeter::main()),
        Ok(_) => return ended(own_server::main()),
        Err(_) => {}
    }
    // What nextest asks of a harness.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    if has("--list") {
        for (name, _) in TESTS.iter().filter(|_| !has("--ignored")) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    let is_wanted = |name: &str| {
        let fits =
            |wanted: &&String| name == **wanted || (!has("--exact") && name.contains(*wanted));
        names.is_empty() || names.iter().any(fits)
    };
    for (name, test) in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        test();
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn ended<E: std::fmt::Display>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            println!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(test);
}

fn example(name: &str) -> switchboard_testkit::Launch {
    Program::new(std::env::current_exe().unwrap())
        .env(EXAMPLE, name)
        .env("OWN_SERVER_TOKEN", TOKEN)
}

fn stdio() -> Channel {
    Channel::stdio(example("own_server").spawn())
}

async fn over_http() -> (Program, String) {
    let program = example("own_server").arg("127.0.0.1:0").spawn();
    let base = program.url().await;
    (program, base)
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

/// Sends a request in the client's era.
async fn send(client: &mut Channel, modern: bool, method: &str, params: Value) -> Value {
    if modern {
        client.modern(method, params).await
    } else {
        client.request(method, params).await
    }
}

async fn call(client: &mut Channel, modern: bool, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    send(client, modern, "tools/call", params).await
}

/// Everything but questions, on any transport.
async fn tour(client: &mut Channel, modern: bool, face: &str) {
    let listed = send(client, modern, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("{face}: {listed}"));
    let price = tools.iter().find(|tool| tool["name"] == "price").unwrap();
    let city = &price["inputSchema"]["properties"]["city"];
    assert_eq!(city["description"], "Where it goes.", "{face}: {price}");
    assert_eq!(
        price["inputSchema"]["required"],
        json!(["city", "days"]),
        "{face}"
    );
    assert_eq!(price["outputSchema"]["type"], "object", "{face}");
    assert_eq!(price["annotations"]["readOnlyHint"], true, "{face}");

    let trip = json!({"city": "Rome", "days": 3});
    let priced = call(client, modern, "price", trip).await;
    assert_eq!(
        priced["result"]["structuredContent"]["euros"], 270,
        "{face}: {priced}"
    );
    assert_eq!(text_of(&priced), r#"{"euros":270}"#, "{face}");

    let shown = call(client, modern, "brochure", json!({})).await;
    let content = &shown["result"]["content"];
    assert_eq!(content[1]["type"], "image", "{face}: {shown}");
    assert_eq!(content[1]["mimeType"], "image/png", "{face}");
    assert_eq!(content[2]["type"], "resource_link", "{face}");
    assert_eq!(
        content[2]["uri"], "https://trips.example/brochure",
        "{face}"
    );

    let params = json!({"name": "search", "arguments": {"steps": 2},
        "_meta": {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}});
    client.notifications.clear();
    let found = send(client, modern, "tools/call", params).await;
    assert_eq!(text_of(&found), "nothing found", "{face}");
    let told = |method: &str| {
        let seen = client.notifications.iter();
        let params = seen
            .filter(|it| it["method"] == method)
            .map(|it| it["params"].clone());
        params.collect::<Vec<Value>>()
    };
    let progress = told("notifications/progress");
    let last = progress
        .last()
        .unwrap_or_else(|| panic!("{face}: no progress"));
    assert_eq!(last["progressToken"], "p", "{face}");
    assert_eq!(last["progress"].as_f64(), Some(2.0), "{face}: {progress:?}");
    let logged = told("notifications/message");
    assert!(
        logged
            .iter()
            .any(|it| it["data"]["steps"] == 2 && it["logger"] == "search"),
        "{face}: {logged:?}"
    );

    // A panic ends the call, and nothing else.
    let broken = call(client, modern, "broken", json!({})).await;
    assert_eq!(broken["error"]["code"], -32603, "{face}: {broken}");
    assert!(broken.to_string().contains("broken"), "{face}: {broken}");
    let unknown = call(client, modern, "no-such-tool", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{face}: {unknown}");
    let wrong = call(client, modern, "price", json!({"city": "Rome", "days": 99})).await;
    assert_eq!(wrong["result"]["isError"], true, "{face}: {wrong}");
    assert!(text_of(&wrong).contains("days"), "{face}: {wrong}");
    let unread = send(client, modern, "no/such/method", json!({})).await;
    assert_eq!(unread["error"]["code"], -32601, "{face}: {unread}");
}

fn ten_lines_on_stdio() {
    run(async {
        let mut client = StdioClient::new(example("greeter").spawn());
        let hello = client.initialize(LEGACY).await;
        assert_eq!(hello["serverInfo"]["name"], "greeter", "{hello}");
        assert_eq!(hello["serverInfo"]["version"], "1.0.0", "{hello}");
        let greeted = client.call("greet", json!({"name": "Ada"})).await;
        assert_eq!(text_of(&greeted), "Hello, Ada!");
        let mut client = StdioClient::new(example("greeter").spawn());
        let found = client.modern("server/discover", json!({})).await;
        let versions = found["result"]["supportedVersions"].to_string();
        assert!(versions.contains("2026-07-28"), "{found}");
        let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
        let greeted = client.modern("tools/call", params).await;
        assert_eq!(text_of(&greeted), "Hello, Ada!");
        assert_eq!(greeted["result"]["resultType"], "complete", "{greeted}");
    });
}

fn on_stdio_in_both_eras() {
    run(async {
        let mut client = stdio();
        let hello = client.initialize(LEGACY).await;
        assert_eq!(hello["serverInfo"]["title"], "Trips", "{hello}");
        assert_eq!(
            hello["instructions"], "Prices are for one person.",
            "{hello}"
        );
        tour(&mut client, false, "stdio").await;
        tour(&mut stdio(), true, "stdio, modern").await;
    });
}

fn on_every_network_face() {
    run(async {
        let (_program, base) = over_http().await;
        let mut stranger = HttpClient::new(&format!("{base}/mcp"));
        let refused = stranger.modern("tools/list", json!({})).await;
        assert_eq!(refused.status, 401, "without the token");
        let bearer = bearer();
        let headers = [("authorization", bearer.as_str())];
        let ws = base.replace("http://", "ws://");
        for (face, mut client) in [
            ("http", Channel::http(&format!("{base}/mcp"), &headers)),
            ("sse", Channel::sse(&format!("{base}/sse"), &headers).await),
            ("ws", Channel::ws(&format!("{ws}/ws"), &headers).await),
        ] {
            client.initialize(LEGACY).await;
            tour(&mut client, false, face).await;
        }
        let mut client = Channel::http(&format!("{base}/mcp"), &headers);
        tour(&mut client, true, "http, modern").await;
    });
}

/// What a user says to a question.
fn said(params: &Value) -> Value {
    if params["mode"] == "url" {
        assert_eq!(params["url"], "https://pay.example/trip", "{params}");
        return json!({"action": "accept"});
    }
    let fields = &params["requestedSchema"]["properties"];
    assert_eq!(fields["window"]["type"], "boolean", "{params}");
    if params["message"] == "Who goes to Nowhere?" {
        return json!({"action": "decline"});
    }
    json!({"action": "accept", "content": {"name": "Ada", "window": true}})
}

/// A call of a modern client, which answers what it is asked and comes again.
async fn asked_call(client: &mut Channel, name: &str, arguments: Value) -> Value {
    let mut params = json!({"name": name, "arguments": arguments});
    let first = client.modern("tools/call", params.clone()).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let questions = first["result"]["inputRequests"].as_object().unwrap();
    let answers = questions.iter().map(|(key, question)| {
        assert_eq!(question["method"], "elicitation/create", "{question}");
        (key.clone(), said(&question["params"]))
    });
    params["inputResponses"] = Value::Object(answers.collect());
    params["requestState"] = first["result"]["requestState"].clone();
    client.modern("tools/call", params).await
}

fn questions_in_both_eras() {
    run(async {
        let (_program, base) = over_http().await;
        let bearer = bearer();
        let at = || {
            Channel::http(
                &format!("{base}/mcp"),
                &[("authorization", bearer.as_str())],
            )
        };
        for (face, mut client) in [("stdio", stdio()), ("http", at())] {
            client.on_request(|method, params| {
                assert_eq!(method, "elicitation/create");
                json!({"result": said(params)})
            });
            client.initialize(LEGACY).await;
            for (city, answer) in [
                ("Rome", "Ada goes to Rome, window seat."),
                ("Nowhere", "nobody goes"),
            ] {
                let booked = client.call("book", json!({"city": city, "days": 1})).await;
                assert_eq!(text_of(&booked), answer, "{face}: {booked}");
                let is_error = booked["result"]["isError"] == true;
                assert_eq!(is_error, city == "Nowhere", "{face}: {booked}");
            }
            let paid = client.call("pay", json!({})).await;
            assert_eq!(text_of(&paid), "paid", "{face}: {paid}");
            let done = client
                .notification("notifications/elicitation/complete")
                .await;
            assert!(
                done["params"]["elicitationId"].is_string(),
                "{face}: {done}"
            );
        }
        for (face, mut client) in [("stdio", stdio()), ("http", at())] {
            let trip = |city: &str| json!({"city": city, "days": 1});
            let booked = asked_call(&mut client, "book", trip("Rome")).await;
            assert_eq!(text_of(&booked), "Ada goes to Rome, window seat.", "{face}");
            let booked = asked_call(&mut client, "book", trip("Nowhere")).await;
            assert_eq!(booked["result"]["isError"], true, "{face}: {booked}");
            let paid = asked_call(&mut client, "pay", json!({})).await;
            assert_eq!(text_of(&paid), "paid", "{face}: {paid}");
        }
        // A client that cannot ask its user: the handler hears of it.
        let mut client = stdio();
        let params = json!({"protocolVersion": LEGACY, "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"}});
        client.request("initialize", params).await;
        client.notify("notifications/initialized", json!({}));
        let booked = client
            .call("book", json!({"city": "Rome", "days": 1}))
            .await;
        assert_eq!(booked["result"]["isError"], true, "{booked}");
        assert!(text_of(&booked).contains("cannot ask its user"), "{booked}");
    });
}

fn bad_arguments_by_revision() {
    run(async {
        let (_program, base) = over_http().await;
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let program = example("own_server").spawn();
            let mut on_stdio = StdioClient::new(program);
            on_stdio.initialize(revision).await;
            let mut http =
                HttpClient::new(&format!("{base}/mcp")).header("authorization", &bearer());
            http.initialize(revision).await;
            for (arguments, field) in [
                (json!({"city": "Rome"}), "days"),
                (json!({"city": 7, "days": 1}), "city"),
                (json!({}), "city"),
            ] {
                let answers = [
                    on_stdio.call("price", arguments.clone()).await,
                    http.call("price", arguments).await,
                ];
                for answer in answers {
                    let text = if revision < "2025-11-25" {
                        assert_eq!(answer["error"]["code"], -32602, "{revision}: {answer}");
                        answer["error"]["message"].as_str().unwrap().to_owned()
                    } else {
                        assert_eq!(answer["result"]["isError"], true, "{revision}: {answer}");
                        text_of(&answer).to_owned()
                    };
                    assert!(text.contains(field), "{revision}: {text}");
                }
            }
        }
    });
}

fn a_cancelled_call_is_dropped() {
    run(async {
        let long = || {
            json!({"name": "search", "arguments": {"steps": 1_000_000},
            "_meta": {"progressToken": "p"}})
        };
        for modern in [false, true] {
            let (program, base) = over_http().await;
            let bearer = bearer();
            let mut client = Channel::http(&format!("{base}/mcp"), &[("authorization", &bearer)]);
            let id = if modern {
                client.start("tools/call", switchboard_testkit::with_meta(long()))
            } else {
                client.initialize(LEGACY).await;
                client.start("tools/call", long())
            };
            // It is at work.
            client.notification("notifications/progress").await;
            client.cancel(id, modern);
            program.wait_for_line("the search is over").await;
            let (name, arguments) = ("price", json!({"city": "Rome", "days": 1}));
            let after = call(&mut client, modern, name, arguments).await;
            assert!(after.get("result").is_some(), "{after}");
        }
        let mut client = StdioClient::new(example("own_server").spawn());
        client.initialize(LEGACY).await;
        let id = client.start("tools/call", long()).await;
        client.notification("notifications/progress").await;
        client
            .notify("notifications/cancelled", json!({"requestId": id}))
            .await;
        client.program.wait_for_line("the search is over").await;
    });
}

/// They share one connection to the server, and each is asked what is its own.
fn questions_of_several_clients_at_once() {
    run(async {
        let (_program, base) = over_http().await;
        let mut clients = Vec::new();
        for number in 0..8 {
            let url = format!("{base}/mcp");
            clients.push(tokio::spawn(async move {
                let mut client = Channel::http(&url, &[("authorization", &bearer())]);
                let name = format!("traveller-{number}");
                let city = format!("City {number}");
                let (who, question) = (name.clone(), format!("Who goes to {city}?"));
                client.on_request(move |_, params| {
                    assert_eq!(params["message"], question.as_str());
                    json!({"result": {"action": "accept", "content": {"name": who, "window": false}}})
                });
                client.initialize(LEGACY).await;
                for _ in 0..5 {
                    let booked = client.call("book", json!({"city": city, "days": 1})).await;
                    assert_eq!(text_of(&booked), format!("{name} goes to {city}, aisle seat."));
                }
            }));
        }
        for client in clients {
            client.await.unwrap();
        }
    });
}

fn the_end() {
    run(async {
        // With its input.
        let mut client = StdioClient::new(example("greeter").spawn());
        client.initialize(LEGACY).await;
        client.close();
        assert_eq!(
            client.program.wait(SOON).await.code(),
            Some(0),
            "stdin ended"
        );
        // By a signal, although its input is still open.
        for on_http in [false, true] {
            let mut program = if on_http {
                let (program, base) = over_http().await;
                // It answers, so it hears signals.
                let mut client = HttpClient::new(&format!("{base}/healthz"));
                client.send(http::Method::GET, &[], "").await;
                program
            } else {
                let mut client = StdioClient::new(example("own_server").spawn());
                client.initialize(LEGACY).await;
                client.program
            };
            program.signal(rustix::process::Signal::TERM);
            assert_eq!(program.wait(SOON).await.code(), Some(0), "http: {on_http}");
        }
    });
}
