//! What stands in the line of a record. Each call has one, so that what is the same in
//! most of them is made once, and what is written of ours is written in few pieces.

use super::{chain::Record, said::Said};
use crate::limits;
use serde_json::Value;
use std::{
    cell::RefCell,
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};
use switchboard_host::observe::{Decided, Origin};
use switchboard_local::{hex_of, mixed};
use switchboard_wire::Method;

/// Something that has a line.
pub(super) trait Entry {
    /// When it happened.
    fn time(&self) -> SystemTime;

    /// Writes what it was, and all that is said about it.
    fn write(&self, line: &mut Line<'_>);
}

thread_local! {
    /// Each thread has its own, so that no call waits for the line of another.
    static PEN: RefCell<Option<Box<Pen>>> = const { RefCell::new(None) };
}

/// Places for what is the same in the lines of one caller.
// tidy: a size of memory that is made once, no cap.
const CALLERS: usize = 64;

/// Whose lines begin in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// Its client, by a number that no other has.
    pub(super) id: u64,
    pub(super) address: Option<IpAddr>,
    /// Whether it is known what it calls itself.
    pub(super) is_named: bool,
    pub(super) origin: Origin,
    /// What it asks for.
    pub(super) method: Method,
}

/// What is asked for, what was decided and what came of it, where nobody was asked about it.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) server: &'a Arc<str>,
    pub(super) rule: &'a Arc<str>,
    pub(super) name: &'a str,
    pub(super) kind: (Method, Decided, &'static str),
}

/// The same as it was written last. Who holds server and rule knows them again.
#[derive(Debug)]
struct KnownAsked {
    server: Arc<str>,
    rule: Arc<str>,
    name: Box<str>,
    kind: (Method, Decided, &'static str),
    text: Box<[u8]>,
}

impl KnownAsked {
    fn is(&self, asked: &Asked<'_>) -> bool {
        Arc::ptr_eq(&self.server, asked.server)
            && Arc::ptr_eq(&self.rule, asked.rule)
            && self.kind == asked.kind
            && *self.name == *asked.name
    }
}

/// A caller, and how its lines begin.
type KnownCaller = (Caller, Box<[u8]>);

/// What writes them.
#[derive(Debug)]
pub(super) struct Pen {
    said: Said,
    /// How the lines of callers begin. A place holds the last that fell to it.
    callers: Box<[Option<KnownCaller>]>,
    /// What calls asked for, in the same way.
    asked: Box<[Option<KnownAsked>]>,
    /// The last address, and how it is written.
    address: Option<(IpAddr, String)>,
    /// The line that was written last.
    text: Vec<u8>,
}

impl Default for Pen {
    fn default() -> Self {
        Self {
            said: Said::default(),
            callers: (0..CALLERS).map(|_| None).collect(),
            asked: (0..CALLERS).map(|_| None).collect(),
            address: None,
            text: Vec::new(),
        }
    }
}

/// What an entry says, from the word for what happened on, for whoever takes it.
pub(super) fn made<T>(entry: &impl Entry, take: impl FnOnce(&[u8]) -> T) -> T {
    let known = PEN.try_with(|pen| pen.borrow_mut().take());
    let mut pen = known.ok().flatten().unwrap_or_default();
    let mut text = std::mem::take(&mut pen.text);
    text.clear();
    if pen.said.renew() {
        pen.callers.fill_with(|| None);
        pen.asked.fill_with(|| None);
    }
    entry.write(&mut Line {
        pen: &mut pen,
        text: &mut text,
    });
    let taken = take(&text);
    if text.capacity() <= limits::AUDIT_RECORD {
        pen.text = text;
    }
    // A thread that ends has no place for it any more.
    let _ = PEN.try_with(|place| place.replace(Some(pen)));
    taken
}

/// The line that is being written, from the word for what happened on. What is put
/// before a value is the end of what was there, a comma, and the key.
pub(super) struct Line<'a> {
    pen: &'a mut Pen,
    text: &'a mut Vec<u8>,
}

impl Line<'_> {
    /// What it was, and its fields, which are JSON already.
    pub(super) fn record(&mut self, record: &Record) {
        self.put("\"");
        self.put(record.event());
        self.put("\"");
        for (key, value) in record.fields() {
            self.put(",\"");
            self.put(key);
            self.value("\":", value);
        }
    }

    /// Words of ours, as they stand there.
    #[inline]
    pub(super) fn put(&mut self, words: &str) {
        self.text.extend_from_slice(words.as_bytes());
    }

    /// A number.
    #[inline]
    pub(super) fn number(&mut self, before: &str, number: u64) {
        self.put(before);
        push_number(self.text, number);
    }

    /// A word of ours, in quotes.
    #[inline]
    pub(super) fn word(&mut self, before: &str, word: &str) {
        self.put(before);
        self.put("\"");
        self.put(word);
        self.put("\"");
    }

    /// A text from elsewhere.
    #[inline]
    pub(super) fn said(&mut self, before: &str, text: &str) {
        self.put(before);
        let written = self.pen.said.written(text);
        self.text.extend_from_slice(written.as_bytes());
    }

    /// A name that is no secret however it looks.
    pub(super) fn named(&mut self, before: &str, name: &str) {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        match name.bytes().all(is_plain) {
            true => self.word(before, name),
            false => self.value(before, &name.into()),
        }
    }

    /// What is the same in all lines of a caller, which is made where it is not known.
    pub(super) fn kept(&mut self, caller: Caller, make: impl FnOnce(&mut Line<'_>)) {
        let place = caller.id as usize % CALLERS;
        if let Some((known, text)) = &self.pen.callers[place]
            && *known == caller
        {
            self.text.extend_from_slice(text);
            return;
        }
        let start = self.text.len();
        make(self);
        let made = &self.text[start..];
        if made.len() <= limits::AUDIT_KEPT_CALLER {
            self.pen.callers[place] = Some((caller, made.into()));
        }
    }

    /// The same of what a call asked for.
    pub(super) fn kept_asked(&mut self, asked: &Asked<'_>, make: impl FnOnce(&mut Line<'_>)) {
        let place = (mixed(0, asked.name.as_bytes()) >> 32) as usize % CALLERS;
        if let Some(known) = &self.pen.asked[place]
            && known.is(asked)
        {
            self.text.extend_from_slice(&known.text);
            return;
        }
        let start = self.text.len();
        make(self);
        let made = &self.text[start..];
        if made.len() <= limits::AUDIT_KEPT_CALLER {
            self.pen.asked[place] = Some(KnownAsked {
                server: asked.server.clone(),
                rule: asked.rule.clone(),
                name: asked.name.into(),
                kind: asked.kind,
                text: made.into(),
            });
        }
    }

    /// A value without secrets.
    pub(super) fn value(&mut self, before: &str, value: &Value) {
        self.put(before);
        self.put(&value.to_string());
    }

    /// An address.
    pub(super) fn address(&mut self, before: &str, address: IpAddr) {
        if !matches!(&self.pen.address, Some((known, _)) if *known == address) {
            self.pen.address = Some((address, format!("\"{address}\"")));
        }
        self.put(before);
        if let Some((_, written)) = &self.pen.address {
            self.text.extend_from_slice(written.as_bytes());
        }
    }

    /// The digits of a hash.
    pub(super) fn digits(&mut self, before: &str, hash: &[u8; 32]) {
        self.put(before);
        self.put("\"");
        self.text.extend_from_slice(&hex_of(hash));
        self.put("\"");
    }

    /// A time in milliseconds, to the microsecond.
    pub(super) fn millis(&mut self, before: &str, took: Duration) {
        // Rounded, as what is shown is.
        let micros = (took + Duration::from_nanos(500)).as_micros();
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        self.number(before, micros / 1000);
        self.put(".");
        // As short as a number can be written.
        let digits = last_digits::<3>((micros % 1000) as u32);
        let zeros = digits
            .iter()
            .rev()
            .take(2)
            .take_while(|digit| **digit == b'0');
        self.text.extend_from_slice(&digits[..3 - zeros.count()]);
    }
}

pub(super) fn push_number(text: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; 20];
    let (mut at, mut rest) = (digits.len(), number);
    // Two at a time: what takes long is dividing.
    while rest >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&two_digits((rest % 100) as u8));
        rest /= 100;
    }
    if rest > 0 || number == 0 {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    text.extend_from_slice(&digits[at..]);
}

/// The digits of a number below 100.
#[inline]
fn two_digits(number: u8) -> [u8; 2] {
    [b'0' + number / 10, b'0' + number % 10]
}

/// The last `N` digits of a number.
pub(super) fn last_digits<const N: usize>(number: u32) -> [u8; N] {
    let (mut digits, mut rest) = ([b'0'; N], number);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_local::secret;

    fn with(write: impl FnOnce(&mut Line<'_>)) -> String {
        let (mut pen, mut text) = (Pen::default(), Vec::new());
        write(&mut Line {
            pen: &mut pen,
            text: &mut text,
        });
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_and_times_are_what_others_would_write() {
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let written = with(|line| line.number("n ", number));
            assert_eq!(written, format!("n {number}"));
        }
        for micros in [0, 1, 10, 100, 120, 999, 1000, 1500, 12_345, 60_000_000] {
            let took = Duration::from_micros(micros);
            let expected = serde_json::json!(micros as f64 / 1000.0).to_string();
            assert_eq!(with(|line| line.millis("", took)), expected);
        }
    }

    #[test]
    fn names_and_addresses_are_written_as_they_are() {
        let written = with(|line| {
            for address in ["127.0.0.1", "127.0.0.1", "::1"] {
                line.address(",", address.parse().unwrap());
            }
        });
        assert_eq!(written, r#","127.0.0.1","127.0.0.1","::1""#);
        for name in ["github", "a \"b\"", "ü\\", ""] {
            let expected = serde_json::json!(name).to_string();
            assert_eq!(with(|line| line.named("", name)), expected);
        }
        let digits = with(|line| line.digits("", &[0xab; 32]));
        assert_eq!(digits, format!("\"{}\"", "ab".repeat(32)));
    }
    const CALLER: Caller = Caller {
        id: 7,
        address: None,
        is_named: true,
        origin: Origin::Client,
        method: Method::ToolsCall,
    };

    #[test]
    fn what_is_the_same_for_a_caller_is_made_once() {
        let others = [
            Caller {
                id: CALLER.id + CALLERS as u64,
                ..CALLER
            },
            Caller {
                origin: Origin::Own,
                ..CALLER
            },
        ];
        let mut made = 0;
        let written = with(|line| {
            for caller in [CALLER, CALLER, others[0], CALLER, others[1]] {
                line.kept(caller, |line| {
                    made += 1;
                    line.number(",", caller.id);
                });
            }
        });
        assert_eq!((written.as_str(), made), (",7,7,71,7,7", 4));
    }

    #[test]
    fn what_calls_ask_for_is_made_once_for_each_of_it() {
        let [server, rule]: [Arc<str>; 2] = ["s", "r"].map(Arc::from);
        let asked = |name, outcome| Asked {
            server: &server,
            rule: &rule,
            name,
            kind: (Method::ToolsCall, Decided::Allowed, outcome),
        };
        let same: Arc<str> = Arc::from("s");
        let elsewhere = Asked {
            server: &same,
            ..asked("a", "ok")
        };
        let all = [
            asked("a", "ok"),
            asked("a", "ok"),
            asked("a", "error"),
            asked("b", "ok"),
            elsewhere,
        ];
        let mut made = 0;
        let written = with(|line| {
            for asked in &all {
                line.kept_asked(asked, |line| {
                    made += 1;
                    line.word(asked.name, asked.kind.2);
                });
            }
        });
        let expected = r#"a"ok"a"ok"a"error"b"ok"a"ok""#;
        assert_eq!((written.as_str(), made), (expected, 4));
    }

    #[test]
    fn what_turns_out_to_be_a_secret_is_written_no_more() {
        struct Asks;
        impl Entry for Asks {
            fn time(&self) -> SystemTime {
                SystemTime::UNIX_EPOCH
            }

            fn write(&self, line: &mut Line<'_>) {
                line.kept(CALLER, |line| line.said("", SECRET));
            }
        }
        const SECRET: &str = "birch-canary-of-pen";
        let text = || made(&Asks, |said| String::from_utf8_lossy(said).into_owned());
        assert_eq!(
            (text(), text()),
            (format!("{SECRET:?}"), format!("{SECRET:?}"))
        );
        secret::remember(SECRET);
        assert_eq!(text(), format!("{:?}", secret::HIDDEN));
    }
}
