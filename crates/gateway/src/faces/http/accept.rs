//! What form of an answer a client takes: `Accept`, as HTTP defines it.

use super::{body::Body, reply};
use http::{HeaderMap, Response, StatusCode, header};
use switchboard_wire::{ErrorObject, code};

/// The forms that an answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepts {
    /// JSON, or an event stream where that is of use.
    Either,
    /// Event streams alone.
    Events,
    /// JSON alone: what comes before the answer is left out.
    Json,
}

impl Accepts {
    /// What `Accept` says; nothing where it allows neither. Silence allows all.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::ACCEPT).iter();
        let (first, second) = (values.next(), values.next());
        // What nearly all clients say, to save a closer look.
        let usual = |value| value == "application/json, text/event-stream";
        if first.is_none_or(usual) && second.is_none() {
            return Some(Self::Either);
        }
        let texts = headers.get_all(header::ACCEPT).iter();
        let texts: Vec<&str> = texts.filter_map(|value| value.to_str().ok()).collect();
        let ranges = texts.iter().flat_map(|text| text.split(','));
        let ranges: Vec<(&str, bool)> = ranges
            .map(range)
            .filter(|(kind, _)| !kind.is_empty())
            .collect();
        if ranges.is_empty() && texts.iter().all(|text| text.trim().is_empty()) {
            return Some(Self::Either);
        }
        let json = allows(&ranges, "application/json", "application/*");
        let events = allows(&ranges, "text/event-stream", "text/*");
        match (json, events) {
            (true, true) => Some(Self::Either),
            (false, true) => Some(Self::Events),
            (true, false) => Some(Self::Json),
            (false, false) => None,
        }
    }

    /// Whether `Accept` allows event streams.
    pub(super) fn events(headers: &HeaderMap) -> bool {
        matches!(Self::of(headers), Some(Self::Either | Self::Events))
    }
}

/// A range of media types, and whether it is wanted at all: `q=0` means not.
fn range(text: &str) -> (&str, bool) {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let unwanted = weight.is_some_and(|weight| weight.parse() == Ok(0.0_f32));
    (kind, !unwanted)
}

/// Whether a type is wanted: what is said of it most closely counts.
fn allows(ranges: &[(&str, bool)], exact: &str, family: &str) -> bool {
    let said = |wanted: &str| {
        let mut of_it = ranges
            .iter()
            .filter(|(kind, _)| kind.eq_ignore_ascii_case(wanted))
            .peekable();
        of_it.peek()?;
        Some(of_it.any(|(_, wanted)| *wanted))
    };
    [exact, family, "*/*"]
        .into_iter()
        .find_map(said)
        .unwrap_or(false)
}

/// The refusal of a request whose answer could have no form that its client takes.
pub(super) fn not_acceptable(needed: &str) -> Response<Body> {
    let text = format!("Not acceptable: Accept must allow {needed}");
    let error = ErrorObject::new(code::INVALID_REQUEST, text);
    reply::error(StatusCode::NOT_ACCEPTABLE, &error, None)
}

#[cfg(test)]
mod tests;
