//! A request as it is written: its head as text, its body as it is.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use switchboard_wire::Payload;

/// A request. Nothing in it is used up by sending it.
#[derive(Debug)]
pub struct Request<'a> {
    /// Its verb.
    pub method: Method,
    /// The path, or the whole address where a proxy wants that.
    pub target: Uri,
    /// What all requests say.
    pub headers: &'a HeaderMap,
    /// Those of them that this one does not say.
    pub without: &'a [HeaderName],
    /// What this one says besides.
    pub besides: &'a [(HeaderName, HeaderValue)],
    /// What this one says besides or instead.
    pub more: HeaderMap,
    /// Its body.
    pub payload: &'a Payload,
}

impl Request<'_> {
    /// Adds the head to `out`. An empty body has no length, as of a request that has none.
    pub(super) fn write_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method.as_str().as_bytes());
        out.push(b' ');
        match (self.target.authority(), self.target.path_and_query()) {
            (None, Some(path)) => out.extend_from_slice(path.as_str().as_bytes()),
            _ => out.extend_from_slice(self.target.to_string().as_bytes()),
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
        for (name, value) in self.headers {
            let is_said = !self.without.contains(name);
            if is_said && (self.more.is_empty() || !self.more.contains_key(name)) {
                field(out, name, value);
            }
        }
        for (name, value) in self.besides {
            field(out, name, value);
        }
        for (name, value) in &self.more {
            field(out, name, value);
        }
        if !self.payload.is_empty() {
            out.extend_from_slice(b"content-length: ");
            number(out, self.payload.len());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn field(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    // No value has a line end in it.
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn number(out: &mut Vec<u8>, mut number: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len() - 1;
    while number >= 10 {
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        at -= 1;
    }
    digits[at] = b'0' + number as u8;
    out.extend_from_slice(&digits[at..]);
}
