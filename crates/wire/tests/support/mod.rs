//! What must hold for any bytes at all. The fuzz targets and the plain test
//! over their corpus call the same functions.

#![allow(missing_docs, dead_code, reason = "each test program uses its part")]

mod before;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{collections::BTreeSet, fmt};
use switchboard_wire::{
    Edits, Id, Kind, Message, Params, ParseError, Received, header, json, limits, meta,
    name::{Namer, Style, normalize},
    salvage_id,
};

/// One message or batch, as it comes from a peer.
pub(crate) fn message(data: &[u8]) {
    scan(data);
    let _ = salvage_id(data);
    let raw = Bytes::copy_from_slice(data);
    match Received::parse(raw.clone()) {
        Ok(Received::One(message)) => {
            assert_eq!(
                message.raw(),
                data.trim_ascii(),
                "only white space is left off"
            );
            good(&message);
        }
        Ok(Received::Batch(batch)) => {
            assert!(!batch.is_empty() && batch.len() <= limits::BATCH_MESSAGES);
            assert!(Message::parse(raw).is_err());
            for item in &batch {
                match item {
                    Ok(message) => good(message),
                    Err(fault) => bad(fault),
                }
            }
        }
        Err(fault) => {
            bad(&fault);
            assert!(Message::parse(raw).is_err());
        }
    }
}

/// The scan against the one before it: the same verdict, the same faults in the same places,
/// the same spans.
pub(crate) fn scan_as_before(data: &[u8]) {
    let (now, then) = (json::check(data), before::check(data));
    let shown = || String::from_utf8_lossy(data);
    match (&now, &then) {
        (Ok(now), Ok((span, kind, _))) => assert_eq!(now, &(*span, *kind), "{}", shown()),
        (now, then) => assert_eq!(now.err(), then.as_ref().err().copied(), "{}", shown()),
    }
    if let (Ok((span, _)), Ok((_, json::ValueKind::Object, members))) = (&now, &then) {
        let found = json::members(span.of(data)).map(|member| {
            (
                member.key.shifted(span.start),
                member.value.shifted(span.start),
            )
        });
        assert_eq!(&found.collect::<Vec<_>>(), members, "{}", shown());
    }
    // As a message it has to be UTF-8, too, and that is said first.
    let parsed = Received::parse(Bytes::copy_from_slice(data));
    match (parsed, before::judge(data)) {
        (Err(ParseError::NotUtf8(now)), then) => {
            assert_eq!(Err(before::Fault::NotUtf8(now)), then, "{}", shown());
        }
        (Err(ParseError::NotJson(now)), then) => {
            assert_eq!(Err(before::Fault::NotJson(now)), then, "{}", shown());
        }
        (_, then) => assert!(then.is_ok(), "{then:?}: {}", shown()),
    }
}

/// A header's value; and the same bytes as a tool's schema and a call's arguments.
pub(crate) fn header(data: &[u8]) {
    if let Some(value) = header::decode(data) {
        let again = header::encode(&value);
        assert_eq!(header::decode(again.as_bytes()).as_deref(), Some(&*value));
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let sent = header::encode(text);
        assert!(sent.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)));
        assert_eq!(header::decode(sent.as_bytes()).as_deref(), Some(text));
        assert!(header::values_agree(text, text, true));
    }
    let Ok((span, _)) = json::check(data) else {
        return;
    };
    let value = span.of(data);
    let Ok(found) = header::mirrored_params(value) else {
        return;
    };
    let names: BTreeSet<String> = found
        .iter()
        .map(|param| param.header.to_ascii_lowercase())
        .collect();
    assert_eq!(names.len(), found.len());
    for param in found {
        let token = |byte: u8| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte);
        assert!(!param.header.is_empty() && param.header.bytes().all(token));
        assert!(!param.path.is_empty());
        let _ = header::mirrored_value(value, &param.path);
    }
}

/// Lines `server<TAB>tool`: every pair gets a name of its own that fits.
pub(crate) fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let pairs: Vec<(&str, &str)> = text
        .lines()
        .take(64)
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let servers: BTreeSet<&str> = pairs.iter().map(|(server, _)| *server).collect();
    let distinct: BTreeSet<&(&str, &str)> = pairs.iter().collect();
    for style in [Style::Short, Style::Full, Style::Bare] {
        let namer = Namer::new(style, servers.iter().copied());
        let names = namer.assign(&pairs);
        assert_eq!(names.len(), pairs.len());
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            distinct.len(),
            "{style:?} {pairs:?} {names:?}"
        );
        for name in &names {
            assert!(
                name.len() <= style.limit() && normalize(name) == *name,
                "{name}"
            );
        }
        for server in &servers {
            assert_eq!(
                namer.server(namer.prefix(server).unwrap_or_default()),
                Some(*server)
            );
        }
    }
}

/// Our scan against serde_json's; only the depth limit is ours alone.
fn scan(data: &[u8]) {
    let ours = json::check(data);
    if let Err(fault) = ours {
        assert!(fault.at <= data.len(), "{fault:?}");
    }
    if ours.is_err_and(|fault| fault.what == "nested too deeply") {
        return;
    }
    assert_eq!(
        ours.is_ok(),
        serde_json::from_slice::<IgnoredAny>(data).is_ok(),
        "{ours:?}"
    );
    let raw = serde_json::from_slice::<&RawValue>(data);
    assert_eq!(
        ours.is_ok() && std::str::from_utf8(data).is_ok(),
        raw.is_ok()
    );
    if let (Ok((span, _)), Ok(raw)) = (ours, raw) {
        assert_eq!(span.of(data), raw.get().as_bytes());
    }
}

fn good(message: &Message) {
    let again = Message::parse(message.raw().clone()).expect("what was read can be read again");
    assert_eq!(
        (again.kind(), again.id(), again.method()),
        (message.kind(), message.id(), message.method())
    );
    assert_eq!(message.payload().into_bytes(), message.raw());
    same_parts_as_serde(message);
    one_line(message);
    other_id(message);
    if !message.is_reply() {
        params(message);
    }
    let _ = (
        message.error_code(),
        message.error_text(),
        message.method_name(),
    );
}

fn bad(fault: &ParseError) {
    let answer = fault.to_error().response(fault.id()).into_bytes();
    serde_json::from_slice::<&RawValue>(&answer).expect("an answer is JSON");
    let answer = Message::parse(answer).expect("an answer is a message");
    assert_eq!(
        (answer.kind(), answer.id().as_ref()),
        (Kind::Error, fault.id())
    );
}

/// Every part of the envelope is what an independent reader finds, and is there once.
fn same_parts_as_serde(message: &Message) {
    // A lone surrogate in a key is beyond serde_json.
    let Ok(Pairs(pairs)) = serde_json::from_slice(message.raw()) else {
        return;
    };
    let the = |key: &str| -> Option<&str> {
        let found: Vec<&str> = pairs
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, raw)| raw.get())
            .collect();
        assert!(found.len() <= 1, "{key:?} twice was accepted");
        found.first().copied()
    };
    assert!(the("jsonrpc").is_some());
    let id = message.id();
    let written = id
        .as_ref()
        .map(|id| std::str::from_utf8(id.token()).expect("UTF-8"));
    assert_eq!(written, the("id").filter(|id| *id != "null"));
    let body = match message.kind() {
        Kind::Request | Kind::Notification => the("params"),
        Kind::Response => the("result"),
        Kind::Error => the("error"),
    };
    assert_eq!(body.unwrap_or("{}").as_bytes(), message.body());
    assert_eq!(the("method").is_some(), !message.is_reply());
}

fn one_line(message: &Message) {
    let line = message.payload().into_line().into_bytes();
    assert_eq!(line.len(), message.raw().len() + 1);
    assert_eq!(
        line.iter().position(|byte| matches!(byte, b'\n' | b'\r')),
        Some(line.len() - 1)
    );
    let again = Message::parse(line).expect("the line is the same message");
    assert_eq!((again.kind(), again.id()), (message.kind(), message.id()));
}

fn other_id(message: &Message) {
    let id = Id::string("another");
    let sent = message.edited(&message.with_id(&id)).into_bytes();
    let Some(old) = message.id() else {
        assert_eq!(sent, message.raw());
        return;
    };
    let renamed = Message::parse(sent).expect("only the id changed");
    assert_eq!(renamed.id(), Some(id));
    assert_eq!(
        renamed.edited(&renamed.with_id(&old)).into_bytes(),
        message.raw(),
        "and back"
    );
}

fn params(message: &Message) {
    let Ok(params) = Params::of(message) else {
        return;
    };
    let read = [
        params.name,
        params.uri,
        params.cursor,
        params.task_id,
        params.meta,
        params.progress_token,
    ];
    for span in read.into_iter().flatten() {
        json::check(span.of(message.raw())).expect("a span is a value");
    }
    let _ = Params::text(message, params.name, "name");

    let mut edits = Edits::new();
    params.set_meta(
        message,
        &mut edits,
        params.progress_token,
        meta::PROGRESS_TOKEN,
        "7",
    );
    params.set_meta(
        message,
        &mut edits,
        params.log_level,
        meta::LOG_LEVEL,
        "\"info\"",
    );
    let sent = Message::parse(message.edited(&edits).into_bytes()).expect("only _meta changed");
    let read = Params::of(&sent).expect("nothing is there twice");
    let placeless = message.body().starts_with(b"[")
        || params
            .meta
            .is_some_and(|meta| !meta.of(message.raw()).starts_with(b"{"));
    if placeless {
        assert_eq!(sent.raw(), message.raw());
    } else {
        assert_eq!(
            Params::bytes(&sent, read.progress_token).as_deref(),
            Some(&b"7"[..])
        );
        assert_eq!(
            Params::bytes(&sent, read.log_level).as_deref(),
            Some(&b"\"info\""[..])
        );
    }
}

/// An object's members, all of them, in order.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(All)
    }
}
