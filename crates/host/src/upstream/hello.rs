//! What a server said about itself when we met.

use bytes::Bytes;
use switchboard_wire::{Revision, json};

/// What a server said about itself when we met.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The revision that was agreed on.
    pub revision: Revision,
    /// The text of the result of `initialize` or `server/discover`.
    pub result: Bytes,
}

impl Hello {
    /// The text of the server's capabilities.
    pub fn capabilities(&self) -> Bytes {
        let span = json::field(&self.result, "capabilities").ok().flatten();
        span.map_or(Bytes::from_static(b"{}"), |span| {
            self.result.slice(span.start..span.end)
        })
    }

    /// Whether this part of a capability is declared.
    pub fn has(&self, capability: &str, part: &str) -> bool {
        let all = self.capabilities();
        let within = |raw: &[u8], name: &str| {
            let span = json::members(raw)
                .find(|member| json::text(member.key.of(raw)).is_some_and(|key| key == name));
            span.map(|member| member.value.of(raw).to_vec())
        };
        let found = within(&all, capability).and_then(|value| within(&value, part));
        found.is_some_and(|value| value == b"true")
    }

    /// Whether the server declared this capability.
    pub fn declares(&self, capability: &str) -> bool {
        let capabilities = self.capabilities();
        json::members(&capabilities).any(|member| {
            json::text(member.key.of(&capabilities)).is_some_and(|key| key == capability)
        })
    }
}
