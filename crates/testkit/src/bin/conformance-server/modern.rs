//! The modern era: what every request must carry, and the methods that only
//! this era has.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::{Client, Exchange, Rounds};
use crate::log_level::LogLevel;
use crate::methods::{self, required};
use crate::outlet::Outlet;
use crate::revision::MODERN;
use crate::rpc::{Request, RpcError};
use crate::server::Server;
use crate::tasks::TASKS_EXTENSION;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The protocol version that a request names, if it is a modern one at all.
pub(crate) fn version_of(params: &Value) -> Option<&str> {
    params.get("_meta")?.get(PROTOCOL_VERSION)?.as_str()
}

/// The version of a request that must name one.
pub(crate) fn required_version(params: &Value) -> Result<&str, RpcError> {
    let missing = || RpcError::invalid_params(format!("_meta must have {PROTOCOL_VERSION}"));
    version_of(params).ok_or_else(missing)
}

/// Checks the rest of the envelope. The version comes first, since another
/// version may well have another envelope.
pub(crate) fn check_envelope(params: &Value) -> Result<(), RpcError> {
    let version = required_version(params)?;
    if version != MODERN {
        return Err(RpcError::unsupported_version(version));
    }
    let meta = &params["_meta"];
    if !meta[CLIENT_CAPABILITIES].is_object() {
        let message = format!("_meta must have {CLIENT_CAPABILITIES}");
        return Err(RpcError::invalid_params(message));
    }
    match meta.get(LOG_LEVEL) {
        Some(level) if level.as_str().and_then(LogLevel::parse).is_none() => {
            Err(RpcError::invalid_params("Unknown log level"))
        }
        _ => Ok(()),
    }
}

/// Answers a request whose envelope has been checked.
pub(crate) async fn answer(
    server: Arc<Server>,
    request: &Request,
    outlet: Outlet,
) -> Result<Value, RpcError> {
    let (method, params) = (request.method.as_str(), &request.params);
    let meta = &params["_meta"];
    let rounds = match method {
        "tools/call" | "prompts/get" | "resources/read" => Rounds::read(method, params)?,
        _ => Rounds::default(),
    };
    let exchange = Exchange {
        server,
        client: Client::Modern {
            capabilities: meta[CLIENT_CAPABILITIES].clone(),
            log_level: meta[LOG_LEVEL].as_str().and_then(LogLevel::parse),
            rounds: Box::new(rounds),
        },
        outlet,
        progress_token: meta.get("progressToken").cloned(),
    };
    let result = match method {
        "server/discover" => discover(),
        "subscriptions/listen" => listen(&exchange, &request.id, params).await?,
        "tasks/get" | "tasks/update" | "tasks/cancel" => tasks(&exchange, method, params)?,
        _ => methods::answer(&exchange, method, params).await?,
    };
    Ok(complete(method, result))
}

fn discover() -> Value {
    json!({
        "supportedVersions": [MODERN],
        "capabilities": {
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "logging": {},
            "completions": {},
            "extensions": { TASKS_EXTENSION: {} },
        },
        "instructions": Server::instructions(),
    })
}

async fn listen(exchange: &Exchange, id: &Value, params: &Value) -> Result<Value, RpcError> {
    let filter = params
        .get("notifications")
        .filter(|filter| filter.is_object())
        .ok_or_else(|| RpcError::invalid_params("notifications must be an object"))?;
    if filter.get("taskIds").is_some() {
        require_tasks(exchange)?;
    }
    let changes = &exchange.server.changes;
    let subscription = changes.subscribe(id, filter, &exchange.outlet)?;
    Ok(subscription.closed(id).await)
}

fn tasks(exchange: &Exchange, method: &str, params: &Value) -> Result<Value, RpcError> {
    require_tasks(exchange)?;
    let server = &exchange.server;
    let id = required(params, "taskId")?;
    match method {
        "tasks/get" => server.tasks.get(id),
        "tasks/update" => {
            let answers = params["inputResponses"]
                .as_object()
                .ok_or_else(|| RpcError::invalid_params("inputResponses must be an object"))?;
            server.tasks.update(server, id, answers)
        }
        _ => server.tasks.cancel(server, id),
    }
}

/// The error for a client without the tasks extension.
pub(crate) fn require_tasks(exchange: &Exchange) -> Result<(), RpcError> {
    if exchange.takes_tasks() {
        return Ok(());
    }
    let required = json!({ "extensions": { TASKS_EXTENSION: {} } });
    Err(RpcError::missing_capability(required))
}

/// Adds what every result must or should have in this era.
fn complete(method: &str, mut result: Value) -> Value {
    if result.get("resultType").is_none() {
        result["resultType"] = "complete".into();
    }
    result["_meta"][SERVER_INFO] = Server::info();
    let cache = match method {
        "server/discover" => Some((60_000, "public")),
        "resources/read" => Some((1_000, "private")),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            Some((5_000, "public"))
        }
        _ => None,
    };
    if let Some((ttl, scope)) = cache
        && result["resultType"] == "complete"
    {
        result["ttlMs"] = ttl.into();
        result["cacheScope"] = scope.into();
    }
    result
}
