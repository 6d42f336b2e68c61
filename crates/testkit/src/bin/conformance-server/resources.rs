//! The resources and their template.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::asks::Ask;
use crate::exchange::{Exchange, State, Stop};
use crate::methods::required;
use crate::rpc::RpcError;
use crate::server::Server;

/// One red pixel.
pub(crate) const PIXEL_PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

pub(crate) fn list(server: &Server) -> Vec<Value> {
    let resource = |uri: &str, name: &str, description: &str, mime: &str| json!({ "uri": uri, "name": name, "description": description, "mimeType": mime });
    let mut resources = vec![
        resource("test://static-text", "static-text", "A text", "text/plain"),
        resource(
            "test://static-binary",
            "static-binary",
            "A picture",
            "image/png",
        ),
        resource(
            "test://watched-resource",
            "watched-resource",
            "A resource that test_update_resource reports as changed",
            "text/plain",
        ),
        resource(
            "test://input-required",
            "input-required",
            "A text that asks the user before it can be read",
            "text/plain",
        ),
    ];
    if server.extra_resource.load(Ordering::Relaxed) {
        resources.push(resource(
            "test://dynamic",
            "dynamic",
            "A resource that test_trigger_resource_change adds and removes",
            "text/plain",
        ));
    }
    resources
}

pub(crate) fn templates() -> Vec<Value> {
    vec![json!({
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data of the given id",
        "mimeType": "application/json",
    })]
}

pub(crate) async fn read(exchange: &Exchange, params: &Value) -> Result<Value, Stop> {
    let uri = required(params, "uri")?;
    let text = |text: &str| json!({ "uri": uri, "mimeType": "text/plain", "text": text });
    let contents = match uri {
        "test://static-text" => text("This is the content of the static text resource."),
        "test://static-binary" => {
            json!({ "uri": uri, "mimeType": "image/png", "blob": PIXEL_PNG })
        }
        "test://watched-resource" => text("Watched resource content."),
        "test://dynamic" if exchange.server.extra_resource.load(Ordering::Relaxed) => {
            text("Dynamic resource content.")
        }
        "test://input-required" => {
            let ask = Ask::yes_or_no("may_read", "May this resource be read?", "ok");
            let answers = exchange.gather(&[ask], State::Sealed).await?;
            text(&format!("Read with: {}", answers["may_read"]))
        }
        _ => match template_id(uri) {
            Some(id) => json!({
                "uri": uri,
                "mimeType": "application/json",
                "text": json!({
                    "id": id,
                    "templateTest": true,
                    "data": format!("Data for ID: {id}"),
                })
                .to_string(),
            }),
            None => return Err(not_found(exchange, uri).into()),
        },
    };
    Ok(json!({ "contents": [contents] }))
}

fn template_id(uri: &str) -> Option<&str> {
    let id = uri
        .strip_prefix("test://template/")?
        .strip_suffix("/data")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

/// The code for this changed with the modern era.
fn not_found(exchange: &Exchange, uri: &str) -> RpcError {
    let code = match exchange.session() {
        Some(_) => -32002,
        None => -32602,
    };
    RpcError::new(code, "Resource not found").with_data(json!({ "uri": uri }))
}
