//! The two kinds of manifests, as they are written.

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

/// What every manifest says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ToolManifest {
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    #[serde(default = "any_object")]
    pub(super) input_schema: JsonObject,
    /// What the program prints, as JSON; then it must print that.
    pub(super) output_schema: Option<JsonObject>,
    pub(super) annotations: Option<ToolAnnotations>,
    /// The program and its arguments, with `{argument}` where a value goes.
    pub(super) command: Vec<String>,
    /// How else the arguments reach the program.
    #[serde(default)]
    pub(super) stdin: Stdin,
    /// What the program prints.
    #[serde(default)]
    pub(super) output: Output,
    /// Where it runs, relative to the folder of the manifest; the first root
    /// where there is none.
    pub(super) cwd: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_output_bytes: Option<usize>,
    /// Variables of ours that it may see, beyond the usual few.
    #[serde(default)]
    pub(super) env: Vec<String>,
}

/// What the program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stdin {
    /// Nothing.
    #[default]
    None,
    /// All arguments, as one JSON object.
    Json,
}

/// What the program writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Output {
    /// Text.
    #[default]
    Text,
    /// A JSON object.
    Json,
}

/// A row of calls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FlowManifest {
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    #[serde(default = "any_object")]
    pub(super) input_schema: JsonObject,
    pub(super) annotations: Option<ToolAnnotations>,
    pub(super) steps: Vec<Step>,
    /// What the flow returns; the last step's result when absent.
    pub(super) result: Option<Value>,
    pub(super) timeout_ms: Option<u64>,
}

/// One call.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) server: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: JsonObject,
    #[serde(default)]
    pub(super) on_error: OnError,
}

/// What happens when a step fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OnError {
    /// The flow fails.
    #[default]
    Stop,
    /// It goes on; later steps see the failure.
    Continue,
}

fn any_object() -> JsonObject {
    match json!({ "type": "object", "properties": {} }) {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

/// The arguments that a schema names.
pub(super) fn properties(schema: &JsonObject) -> Vec<&str> {
    let named = schema.get("properties").and_then(Value::as_object);
    named
        .into_iter()
        .flat_map(|named| named.keys().map(String::as_str))
        .collect()
}
