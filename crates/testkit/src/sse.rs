//! Reading server-sent events, kept as they came.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The bytes of the event, with the empty line that ends it.
    pub raw: Vec<u8>,
    /// `event:`
    pub name: Option<String>,
    /// `id:`
    pub id: Option<String>,
    /// `retry:`
    pub retry: Option<String>,
    /// The `data:` lines, joined with newlines; `None` when there was none.
    pub data: Option<Vec<u8>>,
}

impl Event {
    /// Whether the block held comments only.
    pub fn is_comment(&self) -> bool {
        self.name.is_none() && self.id.is_none() && self.retry.is_none() && self.data.is_none()
    }

    /// The data as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        let data = self.data.as_deref().unwrap_or_default();
        serde_json::from_slice(data)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", String::from_utf8_lossy(data)))
    }
}

/// Cuts a byte stream into events at LF, CRLF or CR line ends.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
}

impl Decoder {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event.
    pub fn next_event(&mut self) -> Option<Event> {
        let mut event = Event::default();
        let mut at = 0;
        loop {
            let rest = self.buffer.get(at..)?;
            let length = rest.iter().position(|b| matches!(b, b'\n' | b'\r'))?;
            let line = &rest[..length];
            let end = match (rest[length], rest.get(length + 1)) {
                (b'\r', Some(b'\n')) => length + 2,
                _ => length + 1,
            };
            at += end;
            if line.is_empty() {
                event.raw = self.buffer.drain(..at).collect();
                return Some(event);
            }
            let line = line.to_vec();
            field(&mut event, &line);
        }
    }
}

fn field(event: &mut Event, line: &[u8]) {
    let (name, value) = match line.iter().position(|b| *b == b':') {
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (line, &[][..]),
    };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let text = || Some(String::from_utf8_lossy(value).into_owned());
    match name {
        b"event" => event.name = text(),
        b"id" => event.id = text(),
        b"retry" => event.retry = text(),
        b"data" => match &mut event.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => event.data = Some(value.to_vec()),
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_events_at_any_line_end() {
        let mut decoder = Decoder::default();
        decoder.push(b": hi\n\nid: 7\r\nevent: message\rdata: a\ndata:b\r\n\r\nda");
        assert!(decoder.next_event().unwrap().is_comment());
        let event = decoder.next_event().unwrap();
        assert_eq!(event.id.as_deref(), Some("7"));
        assert_eq!(event.name.as_deref(), Some("message"));
        assert_eq!(event.data.as_deref(), Some(&b"a\nb"[..]));
        assert_eq!(decoder.next_event(), None);
        decoder.push(b"ta: {}\n\n");
        assert_eq!(decoder.next_event().unwrap().json(), serde_json::json!({}));
    }
}
