//! Numbers with more digits than a reader keeps.

/// Whether all numbers of a text of JSON are the same once they were read.
pub fn is_exact(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = text[at..].iter().take_while(is_part).count();
                if !is_kept(&text[at..at + length]) {
                    return false;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    true
}

/// Whether a number has the same digits once it was read.
fn is_kept(number: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde_json::Number>(number).ok();
    let digits = |number: &str| {
        let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    };
    let number = String::from_utf8_lossy(number);
    read.is_some_and(|read| digits(&read.to_string()) == digits(&number))
}
