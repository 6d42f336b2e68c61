/// Bytes as hexadecimal digits, in lower case.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut digits = Vec::with_capacity(bytes.len() * 2);
    push_hex(&mut digits, bytes);
    String::from_utf8(digits).unwrap_or_default()
}

/// Adds the same to a text.
#[inline]
pub fn push_hex(text: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let start = text.len();
    text.resize(start + 2 * bytes.len(), 0);
    let (digits, _) = text[start..].as_chunks_mut::<2>();
    for (two, byte) in digits.iter_mut().zip(bytes) {
        two[0] = DIGITS[usize::from(byte >> 4)];
        two[1] = DIGITS[usize::from(byte & 15)];
    }
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn two_digits_for_each_byte() {
        assert_eq!(hex([0, 1, 0xab, 0xff]), "0001abff");
        assert_eq!(hex([]), "");
        let all: Vec<u8> = (0..=255).collect();
        let expected: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex(all), expected);
    }
}
