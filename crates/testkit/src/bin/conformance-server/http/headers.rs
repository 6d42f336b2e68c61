//! The modern era's rule that headers repeat what the body says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::Value;

use super::PROTOCOL_VERSION;
use crate::rpc::{Request, RpcError};
use crate::server::Server;
use crate::tools::catalog::input_schema;

/// `MCP-Protocol-Version` against the version in `_meta`.
pub(super) fn check_version(headers: &HeaderMap, version: &str) -> Result<(), RpcError> {
    let given = value(headers, PROTOCOL_VERSION)?
        .ok_or_else(|| RpcError::header_mismatch("MCP-Protocol-Version is missing"))?;
    if given == version {
        return Ok(());
    }
    let message = format!("MCP-Protocol-Version is '{given}', the body says '{version}'");
    Err(RpcError::header_mismatch(message))
}

/// `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`.
pub(super) fn check_request(
    server: &Server,
    headers: &HeaderMap,
    request: &Request,
) -> Result<(), RpcError> {
    let method = value(headers, "mcp-method")?
        .ok_or_else(|| RpcError::header_mismatch("Mcp-Method is missing"))?;
    if method != request.method {
        let message = format!(
            "Mcp-Method is '{method}', the body says '{}'",
            request.method
        );
        return Err(RpcError::header_mismatch(message));
    }
    let source = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    check_mirrored(headers, "mcp-name", &request.params[source])?;
    if method == "tools/call"
        && let Some(name) = request.params["name"].as_str()
        && let Some(schema) = input_schema(server, name)
    {
        check_params(headers, &schema, &request.params["arguments"])?;
    }
    Ok(())
}

/// Walks the properties, nested ones too, that are marked with `x-mcp-header`.
fn check_params(headers: &HeaderMap, schema: &Value, arguments: &Value) -> Result<(), RpcError> {
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let argument = &arguments[name];
        if let Some(header) = property["x-mcp-header"].as_str() {
            let header = format!("mcp-param-{}", header.to_ascii_lowercase());
            check_mirrored(headers, &header, argument)?;
        }
        check_params(headers, property, argument)?;
    }
    Ok(())
}

/// A header must be there exactly when the body has a value, and say the same.
fn check_mirrored(headers: &HeaderMap, header: &str, body: &Value) -> Result<(), RpcError> {
    let mismatch = |what: &str| Err(RpcError::header_mismatch(format!("{header} {what}")));
    let given = match (value(headers, header)?, body) {
        (None, Value::Null) => return Ok(()),
        (None, _) => return mismatch("is missing"),
        (Some(_), Value::Null) => return mismatch("has no counterpart in the body"),
        (Some(given), _) => decode(header, given)?,
    };
    let same = match body {
        Value::String(text) => *text == given,
        Value::Bool(flag) => given == flag.to_string(),
        // 42 and 42.0 are the same integer.
        Value::Number(number) => number.as_f64() == given.parse().ok(),
        _ => false,
    };
    if same {
        return Ok(());
    }
    mismatch("does not match the body")
}

/// Takes off the `=?base64?…?=` wrapper, where there is one.
fn decode(header: &str, given: &str) -> Result<String, RpcError> {
    let wrapped = given
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    let Some(encoded) = wrapped else {
        return Ok(given.to_owned());
    };
    STANDARD
        .decode(encoded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| RpcError::header_mismatch(format!("{header} is not valid Base64")))
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(text) => Ok(Some(text.trim())),
        Err(_) => Err(RpcError::header_mismatch(format!(
            "{name} is not plain ASCII"
        ))),
    }
}
