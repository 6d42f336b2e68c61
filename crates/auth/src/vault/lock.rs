//! The vault's lock between processes.

use super::{Turn, VaultError};
use crate::limits;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use switchboard_local::private::Lock;

/// A lock that is held.
#[derive(Debug)]
pub enum VaultLock {
    /// Among the processes of this machine, whose system gives it back if one dies.
    File(Lock),
    /// Among machines; it ends by itself if one dies.
    Fleet(Box<dyn Turn>),
}

impl VaultLock {
    /// Whether nobody else can have it.
    pub fn is_good(&self) -> bool {
        match self {
            Self::File(_) => true,
            Self::Fleet(turn) => turn.is_good(),
        }
    }
}

/// Takes the lock. Asks again and again instead of blocking: a blocked thread
/// could not be given up when the caller is.
pub(super) async fn take(path: PathBuf, limit: Duration) -> Result<VaultLock, VaultError> {
    let fault = |why: std::io::Error| VaultError::File {
        path: path.clone(),
        why: why.to_string(),
    };
    let mut waiting = Lock::ask(&path).map_err(fault)?;
    let begun = Instant::now();
    let mut pause = limits::LOCK_PAUSE;
    loop {
        match waiting.take().map_err(fault)? {
            Ok(lock) => return Ok(VaultLock::File(lock)),
            Err(again) => waiting = again,
        }
        if begun.elapsed() >= limit {
            return Err(VaultError::Busy(limit));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(limits::LONGEST_LOCK_PAUSE);
    }
}
