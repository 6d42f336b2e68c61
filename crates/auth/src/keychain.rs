//! The operating system's keychain, which holds one key of ours. It may be locked,
//! absent, or wait for a window that nobody sees: every question to it is asked on
//! a thread of its own and answered within seconds, or given up.

use crate::{limits, secret::Secret};
use parking_lot::Mutex;
use std::{fmt, sync::Arc, time::Duration};
use switchboard_local::random;
use zeroize::Zeroizing;

type Key = Zeroizing<[u8; 32]>;

/// Why a keychain is of no help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeychainError {
    /// Somebody has to unlock it, or there is none.
    #[error("it is locked or absent ({0})")]
    Locked(String),
    /// It is not there, or does not work.
    #[error("it is not there or does not work ({0})")]
    Broken(String),
    /// This program has no way to ask it.
    #[error("this program was built without it")]
    NotBuilt,
    /// It keeps something else where our key should be.
    #[error("what it keeps for Switchboard is not a key")]
    NotAKey,
    /// It keeps something else where a token should be.
    #[error("what it keeps there is no text")]
    NotText,
    /// The key is not there any more.
    #[error("it no longer has the key that the stored sign-ins are sealed with")]
    KeyGone,
    /// It took a key, and has none.
    #[error("it keeps no key")]
    NoKey,
    /// There is no randomness for a new key.
    #[error("there is no randomness for a key")]
    NoRandomness,
    /// It did not answer in time.
    #[error("it did not answer within {0:?}")]
    TimedOut(Duration),
    /// It stopped without a word.
    #[error("it failed without saying why")]
    Silent,
    /// Anything else, in its own words.
    #[error("{0}")]
    Other(String),
}

/// Something that keeps one secret of 32 bytes. Calls may block.
pub trait KeyKeeper: Send + Sync {
    /// The key, if there is one.
    ///
    /// # Errors
    /// When the keychain cannot be asked.
    fn get(&self) -> Result<Option<Vec<u8>>, KeychainError>;

    /// Keeps a key.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn set(&self, key: &[u8]) -> Result<(), KeychainError>;
}

/// The keychain, asked at most once.
pub struct Keychain {
    keeper: Arc<dyn KeyKeeper>,
    patience: Duration,
    known: Mutex<Option<Key>>,
}

impl Keychain {
    /// The system's own.
    pub fn system() -> Self {
        Self::new(Arc::new(System))
    }

    /// Another one.
    pub fn new(keeper: Arc<dyn KeyKeeper>) -> Self {
        Self {
            keeper,
            patience: limits::KEYCHAIN,
            known: Mutex::new(None),
        }
    }

    /// The same with another time limit.
    pub fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    pub(crate) fn remembered(&self) -> Option<Key> {
        self.known.lock().clone()
    }

    /// The key; a new one where there is none and `make` says so.
    pub(crate) async fn key(&self, make: bool) -> Result<Option<Key>, KeychainError> {
        if let Some(key) = self.remembered() {
            return Ok(Some(key));
        }
        let keeper = self.keeper.clone();
        let key = within(self.patience, move || ask(&*keeper, make)).await?;
        self.known.lock().clone_from(&key);
        Ok(key)
    }
}

impl fmt::Debug for Keychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keychain").finish_non_exhaustive()
    }
}

/// A token that the user has put into the system's keychain by hand, as
/// `account` of the service `switchboard`.
///
/// # Errors
/// When the keychain cannot be asked or keeps no text there.
pub async fn kept_token(account: &'static str) -> Result<Option<Secret>, KeychainError> {
    let kept = within(limits::KEYCHAIN, move || System.secret(account)).await?;
    let Some(kept) = kept.map(Zeroizing::new) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&kept).map_err(|_| KeychainError::NotText)?;
    Ok(Some(Secret::new(text.trim())))
}

/// Asks on a thread of its own. Not the runtime's pool: a runtime waits for its
/// threads when it ends, and a keychain that hangs would keep the program from
/// ending.
async fn within<T: Send + 'static>(
    patience: Duration,
    ask: impl FnOnce() -> Result<T, KeychainError> + Send + 'static,
) -> Result<T, KeychainError> {
    let (answer, asked) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("keychain".into())
        .spawn(move || {
            let _ = answer.send(ask());
        })
        .map_err(|fault| KeychainError::Other(fault.to_string()))?;
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(KeychainError::Silent),
        Err(_) => Err(KeychainError::TimedOut(patience)),
    }
}

fn ask(keeper: &dyn KeyKeeper, make: bool) -> Result<Option<Key>, KeychainError> {
    if let Some(kept) = keeper.get()? {
        let kept = Zeroizing::new(kept);
        let key = <[u8; 32]>::try_from(&kept[..]).map_err(|_| KeychainError::NotAKey)?;
        return Ok(Some(Zeroizing::new(key)));
    }
    if !make {
        return Ok(None);
    }
    let mut key = Zeroizing::new([0; 32]);
    random::fill(&mut key[..]).map_err(|_| KeychainError::NoRandomness)?;
    keeper.set(&key[..])?;
    Ok(Some(key))
}

/// The system's keychain, through keyring-core.
struct System;

#[cfg(feature = "keychain")]
mod system {
    use super::{KeyKeeper, KeychainError, System};
    use keyring_core::{CredentialStore, Entry, Error};
    use std::sync::{Arc, OnceLock};

    const SERVICE: &str = "switchboard";
    const USER: &str = "vault key";

    impl KeyKeeper for System {
        fn get(&self) -> Result<Option<Vec<u8>>, KeychainError> {
            self.secret(USER)
        }

        fn set(&self, key: &[u8]) -> Result<(), KeychainError> {
            entry(USER)?.set_secret(key).map_err(|fault| told(&fault))
        }
    }

    impl System {
        pub(super) fn secret(&self, user: &str) -> Result<Option<Vec<u8>>, KeychainError> {
            match entry(user)?.get_secret() {
                Ok(secret) => Ok(Some(secret)),
                Err(Error::NoEntry) => Ok(None),
                Err(fault) => Err(told(&fault)),
            }
        }
    }

    fn entry(user: &str) -> Result<Entry, KeychainError> {
        static STORE: OnceLock<Arc<CredentialStore>> = OnceLock::new();
        let store = match STORE.get() {
            Some(store) => store.clone(),
            None => {
                let made = platform().map_err(|fault| told(&fault))?;
                STORE.get_or_init(|| made).clone()
            }
        };
        store
            .build(SERVICE, user, None)
            .map_err(|fault| told(&fault))
    }

    #[cfg(not(target_os = "macos"))]
    fn platform() -> keyring_core::Result<Arc<CredentialStore>> {
        let store: Arc<CredentialStore> = zbus_secret_service_keyring_store::Store::new()?;
        Ok(store)
    }

    #[cfg(target_os = "macos")]
    fn platform() -> keyring_core::Result<Arc<CredentialStore>> {
        let store: Arc<CredentialStore> = apple_native_keyring_store::keychain::Store::new()?;
        Ok(store)
    }

    fn told(fault: &Error) -> KeychainError {
        match fault {
            Error::NoStorageAccess(why) => KeychainError::Locked(why.to_string()),
            Error::PlatformFailure(why) => KeychainError::Broken(why.to_string()),
            // The others' messages may hold what was stored.
            Error::BadEncoding(_) | Error::BadDataFormat(..) => KeychainError::NotAKey,
            other => KeychainError::Other(other.to_string()),
        }
    }
}

#[cfg(not(feature = "keychain"))]
impl System {
    fn secret(&self, _: &str) -> Result<Option<Vec<u8>>, KeychainError> {
        Err(KeychainError::NotBuilt)
    }
}

#[cfg(not(feature = "keychain"))]
impl KeyKeeper for System {
    fn get(&self) -> Result<Option<Vec<u8>>, KeychainError> {
        Err(KeychainError::NotBuilt)
    }

    fn set(&self, _: &[u8]) -> Result<(), KeychainError> {
        Err(KeychainError::NotBuilt)
    }
}
