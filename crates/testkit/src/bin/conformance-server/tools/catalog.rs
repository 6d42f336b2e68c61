//! What `tools/list` says.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::server::Server;

/// Tools without arguments. The first of all tools must be one of them: the
/// conformance suite calls it without knowing what it is.
const WITHOUT_ARGUMENTS: &[(&str, &str)] = &[
    ("test_simple_text", "Returns a text"),
    ("test_image_content", "Returns an image"),
    ("test_audio_content", "Returns a sound"),
    ("test_embedded_resource", "Returns an embedded resource"),
    (
        "test_multiple_content_types",
        "Returns text, image and resource",
    ),
    ("test_resource_link", "Returns a link to a resource"),
    ("test_error_handling", "Always fails"),
    (
        "test_missing_capability",
        "Requires the client to declare sampling",
    ),
    ("test_tool_with_logging", "Sends three log messages"),
    (
        "test_logging_tool",
        "Sends log messages if the request asks for them",
    ),
    ("test_tool_with_progress", "Reports progress three times"),
    (
        "test_reconnection",
        "Closes its event stream and answers on the next one",
    ),
    ("test_trigger_tool_change", "Changes the list of tools"),
    ("test_trigger_prompt_change", "Changes the list of prompts"),
    (
        "test_trigger_resource_change",
        "Changes the list of resources",
    ),
    (
        "test_close_subscriptions",
        "Ends all subscriptions from our side",
    ),
    (
        "test_elicitation_sep1034_defaults",
        "Asks with default values",
    ),
    (
        "test_elicitation_sep1330_enums",
        "Asks with all kinds of enumerations",
    ),
    ("test_elicitation_url", "Asks the user to visit an address"),
    (
        "test_url_elicitation_required",
        "Fails until an address was visited",
    ),
    ("test_list_roots", "Asks for the client's roots"),
    (
        "test_interview",
        "Asks for a form, the model's opinion and a second form",
    ),
    (
        "test_streaming_elicitation",
        "Asks the user at the end of a stream",
    ),
    ("test_input_required_result_elicitation", "Asks for a name"),
    (
        "test_input_required_result_sampling",
        "Asks the client's model",
    ),
    (
        "test_input_required_result_list_roots",
        "Asks for the client's roots",
    ),
    (
        "test_input_required_result_request_state",
        "Asks, with a state to bring back",
    ),
    (
        "test_input_required_result_tampered_state",
        "Asks, and refuses a changed state",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Asks three things at once",
    ),
    (
        "test_input_required_result_multi_round",
        "Asks in two rounds",
    ),
    (
        "test_input_required_result_capabilities",
        "Asks only what the client can answer",
    ),
    ("failing_job", "A task that ends in a tool error"),
    ("protocol_error_job", "A task that ends in a protocol error"),
    ("multi_input", "A task that asks two things at once"),
    ("test_tool_with_task", "Asks first, then goes on as a task"),
];

pub(crate) fn list(server: &Server) -> Vec<Value> {
    let mut tools: Vec<Value> = WITHOUT_ARGUMENTS
        .iter()
        .map(|(name, description)| tool(name, description, &json!({}), &json!([])))
        .collect();
    tools.extend(with_arguments());
    if server.extra_tool.load(Ordering::Relaxed) {
        let description = "A tool that test_trigger_tool_change adds and removes";
        tools.push(tool(
            "test_dynamic_tool",
            description,
            &json!({}),
            &json!([]),
        ));
    }
    tools
}

/// The input schema of a tool, if it is there.
pub(crate) fn input_schema(server: &Server, name: &str) -> Option<Value> {
    let mut tools = list(server).into_iter();
    let mut tool = tools.find(|tool| tool["name"] == name)?;
    Some(tool["inputSchema"].take())
}

fn with_arguments() -> Vec<Value> {
    let string = |description: &str| json!({ "type": "string", "description": description });
    let mut structured = tool(
        "test_structured_content",
        "Returns structured content",
        &json!({}),
        &json!([]),
    );
    structured["outputSchema"] = json!({
        "type": "object",
        "properties": { "value": { "type": "integer" } },
        "required": ["value"],
    });
    vec![
        structured,
        tool(
            "test_sampling",
            "Asks the client's model",
            &json!({ "prompt": string("What to ask") }),
            &json!(["prompt"]),
        ),
        tool(
            "test_elicitation",
            "Asks the user",
            &json!({ "message": string("What to show the user") }),
            &json!(["message"]),
        ),
        tool(
            "test_update_resource",
            "Reports a resource as changed",
            &json!({ "uri": string("The resource") }),
            &json!(["uri"]),
        ),
        header_params(),
        json_schema_2020_12(),
        tool(
            "greet",
            "Greets, always at once",
            &json!({ "name": string("Whom to greet") }),
            &json!(["name"]),
        ),
        tool(
            "slow_compute",
            "Takes its time, as a task where the client can have one",
            &json!({
                "seconds": { "type": "number", "description": "How long to take" },
                "label": string("Named in the result"),
            }),
            &json!([]),
        ),
        tool(
            "confirm_delete",
            "A task that asks for a confirmation (and deletes nothing)",
            &json!({ "filename": string("The file") }),
            &json!(["filename"]),
        ),
    ]
}

fn tool(name: &str, description: &str, properties: &Value, required: &Value) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if required.as_array().is_some_and(|names| !names.is_empty()) {
        schema["required"] = required.clone();
    }
    json!({ "name": name, "description": description, "inputSchema": schema })
}

/// Every type that may be mirrored into a header, and a nested one.
fn header_params() -> Value {
    let mirrored = |kind: &str, header: &str| json!({ "type": kind, "x-mcp-header": header });
    tool(
        "test_header_params",
        "Has arguments that travel in HTTP headers as well",
        &json!({
            "region": mirrored("string", "Region"),
            "priority": mirrored("integer", "Priority"),
            "urgent": mirrored("boolean", "Urgent"),
            "options": {
                "type": "object",
                "properties": { "tenant": mirrored("string", "Tenant") },
            },
            "query": { "type": "string" },
        }),
        &json!(["region"]),
    )
}

/// Keywords that a proxy must not lose (SEP-1613, SEP-2106).
fn json_schema_2020_12() -> Value {
    json!({
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": {
                "properties": { "contactMethod": { "const": "phone" } },
                "required": ["contactMethod"],
            },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        },
    })
}
