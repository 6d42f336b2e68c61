//! `requestState` for multi round-trip requests: what the client carries back
//! to us, protected against changes and bound to the request it belongs to.

use std::hash::{Hash, Hasher};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::clock::unix_seconds;
use crate::rpc::RpcError;

/// A state is good for ten minutes.
const LIFETIME_SECONDS: u64 = 600;

/// Not secret on purpose: in a test, a retry may reach another process of the
/// same fixture and must be understood there.
const KEYS: [(u64, u64); 2] = [
    (0x636f_6e66_6f72_6d61, 0x6e63_652d_6669_7874),
    (0x7265_7175_6573_7453, 0x7461_7465_2d6b_6579),
];

/// The answers of earlier rounds, sealed for the request `binding`.
pub(crate) fn seal(binding: &str, answers: &Map<String, Value>) -> String {
    let payload = json!({
        "for": binding,
        "until": unix_seconds() + LIFETIME_SECONDS,
        "answers": answers,
    });
    let text = URL_SAFE_NO_PAD.encode(payload.to_string());
    let tag = tag(&text);
    format!("{text}.{tag}")
}

/// Opens a state that came back with the request `binding`.
pub(crate) fn open(binding: &str, state: &str) -> Result<Map<String, Value>, RpcError> {
    let refused = |why: &str| RpcError::invalid_params(format!("requestState {why}"));
    let (text, given) = state
        .split_once('.')
        .ok_or_else(|| refused("is not ours"))?;
    if tag(text) != given {
        return Err(refused("failed its integrity check"));
    }
    let payload: Value = URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or_else(|| refused("is not ours"))?;
    if payload["for"].as_str() != Some(binding) {
        return Err(refused("belongs to another request"));
    }
    if payload["until"].as_u64().unwrap_or(0) < unix_seconds() {
        return Err(refused("has expired"));
    }
    Ok(payload["answers"].as_object().cloned().unwrap_or_default())
}

/// SipHash-2-4 is a keyed function made for this, and it is in std.
#[expect(deprecated, reason = "DefaultHasher promises no fixed function")]
fn tag(text: &str) -> String {
    KEYS.iter()
        .map(|(first, second)| {
            let mut hasher = std::hash::SipHasher::new_with_keys(*first, *second);
            text.hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{open, seal};
    use serde_json::json;

    #[test]
    fn only_what_was_sealed_opens() {
        let answers = json!({ "step1": { "action": "accept" } });
        let answers = answers.as_object().expect("an object");
        let state = seal("tools/call a", answers);
        assert_eq!(&open("tools/call a", &state).expect("opens"), answers);
        assert!(open("tools/call b", &state).is_err());
        assert!(open("tools/call a", &format!("{state}-TAMPERED")).is_err());
        assert!(open("tools/call a", &state.replacen('e', "f", 1)).is_err());
    }
}
