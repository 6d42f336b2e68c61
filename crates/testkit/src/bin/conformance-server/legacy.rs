//! The legacy era: `initialize`, and the methods that only it has.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::exchange::{Client, Exchange};
use crate::log_level::LogLevel;
use crate::methods::{self, required};
use crate::outlet::Outlet;
use crate::revision::Revision;
use crate::rpc::{Request, RpcError};
use crate::server::Server;
use crate::session::Session;

/// The result of the `initialize` that began `session`.
pub(crate) fn initialize_result(session: &Session) -> Value {
    let mut capabilities = json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "logging": {},
    });
    if session.revision >= Revision::R2025_03_26 {
        capabilities["completions"] = json!({});
    }
    json!({
        "protocolVersion": session.revision.as_str(),
        "capabilities": capabilities,
        "serverInfo": Server::info(),
        "instructions": Server::instructions(),
    })
}

/// Answers a request of an established session.
pub(crate) async fn answer(
    server: Arc<Server>,
    session: Arc<Session>,
    request: &Request,
    outlet: Outlet,
) -> Result<Value, RpcError> {
    let params = &request.params;
    match request.method.as_str() {
        "ping" => return Ok(json!({})),
        "logging/setLevel" => {
            let level = LogLevel::parse(required(params, "level")?)
                .ok_or_else(|| RpcError::invalid_params("Unknown log level"))?;
            session.set_log_level(level);
            return Ok(json!({}));
        }
        "resources/subscribe" => {
            session.subscribe(required(params, "uri")?)?;
            return Ok(json!({}));
        }
        "resources/unsubscribe" => {
            session.unsubscribe(required(params, "uri")?);
            return Ok(json!({}));
        }
        _ => {}
    }
    let revision = session.revision;
    let exchange = Exchange {
        server,
        client: Client::Legacy(session),
        outlet,
        progress_token: params["_meta"].get("progressToken").cloned(),
    };
    let mut result = methods::answer(&exchange, &request.method, params).await?;
    revision.downgrade(&mut result);
    Ok(result)
}

/// Takes in a notification.
pub(crate) fn notified(session: &Session, method: &str, params: &Value) {
    if method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
    {
        session.in_flight.cancel(id);
    }
}
