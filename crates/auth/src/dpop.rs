//! Proof of possession (RFC 9449): a key that never leaves the vault signs every
//! request, so that a token stolen on the way is of no use.

use crate::{limits, secret::Secret};
use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::HashMap, fmt};
use switchboard_local::random;
use url::Url;

/// What goes wrong with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DpopError {
    /// A new one cannot be had.
    #[error("no key can be made")]
    NoKey,
    /// What was kept is none.
    #[error("the stored key cannot be read")]
    Unreadable,
    /// Signing failed.
    #[error("a proof cannot be signed")]
    Unsigned,
    /// A proof needs some.
    #[error("no randomness")]
    NoRandomness,
    /// What was signed cannot be sent.
    #[error("a proof that is no header")]
    NoHeader,
}

/// A key and the nonces that servers gave for it.
pub(crate) struct Dpop {
    key: EcdsaKeyPair,
    pkcs8: Secret,
    nonces: Mutex<HashMap<String, String>>,
}

impl Dpop {
    /// A new key.
    ///
    /// # Errors
    /// When there is no randomness to be had.
    pub(crate) fn generate() -> Result<Self, DpopError> {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map_err(|_| DpopError::NoKey)?;
        let der = key.to_pkcs8v1().map_err(|_| DpopError::NoKey)?;
        let pkcs8 = Secret::new(STANDARD.encode(der.as_ref()));
        Ok(Self::of(key, pkcs8))
    }

    /// The key that [`pkcs8`](Self::pkcs8) gave.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn restore(pkcs8: &Secret) -> Result<Self, DpopError> {
        let der = zeroize::Zeroizing::new(
            STANDARD
                .decode(pkcs8.expose())
                .map_err(|_| DpopError::Unreadable)?,
        );
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der)
            .map_err(|_| DpopError::Unreadable)?;
        Ok(Self::of(key, pkcs8.clone()))
    }

    fn of(key: EcdsaKeyPair, pkcs8: Secret) -> Self {
        Self {
            key,
            pkcs8,
            nonces: Mutex::default(),
        }
    }

    /// The private key, for the vault.
    pub(crate) fn pkcs8(&self) -> &Secret {
        &self.pkcs8
    }

    /// A proof for one request; with an access token, bound to that token.
    ///
    /// # Errors
    /// When signing fails.
    pub(crate) fn proof(
        &self,
        method: &Method,
        url: &Url,
        token: Option<&str>,
    ) -> Result<String, DpopError> {
        let mut claims = json!({
            "jti": random_id()?,
            "htm": method.as_str(),
            "htu": bare(url),
            "iat": crate::clock::seconds(),
        });
        if let Some(token) = token {
            let hash = digest::digest(&digest::SHA256, token.as_bytes());
            claims["ath"] = json!(URL_SAFE_NO_PAD.encode(hash));
        }
        if let Some(nonce) = self.nonces.lock().get(&crate::address::origin(url)) {
            claims["nonce"] = json!(nonce);
        }
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk()});
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self
            .key
            .sign(&SystemRandom::new(), signed.as_bytes())
            .map_err(|_| DpopError::Unsigned)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Keeps the nonce of an answer. Says whether there is a new one.
    pub(crate) fn note_nonce(&self, url: &Url, headers: &HeaderMap) -> bool {
        let Some(nonce) = headers.get("dpop-nonce").and_then(|v| v.to_str().ok()) else {
            return false;
        };
        let origin = crate::address::origin(url);
        let mut nonces = self.nonces.lock();
        if nonces.len() >= limits::NONCES && !nonces.contains_key(&origin) {
            nonces.clear();
        }
        nonces.insert(origin, nonce.to_owned()).as_deref() != Some(nonce)
    }

    /// The nonce that the next proof for this address will carry.
    pub(crate) fn nonce(&self, url: &Url) -> Option<String> {
        self.nonces
            .lock()
            .get(&crate::address::origin(url))
            .cloned()
    }

    fn jwk(&self) -> Value {
        // An uncompressed point: 0x04, then both coordinates.
        let point = self.key.public_key().as_ref();
        let part = |range| URL_SAFE_NO_PAD.encode(point.get(range).unwrap_or_default());
        json!({"kty": "EC", "crv": "P-256", "x": part(1..33), "y": part(33..65)})
    }
}

impl fmt::Debug for Dpop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpop").finish_non_exhaustive()
    }
}

/// The address without query and fragment, as a proof names it.
fn bare(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn random_id() -> Result<String, DpopError> {
    let bytes: [u8; 16] = random::bytes().map_err(|_| DpopError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
