//! The methods that both eras have.

use serde_json::{Value, json};

use crate::exchange::{Exchange, Stop};
use crate::rpc::RpcError;
use crate::{prompts, resources, tools};

/// Answers a request, or says that there is no such method.
pub(crate) async fn answer(
    exchange: &Exchange,
    method: &str,
    params: &Value,
) -> Result<Value, RpcError> {
    let server = &exchange.server;
    let list = |key: &str, items: Vec<Value>| page(key, items, params, server.options.page_size);
    let outcome = match method {
        "tools/list" => return list("tools", tools::catalog::list(server)),
        "prompts/list" => return list("prompts", prompts::list(server)),
        "resources/list" => return list("resources", resources::list(server)),
        "resources/templates/list" => return list("resourceTemplates", resources::templates()),
        "completion/complete" => return prompts::complete(params),
        "tools/call" => tools::call(exchange, params).await,
        "prompts/get" => prompts::get(exchange, params).await,
        "resources/read" => resources::read(exchange, params).await,
        _ => return Err(RpcError::method_not_found(method)),
    };
    match outcome {
        Ok(result) | Err(Stop::Input(result)) => Ok(result),
        Err(Stop::Error(error)) => Err(error),
        Err(Stop::Failed(text)) if method == "tools/call" => Ok(json!({
            "content": [{ "type": "text", "text": text }],
            "isError": true,
        })),
        Err(Stop::Failed(text)) => Err(RpcError::internal(text)),
    }
}

/// A string parameter that must be there.
pub(crate) fn required<'a>(params: &'a Value, name: &str) -> Result<&'a str, RpcError> {
    let value = params.get(name).and_then(Value::as_str);
    value.ok_or_else(|| RpcError::invalid_params(format!("{name} must be a string")))
}

/// One page of a list. The cursor is the position of the next item.
fn page(key: &str, items: Vec<Value>, params: &Value, size: usize) -> Result<Value, RpcError> {
    let start = match params.get("cursor") {
        None => 0,
        Some(cursor) => cursor
            .as_str()
            .and_then(|cursor| cursor.strip_prefix("item-")?.parse().ok())
            .filter(|start| *start < items.len())
            .ok_or_else(|| RpcError::invalid_params("Unknown cursor"))?,
    };
    if size == 0 && start == 0 {
        return Ok(json!({ key: items }));
    }
    let end = items.len().min(start + size.max(1));
    let mut result = json!({ key: items[start..end] });
    if end < items.len() {
        result["nextCursor"] = format!("item-{end}").into();
    }
    Ok(result)
}
