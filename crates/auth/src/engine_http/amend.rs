//! Small corrections to what passes through the hook. Each is there because the
//! engine, as it is, would fail or lose something.

use super::ResourceParam;
use crate::net::{Inbound, Outbound};
use http::{HeaderMap, header};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

/// Stands where a server publishes no authorization endpoint, which is legal for
/// grants that need none; the engine cannot read such metadata. Nobody is sent there.
pub(crate) const NO_AUTHORIZATION_ENDPOINT: &str = "https://no-authorization-endpoint.invalid/";

pub(super) fn is_form(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
}

/// Puts the right `resource` into a token request. Gives its grant type.
pub(super) fn form(out: &mut Outbound, resource: &ResourceParam) -> Option<String> {
    let mut pairs: Vec<(String, String)> = form_urlencoded::parse(&out.body).into_owned().collect();
    let grant = pairs
        .iter()
        .find(|(name, _)| name == "grant_type")
        .map(|(_, value)| value.clone());
    grant.as_ref()?;
    match resource {
        ResourceParam::Engine => return grant,
        ResourceParam::Absent => pairs.retain(|(name, _)| name != "resource"),
        ResourceParam::Is(resource) => {
            let stated = pairs.iter_mut().find(|(name, _)| name == "resource");
            match stated {
                Some((_, value)) => value.clone_from(resource),
                // An assertion carries its resource itself.
                None => return grant,
            }
        }
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(pairs);
    out.body = form.finish().into();
    grant
}

/// The engine registers public clients only; some servers know none.
pub(super) fn registration(out: &mut Outbound, method: &str) {
    if let Ok(Value::Object(mut body)) = serde_json::from_slice(&out.body) {
        body.insert("token_endpoint_auth_method".into(), json!(method));
        if let Ok(bytes) = serde_json::to_vec(&body) {
            out.body = bytes.into();
        }
    }
}

/// Puts a token answer right where servers are loose and the engine is not: with
/// rotating refresh tokens an answer that is thrown away is a lost sign-in.
pub(super) fn token_answer(answer: &mut Inbound, grant: Option<&str>) {
    if !answer.status.is_success() {
        return;
    }
    let Ok(Value::Object(mut body)) = serde_json::from_slice(&answer.body) else {
        return;
    };
    if !body.contains_key("access_token") {
        return;
    }
    body.entry("token_type").or_insert_with(|| json!("Bearer"));
    if let Some(seconds) = body.get("expires_in").and_then(Value::as_str) {
        match seconds.trim().parse::<u64>() {
            Ok(seconds) => body.insert("expires_in".into(), json!(seconds)),
            Err(_) => body.remove("expires_in"),
        };
    }
    if let Some(seconds) = body.get("expires_in").and_then(Value::as_f64) {
        body.insert("expires_in".into(), json!(seconds.max(0.0) as u64));
    }
    for name in ["expires_in", "refresh_token", "scope"] {
        let void = matches!(body.get(name), Some(Value::Null))
            || body.get(name).and_then(Value::as_str) == Some("");
        if void {
            body.remove(name);
        }
    }
    let exchanges = grant
        .is_some_and(|grant| grant.ends_with(":token-exchange") || grant.ends_with(":jwt-bearer"));
    if exchanges {
        // Not ours to keep: the assertion is what renews.
        body.remove("refresh_token");
    }
    write(answer, body);
}

/// Makes authorization-server metadata readable for the engine; gives back a
/// protected-resource document.
pub(super) fn metadata_answer(answer: &mut Inbound) -> Option<Value> {
    let Ok(Value::Object(mut body)) = serde_json::from_slice(&answer.body) else {
        return None;
    };
    if body.contains_key("resource") && !body.contains_key("token_endpoint") {
        return Some(Value::Object(body));
    }
    if body.contains_key("token_endpoint") && !body.contains_key("authorization_endpoint") {
        body.insert(
            "authorization_endpoint".into(),
            json!(NO_AUTHORIZATION_ENDPOINT),
        );
        write(answer, body);
    }
    None
}

fn write(answer: &mut Inbound, body: Map<String, Value>) {
    if let Ok(bytes) = serde_json::to_vec(&body) {
        answer.body = bytes.into();
    }
}
