/// A number for some bytes, after what came before them; eight at once. It is for places in
/// memory, where what falls together costs a little time: nothing that others choose may hang
/// on it. Its upper half is the better one.
#[inline]
pub fn mixed(before: u64, bytes: &[u8]) -> u64 {
    // Odd, with its bits spread: the upper half of a product depends on all of a word.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |all: u64, word: u64| (all.rotate_left(29) ^ word).wrapping_mul(SPREAD);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut all = mix(before, bytes.len() as u64);
    for word in words {
        all = mix(all, u64::from_le_bytes(*word));
    }
    let last = rest
        .iter()
        .fold(0, |last, byte| last << 8 | u64::from(*byte));
    mix(all, last)
}
