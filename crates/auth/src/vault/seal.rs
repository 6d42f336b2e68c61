//! Sealing a record: AES-256-GCM under the keychain's key, bound to its place, so
//! that a file copied over another's is not taken for it.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use zeroize::Zeroizing;

/// The key of a vault.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// The first byte of a sealed file: which form it has.
const FORM: u8 = 1;

/// Why a file of the vault cannot be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SealError {
    #[error("cannot be sealed")]
    Sealing,
    #[error("cannot be opened with the keychain's key; remove it and sign in again")]
    Opening,
    #[error("the key is none")]
    Key,
}

pub(super) fn close(key: &Key, place: &str, text: &[u8]) -> Result<Vec<u8>, SealError> {
    let sealing = sealing(key)?;
    let mut body = text.to_vec();
    let nonce = sealing
        .seal_in_place_append_tag(aad(place), &mut body)
        .map_err(|_| SealError::Sealing)?;
    let mut whole = Vec::with_capacity(1 + NONCE_LEN + body.len());
    whole.push(FORM);
    whole.extend_from_slice(nonce.as_ref());
    whole.extend_from_slice(&body);
    Ok(whole)
}

pub(super) fn open(key: &Key, place: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
    const BAD: SealError = SealError::Opening;
    let [FORM, rest @ ..] = sealed else {
        return Err(BAD);
    };
    let (nonce, body) = rest.split_at_checked(NONCE_LEN).ok_or(BAD)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| BAD)?;
    let mut body = Zeroizing::new(body.to_vec());
    let length = sealing(key)?
        .open_in_place(nonce, aad(place), &mut body)
        .map_err(|_| BAD)?
        .len();
    body.truncate(length);
    Ok(body)
}

fn sealing(key: &Key) -> Result<RandomizedNonceKey, SealError> {
    RandomizedNonceKey::new(&AES_256_GCM, &key[..]).map_err(|_| SealError::Key)
}

fn aad(place: &str) -> Aad<&[u8]> {
    Aad::from(place.as_bytes())
}
