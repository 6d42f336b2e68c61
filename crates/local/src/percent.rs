//! Text as it stands in an address: `%20` for what may not stand there itself.

/// With escapes for all but letters, digits, `-`, `.`, `_`, `~`, and what is in `plain`.
pub fn encoded(text: impl AsRef<[u8]>, plain: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let text = text.as_ref();
    let mut out = String::with_capacity(text.len());
    for &byte in text {
        let is_plain = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || plain.as_bytes().contains(&byte);
        if is_plain {
            out.push(char::from(byte));
        } else {
            let digit = |at: u8| char::from(DIGITS[usize::from(at)]);
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

/// What the escapes stand for; nothing where a `%` is followed by no two digits.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    read(text, |_| None)
}

/// The same where a `%` that is no escape is a `%`.
pub fn decoded_leniently(text: &str) -> Vec<u8> {
    read(text, Some).unwrap_or_default()
}

/// Reads; `otherwise` says what a `%` is that begins no escape.
fn read(text: &str, otherwise: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match digit(0).zip(digit(1)).map(|(high, low)| high * 16 + low) {
            Some(value) => {
                bytes.push(u8::try_from(value).ok()?);
                rest = &after[2..];
            }
            None => bytes.push(otherwise(byte)?),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "plain-._~9", "a b", "100 %", "ä/ö?#&=+", "\0\n\u{7f}"] {
            let written = encoded(text, "");
            assert!(
                written.bytes().all(|byte| byte.is_ascii_graphic()),
                "{written}"
            );
            assert_eq!(
                decoded(&written).as_deref(),
                Some(text.as_bytes()),
                "{written}"
            );
            assert_eq!(decoded_leniently(&written), text.as_bytes(), "{written}");
        }
        assert_eq!(encoded("/a b/ü", "/"), "/a%20b/%C3%BC");
        assert_eq!(encoded(b"\xff", ""), "%FF");
    }

    #[test]
    fn what_is_no_escape_is_refused_or_left() {
        for text in ["%", "%2", "a%", "%zz", "%+1", "%-1", "100%!", "%%41"] {
            assert_eq!(decoded(text), None, "{text}");
        }
        assert_eq!(decoded_leniently("%%41%+1%zz%"), b"%A%+1%zz%");
    }
}
