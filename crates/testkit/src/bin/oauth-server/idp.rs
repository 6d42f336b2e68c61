//! The identity provider: OpenID Connect with a nonce, and assertions for other
//! issuers (ID-JAG, RFC 8693).

use crate::{
    Call, authorize,
    exchange::extra,
    grants,
    reply::{Body, json_reply, not_found, oauth_error},
    state::{Refresh, World, now, random},
    token::{one, redeem},
};
use http::{Method, Response};
use serde_json::{Value, json};

const TENANT: &str = "idp";

pub fn route(world: &World, call: &Call, rest: &str) -> Response<Body> {
    match (&call.method, rest) {
        (&Method::GET, ".well-known/openid-configuration") => metadata(call),
        (&Method::GET, "jwks") => {
            world.count("jwks");
            json_reply(200, &json!({"keys": [world.idp_key.jwk()]}))
        }
        (&Method::GET, "authorize") => {
            world.count("idp.authorize");
            authorize::consent(world, call, TENANT, &issuer(call), false)
        }
        (&Method::POST, "token") => token(world, call),
        _ => not_found(),
    }
}

fn issuer(call: &Call) -> String {
    format!("{}/idp", call.base)
}

fn metadata(call: &Call) -> Response<Body> {
    let issuer = issuer(call);
    json_reply(
        200,
        &json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "id_token_signing_alg_values_supported": ["ES256"],
        }),
    )
}

fn token(world: &World, call: &Call) -> Response<Body> {
    if let Some(fault) = world.knob("idp_fault").as_u64() {
        let status = u16::try_from(fault).unwrap_or(500);
        return oauth_error(status, "temporarily_unavailable", "not now");
    }
    let form = call.form();
    let grant = one(&form, "grant_type").unwrap_or_default();
    world.count(&format!(
        "idp.{}",
        grant.rsplit(':').next().unwrap_or_default()
    ));
    let who = match grants::authenticate(world, call, &form, &issuer(call)) {
        Ok(who) => who,
        Err(why) => return oauth_error(401, "invalid_client", &why),
    };
    if grant.ends_with(":token-exchange") {
        return id_jag(world, call, &form, &who.id);
    }
    if form.iter().any(|(name, _)| name == "resource") {
        return oauth_error(400, "invalid_target", "there are no resources here");
    }
    let (nonce, family) = match grant {
        "authorization_code" => match redeem(world, TENANT, &form, &who) {
            Ok(code) => (code.nonce, random("family")),
            Err(why) => return oauth_error(400, "invalid_grant", &why),
        },
        "refresh_token" => {
            let token = one(&form, "refresh_token").unwrap_or_default();
            match world.state().refresh.remove(token) {
                Some(known) if known.client == who.id && known.tenant == TENANT => {
                    (None, known.family)
                }
                _ => return oauth_error(400, "invalid_grant", "unknown refresh token"),
            }
        }
        other => return oauth_error(400, "unsupported_grant_type", other),
    };
    let life = world.knob("id_life").as_u64().unwrap_or(3600);
    let mut claims = json!({
        "iss": issuer(call),
        "sub": "employee@example.com",
        "aud": who.id,
        "iat": now(),
        "exp": now() + life,
    });
    if let Some(nonce) = nonce {
        claims["nonce"] = json!(nonce);
    }
    if world.says("nonce", "wrong") {
        claims["nonce"] = json!("another");
    }
    let refresh = random("idprefresh");
    let known = Refresh {
        tenant: TENANT.into(),
        family,
        client: who.id.clone(),
        resource: None,
        scope: String::new(),
        jkt: None,
        successor: None,
        used: false,
    };
    world.state().refresh.insert(refresh.clone(), known);
    let mut access = world.knob("idp_access");
    let life = match access["life"].as_u64() {
        Some(life) => life,
        None => life,
    };
    let access = match access.as_object_mut() {
        None => random("idpaccess"),
        Some(claims) => {
            claims.remove("life");
            let ours = [
                ("iss", json!(issuer(call))),
                ("sub", json!("ada")),
                ("client_id", json!(who.id)),
                ("iat", json!(now())),
                ("exp", json!(now() + life)),
                ("jti", json!(random("jti"))),
            ];
            for (name, value) in ours {
                claims.entry(name).or_insert(value);
            }
            let claims = Value::Object(claims.clone());
            world
                .idp_key
                .sign(Some("at+jwt"), Some(&world.idp_key.id), &claims)
        }
    };
    let answer = json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": life,
        "refresh_token": refresh,
        "id_token": world.idp_key.sign(Some("JWT"), Some(&world.idp_key.id), &claims),
    });
    json_reply(200, &answer)
}

fn id_jag(world: &World, call: &Call, form: &[(String, String)], client: &str) -> Response<Body> {
    let subject = one(form, "subject_token").unwrap_or_default();
    let claims = match world.idp_key.verify(subject) {
        Ok(claims) => claims,
        Err(why) => return oauth_error(400, "invalid_grant", &why),
    };
    let fits = claims["aud"] == client
        && claims["iss"] == issuer(call).as_str()
        && claims["exp"].as_u64().unwrap_or(0) > now()
        && one(form, "subject_token_type") == Some("urn:ietf:params:oauth:token-type:id_token")
        && one(form, "requested_token_type") == Some("urn:ietf:params:oauth:token-type:id-jag");
    let (Some(audience), Some(resource), true) =
        (one(form, "audience"), one(form, "resource"), fits)
    else {
        return oauth_error(400, "invalid_grant", "subject, audience or resource");
    };
    let mut jag = json!({
        "iss": issuer(call),
        "sub": claims["sub"],
        "aud": audience,
        "client_id": world.knob("xaa_client"),
        "resource": resource,
        "jti": random("jag"),
        "iat": now(),
        "exp": now() + 300,
    });
    if let Some(scope) = one(form, "scope") {
        jag["scope"] = json!(scope);
    }
    let mut answer = json!({
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "access_token": world.idp_key.sign(Some("oauth-id-jag+jwt"), Some(&world.idp_key.id), &jag),
        "token_type": "N_A",
        "expires_in": 300,
    });
    if let Some(scope) = one(form, "scope") {
        answer["scope"] = json!(scope);
    }
    extra(world, &mut answer);
    json_reply(200, &answer)
}
