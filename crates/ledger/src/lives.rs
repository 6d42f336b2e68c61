//! Which processes share a ledger, and which of them live: each holds the lock of a
//! file of its own, which the system gives back when it dies, however it dies. One that
//! is paused lives.

use crate::LedgerError;
use futures_util::future::BoxFuture;
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_local::{
    private::{self, Lock},
    random,
};

/// The processes that share a folder.
#[derive(Clone)]
pub struct Lives {
    known: Known,
    own: Arc<Life>,
}

/// How it is known who else lives.
#[derive(Clone)]
enum Known {
    /// There is nobody.
    Nobody,
    /// By the locks in this folder.
    Folder(Arc<Path>),
    /// Somebody knows.
    By(Arc<dyn Others>),
}

/// Knows which other processes live.
pub trait Others: Send + Sync {
    /// Whether the process of this id lives, or may.
    fn is_alive(&self, id: &str) -> bool;

    /// The same, looked up now: what is known may be a moment old, and a process may have
    /// come since.
    fn lives_now<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, LedgerError>>;
}

/// This process, as others know it.
#[derive(Debug)]
pub struct Life {
    id: String,
    file: Option<PathBuf>,
    _lock: Option<Lock>,
}

impl Life {
    /// Its id, which no other process ever has.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
    }
}

impl Lives {
    /// Joins those that share this folder. The files of those that have died are
    /// removed.
    pub fn join(folder: &Path) -> io::Result<Self> {
        private::folder(folder)?;
        let id = random::id()?;
        let file = path_of(folder, &id);
        let Ok(lock) = Lock::ask(&file)?.take()? else {
            return Err(io::ErrorKind::AlreadyExists.into());
        };
        let lives = Self {
            known: Known::Folder(folder.into()),
            own: Arc::new(Life {
                id,
                file: Some(file),
                _lock: Some(lock),
            }),
        };
        lives.tidy(folder);
        Ok(lives)
    }

    /// A process that shares with nobody.
    pub fn alone() -> io::Result<Self> {
        let own = Life {
            id: random::id()?,
            file: None,
            _lock: None,
        };
        let (known, own) = (Known::Nobody, Arc::new(own));
        Ok(Self { known, own })
    }

    /// The process of this id, among others that somebody knows.
    pub fn among(id: &str, others: Arc<dyn Others>) -> Self {
        let own = Life {
            id: id.to_owned(),
            file: None,
            _lock: None,
        };
        let (known, own) = (Known::By(others), Arc::new(own));
        Self { known, own }
    }

    /// This process.
    pub fn own(&self) -> &Life {
        &self.own
    }

    /// Whether the process of this id lives.
    pub fn is_alive(&self, id: &str) -> bool {
        if id == self.own.id {
            return true;
        }
        let folder = match &self.known {
            Known::Nobody => return false,
            Known::By(others) => return others.is_alive(id),
            Known::Folder(folder) => folder,
        };
        let is_id = id.len() == self.own.id.len() && id.bytes().all(|b| b.is_ascii_hexdigit());
        let file = path_of(folder, id);
        if !is_id || !file.exists() {
            return false;
        }
        // Whoever cannot be asked may live.
        let asked = Lock::ask(&file).and_then(private::Waiting::take);
        !matches!(asked, Ok(Ok(_)))
    }

    /// The same, looked up now where what is known may be a moment old. Asked before
    /// anything is done that only the end of that process allows.
    ///
    /// # Errors
    /// When that cannot be looked up.
    pub async fn lives_now(&self, id: &str) -> Result<bool, LedgerError> {
        match &self.known {
            Known::By(others) if id != self.own.id => others.lives_now(id).await,
            _ => Ok(self.is_alive(id)),
        }
    }

    fn tidy(&self, folder: &Path) {
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            if id.is_some_and(|id| !self.is_alive(id)) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl fmt::Debug for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lives").field(&self.own).finish()
    }
}

const SUFFIX: &str = ".life";

fn path_of(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}{SUFFIX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_gone_is_known_to_be_dead() {
        let folder = tempfile::tempdir().unwrap();
        let one = Lives::join(folder.path()).unwrap();
        let two = Lives::join(folder.path()).unwrap();
        let id = two.own().id().to_owned();
        assert!(one.is_alive(&id) && two.is_alive(one.own().id()));
        assert!(one.is_alive(one.own().id()));
        drop(two);
        assert!(!one.is_alive(&id));
        for stranger in ["", "../x", "0123456789abcdef0123456789abcdef"] {
            assert!(!one.is_alive(stranger), "{stranger}");
        }
    }

    #[test]
    fn what_the_dead_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder
            .path()
            .join(format!("0123456789abcdef0123456789abcdef{SUFFIX}"));
        fs::write(&left, "").unwrap();
        let _one = Lives::join(folder.path()).unwrap();
        assert!(!left.exists());
    }
}
