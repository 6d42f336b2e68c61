//! JSON-RPC messages: reading one, building one, and the error codes in use.

use serde_json::{Value, json};

use crate::revision::MODERN;

/// A JSON-RPC error to be sent, or one that a client sent us.
#[derive(Debug, Clone)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

/// The HTTP headers disagree with the body (modern).
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// The client did not declare a capability that the request needs (modern).
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// The request's protocol version is not served (modern).
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
/// Standard JSON-RPC: no such method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn parse(detail: impl std::fmt::Display) -> Self {
        Self::new(-32700, format!("Parse error: {detail}"))
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    pub(crate) fn header_mismatch(message: impl std::fmt::Display) -> Self {
        Self::new(HEADER_MISMATCH, format!("Header mismatch: {message}"))
    }

    /// `required` has the shape of ClientCapabilities.
    pub(crate) fn missing_capability(required: Value) -> Self {
        Self::new(MISSING_CAPABILITY, "Missing required client capability")
            .with_data(json!({ "requiredCapabilities": required }))
    }

    pub(crate) fn unsupported_version(requested: &str) -> Self {
        Self::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
            .with_data(json!({ "supported": [MODERN], "requested": requested }))
    }

    /// The value of a response's `error` member.
    pub(crate) fn to_value(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// One message from the client.
pub(crate) enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Value,
    },
    Response {
        id: Value,
        outcome: Result<Value, RpcError>,
    },
}

/// A request from the client; `params` is an empty object where it had none.
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Message {
    /// Reads a parsed JSON value. The error comes with the id to answer under
    /// (null where it could not be read).
    pub(crate) fn read(mut value: Value) -> Result<Self, (Value, RpcError)> {
        let bad = |id: Value, why: &str| Err((id, RpcError::invalid_request(why)));
        let Some(object) = value.as_object_mut() else {
            return bad(Value::Null, "A message must be an object");
        };
        let id = match object.remove("id") {
            None => None,
            Some(id @ (Value::String(_) | Value::Number(_))) => Some(id),
            Some(_) => return bad(Value::Null, "The id must be a string or a number"),
        };
        let echo = id.clone().unwrap_or(Value::Null);
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return bad(echo, "jsonrpc must be \"2.0\"");
        }
        if let Some(method) = object.remove("method") {
            let Value::String(method) = method else {
                return bad(echo, "The method must be a string");
            };
            let params = match object.remove("params") {
                None => json!({}),
                Some(params @ Value::Object(_)) => params,
                Some(_) => {
                    return Err((echo, RpcError::invalid_params("params must be an object")));
                }
            };
            return Ok(match id {
                Some(id) => Self::Request(Request { id, method, params }),
                None => Self::Notification { method, params },
            });
        }
        let Some(id) = id else {
            return bad(echo, "Neither a request nor a response");
        };
        if let Some(error) = object.remove("error") {
            let outcome = Err(RpcError {
                code: error["code"].as_i64().unwrap_or(-32603),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error.get("data").cloned(),
            });
            return Ok(Self::Response { id, outcome });
        }
        match object.remove("result") {
            Some(result) => Ok(Self::Response {
                id,
                outcome: Ok(result),
            }),
            None => bad(echo, "Neither a request nor a response"),
        }
    }
}

/// The response to request `id`.
pub(crate) fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_value() }),
    }
}

/// A request from us to the client (legacy only).
pub(crate) fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A notification; `params` null means none.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

/// Whether a message that we send answers a request.
pub(crate) fn is_response(message: &Value) -> bool {
    message.get("result").is_some() || message.get("error").is_some()
}
