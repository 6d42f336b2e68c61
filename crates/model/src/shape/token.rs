//! The text of a JSON string token, also where it stands for no valid text.

use serde::{Deserialize, Deserializer, de};
use std::{borrow::Cow, fmt};
use switchboard_wire::json;

/// The text of a string token; lone surrogates become U+FFFD, since a model
/// must get the rest. `None` if the token is no string.
pub(super) fn lossy(token: &[u8]) -> Option<String> {
    lossy_cow(token).map(Cow::into_owned)
}

/// The same, without a copy where none is needed.
pub(super) fn lossy_cow(token: &[u8]) -> Option<Cow<'_, str>> {
    json::text(token).or_else(|| {
        let Wtf8(bytes) = serde_json::from_slice(token).ok()?;
        Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
    })
}

/// A JSON string as bytes: the one way in which serde_json lets lone surrogates through.
struct Wtf8(Vec<u8>);

impl<'de> Deserialize<'de> for Wtf8 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Wtf8;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Wtf8, E> {
                Ok(Wtf8(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
