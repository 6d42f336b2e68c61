//! DPoP: checking proofs, and handing out nonces.

use crate::{
    Call, jwt,
    reply::{Body, oauth_error, with_header},
    state::{World, now},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Response;
use jsonwebtoken::jwk::{Jwk, ThumbprintHash};
use serde_json::Value;

/// The thumbprint of the key that a token request proves, if tokens are bound here.
pub fn at_token_endpoint(
    world: &World,
    call: &Call,
) -> Result<Option<String>, Box<Response<Body>>> {
    if world.says("dpop", "off") {
        return Ok(None);
    }
    let refused = |why: &str| Box::new(oauth_error(400, "invalid_dpop_proof", why));
    let (claims, jkt) = proof(world, call).map_err(|why| refused(&why))?;
    if claims.get("ath").is_some() {
        return Err(refused("ath at the token endpoint"));
    }
    match nonce(world, &claims) {
        Ok(()) => Ok(Some(jkt)),
        Err(nonce) => {
            world.count("nonce.token");
            let wish = oauth_error(400, "use_dpop_nonce", "");
            Err(Box::new(with_header(wish, "dpop-nonce", &nonce)))
        }
    }
}

/// Checks the nonce of a proof. `Err` holds the one to use.
pub fn nonce(world: &World, claims: &Value) -> Result<(), String> {
    if !world.says("dpop", "nonce") {
        return Ok(());
    }
    let mut state = world.state();
    if state.nonce == 0 {
        state.nonce = 1;
    }
    let wanted = format!("nonce-{}", state.nonce);
    if claims["nonce"] == wanted.as_str() {
        return Ok(());
    }
    Err(wanted)
}

/// A proof that is well-formed, signed, fresh and for this request.
pub fn proof(world: &World, call: &Call) -> Result<(Value, String), String> {
    if call.headers.get_all("dpop").iter().count() != 1 {
        return Err("one proof is needed".into());
    }
    let proof = call.header("dpop").ok_or("no proof")?;
    let header = proof.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).map_err(|_| "header")?;
    let header: Value = serde_json::from_slice(&header).map_err(|_| "header")?;
    if header["typ"] != "dpop+jwt" || header["alg"] != "ES256" || !header["jwk"]["d"].is_null() {
        return Err("header".into());
    }
    let key: Jwk = serde_json::from_value(header["jwk"].clone()).map_err(|_| "jwk")?;
    let claims = jwt::verify_with(proof, &key)?;
    let url = format!("{}{}", call.base, call.path);
    if claims["htm"] != call.method.as_str() || claims["htu"] != url.as_str() {
        return Err("another request's proof".into());
    }
    if claims["iat"].as_u64().unwrap_or(0).abs_diff(now()) > 60 {
        return Err("an old proof".into());
    }
    let id = claims["jti"].as_str().ok_or("no jti")?;
    if !world.state().used_ids.insert(id.to_owned()) {
        return Err("a proof that was used before".into());
    }
    let jkt = key
        .thumbprint(ThumbprintHash::SHA256)
        .map_err(|_| "thumbprint")?;
    Ok((claims, jkt))
}
