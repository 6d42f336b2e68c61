//! The prompts, and completion of their arguments.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::asks::Ask;
use crate::exchange::{Exchange, State, Stop};
use crate::methods::required;
use crate::resources::PIXEL_PNG;
use crate::rpc::RpcError;
use crate::server::Server;

pub(crate) fn list(server: &Server) -> Vec<Value> {
    let argument = |name: &str, description: &str| json!({ "name": name, "description": description, "required": true });
    let mut prompts = vec![
        json!({ "name": "test_simple_prompt", "description": "A prompt without arguments" }),
        json!({
            "name": "test_prompt_with_arguments",
            "description": "A prompt with two arguments",
            "arguments": [
                argument("arg1", "First test argument"),
                argument("arg2", "Second test argument"),
            ],
        }),
        json!({
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt that embeds a resource",
            "arguments": [argument("resourceUri", "URI of the resource to embed")],
        }),
        json!({ "name": "test_prompt_with_image", "description": "A prompt with an image" }),
        json!({
            "name": "test_input_required_result_prompt",
            "description": "A prompt that first asks the user for its context",
        }),
    ];
    if server.extra_prompt.load(Ordering::Relaxed) {
        prompts.push(json!({
            "name": "test_dynamic_prompt",
            "description": "A prompt that test_trigger_prompt_change adds and removes",
        }));
    }
    prompts
}

pub(crate) async fn get(exchange: &Exchange, params: &Value) -> Result<Value, Stop> {
    let name = required(params, "name")?;
    let argument = |name: &str| required(&params["arguments"], name);
    let messages = match name {
        "test_simple_prompt" | "test_dynamic_prompt" => {
            vec![user_text("This is a simple prompt for testing.")]
        }
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![user_text(&text)]
        }
        "test_prompt_with_embedded_resource" => vec![
            user(json!({
                "type": "resource",
                "resource": {
                    "uri": argument("resourceUri")?,
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                },
            })),
            user_text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            user(json!({ "type": "image", "data": PIXEL_PNG, "mimeType": "image/png" })),
            user_text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let ask = Ask::text_field(
                "user_context",
                "What context should the prompt use?",
                "context",
            );
            let answers = exchange.gather(&[ask], State::None).await?;
            let context = &answers["user_context"]["content"]["context"];
            vec![user_text(&format!("Use this context: {context}"))]
        }
        _ => return Err(RpcError::invalid_params(format!("Unknown prompt: {name}")).into()),
    };
    Ok(json!({ "description": "A prompt for testing", "messages": messages }))
}

/// Completes an argument of a prompt or of a resource template.
pub(crate) fn complete(params: &Value) -> Result<Value, RpcError> {
    let reference = &params["ref"];
    let candidates: &[&str] = match reference["type"].as_str() {
        Some("ref/prompt") => &["paris", "park", "party", "test", "testing"],
        Some("ref/resource") => &["1", "12", "123"],
        _ => return Err(RpcError::invalid_params("Unknown kind of reference")),
    };
    let begun = required(&params["argument"], "value")?;
    let values: Vec<_> = candidates
        .iter()
        .filter(|candidate| candidate.starts_with(begun))
        .collect();
    let total = values.len();
    Ok(json!({ "completion": { "values": values, "total": total, "hasMore": false } }))
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn user_text(text: &str) -> Value {
    user(json!({ "type": "text", "text": text }))
}
