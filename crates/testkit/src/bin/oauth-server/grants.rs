//! Who clients are: registration, authentication, revocation.

use crate::{
    Call, jwt,
    reply::{Body, json_reply, not_found, oauth_error, text},
    state::{Client, World, random},
    token::one,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Response;
use serde_json::{Value, json};

/// A client that has proved itself, or is public.
pub struct Who {
    pub id: String,
    pub confidential: bool,
}

pub fn register(world: &World, call: &Call, tenant: &str) -> Response<Body> {
    world.count("register");
    if !world.is("dcr") {
        return not_found();
    }
    if world.says("register_fault", "redirect") {
        return crate::reply::redirect(307, &format!("{}/elsewhere", call.base));
    }
    let wanted: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let redirects = wanted["redirect_uris"].as_array().into_iter().flatten();
    let redirects: Vec<String> = redirects
        .filter_map(|uri| uri.as_str().map(str::to_owned))
        .collect();
    if redirects.is_empty() {
        return oauth_error(400, "invalid_redirect_uri", "none");
    }
    let method = wanted["token_endpoint_auth_method"]
        .as_str()
        .unwrap_or("client_secret_basic");
    let methods = world.knob("methods");
    let known = methods
        .as_array()
        .into_iter()
        .flatten()
        .any(|known| known == method);
    if !known {
        return oauth_error(
            400,
            "invalid_client_metadata",
            "that authentication is not known here",
        );
    }
    let secret = (method != "none" || world.is("dcr_secret")).then(|| random("clientsecret"));
    let id = random("client");
    let mut answer = json!({
        "client_id": id,
        "redirect_uris": redirects,
        "token_endpoint_auth_method": method,
        "client_name": wanted["client_name"],
    });
    if let Some(secret) = &secret {
        answer["client_secret"] = json!(secret);
    }
    let client = Client {
        secret,
        redirects,
        tenant: tenant.into(),
        method: method.into(),
    };
    world.state().clients.insert(id, client);
    json_reply(201, &answer)
}

/// Client authentication. A client with a secret has to show it, always.
pub fn authenticate(
    world: &World,
    call: &Call,
    form: &[(String, String)],
    issuer: &str,
) -> Result<Who, String> {
    if one(form, "client_assertion").is_some() {
        return jwt::client_assertion(world, form, issuer);
    }
    let basic = call
        .header("authorization")
        .and_then(|value| value.strip_prefix("Basic "));
    let in_form = one(form, "client_id").is_some();
    if world.says("insists", "id") && !in_form {
        return Err("Missing client_id".into());
    }
    if world.says("insists", "once") && in_form && basic.is_some() {
        return Err("the client says twice who it is".into());
    }
    if world.says("insists", "nobody") {
        return Err("nobody is known here".into());
    }
    let (id, secret) = match basic {
        Some(basic) => {
            let both = STANDARD.decode(basic).map_err(|_| "not base64")?;
            let both = String::from_utf8(both).map_err(|_| "not text")?;
            let (id, secret) = both.split_once(':').ok_or("no colon")?;
            (decoded(id), Some(decoded(secret)))
        }
        None => match one(form, "client_id") {
            Some(id) => (id.to_owned(), one(form, "client_secret").map(str::to_owned)),
            None if form.iter().any(|(name, _)| name == "assertion") => {
                return Ok(Who {
                    id: String::new(),
                    confidential: false,
                });
            }
            None => return Err("no client".into()),
        },
    };
    let expected = if id.starts_with("https://") && world.is("cimd") {
        None
    } else if world.knob("clients")[&id].is_object() {
        world.knob("clients")[&id]["secret"]
            .as_str()
            .map(str::to_owned)
    } else {
        let state = world.state();
        state
            .clients
            .get(&id)
            .ok_or("unknown client")?
            .secret
            .clone()
    };
    let method = world
        .state()
        .clients
        .get(&id)
        .map(|client| client.method.clone());
    let proven = match method.as_deref() {
        Some("client_secret_basic") => basic.is_some(),
        Some("client_secret_post") => basic.is_none(),
        _ => true,
    };
    if !proven {
        return Err("the client registered to prove itself in another way".into());
    }
    if expected != secret {
        world.count("bad_client");
        return Err("the client's secret is missing or wrong".into());
    }
    Ok(Who {
        confidential: expected.is_some(),
        id,
    })
}

fn decoded(text: &str) -> String {
    let pair = format!("x={text}");
    crate::form(pair.as_bytes())
        .pop()
        .map(|(_, value)| value)
        .unwrap_or_default()
}

/// RFC 7009.
pub fn revoke(world: &World, call: &Call, tenant: &str) -> Response<Body> {
    world.count("revoke");
    let form = call.form();
    let issuer = format!("{}/as/{tenant}", call.base);
    let who = match authenticate(world, call, &form, &issuer) {
        Ok(who) => who,
        Err(why) => return oauth_error(401, "invalid_client", &why),
    };
    let Some(token) = one(&form, "token") else {
        return oauth_error(400, "invalid_request", "no token");
    };
    let mut state = world.state();
    if let Some(known) = state.refresh.get(token).cloned() {
        if known.client != who.id {
            return oauth_error(400, "invalid_grant", "another client's token");
        }
        state.families.remove(&known.family);
        state
            .access
            .retain(|_, access| access.family != known.family);
    }
    state.access.remove(token);
    text(200, "text/plain", "")
}
