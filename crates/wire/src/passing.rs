//! A reply that is passed on before its end.
//!
//! Of its beginning must be clear that it is the reply that is waited for, and where its
//! result begins. Whatever comes after that is looked at as it comes: that it is JSON in
//! UTF-8, and that no key of the envelope comes again in any spelling. A piece may be passed
//! on once it was fed, and the last one once [`end`](Passing::end) has agreed.

use crate::{
    id::own_number,
    json::{self, Notes, Pieces, Span, TextError},
    message::ParseError,
    reading::{MOST_KEYS, Object, Recognised, Unclear, recognise},
};

/// What is passed on.
const RESULT: &str = "result";

/// A reply under way, as far as it has come.
#[derive(Debug)]
pub struct Passing {
    scan: Pieces,
    seen: Envelope,
    id: Span,
}

/// What was seen of it.
#[derive(Debug, Default)]
struct Envelope {
    /// Where its version and its id are, once they have ended.
    version: Option<Span>,
    id: Option<Span>,
    /// Which keys of the table came.
    keys: [bool; MOST_KEYS],
    /// How many keys came.
    count: usize,
    /// The key whose value is being read, if it is one of the table.
    reading: Option<&'static str>,
    /// The first byte of the result.
    result: u8,
    fault: Option<Fault>,
    /// How often the result said whether it is an error, and what it said last.
    said: usize,
    says_next: bool,
    is_error: bool,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Unclear(Unclear),
    Another,
    LongKey,
}

impl Fault {
    fn to_error(self) -> ParseError {
        let what = match self {
            Self::Unclear(unclear) => unclear.to_string(),
            Self::Another => "a result comes with no method and no error".into(),
            Self::LongKey => "a key of the envelope is too long".into(),
        };
        ParseError::Invalid { what, id: None }
    }
}

impl Notes for Envelope {
    fn key(&mut self, depth: usize, token: Option<&[u8]>) {
        if depth == 2 {
            self.says_next = self.reading == Some(RESULT)
                && self.result == b'{'
                && token.is_some_and(|token| recognise(token, &["isError"]) == Recognised::As(0));
            self.said += usize::from(self.says_next);
            return;
        }
        self.count += 1;
        self.reading = None;
        let keys = Object::Envelope.keys();
        let recognised = token.map(|token| recognise(token, keys));
        let fault = match recognised {
            None => Fault::LongKey,
            Some(Recognised::Other) => return,
            Some(Recognised::Like(at)) => Fault::Unclear(Unclear::Misspelt(keys[at])),
            Some(Recognised::As(at)) => {
                self.reading = Some(keys[at]);
                match (std::mem::replace(&mut self.keys[at], true), keys[at]) {
                    (true, key) => Fault::Unclear(Unclear::Twice(key)),
                    (false, "method" | "error") => Fault::Another,
                    (false, _) => return,
                }
            }
        };
        self.fault.get_or_insert(fault);
    }

    fn begins(&mut self, depth: usize, first: u8) {
        if depth == 1 && self.reading == Some(RESULT) {
            self.result = first;
        }
    }

    fn value(&mut self, depth: usize, first: u8, span: Span) {
        match depth {
            1 => match self.reading.take() {
                Some("jsonrpc") => self.version = Some(span),
                Some("id") => self.id = Some(span),
                _ => {}
            },
            2 if std::mem::take(&mut self.says_next) => self.is_error = first == b't',
            _ => {}
        }
    }
}

impl Passing {
    /// The reply to our request `id` that begins so, if it may be passed on: a response whose
    /// version and id came first, and nothing else before its result, which is an object and
    /// has not ended.
    pub fn begin(beginning: &[u8], id: u64) -> Option<Self> {
        let mut begun = Self {
            scan: Pieces::new(),
            seen: Envelope::default(),
            id: Span::new(0, 0),
        };
        if beginning.first() != Some(&b'{') {
            return None;
        }
        begun.feed(beginning).ok()?;
        let seen = &begun.seen;
        let (version, at) = (seen.version?, seen.id?);
        let is_ours = json::text(version.of(beginning)).is_some_and(|it| it == "2.0")
            && own_number(at.of(beginning)) == Some(id);
        let is_in_result = seen.reading == Some(RESULT)
            && seen.result == b'{'
            && seen.count == 3
            && begun.scan.depth() >= 2;
        begun.id = at;
        (is_ours && is_in_result).then_some(begun)
    }

    /// Where the id is, in the beginning.
    pub fn id_span(&self) -> Span {
        self.id
    }

    /// Looks at the next piece.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), ParseError> {
        self.scan.feed(piece, &mut self.seen)?;
        self.clear()
    }

    /// Nothing more comes: whether the result says that it is an error.
    pub fn end(&mut self) -> Result<bool, ParseError> {
        self.scan.finish(&mut self.seen)?;
        self.clear()?;
        Ok(self.seen.said == 1 && self.seen.is_error)
    }

    fn clear(&self) -> Result<(), ParseError> {
        match self.seen.fault {
            Some(fault) => Err(fault.to_error()),
            None => Ok(()),
        }
    }
}

impl From<TextError> for ParseError {
    fn from(fault: TextError) -> Self {
        match fault {
            TextError::NotUtf8(at) => Self::NotUtf8(at),
            TextError::NotJson(fault) => Self::NotJson(fault),
        }
    }
}

#[cfg(test)]
mod tests;
