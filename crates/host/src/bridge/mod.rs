//! Between the eras: what a request, an answer or an introduction of one era
//! says in the other. Pure functions over messages, and [`rounds`], which turns
//! a modern server's `input_required` into questions.

pub mod hello;
pub mod reply;
pub mod request;
pub(crate) mod roots;
pub mod rounds;
pub(crate) mod task_run;

use bytes::Bytes;
use switchboard_wire::json;

/// An object's text with some members left out and others set; every member
/// that stays keeps its bytes.
pub(crate) fn object_with(raw: &[u8], without: &[&str], set: &[(&str, &str)]) -> String {
    let mut members: Vec<String> = Vec::new();
    for member in json::members(raw) {
        let key = json::text(member.key.of(raw)).unwrap_or_default();
        if !without.contains(&key.as_ref()) && !set.iter().any(|(name, _)| *name == key) {
            members.push(
                String::from_utf8_lossy(&raw[member.key.start..member.value.end]).into_owned(),
            );
        }
    }
    members.extend(
        set.iter()
            .map(|(key, value)| format!("{}:{value}", json::quote(key))),
    );
    format!("{{{}}}", members.join(","))
}

/// The value of one member of an object's text.
pub(crate) fn member(raw: &Bytes, key: &'static str) -> Option<Bytes> {
    let span = json::field(raw, key).ok().flatten()?;
    Some(raw.slice(span.start..span.end))
}
