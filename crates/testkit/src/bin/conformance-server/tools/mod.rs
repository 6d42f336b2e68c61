//! The tools: [`catalog`] describes them, the other modules run them.

pub(crate) mod catalog;
mod content;
mod jobs;
mod questions;
mod signals;

use serde_json::{Value, json};

use crate::exchange::{Exchange, Stop};
use crate::methods::required;
use crate::rpc::RpcError;

/// `tools/call`.
pub(crate) async fn call(exchange: &Exchange, params: &Value) -> Result<Value, Stop> {
    let name = required(params, "name")?;
    let none = json!({});
    let arguments = params.get("arguments").unwrap_or(&none);
    if !arguments.is_object() {
        return Err(RpcError::invalid_params("arguments must be an object").into());
    }
    if let Some(result) = content::call(exchange, name, arguments)? {
        return Ok(result);
    }
    if let Some(result) = signals::call(exchange, name, arguments).await? {
        return Ok(result);
    }
    if let Some(result) = questions::call(exchange, name, arguments).await? {
        return Ok(result);
    }
    if let Some(result) = jobs::call(exchange, name, arguments).await? {
        return Ok(result);
    }
    Err(RpcError::invalid_params(format!("Unknown tool: {name}")).into())
}

/// A result of one text.
fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// A string argument; a missing one is the tool's own error, so that a model
/// can see and mend it.
fn argument<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, Stop> {
    let value = arguments.get(name).and_then(Value::as_str);
    value.ok_or_else(|| Stop::Failed(format!("The argument {name} must be a string")))
}
