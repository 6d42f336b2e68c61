use std::fmt::Write;

/// Bytes as hexadecimal digits, in lower case.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn two_digits_for_each_byte() {
        assert_eq!(hex([0, 1, 0xab, 0xff]), "0001abff");
        assert_eq!(hex([]), "");
    }
}
