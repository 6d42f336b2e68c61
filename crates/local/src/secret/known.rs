//! Secrets that are known to be some, because an entry has them under a telling
//! name. A server may repeat what it was given in its own words, and a secret may
//! look like any word.

use super::{HIDDEN, command_line, kept_value};
use crate::limits;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
};

static KNOWN: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many secrets are known: none is forgotten, so that a text which was looked
/// through needs no second look while this is the same.
pub fn known_count() -> usize {
    COUNT.load(Ordering::Acquire)
}

/// Remembers the value of a variable or a header, if its name or its own look
/// tells that it is a secret. What merely could be one is hidden in its own place:
/// everywhere else it may be a word that people need to read.
pub fn remember_value(name: &str, value: &str) {
    let tells = super::is_name(name) || super::name::is_header(name) || super::is_value(value);
    if tells && kept_value(name, value) != value {
        let (_, secret) = super::value::scheme(value);
        remember(secret);
    }
}

/// Remembers what of a command's arguments is secret.
pub fn remember_arguments<'a>(
    program: Option<&str>,
    all: impl IntoIterator<Item = &'a str> + Clone,
) {
    let shown = command_line(program, all.clone());
    for (argument, shown) in all.into_iter().zip(shown) {
        // What stays at both ends is no part of it.
        let Some((before, after)) = shown.split_once(HIDDEN) else {
            continue;
        };
        let secret = argument.strip_prefix(before);
        let secret = secret.and_then(|rest| rest.strip_suffix(after));
        if let Some(secret) = secret {
            remember(secret);
        }
    }
}

/// Remembers a secret.
pub fn remember(secret: &str) {
    let secret = secret.trim();
    if !(limits::SHORTEST_SECRET..=limits::LONGEST_SECRET).contains(&secret.len())
        || super::value::is_everyday(secret)
    {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() < limits::SECRETS {
        known.insert(secret.to_owned());
        COUNT.store(known.len(), Ordering::Release);
    }
}

/// A text without secrets that are known.
pub(super) fn without(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let mut shown = Cow::Borrowed(text);
    // One that begins as another does is longer, and comes after it.
    for secret in known.iter().rev() {
        if shown.contains(secret.as_str()) {
            shown = Cow::Owned(shown.replace(secret.as_str(), HIDDEN));
        }
    }
    shown
}
