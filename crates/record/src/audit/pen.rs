//! Lines of records, one after the other. Each call has one, so that what is the same in
//! most of them is made once, and what is written of ours is written in few pieces.

use super::{
    chain::{Link, Record, digest_of},
    said::Said,
};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;
use std::{
    net::IpAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use switchboard_local::push_hex;

/// Something that has a line.
pub(super) trait Entry {
    /// When it happened.
    fn time(&self) -> SystemTime;

    /// Writes what it was, and all that is said about it.
    fn write(&self, line: &mut Line<'_>);
}

/// What writes them.
#[derive(Debug, Default)]
pub(super) struct Pen {
    said: Said,
    /// The last second that was written, and how.
    second: Option<(u64, String)>,
    /// The last address, likewise.
    address: Option<(IpAddr, String)>,
}

impl Pen {
    /// Before several that are written at once.
    pub(super) fn renew(&mut self) {
        self.said.renew();
    }

    /// Adds the line of a record to a text, and moves the chain on.
    pub(super) fn line(&mut self, entry: &impl Entry, text: &mut Vec<u8>, last: &mut Link) {
        let start = text.len();
        last.count += 1;
        text.extend_from_slice(br#"{"n":"#);
        push_number(text, last.count);
        text.extend_from_slice(br#","time":""#);
        self.push_time(text, entry.time());
        text.extend_from_slice(br#"","prev":""#);
        text.extend_from_slice(last.hash.as_bytes());
        text.extend_from_slice(br#"","event":"#);
        entry.write(&mut Line { pen: self, text });
        text.push(b'}');
        last.set_hash(digest_of(&text[start..]).as_ref());
        text.push(b'\n');
    }

    fn push_time(&mut self, text: &mut Vec<u8>, time: SystemTime) {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (now, written) = self.second.get_or_insert_with(Default::default);
        if *now != since.as_secs() || written.is_empty() {
            *now = since.as_secs();
            let second = DateTime::<Utc>::from(UNIX_EPOCH + Duration::from_secs(*now));
            *written = second.to_rfc3339_opts(SecondsFormat::Secs, true);
            // The part of a second comes before it.
            written.pop();
            written.push('.');
        }
        text.extend_from_slice(written.as_bytes());
        text.extend_from_slice(&last_digits::<6>(since.subsec_micros()));
        text.push(b'Z');
    }
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

    /// Hexadecimal digits.
    pub(super) fn digits(&mut self, before: &str, bytes: &[u8]) {
        self.put(before);
        self.put("\"");
        push_hex(self.text, bytes);
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

fn push_number(text: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

/// The last `N` digits of a number.
fn last_digits<const N: usize>(number: u32) -> [u8; N] {
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
        let mut pen = Pen::default();
        let start = 1_700_000_000_000_000;
        for micros in [0, 1, start + 123_456, start + 999_999, start + 1_000_000] {
            let time = UNIX_EPOCH + Duration::from_micros(micros);
            let mut text = Vec::new();
            pen.push_time(&mut text, time);
            let expected = DateTime::<Utc>::from(time);
            let expected = expected.to_rfc3339_opts(SecondsFormat::Micros, true);
            assert_eq!(text, expected.as_bytes());
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
        let digits = with(|line| line.digits("", &[0, 0xab]));
        assert_eq!(digits, r#""00ab""#);
    }
}
