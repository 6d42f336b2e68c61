//! The token endpoint, and all that can go wrong with it.

use crate::{
    Call, exchange, grants,
    grants::Who,
    proof,
    reply::{Body, json_reply, oauth_error, redirect, text, with_header},
    state::{Code, Refresh, World, random},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Response;
use serde_json::Value;
use std::time::Duration;

pub async fn endpoint(world: &World, call: &Call, tenant: &str) -> Response<Body> {
    let form = call.form();
    let grant = one(&form, "grant_type").unwrap_or_default().to_owned();
    let short = grant.rsplit(':').next().unwrap_or_default().to_owned();
    world.count(&format!("token.{short}"));
    let fault = world.take_fault();
    match fault.as_deref() {
        Some("500") => return text(500, "text/plain", "it broke"),
        Some("503") => return text(503, "text/plain", "later"),
        Some("429") => return with_header(oauth_error(429, "slow_down", ""), "retry-after", "1"),
        // What it says is about nobody's registration.
        Some("misleading") => {
            let why = "the list that says invalid_client is being mended";
            return oauth_error(400, "temporarily_unavailable", why);
        }
        Some("html") => return text(200, "text/html", "<html>Please sign in</html>"),
        Some("redirect") => return redirect(307, &format!("{}/elsewhere", call.base)),
        Some("big") => return text(200, "application/json", vec![b' '; 1 << 20]),
        Some("hang") => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        _ => {}
    }
    let answer = granted(world, call, tenant, &form, &grant);
    match fault.as_deref() {
        // Everything has happened, and nobody hears of it.
        Some("cut") => std::panic::resume_unwind(Box::new("cut")),
        Some("loose") => loosened(answer),
        _ => answer,
    }
}

fn granted(
    world: &World,
    call: &Call,
    tenant: &str,
    form: &[(String, String)],
    grant: &str,
) -> Response<Body> {
    let issuer = format!("{}/as/{tenant}", call.base);
    let jkt = match proof::at_token_endpoint(world, call) {
        Ok(jkt) => jkt,
        Err(refusal) => return *refusal,
    };
    let who = match grants::authenticate(world, call, form, &issuer) {
        Ok(who) => who,
        Err(why) => return oauth_error(401, "invalid_client", &why),
    };
    match grant {
        "authorization_code" => code(world, call, tenant, form, &who, jkt),
        "refresh_token" => refresh(world, tenant, form, &who, jkt),
        "client_credentials" => exchange::client_credentials(world, call, tenant, form, &who, jkt),
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
            exchange::assertion(world, call, tenant, form, &who, jkt)
        }
        _ => oauth_error(400, "unsupported_grant_type", grant),
    }
}

fn code(
    world: &World,
    call: &Call,
    tenant: &str,
    form: &[(String, String)],
    who: &Who,
    jkt: Option<String>,
) -> Response<Body> {
    match redeem(world, tenant, form, who) {
        Ok(code) => {
            if one(form, "resource") != code.resource.as_deref() {
                return oauth_error(
                    400,
                    "invalid_target",
                    "resource differs from the question's",
                );
            }
            let family = random("family");
            let scope = code.scope.clone();
            let issued = Issue {
                tenant,
                client: &who.id,
                resource: code.resource,
                scope: &scope,
                jkt,
                family: &family,
                refresh: true,
            };
            let _ = call;
            json_reply(200, &issued.issue(world))
        }
        Err(why) => oauth_error(400, "invalid_grant", &why),
    }
}

/// Takes a code back; PKCE, client and address must fit.
pub fn redeem(
    world: &World,
    tenant: &str,
    form: &[(String, String)],
    who: &Who,
) -> Result<Code, String> {
    let code = one(form, "code").ok_or("no code")?;
    let code = world
        .state()
        .codes
        .remove(code)
        .ok_or("unknown or used code")?;
    let verifier = one(form, "code_verifier").ok_or("no code_verifier")?;
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.as_bytes());
    if URL_SAFE_NO_PAD.encode(hash) != code.challenge {
        return Err("code_verifier does not fit".into());
    }
    if code.client != who.id || code.tenant != tenant {
        return Err("another client's code".into());
    }
    if one(form, "redirect_uri") != Some(code.redirect.as_str()) {
        return Err("redirect_uri does not fit".into());
    }
    Ok(code)
}

fn refresh(
    world: &World,
    tenant: &str,
    form: &[(String, String)],
    who: &Who,
    jkt: Option<String>,
) -> Response<Body> {
    let Some(token) = one(form, "refresh_token") else {
        return oauth_error(400, "invalid_request", "no refresh_token");
    };
    let known = world.state().refresh.get(token).cloned();
    let Some(known) = known else {
        return oauth_error(400, "invalid_grant", "unknown refresh token");
    };
    if let Err(why) = fits(world, tenant, form, who, &known, jkt.as_deref()) {
        return oauth_error(400, "invalid_grant", &why);
    }
    let successor_used = known.successor.as_ref().is_some_and(|next| {
        let state = world.state();
        state.refresh.get(next).is_none_or(|next| next.used)
    });
    if known.used && (!world.is("grace") || successor_used) {
        world.count("reuse");
        let mut state = world.state();
        state.families.remove(&known.family);
        state
            .access
            .retain(|_, access| access.family != known.family);
        drop(state);
        return oauth_error(400, "invalid_grant", "a refresh token was used twice");
    }
    let rotate = world.is("rotate");
    let issued = Issue {
        tenant,
        client: &who.id,
        resource: known.resource.clone(),
        scope: &known.scope,
        jkt: known.jkt.clone(),
        family: &known.family,
        refresh: rotate,
    };
    let answer = issued.issue(world);
    let mut state = world.state();
    if let (true, Some(old)) = (rotate, state.refresh.get_mut(token)) {
        old.used = true;
        old.successor = answer["refresh_token"].as_str().map(str::to_owned);
    }
    drop(state);
    json_reply(200, &answer)
}

fn fits(
    world: &World,
    tenant: &str,
    form: &[(String, String)],
    who: &Who,
    known: &Refresh,
    jkt: Option<&str>,
) -> Result<(), String> {
    if known.client != who.id || known.tenant != tenant {
        return Err("another client's refresh token".into());
    }
    if !world.state().families.contains(&known.family) {
        return Err("this sign-in was ended".into());
    }
    if one(form, "resource") != known.resource.as_deref() {
        return Err("another resource".into());
    }
    if known.jkt.is_some() && known.jkt.as_deref() != jkt {
        return Err("another key".into());
    }
    if let Some(scope) = one(form, "scope")
        && !scope
            .split(' ')
            .all(|s| known.scope.split(' ').any(|k| k == s))
    {
        return Err("more scopes than were granted".into());
    }
    Ok(())
}

/// Tokens to be given.
pub struct Issue<'a> {
    pub tenant: &'a str,
    pub client: &'a str,
    pub resource: Option<String>,
    pub scope: &'a str,
    pub jkt: Option<String>,
    pub family: &'a str,
    pub refresh: bool,
}

impl Issue<'_> {
    pub fn issue(self, world: &World) -> Value {
        let life = world.knob("token_life").as_f64().unwrap_or(3600.0);
        let access = random("access");
        let mut answer = serde_json::json!({
            "access_token": access,
            "token_type": if self.jkt.is_some() { "DPoP" } else { "Bearer" },
            "expires_in": life as u64,
        });
        if !self.scope.is_empty() {
            answer["scope"] = self.scope.into();
        }
        let mut state = world.state();
        state.families.insert(self.family.to_owned());
        if self.refresh {
            let refresh = random("refresh");
            answer["refresh_token"] = refresh.clone().into();
            let known = Refresh {
                tenant: self.tenant.into(),
                family: self.family.into(),
                client: self.client.into(),
                resource: self.resource.clone(),
                scope: self.scope.into(),
                jkt: self.jkt.clone(),
                successor: None,
                used: false,
            };
            state.refresh.insert(refresh, known);
        }
        let ends = crate::state::now_ms() + (life * 1000.0) as u128;
        state.access.insert(
            access,
            crate::state::Access {
                tenant: self.tenant.into(),
                resource: self.resource,
                scope: self.scope.into(),
                expires_ms: ends,
                family: self.family.into(),
                jkt: self.jkt,
            },
        );
        answer
    }
}

/// A parameter that is there exactly once.
pub fn one<'a>(form: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut found = form.iter().filter(|(known, _)| known == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(value),
        _ => None,
    }
}

/// A good answer as careless servers write it.
fn loosened(answer: Response<Body>) -> Response<Body> {
    let (head, body) = answer.into_parts();
    let Body::Blocks(Some(bytes), _) = body else {
        return text(500, "text/plain", "");
    };
    let mut body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if let Some(body) = body.as_object_mut() {
        body.remove("token_type");
        if let Some(life) = body.get("expires_in").cloned() {
            body.insert("expires_in".into(), life.to_string().into());
        }
        body.insert("scope".into(), "".into());
    }
    json_reply(head.status.as_u16(), &body)
}
