//! Events out of chunks.

use crate::limits;
use bytes::Bytes;
use std::{sync::Arc, time::Duration};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The stream's last event id at this point, also where another event gave it.
    pub id: Option<Arc<str>>,
    /// The event's name, where it has one.
    pub name: Option<String>,
    /// Its data lines, joined by line feeds. Empty for an event that only gives an id.
    pub data: Bytes,
}

/// An event is larger than the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {0} bytes")]
pub struct TooLarge(pub usize);

/// Cuts a byte stream into events.
#[derive(Debug)]
pub struct Decoder {
    cap: usize,
    /// What was fed and not looked at yet.
    chunk: Bytes,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// The line under way is a comment: its bytes are dropped as they come.
    in_comment: bool,
    /// A carriage return ended the last line, so a line feed belongs to it.
    after_return: bool,
    /// No line has been read: a byte order mark may come.
    at_start: bool,
    data: Data,
    name: Option<String>,
    id: Option<Arc<str>>,
    retry: Option<Duration>,
    comments: u64,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line, still part of the memory it came in.
    One(Bytes),
    /// Several lines, joined.
    Joined(Vec<u8>),
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(line) => line.len(),
            Self::Joined(lines) => lines.len(),
        }
    }

    fn push(&mut self, line: Bytes) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(line),
            Self::One(first) => {
                let mut lines = Vec::with_capacity(first.len() + 1 + line.len());
                lines.extend_from_slice(&first);
                lines.push(b'\n');
                lines.extend_from_slice(&line);
                Self::Joined(lines)
            }
            Self::Joined(mut lines) => {
                lines.push(b'\n');
                lines.extend_from_slice(&line);
                Self::Joined(lines)
            }
        }
    }
}

impl Decoder {
    /// A decoder for one stream; no event may hold more than `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            chunk: Bytes::new(),
            partial: Vec::new(),
            in_comment: false,
            after_return: false,
            at_start: true,
            data: Data::None,
            name: None,
            id: None,
            retry: None,
            comments: 0,
        }
    }

    /// Adds bytes. What was fed before must have been taken out with [`next`](Self::next).
    pub fn feed(&mut self, chunk: Bytes) {
        debug_assert!(
            self.chunk.is_empty(),
            "events of the last chunk are still inside"
        );
        self.chunk = chunk;
    }

    /// The next event that is complete; `None` when more bytes are needed.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would have to borrow the decoder for the whole stream"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, TooLarge> {
        while !self.chunk.is_empty() {
            if std::mem::take(&mut self.after_return) && self.chunk[0] == b'\n' {
                let _ = self.chunk.split_to(1);
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', &self.chunk) else {
                self.keep_rest()?;
                break;
            };
            self.after_return = self.chunk[end] == b'\r';
            let line = self.chunk.split_to(end);
            let _ = self.chunk.split_to(1);
            if let Some(event) = self.end_line(line)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Begins a new stream that goes on where the last one ended: what was
    /// unfinished is forgotten, the id and the waiting time are kept.
    pub fn restart(&mut self) {
        let (id, retry) = (self.id.take(), self.retry);
        *self = Self {
            id,
            retry,
            ..Self::new(self.cap)
        };
    }

    /// Forgets the last id, so that the stream cannot be resumed from it.
    pub fn forget_id(&mut self) {
        self.id = None;
    }

    /// How many bytes of an unfinished event are held.
    pub fn held(&self) -> usize {
        self.partial.len() + self.data.len()
    }

    /// The id of the last event that gave one.
    pub fn last_id(&self) -> Option<&Arc<str>> {
        self.id.as_ref()
    }

    /// How long the server last asked us to wait before connecting again.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// How many comments came: servers send them to show that they are there.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// Keeps the beginning of a line that the next chunk goes on with.
    fn keep_rest(&mut self) -> Result<(), TooLarge> {
        let rest = std::mem::take(&mut self.chunk);
        if self.partial.is_empty() && rest[0] == b':' {
            self.in_comment = true;
        }
        if self.in_comment {
            return Ok(());
        }
        self.fits(rest.len())?;
        self.partial.extend_from_slice(&rest);
        Ok(())
    }

    /// Takes the end of a line; the whole of it where nothing was kept.
    fn end_line(&mut self, end: Bytes) -> Result<Option<Event>, TooLarge> {
        if std::mem::take(&mut self.in_comment) {
            self.comments += 1;
            self.at_start = false;
            return Ok(None);
        }
        let mut line = if self.partial.is_empty() {
            end
        } else {
            self.fits(end.len())?;
            self.partial.extend_from_slice(&end);
            Bytes::from(std::mem::take(&mut self.partial))
        };
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            let _ = line.split_to(BYTE_ORDER_MARK.len());
        }
        match line.first() {
            None => return Ok(self.end_event()),
            Some(b':') => self.comments += 1,
            Some(_) => {
                self.fits(line.len())?;
                self.field(line);
            }
        }
        Ok(None)
    }

    fn field(&mut self, line: Bytes) {
        let colon = memchr::memchr(b':', &line);
        let (name, value) = match colon {
            Some(at) => {
                let space = usize::from(line.get(at + 1) == Some(&b' '));
                (&line[..at], at + 1 + space)
            }
            None => (&line[..], line.len()),
        };
        match name {
            b"data" => self.data.push(line.slice(value..)),
            b"event" => self.name = Some(String::from_utf8_lossy(&line[value..]).into_owned()),
            b"id" => {
                let id = &line[value..];
                if id.is_empty() {
                    self.id = None;
                } else if id.len() <= limits::EVENT_ID_BYTES && !id.contains(&0) {
                    self.id = Some(String::from_utf8_lossy(id).into());
                }
            }
            b"retry" => {
                let digits = &line[value..];
                if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                    // Too many digits mean "very long", which is what the largest number says too.
                    let millis = std::str::from_utf8(digits)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    self.retry = Some(Duration::from_millis(millis.unwrap_or(u64::MAX)));
                }
            }
            _ => {}
        }
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = self.name.take().filter(|name| !name.is_empty());
        let data = match std::mem::take(&mut self.data) {
            Data::None => return None,
            Data::One(line) => line,
            Data::Joined(lines) => Bytes::from(lines),
        };
        Some(Event {
            id: self.id.clone(),
            name,
            data,
        })
    }

    fn fits(&self, more: usize) -> Result<(), TooLarge> {
        if self.held() + more > self.cap {
            Err(TooLarge(self.cap))
        } else {
            Ok(())
        }
    }
}
