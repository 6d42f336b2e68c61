//! Calls as the API tells them.

use super::{
    copies,
    list::{Entry, State},
    millis, pairs, redact,
    ring::Crossing,
};
use crate::metrics::Outcome;
use std::time::Duration;
use switchboard_api::calls::{Call, Crossed, Detail};
use switchboard_host::{
    Blame,
    observe::{Decided, Edge, Origin},
};
use switchboard_local::secret;

/// Whether messages are told with their secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// They are cut.
    Cut,
    /// They are shown, which somebody has asked for and which is on record.
    Shown,
}

// tidy: a unit, not a cap
const BYTES_PER_TOKEN: u64 = 4;

/// One call, without its messages.
pub(super) fn call(entry: &Entry, kept: bool) -> Call {
    let over = match &entry.state {
        State::Over(over) => Some(over),
        State::Running | State::Waiting => None,
    };
    let wrong = over.and_then(|over| over.wrong.as_ref());
    let bytes_out = over.map_or(0, |over| over.bytes_out);
    Call {
        id: entry.number,
        at: millis(entry.at),
        principal: entry.principal.to_string(),
        client: entry
            .client
            .as_deref()
            .map(|client| secret::text(client).into_owned()),
        session: Some(entry.session.to_string()),
        origin: match entry.origin {
            Origin::Client => "client".to_owned(),
            Origin::Own => "own".to_owned(),
        },
        server: entry.server().map(|server| server.to_string()),
        method: match entry.method.as_str() {
            "" => "other".to_owned(),
            known => known.to_owned(),
        },
        name: entry.name().map(|name| secret::text(name).into_owned()),
        client_era: entry.client_era.to_string(),
        server_era: entry.server_era.map(|era| era.to_string()),
        outcome: outcome(&entry.state).to_owned(),
        fault: wrong.and_then(|wrong| wrong.fault).map(|blame| {
            let word = match blame {
                Blame::Client => "client",
                Blame::Us => "ours",
                Blame::Server => "server",
            };
            word.to_owned()
        }),
        error: wrong.map(|wrong| wrong.text.clone()),
        code: wrong.and_then(|wrong| wrong.code),
        took: over.map(|over| micros(over.took)),
        at_server: over.map(|over| micros(over.at_server)),
        waited: over
            .map(|over| micros(over.waited))
            .filter(|waited| *waited > 0),
        bytes_in: entry.bytes_in as u64,
        bytes_out,
        tokens: bytes_out / BYTES_PER_TOKEN,
        sent: entry.sent,
        asked: entry.asked,
        kept,
        repeatable: false,
        edited: entry.edited,
        replay_of: entry.replay_of,
    }
}

fn outcome(state: &State) -> &'static str {
    match state {
        State::Running => "running",
        State::Waiting => "waiting",
        State::Over(over) if over.outcome.is_denial() => "denied",
        State::Over(over) if over.outcome == Outcome::FINE => "ok",
        State::Over(over) if over.outcome.is_error() => "error",
        State::Over(_) => "cancelled",
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// One call with its messages, if any of them are kept.
pub(super) fn detail(
    entry: &Entry,
    kept: Option<(Vec<Crossing>, u32)>,
    secrets: Secrets,
) -> Detail {
    let decided = entry.decided.as_ref();
    let is_kept = kept.is_some();
    let (messages, missing) = kept.unwrap_or_default();
    let begun = messages.first().map(|one| one.at);
    let mut crossed: Vec<Crossed> = messages
        .iter()
        .map(|one| {
            let since = begun.map_or(Duration::ZERO, |begun| one.at - begun);
            message(one, since, secrets)
        })
        .collect();
    let call = call(entry, is_kept);
    let is_bridged = call.server_era.as_ref();
    let is_bridged = is_bridged.is_some_and(|era| *era != call.client_era);
    pairs::put_in_pairs(&mut crossed, is_bridged, entry.edited);
    let copies = copies::of(&call, &crossed);
    Detail {
        call,
        messages: crossed,
        decision: decided.map(|(decided, _)| {
            let word = match decided {
                Decided::Allowed => "allow",
                Decided::Asks => "ask",
                Decided::Denied => "deny",
            };
            word.to_owned()
        }),
        rule: decided.map(|(_, rule)| secret::text(rule).into_owned()),
        waited: Vec::new(),
        missing,
        copies,
    }
}

/// A message, by itself.
pub(super) fn message(one: &Crossing, since: Duration, secrets: Secrets) -> Crossed {
    let text = one.text.as_ref().map(|text| {
        let text = text.to_vec();
        String::from_utf8(text)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())
    });
    let (text, cut) = match (text, secrets) {
        (Some(text), Secrets::Cut) => {
            let (text, cut) = redact(&text);
            (Some(text), cut)
        }
        (text, _) => (text, 0),
    };
    Crossed {
        at: micros(since),
        edge: edge(one.edge).to_owned(),
        bytes: one.length as u64,
        text,
        secrets: cut,
        ..Crossed::default()
    }
}

fn edge(edge: Edge) -> &'static str {
    match edge {
        Edge::FromClient => "from-client",
        Edge::ToServer => "to-server",
        Edge::FromServer => "from-server",
        Edge::ToClient => "to-client",
    }
}
