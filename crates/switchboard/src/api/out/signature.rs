//! What a webhook is signed with: HMAC-SHA256 (RFC 2104) over the time, a point and the body.

use sha2::{Digest, Sha256};
use switchboard_local::hex;

/// The size of a block of SHA-256.
// tidy: what the algorithm works on, not a cap
const BLOCK: usize = 64;

/// The signature, as its header has it.
pub(super) fn of(secret: &[u8], timestamp: &str, body: &[u8]) -> String {
    let mac = hmac(secret, &[timestamp.as_bytes(), b".", body]);
    format!("v1={}", hex(mac))
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of RFC 4231 with a short key, a plain one and one that is too long.
    #[test]
    fn what_others_compute() {
        for (key, text, told) in [
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let (first, second) = text.split_at(text.len() / 2);
            assert_eq!(hex(hmac(&key, &[first, second])), told);
        }
    }
}
