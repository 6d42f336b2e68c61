//! The tools.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::call::{Answer, Call};
use crate::world::{Era, LEVELS, lock};

/// How long the server waits for its client's answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tools that send messages before their result: over HTTP they need a stream.
pub fn streams(name: &str) -> bool {
    matches!(name, "progress" | "elicit" | "sample" | "roots" | "log")
}

/// Answers `tools/call`.
pub async fn call(call: &Call) -> Answer {
    let arguments = &call.params["arguments"];
    let world = &call.world;
    match call.params["name"].as_str().unwrap_or_default() {
        "echo" => echo(call, arguments).await,
        "payload" => Answer::error(-32602, "bytes must be a number up to 2^30"),
        "progress" => progress(call, arguments).await,
        "count" => count(call, arguments).await,
        "counted" => Answer::text(world.count.load(Ordering::SeqCst).to_string()),
        "sleep" => {
            let ms = arguments["ms"].as_u64().unwrap_or(0);
            if wait(call, ms).await {
                Answer::text("slept")
            } else {
                Answer::Silent
            }
        }
        // With `sleeping`, which is not among what is listed: how many wait to be cancelled.
        "cancelled" if arguments["sleeping"] == true => {
            Answer::text(world.sleeping.load(Ordering::SeqCst).to_string())
        }
        "cancelled" => Answer::text(world.cancelled.load(Ordering::SeqCst).to_string()),
        "elicit" => {
            let message = arguments["message"].as_str().unwrap_or("What shall I say?");
            let params = json!({
                "message": message,
                "requestedSchema": {"type": "object", "properties": {"answer": {"type": "string"}}}
            });
            ask(call, "elicitation", "elicitation/create", params).await
        }
        "sample" => {
            let prompt = arguments["prompt"].as_str().unwrap_or("Say something.");
            let params = json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
                "maxTokens": 100
            });
            ask(call, "sampling", "sampling/createMessage", params).await
        }
        "roots" => ask(call, "roots", "roots/list", json!({})).await,
        "touch" => {
            world.resource_updated(arguments["uri"].as_str().unwrap_or_default());
            Answer::text("touched")
        }
        "change_list" => {
            world.generation.fetch_add(1, Ordering::SeqCst);
            world.tools_changed();
            Answer::text("changed")
        }
        "log" => log(call, arguments),
        "pid" => Answer::text(std::process::id().to_string()),
        name if name.starts_with("added_") => Answer::text(name),
        name => Answer::error(-32602, format!("Unknown tool: {name}")),
    }
}

async fn echo(call: &Call, arguments: &Value) -> Answer {
    let most = arguments["randomDelay"]
        .as_u64()
        .unwrap_or(call.world.random_delay);
    let random = if most == 0 {
        0
    } else {
        getrandom::u64().unwrap_or(0) % (most + 1)
    };
    let delay = arguments["delayMs"].as_u64().unwrap_or(0) + random;
    if !wait(call, delay).await {
        return Answer::Silent;
    }
    match &arguments["nonce"] {
        Value::String(nonce) => Answer::text(nonce),
        Value::Null => Answer::failed("nonce is missing"),
        other => Answer::text(other.to_string()),
    }
}

/// Counts, in a file as well if one is named (it outlives us), and only then waits.
async fn count(call: &Call, arguments: &Value) -> Answer {
    let now = call.world.count.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(path) = arguments["file"].as_str()
        && !append(path, "once")
    {
        return Answer::failed("the file cannot be written");
    }
    if wait(call, arguments["delayMs"].as_u64().unwrap_or(0)).await {
        Answer::text(now.to_string())
    } else {
        Answer::Silent
    }
}

async fn progress(call: &Call, arguments: &Value) -> Answer {
    let steps = arguments["steps"].as_u64().unwrap_or(3);
    let interval = arguments["intervalMs"].as_u64().unwrap_or(10);
    let marker = arguments["marker"].as_str();
    if let (Some(marker), Some(path)) = (marker, arguments["file"].as_str())
        && !append(path, marker)
    {
        return Answer::failed("the file cannot be written");
    }
    for step in 1..=steps {
        if !wait(call, interval).await {
            return Answer::Silent;
        }
        match marker {
            // Of progress only the newest need arrive; of these, all.
            Some(marker) => {
                let data = json!({"marker": marker, "step": step});
                let params = json!({"level": "error", "logger": "echo", "data": data});
                let method = "notifications/message";
                let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
                call.out.send(message.to_string());
            }
            None => call.progress(step, steps),
        }
    }
    Answer::text(marker.map_or_else(|| format!("{steps} steps"), str::to_owned))
}

/// Adds a line to a file, at once and whole.
fn append(path: &str, line: &str) -> bool {
    let mut open = std::fs::OpenOptions::new();
    let file = open.create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .is_ok()
}

/// Waits; false (and counted) if the call was cancelled meanwhile.
async fn wait(call: &Call, ms: u64) -> bool {
    call.world.sleeping.fetch_add(1, Ordering::SeqCst);
    let slept = tokio::select! {
        biased;
        () = call.cancel.cancelled() => {
            call.world.cancelled.fetch_add(1, Ordering::SeqCst);
            false
        }
        () = tokio::time::sleep(Duration::from_millis(ms)) => true,
    };
    call.world.sleeping.fetch_sub(1, Ordering::SeqCst);
    slept
}

fn log(call: &Call, arguments: &Value) -> Answer {
    let level = |value: &Value| LEVELS.iter().position(|l| value == l);
    let Some(own) = level(&arguments["level"]) else {
        return Answer::failed("no such level");
    };
    let least = match call.era {
        Era::Modern => level(call.meta("logLevel")),
        Era::Legacy => Some(usize::from(call.session.level.load(Ordering::Relaxed))),
    };
    if least.is_some_and(|least| own >= least) {
        let params = json!({"level": LEVELS[own], "logger": "echo", "data": arguments["text"]});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
        let message = message.to_string();
        // Not among what is listed: only those who want many know of it.
        for _ in 0..arguments["times"].as_u64().unwrap_or(1) {
            call.out.send(message.clone());
        }
    }
    Answer::text("logged")
}

/// Asks the client: by a request during the call (legacy), or by returning
/// `input_required` and reading the answer from the retry (modern).
async fn ask(call: &Call, capability: &str, method: &str, params: Value) -> Answer {
    match call.era {
        Era::Modern => ask_by_result(call, capability, method, params),
        Era::Legacy => ask_by_request(call, capability, method, &params).await,
    }
}

fn ask_by_result(call: &Call, capability: &str, method: &str, params: Value) -> Answer {
    if let Some(answer) = call.params["inputResponses"].get(capability) {
        return Answer::text(answer.to_string());
    }
    if call.meta("clientCapabilities").get(capability).is_none() {
        return Answer::error_with(
            -32021,
            format!("the client did not declare {capability}"),
            json!({"requiredCapabilities": {capability: {}}}),
        );
    }
    Answer::Result(json!({
        "resultType": "input_required",
        "inputRequests": {capability: {"method": method, "params": params}},
        "requestState": format!("echo:{capability}")
    }))
}

async fn ask_by_request(call: &Call, capability: &str, method: &str, params: &Value) -> Answer {
    if lock(&call.session.capabilities).get(capability).is_none() {
        return Answer::failed(format!("the client did not declare {capability}"));
    }
    let response = call.session.ask(&call.out, method, params);
    tokio::select! {
        () = call.cancel.cancelled() => {
            call.world.cancelled.fetch_add(1, Ordering::SeqCst);
            Answer::Silent
        }
        response = tokio::time::timeout(PATIENCE, response) => match response {
            Ok(Ok(message)) => match message.get("result") {
                Some(result) => Answer::text(result.to_string()),
                None => Answer::failed(message["error"].to_string()),
            },
            _ => Answer::failed("no answer"),
        }
    }
}
