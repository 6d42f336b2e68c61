//! Random bytes and ids.

use crate::hex;

/// The operating system has no randomness to give.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the system has no random numbers: {0}")]
pub struct NoRandomness(getrandom::Error);

impl From<NoRandomness> for std::io::Error {
    fn from(fault: NoRandomness) -> Self {
        Self::other(fault)
    }
}

/// Fills with random bytes what the caller keeps, such as a key that is wiped later.
pub fn fill(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    getrandom::fill(bytes).map_err(NoRandomness)
}

/// Random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// 128 random bits as 32 digits: whoever does not know an id cannot find it.
pub fn id() -> Result<String, NoRandomness> {
    bytes::<16>().map(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_long_and_differ() {
        let (one, two) = (id().unwrap(), id().unwrap());
        assert_eq!(one.len(), 32);
        assert!(one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, two);
        assert_ne!(bytes::<8>().unwrap(), [0; 8]);
    }
}
