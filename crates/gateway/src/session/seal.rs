//! State that we hand to a client and must get back unchanged: encrypted and
//! bound to who got it for what. The key lives as long as this process, so a
//! restart makes all of it void, which is what a restart does to the calls
//! behind it as well. What is kept of a session is sealed in the same way, with
//! a key that only whoever knows the session's id can have.

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use std::fmt;
use switchboard_local::random;
use switchboard_wire::{Message, Params, reading::ambiguous_key};

/// A key of our own.
pub(crate) struct Seal(LessSafeKey);

/// A key as bytes: much smaller than one that is ready for use, for whoever keeps many.
pub(crate) type KeyBytes = [u8; 32];

/// The key that follows from something that only those know who may open.
pub(crate) fn key_of(secret: &[u8]) -> KeyBytes {
    let mut key = KeyBytes::default();
    key.copy_from_slice(digest::digest(&digest::SHA256, secret).as_ref());
    key
}

/// What a sealed text is bound to.
pub(crate) struct Binding(Vec<u8>);

impl Binding {
    /// This principal asking for this: the method, the name or URI, and the arguments by meaning, not by spelling.
    pub(crate) fn of(principal: &str, server: &str, message: &Message, params: &Params) -> Self {
        let [name, uri, arguments] = [params.name, params.uri, params.arguments]
            .map(|place| place.map_or_else(Vec::new, |span| canonical(span.of(message.raw()))));
        let bound = digest_of([
            principal.as_bytes(),
            server.as_bytes(),
            message.method_name().as_bytes(),
            &name,
            &uri,
            &arguments,
        ]);
        Self(bound.as_ref().to_vec())
    }
}

/// One digest of several texts, each with its length, so that none runs into the next.
pub(crate) fn digest_of<const N: usize>(parts: [&[u8]; N]) -> digest::Digest {
    let mut whole = digest::Context::new(&digest::SHA256);
    for part in parts {
        whole.update(&(part.len() as u64).to_le_bytes());
        whole.update(part);
    }
    whole.finish()
}

/// The same text for the same value: members sorted, no white space.
fn canonical(raw: &[u8]) -> Vec<u8> {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: Vec<(String, Value)> =
                    members.into_iter().map(|(k, v)| (k, sorted(v))).collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(members.into_iter().collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
            other => other,
        }
    }
    // What readers could take for different values is compared as it is written,
    if ambiguous_key(raw).is_some() {
        return raw.to_vec();
    }
    // and so is what has no such form (numbers beyond all range).
    serde_json::from_slice(raw).map_or_else(
        |_| raw.to_vec(),
        |value| sorted(value).to_string().into_bytes(),
    )
}

impl Seal {
    /// A new random key.
    pub(crate) fn new() -> Self {
        Self::with(&random::bytes().expect("the operating system gives random bytes"))
    }

    /// With this key.
    pub(crate) fn with(key: &KeyBytes) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key).expect("the key has the right length");
        Self(LessSafeKey::new(key))
    }

    /// The key that follows from something that only those know who may open.
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self::with(&key_of(secret))
    }

    /// Closes `content`; only the same binding opens it.
    pub(crate) fn close(&self, content: &[u8], binding: &Binding) -> String {
        URL_SAFE_NO_PAD.encode(self.close_bytes(content, &binding.0))
    }

    /// The same as bytes, bound to a name.
    pub(crate) fn close_bytes(&self, content: &[u8], binding: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] =
            random::bytes().expect("the operating system gives random bytes");
        let mut sealed = content.to_vec();
        let bound = Aad::from(binding);
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut sealed)
            .expect("a short text can be sealed");
        let mut out = nonce.to_vec();
        out.extend(sealed);
        out
    }

    /// Opens what [`close`](Self::close) closed; `None` if anything about it is not as it was.
    pub(crate) fn open(&self, text: &str, binding: &Binding) -> Option<Vec<u8>> {
        self.open_bytes(URL_SAFE_NO_PAD.decode(text).ok()?, &binding.0)
    }

    /// The same of bytes.
    pub(crate) fn open_bytes(&self, mut bytes: Vec<u8>, binding: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let content = self
            .0
            .open_in_place(nonce, Aad::from(binding), sealed)
            .ok()?;
        Some(content.to_vec())
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests;
