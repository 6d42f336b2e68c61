//! What is published.

use crate::{
    Call,
    reply::{Body, json_reply, not_found},
    state::World,
};
use http::Response;
use serde_json::{Value, json};

pub fn well_known(world: &World, call: &Call, rest: &str) -> Response<Body> {
    if let Some(path) = rest.strip_prefix("oauth-protected-resource") {
        return resource(world, call, path);
    }
    if let Some(issuer) = rest.strip_prefix("oauth-authorization-server/as/") {
        return server(world, call, issuer);
    }
    // At the root, for servers without protected-resource metadata.
    if rest == "oauth-authorization-server" && world.is("root_metadata") {
        return server(world, call, "");
    }
    not_found()
}

fn resource(world: &World, call: &Call, path: &str) -> Response<Body> {
    world.count("prm");
    if !world.is("prm") || !path.starts_with("/mcp") {
        return not_found();
    }
    let tenants = world.knob("as");
    let named = tenants.as_array().into_iter().flatten();
    let issuers: Vec<String> = named
        .filter_map(Value::as_str)
        .map(|tenant| format!("{}/as/{tenant}", call.base))
        .collect();
    let mut document = json!({
        "resource": format!("{}{path}", call.base),
        "authorization_servers": issuers,
    });
    for (knob, field) in [
        ("prm_as", "authorization_servers"),
        ("prm_scopes", "scopes_supported"),
        ("prm_resource", "resource"),
    ] {
        let value = world.knob(knob);
        if !value.is_null() {
            document[field] = value;
        }
    }
    if !world.says("dpop", "off") {
        document["dpop_signing_alg_values_supported"] = json!(["ES256"]);
    }
    json_reply(200, &document)
}

fn server(world: &World, call: &Call, tenant: &str) -> Response<Body> {
    world.count("as_metadata");
    let issuer = if tenant.is_empty() {
        call.base.clone()
    } else {
        format!("{}/as/{tenant}", call.base)
    };
    let at = format!(
        "{}/as/{}",
        call.base,
        if tenant.is_empty() { "main" } else { tenant }
    );
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{at}/authorize"),
        "token_endpoint": format!("{at}/token"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "token_endpoint_auth_methods_supported": world.knob("methods"),
        "client_id_metadata_document_supported": world.is("cimd"),
    });
    if world.is("dcr") {
        document["registration_endpoint"] = json!(format!("{at}/register"));
    }
    if world.is("revocation") {
        document["revocation_endpoint"] = json!(format!("{at}/revoke"));
    }
    if !world.says("dpop", "off") {
        document["dpop_signing_alg_values_supported"] = json!(["ES256"]);
    }
    if let Value::Object(changes) = world.knob("metadata") {
        for (name, value) in changes {
            match (value, document.as_object_mut()) {
                (Value::Null, Some(document)) => {
                    document.remove(&name);
                }
                (value, Some(document)) => {
                    document.insert(name, value);
                }
                (_, None) => {}
            }
        }
    }
    json_reply(200, &document)
}
