//! IDEs on this machine: each keeps a lock file that says where it listens, with
//! what token, and for which folders. It is looked for at every connection,
//! since a restarted IDE has another port and another token.

use super::spec::Remote;
use crate::limits;
use http::{HeaderName, HeaderValue, Uri};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The header in which an IDE wants its token.
const TOKEN: HeaderName = HeaderName::from_static("x-claude-code-ide-authorization");

/// How an IDE is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdeCarrier {
    /// HTTP+SSE.
    Sse,
    /// WebSocket.
    Ws,
}

/// Where to look for an IDE.
#[derive(Clone, Debug)]
pub struct Ide {
    /// How it is spoken to.
    pub carrier: IdeCarrier,
    /// The folder with the lock files.
    pub locks: PathBuf,
    /// The folder that the IDE must have open.
    pub workspace: PathBuf,
    /// Its address, where the entry names one: without a token only the port of
    /// it counts, for the lock file must be found that has the token.
    pub address: Option<Uri>,
    /// Its token, where the entry has one.
    pub token: Option<String>,
}

/// Why no IDE is reached.
#[derive(Debug, thiserror::Error)]
pub enum IdeError {
    /// Nothing says that one runs.
    #[error("no IDE is running: there is no lock file for it in {}", .0.display())]
    NotRunning(PathBuf),
    /// Some run, for others than us.
    #[error("no IDE has {} open; those that run have other folders open", .0.display())]
    OtherFolders(PathBuf),
    /// The folder with the lock files cannot be looked at.
    #[error("{} cannot be read: {}", .0.display(), .1)]
    Locks(PathBuf, #[source] std::io::Error),
    /// A lock file leads nowhere.
    #[error("the IDE's lock file names no usable port")]
    Port,
    /// A token holds what no header can; which.
    #[error("{0} cannot be sent")]
    Token(&'static str),
}

/// One lock file.
#[derive(Debug)]
struct Lock {
    port: u16,
    token: String,
    folders: Vec<PathBuf>,
    carrier: IdeCarrier,
    written: SystemTime,
}

impl Ide {
    /// The IDE that the entry describes in full, or the one that has our folder
    /// open: the one whose folder is nearest, then the newest.
    pub fn find(&self) -> Result<Remote, IdeError> {
        if let (Some(address), Some(token)) = (&self.address, &self.token) {
            return remote(address.clone(), token, "the entry's authToken");
        }
        let locks = self.read()?;
        if locks.is_empty() {
            return Err(IdeError::NotRunning(self.locks.clone()));
        }
        let workspace =
            fs::canonicalize(&self.workspace).unwrap_or_else(|_| self.workspace.clone());
        let depth = |lock: &Lock| {
            let open = lock
                .folders
                .iter()
                .map(|folder| fs::canonicalize(folder).unwrap_or_else(|_| folder.clone()));
            open.filter(|folder| workspace.starts_with(folder))
                .map(|folder| folder.components().count())
                .max()
        };
        let found = locks
            .iter()
            .filter_map(|lock| Some((depth(lock)?, lock.written, lock)));
        let found = found.max_by_key(|(depth, written, _)| (*depth, *written));
        match found {
            Some((_, _, lock)) => lock.remote(self.token.as_deref()),
            None => Err(IdeError::OtherFolders(workspace)),
        }
    }

    fn read(&self) -> Result<Vec<Lock>, IdeError> {
        let files = match fs::read_dir(&self.locks) {
            Ok(files) => files,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(IdeError::Locks(self.locks.clone(), fault)),
        };
        let locks = files.filter_map(|file| {
            let path = file.ok()?.path();
            let lock = read(&path)?;
            let port = self.address.as_ref().and_then(Uri::port_u16);
            let wanted = lock.carrier == self.carrier && port.is_none_or(|port| port == lock.port);
            wanted.then_some(lock)
        });
        Ok(locks.take(limits::IDE_LOCKS).collect())
    }
}

impl Lock {
    /// Always this machine: the token is for the IDE alone.
    fn remote(&self, token: Option<&str>) -> Result<Remote, IdeError> {
        let address = match self.carrier {
            IdeCarrier::Sse => format!("http://127.0.0.1:{}/sse", self.port),
            IdeCarrier::Ws => format!("ws://127.0.0.1:{}/", self.port),
        };
        let url: Uri = address.parse().map_err(|_| IdeError::Port)?;
        match token {
            Some(token) => remote(url, token, "the entry's authToken"),
            None => remote(url, &self.token, "the token in the IDE's lock file"),
        }
    }
}

fn remote(url: Uri, token: &str, whose: &'static str) -> Result<Remote, IdeError> {
    let mut remote = Remote::new(url);
    if !token.is_empty() {
        let mut token = HeaderValue::from_str(token).map_err(|_| IdeError::Token(whose))?;
        token.set_sensitive(true);
        remote.headers.insert(TOKEN, token);
    }
    Ok(remote)
}

/// Reads one lock file. One that others could have written is none.
fn read(path: &Path) -> Option<Lock> {
    if path.extension()? != "lock" {
        return None;
    }
    let about = fs::symlink_metadata(path).ok()?;
    if !about.is_file() || about.len() > limits::IDE_LOCK_BYTES || !is_ours(&about) {
        tracing::debug!(file = %path.display(), "not an IDE's lock file, or not the user's own");
        return None;
    }
    let text = fs::read(path).ok()?;
    let lock: Value = serde_json::from_slice(&text).ok()?;
    if lock["pid"].as_i64().is_some_and(is_dead) {
        tracing::debug!(file = %path.display(), "the lock file of an IDE that has ended");
        return None;
    }
    let named = || path.file_stem()?.to_str()?.parse::<u16>().ok();
    let port = lock["port"]
        .as_u64()
        .and_then(|port| u16::try_from(port).ok())
        .or_else(named)?;
    let folders = lock["workspaceFolders"].as_array().into_iter().flatten();
    let carrier = match lock["transport"].as_str() {
        Some("ws") => IdeCarrier::Ws,
        None if lock["useWebSocket"] == true => IdeCarrier::Ws,
        None | Some("sse") => IdeCarrier::Sse,
        Some(_) => return None,
    };
    Some(Lock {
        port,
        token: lock["authToken"].as_str().unwrap_or_default().to_owned(),
        folders: folders
            .filter_map(Value::as_str)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .collect(),
        carrier,
        written: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    })
}

/// Whether the process that wrote a lock file has ended without removing it.
fn is_dead(pid: i64) -> bool {
    let pid = i32::try_from(pid).ok();
    let pid = pid.and_then(rustix::process::Pid::from_raw);
    // Another user's is alive, and none of ours to signal.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn is_ours(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests;
