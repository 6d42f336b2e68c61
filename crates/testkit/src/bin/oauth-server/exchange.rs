//! Grants without a person: client credentials, and assertions of the identity
//! provider or of a workload's platform.

use crate::{
    Call,
    authorize::is_resource,
    grants::Who,
    reply::{Body, json_reply, oauth_error},
    state::{World, now, random},
    token::{Issue, one},
};
use http::Response;
use serde_json::Value;

pub fn client_credentials(
    world: &World,
    call: &Call,
    tenant: &str,
    form: &[(String, String)],
    who: &Who,
    jkt: Option<String>,
) -> Response<Body> {
    if !who.confidential {
        return oauth_error(
            401,
            "invalid_client",
            "a public client has nothing of its own",
        );
    }
    let Some(resource) = one(form, "resource").filter(|r| is_resource(call, r)) else {
        return oauth_error(400, "invalid_target", "resource");
    };
    let family = random("family");
    let issued = Issue {
        tenant,
        client: &who.id,
        resource: Some(resource.to_owned()),
        scope: one(form, "scope").unwrap_or_default(),
        jkt,
        family: &family,
        refresh: false,
    };
    json_reply(200, &issued.issue(world))
}

pub fn assertion(
    world: &World,
    call: &Call,
    tenant: &str,
    form: &[(String, String)],
    who: &Who,
    jkt: Option<String>,
) -> Response<Body> {
    let issuer = format!("{}/as/{tenant}", call.base);
    let Some(assertion) = one(form, "assertion") else {
        return oauth_error(400, "invalid_request", "no assertion");
    };
    let jag = world.idp_key.verify(assertion);
    let claims = match jag
        .clone()
        .or_else(|_| world.workload_key.verify(assertion))
    {
        Ok(claims) => claims,
        Err(why) => return oauth_error(400, "invalid_grant", &why),
    };
    let check = || -> Result<(String, String), String> {
        if claims["aud"] != issuer.as_str() {
            return Err("aud".into());
        }
        if claims["exp"].as_u64().unwrap_or(0) <= now() {
            return Err("expired".into());
        }
        let id = claims["jti"].as_str().ok_or("no jti")?;
        if !world.state().used_ids.insert(format!("assertion {id}")) {
            return Err("used before".into());
        }
        let (resource, scope) = if jag.is_ok() {
            if claims["client_id"] != who.id.as_str() || !who.confidential {
                return Err("another client's assertion".into());
            }
            (claims["resource"].as_str(), claims["scope"].as_str())
        } else {
            (one(form, "resource"), one(form, "scope"))
        };
        let resource = resource
            .filter(|r| is_resource(call, r))
            .ok_or("resource")?;
        Ok((resource.to_owned(), scope.unwrap_or_default().to_owned()))
    };
    let (resource, scope) = match check() {
        Ok(checked) => checked,
        Err(why) => return oauth_error(400, "invalid_grant", &why),
    };
    let family = random("family");
    let issued = Issue {
        tenant,
        client: &who.id,
        resource: Some(resource),
        scope: &scope,
        jkt,
        family: &family,
        refresh: false,
    };
    let mut answer = issued.issue(world);
    extra(world, &mut answer);
    json_reply(200, &answer)
}

/// What servers add although the specification does not want it.
pub fn extra(world: &World, answer: &mut Value) {
    if let Value::Object(more) = world.knob("exchange_extra") {
        for (name, value) in more {
            answer[name] = value;
        }
    }
}
