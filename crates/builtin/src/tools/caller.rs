//! How a flow reaches other servers: through whoever assembled the program, so
//! that what is permitted is decided in one place.

use rmcp::model::{JsonObject, RequestMetaObject};
use serde_json::Value;
use std::{fmt, pin::Pin};
use tokio_util::sync::CancellationToken;

/// The key in `_meta` that says how many flows have called each other. A
/// [`Caller`] must hand `meta` on, so that a circle ends.
pub const FLOW_DEPTH: &str = "switchboard.dev/flowDepth";

/// A call that a flow makes.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The configured name of the server.
    pub server: String,
    /// The tool's own name there.
    pub tool: String,
    /// Its arguments.
    pub arguments: JsonObject,
    /// What to send as `_meta`: what the flow's own request carried, without
    /// what belongs to its connection, and [`FLOW_DEPTH`].
    pub meta: JsonObject,
    /// The id of the request that the flow itself answers, as it came: whose
    /// call it is is known by it.
    pub request: Option<u64>,
    /// Cancelled when nobody waits for the result any more.
    pub cancel: CancellationToken,
}

/// Why a call had no result.
#[derive(Clone, Debug)]
pub struct FlowCallError {
    /// What to tell the caller of the flow.
    pub message: String,
}

impl fmt::Display for FlowCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FlowCallError {}

/// Calls a tool of another server, as far as that is permitted.
pub trait Caller: Send + Sync {
    /// The result of `tools/call` as JSON: `content`, `structuredContent`,
    /// `isError`. A result with `isError` is a result.
    fn call(
        &self,
        call: ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<Value, FlowCallError>> + Send + '_>>;
}

/// What of a request's `_meta` goes along with the calls that it causes.
pub(super) fn passed_on(meta: &RequestMetaObject) -> JsonObject {
    let mut passed = match serde_json::to_value(meta) {
        Ok(Value::Object(meta)) => meta,
        _ => JsonObject::new(),
    };
    // Those speak of the connection to us, not of the one to come.
    passed.retain(|key, _| key != "progressToken" && !key.starts_with("io.modelcontextprotocol/"));
    passed
}
