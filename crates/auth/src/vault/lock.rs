//! A lock between processes: `flock` on a file of its own, which is never removed
//! (removing it would let two processes lock two files of one name).

use super::VaultFault;
use std::{
    fs::{File, OpenOptions, TryLockError},
    path::PathBuf,
    time::{Duration, Instant},
};

/// A lock that is held. The operating system gives it back if the process dies.
#[derive(Debug)]
pub struct VaultLock {
    _file: File,
}

/// Takes the lock. Asks again and again instead of blocking: a blocked thread
/// could not be given up when the caller is.
pub(super) async fn take(path: PathBuf, limit: Duration) -> Result<VaultLock, VaultFault> {
    let fault = |why: std::io::Error| VaultFault::File {
        path: path.clone(),
        why: why.to_string(),
    };
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(fault)?;
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(VaultLock { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(why)) => return Err(fault(why)),
        }
        if begun.elapsed() >= limit {
            return Err(VaultFault::Busy(limit));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
