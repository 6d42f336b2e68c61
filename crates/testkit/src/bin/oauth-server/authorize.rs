//! The authorization page. The person consents at once.

use crate::{
    Call,
    reply::{Body, oauth_error, redirect},
    state::{Code, World, random},
};
use http::Response;
use url::Url;

pub fn page(world: &World, call: &Call, tenant: &str) -> Response<Body> {
    world.count("authorize");
    let issuer = format!("{}/as/{tenant}", call.base);
    consent(world, call, tenant, &issuer, true)
}

/// Checks a question, and answers it by sending the browser back.
pub fn consent(
    world: &World,
    call: &Call,
    tenant: &str,
    issuer: &str,
    needs_resource: bool,
) -> Response<Body> {
    let of = |name: &str| {
        let mut found = call.query.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value.as_str()),
            _ => None,
        }
    };
    // What is wrong with client or address is told to the person, never by redirect.
    let (Some(client), Some(back)) = (of("client_id"), of("redirect_uri")) else {
        return oauth_error(
            400,
            "invalid_request",
            "client_id and redirect_uri, once each",
        );
    };
    if let Err(why) = known_redirect(world, tenant, client, back) {
        return oauth_error(400, "invalid_request", &why);
    }
    let Ok(mut location) = Url::parse(back) else {
        return oauth_error(400, "invalid_request", "redirect_uri");
    };
    let fault = if of("response_type") != Some("code") {
        Some("unsupported_response_type")
    } else if of("code_challenge_method") != Some("S256") || of("code_challenge").is_none() {
        Some("invalid_request")
    } else if needs_resource && !of("resource").is_some_and(|r| is_resource(call, r)) {
        Some("invalid_target")
    } else if world.is("deny") {
        Some("access_denied")
    } else {
        None
    };
    {
        let mut query = location.query_pairs_mut();
        match fault {
            Some(error) => {
                query.append_pair("error", error);
                query.append_pair("error_description", "as asked for by the test");
            }
            None => {
                let code = random("code");
                query.append_pair("code", &code);
                let code_of = Code {
                    tenant: tenant.into(),
                    client: client.into(),
                    redirect: back.into(),
                    challenge: of("code_challenge").unwrap_or_default().into(),
                    resource: of("resource").map(str::to_owned),
                    scope: of("scope").unwrap_or_default().into(),
                    nonce: of("nonce").map(str::to_owned),
                };
                world.state().codes.insert(code, code_of);
            }
        }
        if let Some(state) = of("state") {
            query.append_pair("state", state);
        }
        match world.knob("iss").as_str() {
            Some("missing") => {}
            Some("wrong") => {
                query.append_pair("iss", "https://evil.example");
            }
            Some("slash") => {
                query.append_pair("iss", &format!("{issuer}/"));
            }
            _ => {
                query.append_pair("iss", issuer);
            }
        }
    }
    redirect(302, location.as_str())
}

/// Whether it is one of the MCP endpoints of this process.
pub fn is_resource(call: &Call, resource: &str) -> bool {
    resource.starts_with(&format!("{}/mcp", call.base))
}

fn known_redirect(world: &World, tenant: &str, client: &str, back: &str) -> Result<(), String> {
    if client.starts_with("https://") {
        return if world.is("cimd") {
            Ok(())
        } else {
            Err("no metadata documents here".into())
        };
    }
    let by_hand = world.knob("clients")[client].clone();
    if by_hand.is_object() {
        return match by_hand["redirect"].as_str() {
            Some(exact) if exact != back => Err(format!("redirect_uri is not {exact}")),
            _ => Ok(()),
        };
    }
    match world.state().clients.get(client) {
        None => Err("unknown client".into()),
        Some(known) if known.tenant != tenant => Err("a client of another issuer".into()),
        Some(known) if !known.redirects.iter().any(|uri| uri == back) => {
            Err("redirect_uri is not registered".into())
        }
        Some(_) => Ok(()),
    }
}
