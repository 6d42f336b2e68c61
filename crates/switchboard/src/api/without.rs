//! What servers wrote, without secrets: their own words go out of here as all messages do.

use serde_json::Value;
use switchboard_host::Server;
use switchboard_local::secret;
use switchboard_record::tap::redact;

/// Members by which something is asked for again: they are no secret because they look like
/// one, but where one is known to be.
const ADDRESSES: [&str; 2] = ["uri", "uriTemplate"];

/// A value as a server wrote it.
pub(super) fn secrets(raw: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(raw).ok()?;
    serde_json::from_str(&redact(text).0).ok()
}

/// An item of a list of this server's. What comes with the program is its own word: there an
/// example of a key is no key.
pub(super) fn item_of(server: &Server, raw: &[u8]) -> Option<Value> {
    let own = || serde_json::from_str(&secret::contents(std::str::from_utf8(raw).ok()?)).ok();
    match server.spec.is_vouched_for {
        true => own().or_else(|| item(raw)),
        false => item(raw),
    }
}

/// An item of a list, which can be asked for by what it is called.
fn item(raw: &[u8]) -> Option<Value> {
    let mut shown = secrets(raw)?;
    let written: Value = serde_json::from_slice(raw).ok()?;
    for key in ADDRESSES {
        let address = written[key].as_str();
        let address = address.filter(|address| *secret::contents(address) == **address);
        if let (Some(address), Some(member)) = (address, shown.get_mut(key)) {
            *member = address.into();
        }
    }
    Some(shown)
}

/// A text of a definition that somebody is to judge: all of it is shown but for what is known
/// to be a secret, or begins as one.
pub(super) fn judged(text: &str) -> String {
    secret::contents(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_stay_unless_they_hold_what_is_known() {
        secret::remember("plumbago-saltire-known");
        let raw = |uri: &str| {
            let item =
                json!({"uri": uri, "description": "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"});
            item.to_string().into_bytes()
        };
        let shown = item(&raw("notes://u:word@host/a?token=b")).unwrap();
        assert_eq!(shown["uri"], "notes://u:word@host/a?token=b");
        assert!(!shown.to_string().contains("ghp_"), "{shown}");
        let shown = item(&raw("notes://host/plumbago-saltire-known")).unwrap();
        assert!(!shown.to_string().contains("plumbago"), "{shown}");
    }
}
