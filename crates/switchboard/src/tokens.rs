//! The tokens that let clients in. Made at first use, kept in a file that only
//! the user can read, and never shown in a log.

use crate::{dirs::Dirs, limits, running::Running};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::SystemTime,
};
use switchboard_gateway::{ClientToken, LiveTokens};
use switchboard_local::{
    hex, private,
    random::{self, NoRandomness},
};

/// What we make ourselves is this long: less of it is a part.
// tidy: the length of what we make ourselves, not a cap
const OWN: usize = 43;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or made.
    #[error("the token file {path} cannot be {what}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Read or made.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It is gone, while the gateway that was started with it still runs.
    #[error(
        "the token file {} is gone, and the gateway at {address} still goes by it: end that \
         (kill {pid}) and start it again, which makes a new one",
        path.display()
    )]
    Gone {
        /// Which file.
        path: PathBuf,
        /// Where the gateway is.
        address: String,
        /// Its process.
        pid: i32,
    },
    /// Others could have read or changed it.
    #[error(
        "the token file {0} is open to others: run chmod 600 on it, or delete it to get a new one"
    )]
    Exposed(PathBuf),
    /// Its name is one of ours.
    #[error("{0:?} is what the gateway itself is called in records: choose another name")]
    Ours(String),
    /// What is in it is no token.
    #[error(
        "the token file {} holds no token: one line of at least {} printable characters is expected",
        .0.display(),
        limits::SHORTEST_TOKEN
    )]
    Unusable(PathBuf),
    /// It holds a part of a token.
    #[error("the token file {0} is cut short: {1} of its {OWN} characters are left")]
    Cut(PathBuf, usize),
    /// There is one of this name.
    #[error("there is a token {0:?} already")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no token {0:?}")]
    Unknown(String),
    /// No file can have this name.
    #[error("{0:?} is no name for a token: use letters, digits, hyphens and underscores")]
    Name(String),
    /// Two of them would be one principal's.
    #[error("the token files {first} and {second} {}", in_common(*is_name, name))]
    Same {
        /// The principal.
        name: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// Whether it is the name that is the same, and not the token.
        is_name: bool,
    },
    /// The system has no random numbers.
    #[error(transparent)]
    Random(NoRandomness),
}

/// What two files have in common.
fn in_common(is_name: bool, name: &str) -> String {
    match is_name {
        true => format!("would both let in {name:?}, and their clients would share everything"),
        false => "hold the same token, which can let in one principal only".into(),
    }
}

impl TokenError {
    /// What to do about one of our own.
    pub fn hint(&self) -> String {
        match self {
            Self::File { what: "made", .. } => {
                "where the home cannot be written, serve with --token-file FILE, or with --no-auth"
                    .into()
            }
            Self::Unusable(path) | Self::Exposed(path) | Self::Cut(path, _) => {
                format!("delete {}, and a new one is made", path.display())
            }
            Self::Same { .. } => {
                "name each: --token-file alice=FILE --token-file bob=FILE, with a token of its own in each file".into()
            }
            Self::Name(_) => "name it: --token-file NAME=FILE".into(),
            _ => "see with ls -l who may read it".into(),
        }
    }
}

/// Where the client token `default` is kept.
pub fn client_file(dirs: &Dirs) -> PathBuf {
    dirs.data.join("tokens").join("default")
}

/// Where the control token is kept.
pub fn control_file(dirs: &Dirs) -> PathBuf {
    dirs.data.join("control-token")
}

/// The client token `default`, made if there is none.
pub fn client(dirs: &Dirs) -> Result<ClientToken, TokenError> {
    let folder = folder(dirs);
    Ok(ClientToken {
        name: "default".into(),
        secret: get_or_make(&folder, "default")?,
    })
}

/// A new client token of this name.
pub fn create(dirs: &Dirs, name: &str) -> Result<ClientToken, TokenError> {
    let folder = folder(dirs);
    let path = named(&folder, name)?;
    if read(&path)?.is_some() {
        return Err(TokenError::Exists(name.to_owned()));
    }
    Ok(ClientToken {
        name: name.into(),
        secret: get_or_make(&folder, name)?,
    })
}

/// The names of all client tokens, and when each was made.
pub fn list(dirs: &Dirs) -> Result<Vec<(String, Option<SystemTime>)>, TokenError> {
    let folder = folder(dirs);
    let failed = |source: io::Error| TokenError::File {
        path: folder.clone(),
        what: "read",
        source,
    };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Others are being made.
        if is_name(&name) {
            let made = entry.metadata().and_then(|found| found.modified()).ok();
            found.push((name, made));
        }
    }
    found.sort();
    Ok(found)
}

/// Where the client token of this name is kept.
pub fn file(dirs: &Dirs, name: &str) -> PathBuf {
    folder(dirs).join(name)
}

/// Revokes a client token: gateways that run refuse it from now on.
pub fn revoke(dirs: &Dirs, name: &str) -> Result<(), TokenError> {
    let path = named(&folder(dirs), name)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(TokenError::Unknown(name.to_owned()))
        }
        Err(source) => Err(TokenError::File {
            path,
            what: "removed",
            source,
        }),
    }
}

/// All client tokens, as they are at the moment of asking.
pub fn live(dirs: &Dirs) -> Arc<dyn LiveTokens> {
    Arc::new(Folder {
        dirs: dirs.clone(),
        known: Mutex::default(),
    })
}

fn folder(dirs: &Dirs) -> PathBuf {
    dirs.data.join("tokens")
}

fn named(folder: &Path, name: &str) -> Result<PathBuf, TokenError> {
    if OURS.contains(&name) {
        return Err(TokenError::Ours(name.to_owned()));
    }
    if !is_name(name) {
        return Err(TokenError::Name(name.to_owned()));
    }
    Ok(folder.join(name))
}

/// Whether a client's token can have this name.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(fits) && !OURS.contains(&name)
}

/// Principals that are not anybody's token: what they do would be taken for the token's.
const OURS: [&str; 5] = ["anonymous", "client", "console", "control", "webhook"];

/// The folder of client tokens, read again when it has changed.
#[derive(Debug)]
struct Folder {
    dirs: Dirs,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    changed: Option<SystemTime>,
    read: SystemTime,
    tokens: Arc<[ClientToken]>,
}

impl LiveTokens for Folder {
    fn current(&self) -> Arc<[ClientToken]> {
        let folder = folder(&self.dirs);
        let changed = fs::metadata(&folder)
            .and_then(|found| found.modified())
            .ok();
        let mut known = self.known.lock();
        if let Some(known) = &*known
            && known.changed == changed
            && changed.is_none_or(|changed| known.read > changed + limits::FOLDER_GRAIN)
        {
            return known.tokens.clone();
        }
        let now = SystemTime::now();
        let mut tokens = Vec::new();
        for (name, _) in list(&self.dirs).unwrap_or_default() {
            match read_own(&folder.join(&name)) {
                Ok(Some(secret)) => tokens.push(ClientToken {
                    name: name.into(),
                    secret,
                }),
                Ok(None) => {}
                Err(fault) => tracing::warn!(%fault, "a client token is not accepted"),
            }
        }
        let tokens: Arc<[ClientToken]> = tokens.into();
        *known = Some(Known {
            changed,
            read: now,
            tokens: tokens.clone(),
        });
        tokens
    }
}

/// The key by which a client that we gave an entry is known, made if there is none.
/// It says who a client is, and opens nothing.
pub fn client_key(dirs: &Dirs, client: &str) -> Result<String, TokenError> {
    let long = get_or_make(&dirs.data.join("clients"), client)?;
    let plain = long.chars().filter(char::is_ascii_alphanumeric);
    Ok(plain.take(12).collect())
}

/// The control token, made if there is none. It opens what clients must not reach.
pub fn control(dirs: &Dirs) -> Result<String, TokenError> {
    get_or_make(&dirs.data, "control-token")
}

/// What is wrong with the control token, if there is one and anything is.
pub fn control_fault(dirs: &Dirs) -> Option<TokenError> {
    read_own(&control_file(dirs)).err()
}

/// A file with a token, and for whom that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFile {
    /// Who comes in by it, where that was said: else whom the file is named after.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for TokenFile {
    type Err = TokenError;

    /// Reads `FILE` or `NAME=FILE`.
    fn from_str(text: &str) -> Result<Self, TokenError> {
        let (name, path) = match text.split_once('=') {
            // A path that has a = in it begins with its directory, as ./a=b does.
            Some((name, path)) if !name.contains('/') => (Some(name), path),
            _ => (None, text),
        };
        match name.filter(|name| !is_name(name)) {
            Some(name) => Err(TokenError::Name(name.to_owned())),
            None => Ok(Self {
                name: name.map(str::to_owned),
                path: path.into(),
            }),
        }
    }
}

/// What is in a token file of a gateway that runs.
pub(crate) fn of_running(file: &Path, running: &Running) -> Result<ClientToken, TokenError> {
    from_file(file).map_err(|fault| match fault {
        TokenError::File { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
            TokenError::Gone {
                path,
                address: running.address.clone(),
                pid: running.pid,
            }
        }
        other => other,
    })
}

/// The tokens in these files, relative to a directory. Two that would let in the same principal are refused:
/// sessions, processes and budgets are one principal's.
pub fn from_files(directory: &Path, files: &[TokenFile]) -> Result<Vec<ClientToken>, TokenError> {
    let mut tokens: Vec<ClientToken> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let token = named_file(directory, file)?;
        let same = tokens
            .iter()
            .position(|other| other.name == token.name || other.secret == token.secret);
        if let Some(other) = same {
            return Err(TokenError::Same {
                name: token.name.to_string(),
                first: files[other].path.clone(),
                second: files[at].path.clone(),
                is_name: tokens[other].name == token.name,
            });
        }
        tokens.push(token);
    }
    Ok(tokens)
}

/// A token from a file that the user names, of whom it was said to be.
fn named_file(directory: &Path, file: &TokenFile) -> Result<ClientToken, TokenError> {
    let found = from_file(&directory.join(&file.path))?;
    let token = match &file.name {
        Some(name) => ClientToken {
            name: name.as_str().into(),
            ..found
        },
        None => found,
    };
    // With a colon it could be the name of somebody who signs in elsewhere.
    match token.name.is_empty() || token.name.contains(':') {
        true => Err(TokenError::Name(token.name.to_string())),
        false => Ok(token),
    }
}

/// A token from a file that the user names. Its principal is the file's name.
pub fn from_file(path: &Path) -> Result<ClientToken, TokenError> {
    let secret = read(path)?.ok_or_else(|| TokenError::File {
        path: path.into(),
        what: "read",
        source: io::ErrorKind::NotFound.into(),
    })?;
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    Ok(ClientToken {
        name: name.into(),
        secret,
    })
}

/// What a token can be known by, and not told from: SHA-256 of it, in hexadecimal digits.
pub fn digest(secret: &str) -> String {
    hex(Sha256::digest(secret.as_bytes()))
}

/// 32 random bytes as text.
pub fn random() -> Result<String, TokenError> {
    let bytes: [u8; 32] = random::bytes().map_err(TokenError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn get_or_make(folder: &Path, name: &str) -> Result<String, TokenError> {
    let path = folder.join(name);
    if let Some(found) = read_own(&path)? {
        return Ok(found);
    }
    let failed = |source: io::Error| TokenError::File {
        path: path.clone(),
        what: "made",
        source,
    };
    private::folder(folder).map_err(failed)?;
    // Where two programs make it at once the first one counts for both.
    match private::write_new(&path, format!("{}\n", random()?).as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    read(&path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// Whether there is no such file, nor could be.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The token in a file of our making.
fn read_own(path: &Path) -> Result<Option<String>, TokenError> {
    match read(path)? {
        Some(token) if token.len() < OWN => Err(TokenError::Cut(path.into(), token.len())),
        found => Ok(found),
    }
}

/// What is wrong with the client token of this name, if anything is.
pub fn fault(dirs: &Dirs, name: &str) -> Option<TokenError> {
    read_own(&folder(dirs).join(name)).err()
}

/// The token in a file; `None` if there is no such file.
fn read(path: &Path) -> Result<Option<String>, TokenError> {
    use std::os::unix::fs::MetadataExt;
    let failed = |source: io::Error| TokenError::File {
        path: path.into(),
        what: "read",
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let found = file.metadata().map_err(failed)?;
    let ours = found.uid() == rustix::process::geteuid().as_raw() || found.uid() == 0;
    if found.is_file() && (!ours || found.mode() & 0o077 != 0) {
        return Err(TokenError::Exposed(path.into()));
    }
    let mut text = String::new();
    file.take(limits::TOKEN_FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let token = text.trim();
    if token.len() < limits::SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::Unusable(path.into()));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests;
