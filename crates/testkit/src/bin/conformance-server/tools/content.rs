//! Tools that only return something, one for each kind of content.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::text;
use crate::exchange::{Exchange, Stop};
use crate::resources::PIXEL_PNG;

/// Eight samples of silence.
const SILENCE_WAV: &str =
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(super) fn call(
    exchange: &Exchange,
    name: &str,
    arguments: &Value,
) -> Result<Option<Value>, Stop> {
    let image = json!({ "type": "image", "data": PIXEL_PNG, "mimeType": "image/png" });
    let result = match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [image] }),
        "test_audio_content" => json!({
            "content": [{ "type": "audio", "data": SILENCE_WAV, "mimeType": "audio/wav" }],
        }),
        "test_embedded_resource" => json!({
            "content": [{
                "type": "resource",
                "resource": {
                    "uri": "test://embedded-resource",
                    "mimeType": "text/plain",
                    "text": "This is an embedded resource content.",
                },
            }],
        }),
        "test_multiple_content_types" => json!({
            "content": [
                { "type": "text", "text": "Multiple content types test:" },
                image,
                {
                    "type": "resource",
                    "resource": {
                        "uri": "test://mixed-content-resource",
                        "mimeType": "application/json",
                        "text": "{\"test\":\"data\",\"value\":123}",
                    },
                },
            ],
        }),
        "test_resource_link" => json!({
            "content": [{
                "type": "resource_link",
                "uri": "test://static-text",
                "name": "static-text",
                "mimeType": "text/plain",
            }],
        }),
        "test_structured_content" => json!({
            "content": [{ "type": "text", "text": "{\"value\":123}" }],
            "structuredContent": { "value": 123 },
        }),
        "test_error_handling" => {
            let message = "This tool intentionally returns an error for testing";
            return Err(Stop::Failed(message.to_owned()));
        }
        "json_schema_2020_12_tool" | "test_header_params" => {
            text(format!("Called with {arguments}"))
        }
        "test_dynamic_tool" if exchange.server.extra_tool.load(Ordering::Relaxed) => {
            text("The dynamic tool is there.")
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}
