//! What requests of each era carry.

use serde_json::{Value, json};

/// The modern revision.
pub const MODERN: &str = "2026-07-28";
/// The newest legacy revision.
pub const LEGACY: &str = "2025-11-25";

/// The capabilities that the test clients declare.
pub fn capabilities() -> Value {
    json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
}

/// Adds the modern metadata to params; what is there already stays.
pub fn with_meta(mut params: Value) -> Value {
    if params.is_null() {
        params = json!({});
    }
    let own = params["_meta"].take();
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "testkit", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
    });
    if let (Some(meta), Value::Object(own)) = (meta.as_object_mut(), own) {
        meta.extend(own);
    }
    params["_meta"] = meta;
    params
}

/// The params of `initialize`.
pub fn initialize_params(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "clientInfo": {"name": "testkit", "version": "1"}
    })
}
