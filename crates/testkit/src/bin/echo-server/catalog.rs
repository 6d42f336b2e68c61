//! The lists: tools, resources, templates, prompts, capabilities.

use serde_json::{Value, json};

/// How many resources are listed; any `echo://N` can be read.
pub const RESOURCES: u64 = 5;

pub fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "logging": {},
        "completions": {}
    })
}

/// The tools, with those that `change_list` added.
pub fn tools(generation: u64, writes: bool) -> Value {
    let mut tools = vec![
        tool(
            "echo",
            "Returns the nonce, after a delay if asked.",
            true,
            json!({
                "nonce": {"type": "string"},
                "delayMs": {"type": "integer"},
                "randomDelay": {"type": "integer", "description": "the most milliseconds"}
            }),
            &["nonce"],
        ),
        tool(
            "payload",
            "Returns a text of so many bytes.",
            true,
            json!({"bytes": {"type": "integer"}}),
            &["bytes"],
        ),
        tool(
            "progress",
            "Reports progress step by step.",
            !writes,
            json!({"steps": {"type": "integer"}, "intervalMs": {"type": "integer"}}),
            &[],
        ),
        tool(
            "count",
            "Adds one to a counter and returns it.",
            false,
            json!({"file": {"type": "string"}, "delayMs": {"type": "integer"}}),
            &[],
        ),
        tool("counted", "Returns the counter.", true, json!({}), &[]),
        tool(
            "sleep",
            "Sleeps, unless it is cancelled.",
            true,
            json!({"ms": {"type": "integer"}}),
            &["ms"],
        ),
        tool(
            "cancelled",
            "Returns how many calls were cancelled.",
            true,
            json!({}),
            &[],
        ),
        tool(
            "elicit",
            "Asks the user and returns the answer.",
            true,
            json!({"message": {"type": "string"}}),
            &[],
        ),
        tool(
            "sample",
            "Asks the client's model and returns the answer.",
            true,
            json!({"prompt": {"type": "string"}}),
            &[],
        ),
        tool(
            "roots",
            "Asks for the client's roots and returns them.",
            true,
            json!({}),
            &[],
        ),
        tool(
            "touch",
            "Reports a resource as updated.",
            false,
            json!({"uri": {"type": "string"}}),
            &["uri"],
        ),
        tool(
            "change_list",
            "Adds a tool to the list.",
            false,
            json!({}),
            &[],
        ),
        tool(
            "log",
            "Sends a log message.",
            true,
            json!({"level": {"type": "string"}, "text": {"type": "string"}}),
            &["level"],
        ),
        tool(
            "pid",
            "Returns the process id of this server.",
            true,
            json!({}),
            &[],
        ),
    ];
    for n in 1..=generation {
        tools.push(tool(
            &format!("added_{n}"),
            "Was added.",
            true,
            json!({}),
            &[],
        ));
    }
    json!({"tools": tools})
}

fn tool(name: &str, text: &str, read_only: bool, properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": text,
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {"readOnlyHint": read_only}
    })
}

pub fn resources() -> Value {
    let list: Vec<Value> = (1..=RESOURCES)
        .map(|n| {
            json!({"uri": format!("echo://{n}"), "name": format!("echo {n}"), "mimeType": "text/plain"})
        })
        .collect();
    json!({"resources": list})
}

pub fn templates() -> Value {
    json!({"resourceTemplates": [
        {"uriTemplate": "echo://{n}", "name": "any echo", "mimeType": "text/plain"}
    ]})
}

pub fn prompts() -> Value {
    json!({"prompts": [
        {"name": "greet", "description": "Greets someone.",
         "arguments": [{"name": "name", "required": true}]}
    ]})
}
