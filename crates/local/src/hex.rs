/// Bytes as hexadecimal digits, in lower case.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let digits = bytes.as_ref().iter().flat_map(|byte| digits(*byte));
    digits.map(char::from).collect()
}

#[inline]
fn digits(byte: u8) -> [u8; 2] {
    let digit = |four: u8| four + b'0' + if four > 9 { b'a' - b'9' - 1 } else { 0 };
    [digit(byte >> 4), digit(byte & 15)]
}

/// The digits of a hash. Each is computed instead of looked up, so that the processor does
/// many at once.
#[inline]
pub fn hex_of(bytes: &[u8; 32]) -> [u8; 64] {
    let mut all = [0; 64];
    let (pairs, _) = all.as_chunks_mut::<2>();
    for (two, byte) in pairs.iter_mut().zip(bytes) {
        *two = digits(*byte);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{hex, hex_of};

    #[test]
    fn two_digits_for_each_byte() {
        assert_eq!(hex([0, 1, 0xab, 0xff]), "0001abff");
        assert_eq!(hex([]), "");
        let all: Vec<u8> = (0..=255).collect();
        let expected: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        for part in all.as_chunks::<32>().0 {
            assert_eq!(hex_of(part), hex(part).as_bytes());
        }
        assert_eq!(hex(all), expected);
    }
}
