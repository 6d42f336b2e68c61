//! `server-everything`, all of its features: recorded through a gateway with a real client,
//! played to that client and to the conformance client, and held against the live server.

use super::recording::{lines, ours, real_client, record, script, server, write};
use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt, path::Path};
use switchboard_testkit::{
    bin,
    world::{Ran, World},
};

#[tokio::test]
async fn what_was_recorded_is_played_and_verified() {
    let world = World::new();
    let (file, seen) = record(&world);
    let text = file.display().to_string();
    everything_is_there(&file, &seen);

    // To the same client, from the cassette alone: all as it was.
    let replay = ours(&["replay", &text, "--in-time"]);
    let played = real_client(&world, &script(), &replay);
    assert_eq!(played["server"], seen["server"]);
    for (at, request) in script()["requests"].as_array().unwrap().iter().enumerate() {
        for what in ["result", "error", "asked"] {
            assert_eq!(played["out"][at][what], seen["out"][at][what], "{request}");
        }
    }
    steps(&played);

    // To the conformance client over HTTP, in both eras.
    for era in ["2025-11-25", "2026-07-28"] {
        conformance(&world, &text, &seen, era).await;
    }

    // The live server says the same.
    let live = verify(&world, &text, &["--all", "--json"]).await;
    assert_eq!(live.code, Some(0), "{live:?}");
    let report = live.json();
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.len() >= 24, "{report}");
    assert!(
        cases.iter().all(|case| case["outcome"] == "same"),
        "{report}"
    );

    planted(&world, &file).await;
}

/// Every request stands in it, with what was said and asked meanwhile.
fn everything_is_there(file: &Path, seen: &Value) {
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = lines(file);
    assert_eq!(lines[0]["cassette"], 1);
    assert_eq!(lines[0]["servers"][0]["server"], "everything");
    assert_eq!(lines[0]["servers"][0]["era"], "legacy");
    for request in script()["requests"].as_array().unwrap() {
        let is_it = |line: &&Value| {
            line["method"] == request["method"]
                && (request["params"]["name"].is_null()
                    || line["params"]["name"] == request["params"]["name"])
        };
        assert!(
            lines.iter().any(|line| is_it(&line)),
            "{request} is missing"
        );
    }
    let of = |name: &str| {
        let mut found = lines.iter().filter(|line| line["params"]["name"] == name);
        found.next().unwrap().clone()
    };
    let long = of("trigger-long-running-operation");
    assert_eq!(long["between"].as_array().unwrap().len(), 4, "{long}");
    assert_eq!(long["between"][0]["notice"], "notifications/progress");
    let asked = of("trigger-elicitation-request");
    let question = &asked["between"][0];
    assert_eq!(question["question"], "elicitation/create", "{asked}");
    assert_eq!(question["result"]["content"]["name"], "Ada", "{asked}");
    let sampled = of("trigger-sampling-request");
    assert_eq!(sampled["between"][0]["question"], "sampling/createMessage");
    // And the client saw all of that.
    let out = seen["out"].as_array().unwrap();
    steps(seen);
    assert_eq!(
        out[14]["asked"][0]["method"], "elicitation/create",
        "{}",
        out[14]
    );
    assert_eq!(out[15]["asked"][0]["method"], "sampling/createMessage");
    assert!(out[12]["error"].is_object() || out[12]["result"]["isError"] == true);
}

/// The steps of the long operation, of which this client drops the last where the answer
/// comes with it.
fn steps(seen: &Value) {
    let told = seen["out"][13]["progress"].as_array().unwrap();
    assert!((3..=4).contains(&told.len()), "{told:?}");
    for (at, step) in told.iter().enumerate() {
        assert_eq!(*step, json!({"progress": at + 1, "total": 4}));
    }
}

async fn conformance(world: &World, file: &str, seen: &Value, revision: &str) {
    let args = ["replay", file, "--http", "127.0.0.1:0", "--no-auth"];
    let server = world.launch(&args).spawn();
    let address = format!("{}/mcp", server.url().await);
    let output = tokio::process::Command::new(bin("conformance-client"))
        .arg(&address)
        .env("MCP_CONFORMANCE_SCENARIO", "requests")
        .env("MCP_CONFORMANCE_PROTOCOL_VERSION", revision)
        .env("MCP_CONFORMANCE_CONTEXT", script().to_string())
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let came: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (at, request) in script()["requests"].as_array().unwrap().iter().enumerate() {
        let method = request["method"].as_str().unwrap();
        // These are not part of the other era.
        let is_legacy = method.contains("subscribe") || method == "logging/setLevel";
        if revision == "2026-07-28" && is_legacy {
            continue;
        }
        let (was, is) = (&seen["out"][at], &came[at]);
        match was.get("result") {
            Some(was) => {
                for (key, value) in was.as_object().unwrap() {
                    assert_eq!(&is["result"][key], value, "{revision} {request}");
                }
            }
            None => assert_eq!(is["error"]["code"], was["error"]["code"], "{request}: {is}"),
        }
    }
}

async fn verify(world: &World, file: &str, more: &[&str]) -> Ran {
    let server = server();
    let mut args = vec!["verify", file];
    args.extend(more);
    args.push("--");
    args.extend(server.iter().map(String::as_str));
    world.run(&args).await
}

/// Something that is not what it was: each is found, and where it is.
async fn planted(world: &World, file: &Path) {
    type Plant = fn(&mut Value);
    let plants: [(&str, &str, &str, Plant); 10] = [
        ("echo", "a text", "/result/content/0/text", |line| {
            line["result"]["content"][0]["text"] = json!("Echo: another");
        }),
        (
            "get-structured-content",
            "a field",
            "/result/structuredContent/temperature",
            |line| {
                line["result"]["structuredContent"]["temperature"] = json!(-200);
            },
        ),
        (
            "get-structured-content",
            "a field that is missing now",
            "/result/structuredContent/wind",
            |line| {
                line["result"]["structuredContent"]["wind"] = json!("W");
            },
        ),
        (
            "tools/list",
            "a tool that is new",
            "/result/tools/",
            |line| {
                line["result"]["tools"].as_array_mut().unwrap().remove(0);
            },
        ),
        (
            "tools/list",
            "a tool that is gone",
            "/result/tools/",
            |line| {
                let tools = line["result"]["tools"].as_array_mut().unwrap();
                tools.push(json!({"name": "gone", "inputSchema": {"type": "object"}}));
            },
        ),
        (
            "tools/list",
            "a schema",
            "/result/tools/0/inputSchema/properties",
            |line| {
                line["result"]["tools"][0]["inputSchema"]["properties"]["extra"] =
                    json!({"type": "string"});
            },
        ),
        ("get-sum", "a result that was an error", "/error", |line| {
            line.as_object_mut().unwrap().remove("result");
            line["error"] = json!({"code": -32603, "message": "no"});
        }),
        (
            "demo://nowhere/at/all",
            "the code of an error",
            "/error/code",
            |line| {
                line["error"]["code"] = json!(-32000);
            },
        ),
        (
            "trigger-long-running-operation",
            "progress",
            "/notices/4",
            |line| {
                let step = line["between"][3].clone();
                line["between"].as_array_mut().unwrap().push(step);
            },
        ),
        (
            "demo://resource/static/*",
            "a type",
            "/result/contents/0/mimeType",
            |line| {
                line["result"]["contents"][0]["mimeType"] = json!("text/x-other");
            },
        ),
    ];
    for (at, (name, what, path, plant)) in plants.into_iter().enumerate() {
        let mut lines = lines(file);
        let is_meant = |line: &&mut Value| {
            let stem = name.trim_end_matches('*');
            line["method"] == name
                || line["params"]["name"] == name
                || line["method"] == "resources/read"
                    && line["params"]["uri"]
                        .as_str()
                        .is_some_and(|uri| uri.starts_with(stem))
        };
        plant(lines.iter_mut().find(is_meant).expect(what));
        let planted = write(world, &format!("home/planted-{at}.mcp.jsonl"), &lines);
        let planted = planted.display().to_string();
        let more = ["--all", "--json", "--filter", name];
        let ran = verify(world, &planted, &more).await;
        assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
        let report = ran.json();
        let cases = report["cases"].as_array().unwrap();
        let found: Vec<&str> = cases
            .iter()
            .flat_map(|case| case["differences"].as_array().into_iter().flatten())
            .map(|difference| difference["path"].as_str().unwrap())
            .collect();
        assert!(
            found.iter().any(|found| found.starts_with(path)),
            "{what}: {report}"
        );
        // What is said not to matter does not.
        let ignored: Vec<String> = found.iter().map(ToString::to_string).collect();
        let mut more = vec!["--all", "--filter", name];
        for path in &ignored {
            more.extend(["--ignore", path.as_str()]);
        }
        assert_eq!(verify(world, &planted, &more).await.code, Some(0), "{what}");
    }
}
