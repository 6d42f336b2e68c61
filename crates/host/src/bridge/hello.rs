//! Introductions: the result of `initialize` from that of `server/discover`,
//! and the other way round. Fields that neither era defines are kept.

use super::{member, object_with};
use crate::upstream::Hello;
use bytes::Bytes;
use switchboard_wire::{Era, Revision, meta};

/// What a legacy client is told at `initialize`.
pub fn initialize_result(hello: &Hello, revision: Revision) -> String {
    let version = format!("\"{revision}\"");
    if hello.revision.era() == Era::Legacy {
        return object_with(&hello.result, &[], &[("protocolVersion", &version)]);
    }
    let meta = member(&hello.result, "_meta").unwrap_or_default();
    let info = member(&meta, meta::SERVER_INFO).unwrap_or(Bytes::from_static(
        b"{\"name\":\"unknown\",\"version\":\"0\"}",
    ));
    let capabilities = member(&hello.result, "capabilities").unwrap_or(Bytes::from_static(b"{}"));
    let (info, capabilities) = (text(&info), legacy_capabilities(&capabilities));
    let set = [
        ("protocolVersion", version.as_str()),
        ("serverInfo", info.as_str()),
        ("capabilities", capabilities.as_str()),
    ];
    object_with(
        &hello.result,
        &["supportedVersions", "resultType", "ttlMs", "cacheScope"],
        &set,
    )
}

/// What a modern client is told by `server/discover`.
pub fn discover_result(hello: &Hello, versions: &str) -> String {
    if hello.revision.era() == Era::Modern {
        return object_with(&hello.result, &[], &[("supportedVersions", versions)]);
    }
    let info = member(&hello.result, "serverInfo").unwrap_or(Bytes::from_static(b"{}"));
    let old = member(&hello.result, "_meta").unwrap_or(Bytes::from_static(b"{}"));
    let meta = object_with(&old, &[], &[(meta::SERVER_INFO, &text(&info))]);
    let set = [
        ("resultType", "\"complete\""),
        ("supportedVersions", versions),
        ("ttlMs", "0"),
        ("cacheScope", "\"private\""),
        ("_meta", meta.as_str()),
    ];
    object_with(&hello.result, &["protocolVersion", "serverInfo"], &set)
}

/// The same result without the server's instructions.
pub fn without_instructions(result: &Bytes) -> Bytes {
    object_with(result, &["instructions"], &[]).into()
}

/// A modern server's lists can always be watched by `subscriptions/listen`; a
/// legacy client is told so in its own words. Extensions are negotiated per
/// request in the modern era and have no place in a legacy handshake.
fn legacy_capabilities(capabilities: &Bytes) -> String {
    let mut set: Vec<(&str, String)> = Vec::new();
    for name in ["tools", "prompts", "resources"] {
        if let Some(value) = member(capabilities, name) {
            set.push((name, text(&value)));
        }
    }
    let set: Vec<(&str, &str)> = set
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    object_with(capabilities, &["extensions"], &set)
}

fn text(raw: &Bytes) -> String {
    String::from_utf8_lossy(raw).into_owned()
}
