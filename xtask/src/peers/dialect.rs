//! A model's turn in the forms that agents read.

use serde_json::{Value, json};
use std::fmt::Write;

/// What the model does.
pub enum Turn {
    /// It says this, and ends.
    Say(String),
    /// It asks for a call of this tool, in this group where tools are grouped.
    Call {
        space: String,
        name: String,
        arguments: Value,
    },
}

/// Whose form it is, and whether as events.
pub enum Dialect {
    /// Anthropic's messages.
    Messages(bool),
    /// OpenAI's chat completions.
    Chat(bool),
    /// OpenAI's responses.
    Responses(bool),
    /// Google's content.
    Content(bool),
}

const EVENTS: &str = "text/event-stream";
const PLAIN: &str = "application/json";

impl Dialect {
    /// The form of a request; none where no model is asked.
    pub fn of(path: &str, body: &Value) -> Option<Self> {
        let streams = body["stream"] == true;
        let (bare, _) = path.split_once('?').unwrap_or((path, ""));
        match bare {
            bare if bare.ends_with("/messages") => Some(Self::Messages(streams)),
            bare if bare.ends_with("/chat/completions") => Some(Self::Chat(streams)),
            bare if bare.ends_with("/responses") => Some(Self::Responses(streams)),
            bare if bare.ends_with(":streamGenerateContent") => Some(Self::Content(true)),
            bare if bare.ends_with(":generateContent") => Some(Self::Content(false)),
            _ => None,
        }
    }

    /// The kind of answer, and the answer.
    pub fn render(&self, turn: &Turn) -> (&'static str, String) {
        match self {
            Self::Messages(false) => (PLAIN, message(turn).to_string()),
            Self::Messages(true) => (EVENTS, message_events(turn)),
            Self::Chat(false) => (PLAIN, chat(turn, "message", "chat.completion").to_string()),
            Self::Chat(true) => {
                let chunk = chat(turn, "delta", "chat.completion.chunk");
                (EVENTS, format!("data: {chunk}\n\ndata: [DONE]\n\n"))
            }
            Self::Responses(false) => (PLAIN, response(turn, "completed").to_string()),
            Self::Responses(true) => (EVENTS, response_events(turn)),
            Self::Content(false) => (PLAIN, content(turn).to_string()),
            Self::Content(true) => (EVENTS, format!("data: {}\n\n", content(turn))),
        }
    }
}

fn events(list: &[Value]) -> String {
    list.iter().fold(String::new(), |mut out, event| {
        let kind = event["type"].as_str().unwrap_or_default();
        let _ = write!(out, "event: {kind}\ndata: {event}\n\n");
        out
    })
}

fn message(turn: &Turn) -> Value {
    let (block, reason) = match turn {
        Turn::Say(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Turn::Call {
            name, arguments, ..
        } => (
            json!({"type": "tool_use", "id": "toolu_peers", "name": name, "input": arguments}),
            "tool_use",
        ),
    };
    json!({
        "id": "msg_peers", "type": "message", "role": "assistant", "model": "scripted",
        "content": [block], "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    })
}

fn message_events(turn: &Turn) -> String {
    let whole = message(turn);
    let mut start = whole.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let (block, delta) = match turn {
        Turn::Say(text) => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
        ),
        Turn::Call {
            name, arguments, ..
        } => (
            json!({"type": "tool_use", "id": "toolu_peers", "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
        ),
    };
    events(&[
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "usage": {"output_tokens": 10},
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null},
        }),
        json!({"type": "message_stop"}),
    ])
}

fn chat(turn: &Turn, part: &str, object: &str) -> Value {
    let (said, reason) = match turn {
        Turn::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Turn::Call {
            name, arguments, ..
        } => (
            json!({"role": "assistant", "content": null, "tool_calls": [{
                "index": 0, "id": "call_peers", "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()},
            }]}),
            "tool_calls",
        ),
    };
    json!({
        "id": "chatcmpl-peers", "object": object, "created": 1, "model": "scripted",
        "choices": [{"index": 0, part: said, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    })
}

fn item(turn: &Turn) -> Value {
    match turn {
        Turn::Say(text) => json!({
            "type": "message", "id": "msg_peers", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Turn::Call {
            space,
            name,
            arguments,
        } => {
            let mut item = json!({
                "type": "function_call", "id": "fc_peers", "call_id": "call_peers",
                "name": name, "arguments": arguments.to_string(), "status": "completed",
            });
            if !space.is_empty() {
                item["namespace"] = json!(space);
            }
            item
        }
    }
}

fn response(turn: &Turn, status: &str) -> Value {
    let output = match status {
        "completed" => json!([item(turn)]),
        _ => json!([]),
    };
    json!({
        "id": "resp_peers", "object": "response", "created_at": 1, "model": "scripted",
        "status": status, "output": output, "error": null, "incomplete_details": null,
        "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 20,
        },
    })
}

fn response_events(turn: &Turn) -> String {
    let item = item(turn);
    events(&[
        json!({"type": "response.created", "response": response(turn, "in_progress")}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response(turn, "completed")}),
    ])
}

fn content(turn: &Turn) -> Value {
    let part = match turn {
        Turn::Say(text) => json!({"text": text}),
        Turn::Call {
            name, arguments, ..
        } => {
            json!({"functionCall": {"name": name, "args": arguments}})
        }
    };
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20,
        },
        "modelVersion": "scripted",
    })
}
