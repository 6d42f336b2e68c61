//! Where sign-ins are kept: one file each, readable by its owner alone.
//!
//! With the keychain, the file is sealed with a key that the operating system's
//! keychain holds: some keychains take only a few hundred bytes, and asking them
//! on every renewal is slow. Without, by explicit choice, it is in the clear.
//! A file in the clear *is* that choice: as long as it exists, it is used.
//!
//! All changes happen under a lock that holds across processes.
//!
//! Replicas of a cluster have another place in common ([`Fleet`]): then all of that is
//! there, and the lock holds across machines.

mod files;
mod fleet;
mod lock;
mod seal;

use crate::{
    keychain::{Keychain, KeychainError},
    record::Record,
};
use aws_lc_rs::digest;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use switchboard_local::hex;
use zeroize::Zeroizing;

pub use fleet::{Awaited, Fleet, FleetError, FleetWay, Turn, Versioned};
pub use lock::VaultLock;

/// Where tokens are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenStore {
    /// Sealed with a key in the operating system's keychain.
    #[default]
    Keychain,
    /// In a file that only its owner can read.
    File,
    /// Where the replicas of a cluster keep them, sealed with its key.
    Cluster,
}

/// Why a sign-in cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The keychain does not help.
    #[error(
        "the system's keychain cannot be used: {0}. Tokens can be kept in a file that only you can read instead: sign in with --token-store file"
    )]
    Keychain(#[source] KeychainError),
    /// A file does not help.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Another process holds the lock for too long.
    #[error("another process has been renewing the sign-in for {0:?}")]
    Busy(Duration),
    /// What replicas share does not help.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// One sign-in's place in the vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultKey {
    stem: String,
    /// Whether it is what the configuration says rather than a sign-in.
    is_configured: bool,
}

impl VaultKey {
    /// The place of a server with this name and this configuration. A changed
    /// configuration is another server, and sees none of the old one's tokens.
    pub fn server(name: &str, config_hash: &str) -> Self {
        Self::of("server", name, config_hash)
    }

    /// The place of the secret of a client that was registered by hand.
    pub fn client(name: &str, config_hash: &str) -> Self {
        Self::of("client", name, config_hash)
    }

    /// The place of an identity provider, shared by the servers that use it.
    pub fn identity(issuer: &str, client_id: &str) -> Self {
        Self::of("idp", issuer, client_id)
    }

    fn of(kind: &str, name: &str, hash: &str) -> Self {
        let mut whole = digest::Context::new(&digest::SHA256);
        for part in [kind, name, hash] {
            whole.update(&(part.len() as u64).to_be_bytes());
            whole.update(part.as_bytes());
        }
        let digest = hex(&whole.finish().as_ref()[..12]);
        let safe = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let readable: String = name.chars().map(safe).take(40).collect();
        Self {
            stem: format!("{kind}-{readable}-{digest}"),
            is_configured: kind == "client",
        }
    }
}

/// The vault of one user.
#[derive(Clone, Debug)]
pub struct Vault {
    folder: Arc<Path>,
    store: TokenStore,
    keychain: Arc<Keychain>,
    fleet: FleetWay,
}

impl Vault {
    /// The vault in `folder`, which is made when it is first needed.
    pub fn open(folder: impl Into<PathBuf>, store: TokenStore) -> Self {
        Self::with_keychain(folder, store, Keychain::system())
    }

    /// A vault that asks this keychain.
    pub fn with_keychain(
        folder: impl Into<PathBuf>,
        store: TokenStore,
        keychain: Keychain,
    ) -> Self {
        Self {
            folder: folder.into().into(),
            store,
            keychain: Arc::new(keychain),
            fleet: FleetWay::default(),
        }
    }

    /// Sign-ins are shared with other machines, as soon as there is a way.
    #[must_use]
    pub fn shared(mut self, fleet: FleetWay) -> Self {
        self.fleet = fleet;
        self
    }

    /// Where this is kept, if other machines have it as well.
    fn fleet(&self, key: &VaultKey) -> Option<&Arc<dyn Fleet>> {
        self.fleet.get().filter(|_| !key.is_configured)
    }

    /// Whether other machines have it as well.
    pub(crate) fn is_shared(&self, key: &VaultKey) -> bool {
        self.fleet(key).is_some()
    }

    /// Whether nothing newer than this version has been heard of.
    pub(crate) fn is_newest(&self, key: &VaultKey, version: u64) -> bool {
        let fleet = self.fleet(key);
        let heard = fleet.and_then(|fleet| fleet.version(&key.stem));
        heard.is_none_or(|heard| heard <= version)
    }

    /// Where new sign-ins are kept.
    pub fn store(&self) -> TokenStore {
        match self.fleet.get() {
            Some(_) => TokenStore::Cluster,
            None => self.store,
        }
    }

    /// Whether the chosen store can be used at all. Asked before anybody is sent
    /// to a browser: a sign-in that cannot be kept is lost effort.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn ready(&self) -> Result<(), VaultError> {
        if self.fleet.get().is_some() {
            return Ok(());
        }
        files::make_folder(&self.folder)?;
        if self.store == TokenStore::Keychain {
            self.key(true).await?;
        }
        Ok(())
    }

    /// What is known about a sign-in.
    ///
    /// # Errors
    /// When there is something and it cannot be read.
    pub async fn load(&self, key: &VaultKey) -> Result<Option<Record>, VaultError> {
        if let Some(fleet) = self.fleet(key) {
            return shared(key, fleet.load(&key.stem).await?);
        }
        let plain = self.plain(key);
        if let Some(text) = files::read(plain.clone()).await? {
            return parse(&plain, &text).map(Some);
        }
        let sealed = self.sealed(key);
        let Some(bytes) = files::read(sealed.clone()).await? else {
            return Ok(None);
        };
        let Some(secret) = self.key(false).await? else {
            return Err(VaultError::Keychain(KeychainError::KeyGone));
        };
        let text = seal::open(&secret, &key.stem, &bytes).map_err(|why| VaultError::File {
            path: sealed.clone(),
            why: why.to_string(),
        })?;
        parse(&sealed, &text).map(Some)
    }

    /// The same, for whoever changes nothing: where the place that machines share cannot be
    /// asked, it is what was heard of last. Most servers need no sign-in, and are reached all
    /// the same.
    ///
    /// # Errors
    /// When there is something and it cannot be read.
    pub async fn look(&self, key: &VaultKey) -> Result<Option<Record>, VaultError> {
        match self.load(key).await {
            Err(VaultError::Fleet(fault @ FleetError::Store(_))) => {
                tracing::warn!(%fault, "what was heard of a sign-in last is used");
                let fleet = self.fleet(key);
                let heard = fleet.and_then(|fleet| fleet.heard(&key.stem));
                shared(key, heard.unwrap_or(Ok(None))?)
            }
            found => found,
        }
    }

    /// The same, as it was heard of last where machines share it: costs nothing, and may
    /// be a moment old.
    ///
    /// # Errors
    /// When there is something and it cannot be read.
    pub async fn glance(&self, key: &VaultKey) -> Result<Option<Record>, VaultError> {
        match self.fleet(key).and_then(|fleet| fleet.heard(&key.stem)) {
            Some(heard) => shared(key, heard?),
            None => self.look(key).await,
        }
    }

    /// First said and then done: that the refresh token of a sign-in that machines share is
    /// about to be shown to its issuer. Whoever comes after us shows none of which it cannot
    /// know whether it was used up. The version that says so.
    ///
    /// # Errors
    /// When that cannot be written, or another may have its turn by now: then it is not to
    /// be shown.
    pub(crate) async fn begin_renewal(
        &self,
        key: &VaultKey,
        lock: &VaultLock,
        record: &Record,
    ) -> Result<u64, VaultError> {
        if !self.is_shared(key) {
            return Ok(record.version);
        }
        let version = self.save(key, &record.renewing()).await?;
        match lock.is_good() {
            true => Ok(version),
            false => Err(FleetError::Overtaken.into()),
        }
    }

    /// Keeps a sign-in, where it already is or else in the chosen store; the version that
    /// it has then. The lock is the caller's.
    ///
    /// # Errors
    /// When it cannot be kept; what was there before is then still there.
    pub async fn save(&self, key: &VaultKey, record: &Record) -> Result<u64, VaultError> {
        if let Some(fleet) = self.fleet(key) {
            let text = self.text(key, record)?;
            return Ok(fleet.save(&key.stem, Some(text)).await?);
        }
        let in_clear = self.store == TokenStore::File || files::exists(self.plain(key)).await;
        self.write(key, record, in_clear).await?;
        Ok(0)
    }

    /// Keeps a new sign-in in the chosen store, and nowhere else; the version that it has
    /// then. The lock is the caller's.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub async fn replace(&self, key: &VaultKey, record: &Record) -> Result<u64, VaultError> {
        if self.is_shared(key) {
            return self.save(key, record).await;
        }
        let in_clear = self.store == TokenStore::File;
        self.write(key, record, in_clear).await?;
        let other = if in_clear {
            self.sealed(key)
        } else {
            self.plain(key)
        };
        files::remove(other).await?;
        Ok(0)
    }

    /// Forgets a sign-in. Where machines share it, the lock is the caller's.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub async fn forget(&self, key: &VaultKey) -> Result<(), VaultError> {
        if let Some(fleet) = self.fleet(key) {
            fleet.save(&key.stem, None).await?;
            return Ok(());
        }
        files::remove(self.plain(key)).await?;
        files::remove(self.sealed(key)).await
    }

    /// Takes the lock of a sign-in: whoever has it is the only one, in any
    /// process, who renews or changes it. Dropping it gives it back.
    ///
    /// # Errors
    /// When somebody else holds it for longer than `limit`.
    pub async fn lock(&self, key: &VaultKey, limit: Duration) -> Result<VaultLock, VaultError> {
        if let Some(fleet) = self.fleet(key) {
            return Ok(VaultLock::Fleet(fleet.turn(&key.stem, limit).await?));
        }
        files::make_folder(&self.folder)?;
        lock::take(self.folder.join(format!("{}.lock", key.stem)), limit).await
    }

    fn text(&self, key: &VaultKey, record: &Record) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let text = serde_json::to_vec(record).map_err(|fault| VaultError::File {
            path: self.plain(key),
            why: fault.to_string(),
        })?;
        Ok(Zeroizing::new(text))
    }

    async fn write(
        &self,
        key: &VaultKey,
        record: &Record,
        in_clear: bool,
    ) -> Result<(), VaultError> {
        files::make_folder(&self.folder)?;
        let text = self.text(key, record)?;
        if in_clear {
            return files::write(self.plain(key), text).await;
        }
        let Some(secret) = self.key(true).await? else {
            return Err(VaultError::Keychain(KeychainError::NoKey));
        };
        let path = self.sealed(key);
        let sealed = seal::close(&secret, &key.stem, &text).map_err(|why| VaultError::File {
            path: path.clone(),
            why: why.to_string(),
        })?;
        files::write(path, sealed.into()).await
    }

    /// The key that files are sealed with. Made under a lock, so that two
    /// processes at their first sign-in do not make two.
    async fn key(&self, make: bool) -> Result<Option<seal::Key>, VaultError> {
        if let Some(key) = self.keychain.remembered() {
            return Ok(Some(key));
        }
        let lock = self.folder.join("keychain.lock");
        let held = match make {
            true => Some(lock::take(lock, self.keychain.patience() * 2).await?),
            false => None,
        };
        let key = self.keychain.key(make).await.map_err(VaultError::Keychain);
        drop(held);
        key
    }

    fn plain(&self, key: &VaultKey) -> PathBuf {
        self.folder.join(format!("{}.json", key.stem))
    }

    fn sealed(&self, key: &VaultKey) -> PathBuf {
        self.folder.join(format!("{}.sealed", key.stem))
    }
}

/// A sign-in that machines share.
fn shared(key: &VaultKey, found: Option<Versioned>) -> Result<Option<Record>, VaultError> {
    let Some((text, version)) = found else {
        return Ok(None);
    };
    let mut record = parse(Path::new(&key.stem), &text)?;
    record.version = version;
    Ok(Some(record))
}

fn parse(path: &Path, text: &[u8]) -> Result<Record, VaultError> {
    // serde's messages may quote what they stumble over, so only the place is told.
    serde_json::from_slice(text).map_err(|fault| VaultError::File {
        path: path.to_owned(),
        why: format!(
            "is not a stored sign-in (line {}, column {}); remove it and sign in again",
            fault.line(),
            fault.column()
        ),
    })
}
