//! Events as bytes.

use crate::limits;
use bytes::Bytes;
use std::time::Duration;
use switchboard_wire::Payload;

/// One event with a message as its data, on one line: a carriage return or line
/// feed in a message can only stand between tokens, where a space means the same.
pub fn encode_event(id: Option<&str>, event: Option<&str>, payload: Payload) -> Payload {
    let head_length = id.map_or(0, |id| id.len() + 5) + event.map_or(0, |name| name.len() + 8) + 6;
    let small = payload.len() < limits::COPY_BELOW;
    let mut out = Vec::with_capacity(head_length + if small { payload.len() + 2 } else { 0 });
    for (field, value) in [("id: ", id), ("event: ", event)] {
        if let Some(value) = value {
            push_field(&mut out, field, value);
        }
    }
    out.extend_from_slice(b"data: ");
    if small {
        for piece in payload.pieces() {
            let start = out.len();
            out.extend_from_slice(piece);
            flatten(&mut out[start..]);
        }
        out.extend_from_slice(b"\n\n");
        return Payload::from(Bytes::from(out));
    }
    let mut event = Payload::from(Bytes::from(out));
    for piece in payload.into_line().into_pieces() {
        event.push(piece);
    }
    event.push(Bytes::from_static(b"\n"));
    event
}

/// An event without data that gives the client an id to resume from and, where
/// asked for, says how long to wait before it does.
pub fn encode_priming(id: &str, retry: Option<Duration>) -> Payload {
    let mut out = Vec::with_capacity(id.len() + 40);
    push_field(&mut out, "id: ", id);
    if let Some(retry) = retry {
        push_field(&mut out, "retry: ", &retry.as_millis().to_string());
    }
    out.extend_from_slice(b"data: \n\n");
    Payload::from(Bytes::from(out))
}

/// A comment, which shows that the stream is alive.
pub fn encode_comment() -> Payload {
    Payload::from(Bytes::from_static(b":\n\n"))
}

fn push_field(out: &mut Vec<u8>, field: &str, value: &str) {
    out.extend_from_slice(field.as_bytes());
    let start = out.len();
    out.extend_from_slice(value.as_bytes());
    flatten(&mut out[start..]);
    out.push(b'\n');
}

fn flatten(bytes: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &bytes[from..]) {
        bytes[from + at] = b' ';
        from += at + 1;
    }
}
