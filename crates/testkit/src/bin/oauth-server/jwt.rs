//! Keys and signed tokens.

use crate::{
    Call,
    grants::Who,
    reply::{Body, json_reply},
    state::{World, now, random},
    token::one,
};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Response;
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation,
    jwk::{Jwk, PublicKeyUse},
};
use serde_json::{Value, json};

pub struct Key {
    pub id: String,
    pkcs8: Vec<u8>,
    public: Value,
}

impl Key {
    pub fn new(id: &str) -> anyhow::Result<Self> {
        let failed = |_| anyhow::anyhow!("no key");
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(failed)?;
        let point = pair.public_key().as_ref();
        let part = |range| URL_SAFE_NO_PAD.encode(point.get(range).unwrap_or_default());
        Ok(Self {
            id: id.into(),
            public: json!({"kty": "EC", "crv": "P-256", "x": part(1..33), "y": part(33..65)}),
            pkcs8: pair.to_pkcs8v1().map_err(failed)?.as_ref().to_vec(),
        })
    }

    pub fn jwk(&self) -> Value {
        let mut jwk = self.public.clone();
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk["alg"] = json!("ES256");
        jwk
    }

    pub fn sign(&self, typ: Option<&str>, kid: Option<&str>, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.typ = typ.map(str::to_owned);
        header.kid = kid.map(str::to_owned);
        jsonwebtoken::encode(&header, claims, &EncodingKey::from_ec_der(&self.pkcs8))
            .unwrap_or_default()
    }

    pub fn verify(&self, token: &str) -> Result<Value, String> {
        let jwk: Jwk = serde_json::from_value(self.public.clone()).map_err(|_| "key")?;
        verify_with(token, &jwk)
    }
}

/// The claims of a token that this key signed; nothing else is looked at.
pub fn verify_with(token: &str, key: &Jwk) -> Result<Value, String> {
    if key
        .common
        .public_key_use
        .as_ref()
        .is_some_and(|usage| *usage != PublicKeyUse::Signature)
    {
        return Err("not a signing key".into());
    }
    let key = DecodingKey::from_jwk(key).map_err(|_| "key")?;
    let mut wanted = Validation::new(Algorithm::ES256);
    wanted.validate_exp = false;
    wanted.validate_aud = false;
    wanted.required_spec_claims.clear();
    jsonwebtoken::decode(token, &key, &wanted)
        .map(|data| data.claims)
        .map_err(|fault| format!("signature: {fault}"))
}

/// `private_key_jwt`: assertions signed by the workload key stand for the client
/// `key-client`.
pub fn client_assertion(
    world: &World,
    form: &[(String, String)],
    issuer: &str,
) -> Result<Who, String> {
    let assertion = one(form, "client_assertion").ok_or("no assertion")?;
    if one(form, "client_assertion_type")
        != Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    {
        return Err("client_assertion_type".into());
    }
    let claims = world.workload_key.verify(assertion)?;
    if claims["aud"] != issuer || claims["iss"] != claims["sub"] {
        return Err("aud, iss or sub".into());
    }
    if claims["exp"].as_u64().unwrap_or(0) < now() {
        return Err("expired".into());
    }
    let id = claims["jti"].as_str().ok_or("no jti")?;
    if !world.state().used_ids.insert(id.to_owned()) {
        return Err("used before".into());
    }
    Ok(Who {
        id: claims["sub"].as_str().unwrap_or_default().to_owned(),
        confidential: true,
    })
}

/// Signs what a test asks for: `{"key":"idp|other|workload","typ","kid","alg","claims"}`.
/// `exp` and `iat` are filled in unless given. `{"pem":"workload"}` gives the key.
pub fn mint(world: &World, call: &Call) -> Response<Body> {
    let asked: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    if asked["pem"] == "workload" {
        let body = base64::engine::general_purpose::STANDARD.encode(&world.workload_key.pkcs8);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        return json_reply(200, &json!({"pem": pem}));
    }
    let mut claims = asked["claims"].clone();
    for (name, value) in [
        ("iat", json!(now())),
        ("exp", json!(now() + 300)),
        ("jti", json!(random("jti"))),
    ] {
        if claims.get(name).is_none() {
            claims[name] = value;
        }
    }
    let key = match asked["key"].as_str() {
        Some("other") => &world.other_key,
        Some("workload") => &world.workload_key,
        _ => &world.idp_key,
    };
    let typ = asked["typ"].as_str();
    let kid = asked["kid"].as_str();
    let token = match asked["alg"].as_str() {
        Some("none") => unsigned(&claims),
        // The classic confusion: the public key as a shared secret.
        Some("HS256") => {
            let mut header = Header::new(Algorithm::HS256);
            header.kid = kid.map(str::to_owned);
            let secret = EncodingKey::from_secret(key.jwk().to_string().as_bytes());
            jsonwebtoken::encode(&header, &claims, &secret).unwrap_or_default()
        }
        _ => key.sign(typ, kid, &claims),
    };
    json_reply(200, &json!({"token": token}))
}

fn unsigned(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.",
        part(&json!({"alg": "none", "typ": "JWT"})),
        part(claims)
    )
}
