//! Secrets in addresses: before the host, in the path, behind the question mark.

use super::{HIDDEN, hidden, name, text::defaults, value};
use std::borrow::Cow;

/// An address without its secrets, as somebody configured it.
pub fn address(url: &str) -> Cow<'_, str> {
    without_secrets(url, true)
}

/// An address without its secrets. Where `strict`, a number that stands for
/// something is one: some servers are reached by nothing else. In a sentence it
/// is a tenant, a session, a job.
pub(super) fn without_secrets(url: &str, strict: bool) -> Cow<'_, str> {
    let whole = defaults(url);
    let Some((scheme, rest)) = whole.split_once("://") else {
        return whole;
    };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (place, more) = rest.split_at(end);
    let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let mut shown = format!("{scheme}://");
    match authority.rsplit_once('@') {
        Some((user, host)) if is_plain_user(user) => shown.push_str(&format!("{user}@{host}")),
        Some((user, host)) => shown.push_str(&format!("{}@{host}", hidden(user))),
        None => shown.push_str(authority),
    }
    push_path(&mut shown, path, strict);
    push_parameters(&mut shown, more, strict);
    if *shown == *whole {
        whole
    } else {
        Cow::Owned(shown)
    }
}

/// A name alone is no secret, unless it is one in its place.
fn is_plain_user(user: &str) -> bool {
    user.len() <= 16
        && user
            .chars()
            .all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_'))
}

/// Words of a path after which the name of a state of sources stands.
const STATES: &[&str] = &[
    "commit", "commits", "tree", "blob", "archive", "raw", "zip", "tar.gz",
];

fn push_path(shown: &mut String, path: &str, strict: bool) {
    let mut before = "";
    for (at, segment) in path.split('/').enumerate() {
        if at > 0 {
            shown.push('/');
        }
        let named = name::is_name(before)
            && segment.len() >= 8
            && !value::is_plain(segment)
            && !segment.starts_with("${");
        let public = STATES.contains(&before) && !named;
        if !public && (named || value::is_segment(segment, strict)) {
            shown.push_str(&hidden(segment));
        } else {
            shown.push_str(segment);
        }
        before = segment;
    }
}

/// The parameters, after whatever sign they come.
fn push_parameters(shown: &mut String, more: &str, strict: bool) {
    let mut rest = more;
    while let Some(mark) = rest.chars().next() {
        shown.push(mark);
        let after = &rest[mark.len_utf8()..];
        // Of an entry's own address nobody knows what it is for.
        if mark == '#' && strict && !after.is_empty() {
            shown.push_str(&hidden(after));
            return;
        }
        let end = after.find(['?', '#', '&', ';']).unwrap_or(after.len());
        let (parameter, next) = after.split_at(end);
        let bare = parameter.trim_end_matches('=');
        match parameter.split_once('=') {
            // What base64 is filled up with is no mark between name and value.
            Some(_) if !bare.contains('=') && value::is_segment(bare, false) => {
                shown.push_str(HIDDEN);
            }
            Some((name, value)) if is_secret(name, value, strict) => {
                shown.push_str(&format!("{name}={}", hidden(value)));
            }
            None if mark != '#' && value::is_segment(parameter, strict) => shown.push_str(HIDDEN),
            _ => shown.push_str(parameter),
        }
        rest = next;
    }
}

fn is_secret(name: &str, value: &str, strict: bool) -> bool {
    name::is_name(name)
        || matches!(name, "code" | "state" | "sessionId" | "session_id")
        || !name::is_public(name) && value::is_segment(value, strict)
}
