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

/// The digits of a hash, eight at a time in one word: where programs are made small, nobody
/// makes vectors of a loop over bytes.
#[inline]
pub fn hex_of(bytes: &[u8; 32]) -> [u8; 64] {
    let mut all = [0; 64];
    let (fours, _) = bytes.as_chunks::<4>();
    let (eights, _) = all.as_chunks_mut::<8>();
    for (eight, four) in eights.iter_mut().zip(fours) {
        *eight = eight_digits(*four);
    }
    all
}

/// The digits of four bytes. The first is the lowest, whatever the processor thinks.
#[inline]
fn eight_digits(bytes: [u8; 4]) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let all = u64::from(u32::from_le_bytes(bytes));
    // Each byte gets twice its room, and each half of it one byte of that.
    let all = (all | all << 16) & 0x0000_ffff_0000_ffff;
    let all = (all | all << 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (all >> 4 & 0x000f_000f_000f_000f) | (all & 0x000f_000f_000f_000f) << 8;
    // Those from ten on are letters, which come 39 places behind the digits.
    let letters = (halves + 6 * ONES) >> 4 & ONES;
    (halves + u64::from(b'0') * ONES + letters * 39).to_le_bytes()
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
