//! What a played server says when it is met.

use super::super::{Cassette, Hello};
use serde_json::{Map, Value, json};
use switchboard_wire::{Era, Method, Revision};

/// The text of the result of `initialize` or `server/discover`: as it was recorded, or made of
/// the calls that were. None where nothing was recorded in that era.
pub(super) fn result(cassette: &Cassette, era: Era) -> Option<String> {
    if let Some(Hello { result, .. }) = cassette.hello(era) {
        return Some(String::from_utf8_lossy(result).into_owned());
    }
    let calls = cassette.calls.iter().filter(|one| one.call.era == era);
    let mut capabilities = Map::new();
    let mut is_any = false;
    for one in calls {
        is_any = true;
        let capability = Method::parse(&one.call.method).needs_capability();
        if let Some(capability) = capability {
            capabilities.insert(capability.to_owned(), json!({}));
        }
    }
    let name = cassette.servers().first().map(ToString::to_string);
    let about = json!({"name": name.unwrap_or_default(), "version": "recorded"});
    let capabilities = Value::Object(capabilities);
    let hello = match era {
        Era::Legacy => json!({
            "protocolVersion": Revision::NEWEST_LEGACY.as_str(),
            "capabilities": capabilities,
            "serverInfo": about,
        }),
        Era::Modern => json!({
            "resultType": "complete",
            "supportedVersions": [Revision::NEWEST.as_str()],
            "capabilities": capabilities,
            "serverInfo": about,
        }),
    };
    is_any.then(|| hello.to_string())
}
