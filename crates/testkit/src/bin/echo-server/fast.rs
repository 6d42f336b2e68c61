//! `echo` without a delay and `payload`: no tree, no task, hand-written JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;

use bytes::Bytes;
use switchboard_testkit::json::{self, Message};

use crate::world::{Era, World, lock};

/// A reply in two blocks; the second may be shared with other replies.
pub struct Reply {
    pub head: Vec<u8>,
    pub tail: Bytes,
}

/// The texts of `payload`, by size and era.
#[derive(Default)]
pub struct Payloads(Mutex<HashMap<(u64, bool), Bytes>>);

/// Beyond this a request for a payload is refused.
pub const MAX_PAYLOAD: u64 = 1 << 30;

/// Answers the cheap calls; `None` sends the request down the ordinary path.
pub fn reply(world: &World, message: &Message<'_>, era: Era) -> Option<Reply> {
    if message.method.as_deref() != Some("tools/call") {
        return None;
    }
    let (id, params) = (message.id?, message.params?);
    if era == Era::Modern && !complete(params) {
        return None;
    }
    let name = json::get(params, "name")?;
    let arguments = json::get(params, "arguments")?;
    match name {
        b"\"echo\"" => echo(world, id, arguments, era),
        b"\"payload\"" => payload(world, id, arguments, era),
        _ => None,
    }
}

/// Whether the metadata is what the ordinary path would let through.
fn complete(params: &[u8]) -> bool {
    let Some(meta) = json::get(params, "_meta") else {
        return false;
    };
    let has = |key: &str, value: fn(&[u8]) -> bool| json::get(meta, key).is_some_and(value);
    has("io.modelcontextprotocol/protocolVersion", |v| {
        v == b"\"2026-07-28\""
    }) && has("io.modelcontextprotocol/clientCapabilities", |v| {
        v.starts_with(b"{")
    })
}

fn echo(world: &World, id: &[u8], arguments: &[u8], era: Era) -> Option<Reply> {
    if world.random_delay > 0 {
        return None;
    }
    let mut nonce = None;
    for (key, value) in json::members(arguments)? {
        match &*key {
            "nonce" => nonce = Some(value),
            "delayMs" | "randomDelay" => return None,
            _ => {}
        }
    }
    let text = match nonce? {
        raw if raw.starts_with(b"\"") => Cow::Borrowed(raw),
        raw if raw
            .first()
            .is_some_and(|b| b.is_ascii_digit() || *b == b'-') =>
        {
            Cow::Owned([b"\"", raw, b"\""].concat())
        }
        _ => return None,
    };
    let mut head = start(id, text.len());
    head.extend_from_slice(&text);
    Some(Reply {
        head,
        tail: end(era),
    })
}

fn payload(world: &World, id: &[u8], arguments: &[u8], era: Era) -> Option<Reply> {
    let bytes = json::number(json::get(arguments, "bytes")?)?;
    if bytes > MAX_PAYLOAD {
        return None;
    }
    let key = (bytes, era == Era::Modern);
    let mut known = lock(&world.payloads.0);
    if known.len() > 64 {
        known.clear();
    }
    let tail = known.entry(key).or_insert_with(|| {
        let mut text = Vec::with_capacity(bytes as usize + 64);
        text.push(b'"');
        text.extend((0..bytes).map(|n| b'a' + (n % 26) as u8));
        text.push(b'"');
        text.extend_from_slice(&end(era));
        Bytes::from(text)
    });
    Some(Reply {
        head: start(id, 0),
        tail: tail.clone(),
    })
}

fn start(id: &[u8], room: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(96 + id.len() + room);
    head.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    head.extend_from_slice(id);
    head.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    head
}

fn end(era: Era) -> Bytes {
    Bytes::from_static(match era {
        Era::Legacy => b"}]}}",
        Era::Modern => b"}],\"resultType\":\"complete\"}}",
    })
}
