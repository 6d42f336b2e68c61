//! Which trace a request is a part of, as W3C's recommendations write it: in headers,
//! in `_meta` and in the environment of a process alike.

use crate::{
    json::{self, Edits},
    limits,
    message::Message,
    meta,
    params::Params,
};
use std::fmt::Write;

/// A place in a trace: what `traceparent` and `tracestate` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace: [u8; 16],
    /// The span in it.
    pub span: [u8; 8],
    /// The lowest bit says whether it is recorded, the next that the trace's number is
    /// random. There are no others.
    pub flags: u8,
    /// What others keep beside it.
    pub state: Option<String>,
}

/// The bit of [`TraceContext::flags`] that says that a trace is recorded.
const RECORDED: u8 = 1;
/// All bits that mean something.
const KNOWN: u8 = 3;

impl TraceContext {
    /// Reads it. What is not as the recommendation has it is none, and a state that
    /// cannot be read is left out.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let parent = parent.trim_matches([' ', '\t']);
        let mut fields = parent.split('-');
        let version = number::<1>(fields.next()?)?[0];
        let (trace, span) = (number(fields.next()?)?, number(fields.next()?)?);
        let flags = number::<1>(fields.next()?)?[0];
        // Later versions may add something; this one may not.
        let is_whole = version != 0xff && (version > 0 || fields.next().is_none());
        let is_one = trace != [0; 16] && span != [0; 8];
        (is_whole && is_one).then(|| Self {
            trace,
            span,
            flags: flags & KNOWN,
            state: state.filter(|state| is_state(state)).map(str::to_owned),
        })
    }

    /// The text of `traceparent`.
    pub fn parent(&self) -> String {
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        digits(&mut text, &self.trace);
        text.push('-');
        digits(&mut text, &self.span);
        text.push('-');
        digits(&mut text, &[self.flags]);
        text
    }

    /// Whether whoever named it records it.
    pub fn is_recorded(&self) -> bool {
        self.flags & RECORDED != 0
    }

    /// The same, recorded or not.
    pub fn recorded(mut self, recorded: bool) -> Self {
        self.flags = self.flags & !RECORDED | u8::from(recorded);
        self
    }
}

/// What a request brings along, or is sent with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Its place in a trace.
    pub context: Option<TraceContext>,
    /// What others want to have along, whatever that is.
    pub baggage: Option<String>,
}

impl Carried {
    /// What three texts say, where they can be read.
    pub fn read(parent: Option<&str>, state: Option<&str>, baggage: Option<&str>) -> Self {
        Self {
            context: parent.and_then(|parent| TraceContext::parse(parent, state)),
            baggage: baggage
                .filter(|baggage| is_baggage(baggage))
                .map(str::to_owned),
        }
    }

    /// What the `_meta` of a request says.
    pub fn in_meta(message: &Message, params: &Params) -> Self {
        let Some(meta) = params.meta.map(|span| span.of(message.raw())) else {
            return Self::default();
        };
        // One that stands there twice says nothing.
        let text = |key: &'static str| {
            let value = json::field(meta, key).ok()??;
            json::text(value.of(meta))
        };
        let (parent, state) = (text(meta::TRACEPARENT), text(meta::TRACESTATE));
        let baggage = text(meta::BAGGAGE);
        Self::read(parent.as_deref(), state.as_deref(), baggage.as_deref())
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.context.is_none() && self.baggage.is_none()
    }

    /// All that it says, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let context = self.context.as_ref();
        let parent = context.map(|context| (meta::TRACEPARENT, context.parent()));
        let state = context.and_then(|context| context.state.clone());
        let state = state.map(|state| (meta::TRACESTATE, state));
        let baggage = self.baggage.clone();
        let baggage = baggage.map(|baggage| (meta::BAGGAGE, baggage));
        [parent, state, baggage].into_iter().flatten()
    }

    /// Adds to `edits` what makes the `_meta` of a request say this, wherever it says
    /// something of it now. A state that belongs to another place than ours is emptied.
    pub fn put_in_meta(&self, message: &Message, params: &Params, edits: &mut Edits) {
        let Some(context) = &self.context else {
            return;
        };
        let state = context.state.as_deref();
        set(
            message,
            params,
            edits,
            meta::TRACEPARENT,
            Some(&context.parent()),
        );
        set(message, params, edits, meta::TRACESTATE, state);
        if let Some(baggage) = &self.baggage {
            set(message, params, edits, meta::BAGGAGE, Some(baggage));
        }
    }
}

/// Sets one text of `_meta`, wherever it stands; without one, what is there is emptied.
fn set(message: &Message, params: &Params, edits: &mut Edits, key: &str, text: Option<&str>) {
    let value = json::quote(text.unwrap_or_default());
    let mut is_there = false;
    if let Some(at) = params.meta {
        let meta = at.of(message.raw());
        for member in json::members(meta) {
            if json::text(member.key.of(meta)).is_some_and(|name| name == key) {
                edits.replace(member.value.shifted(at.start), value.clone());
                is_there = true;
            }
        }
    }
    if !is_there && text.is_some() {
        params.set_meta(message, edits, None, key, &value);
    }
}

/// So many bytes in lower-case digits, exactly.
fn number<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut number = [0; N];
    for (byte, pair) in number.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(number)
}

fn digits(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Into a text it cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
}

/// Whether a state is a list of keys and values that everybody can pass on.
fn is_state(state: &str) -> bool {
    let is_key = |key: &str| {
        let mut bytes = key.bytes();
        bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && bytes.all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte)
            })
    };
    let is_value = |value: &str| {
        !value.is_empty()
            && value
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
    };
    let mut members = state.split(',').map(|it| it.trim_matches([' ', '\t']));
    state.len() <= limits::TRACESTATE_BYTES
        && state.split(',').count() <= limits::TRACESTATE_MEMBERS
        && !state.trim().is_empty()
        && members.all(|member| {
            let pair = member.split_once('=');
            member.is_empty() || pair.is_some_and(|(key, value)| is_key(key) && is_value(value))
        })
}

/// Whether a baggage can stand in a header.
fn is_baggage(baggage: &str) -> bool {
    !baggage.trim().is_empty()
        && baggage.len() <= limits::BAGGAGE_BYTES
        && baggage
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
}

#[cfg(test)]
mod tests;
