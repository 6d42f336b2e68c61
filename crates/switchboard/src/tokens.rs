//! The tokens that let clients in. Made at first use, kept in a file that only
//! the user can read, and never shown in a log.

use crate::dirs::{self, Dirs};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use switchboard_gateway::ClientToken;

/// Longer than any token; a file with more is not one.
const FILE_BYTES: u64 = 4096;
/// A token shorter than this could be guessed.
const SHORTEST: usize = 16;

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
    /// Others could have read or changed it.
    #[error(
        "the token file {0} is open to others: run chmod 600 on it, or delete it to get a new one"
    )]
    Exposed(PathBuf),
    /// What is in it is no token.
    #[error(
        "the token file {0} holds no token: one line of at least {SHORTEST} printable characters is expected"
    )]
    Unusable(PathBuf),
    /// The system has no random numbers.
    #[error("no random numbers: {0}")]
    Random(String),
}

/// The client token `default`, made if there is none.
pub fn client(dirs: &Dirs) -> Result<ClientToken, TokenError> {
    let folder = dirs.data.join("tokens");
    Ok(ClientToken {
        name: "default".to_owned(),
        secret: get_or_make(&folder, "default")?,
    })
}

/// The control token, made if there is none. It opens what clients must not reach.
pub fn control(dirs: &Dirs) -> Result<String, TokenError> {
    get_or_make(&dirs.data, "control-token")
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
    Ok(ClientToken { name, secret })
}

/// 32 random bytes as text.
pub fn random() -> Result<String, TokenError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn get_or_make(folder: &Path, name: &str) -> Result<String, TokenError> {
    let path = folder.join(name);
    if let Some(found) = read(&path)? {
        return Ok(found);
    }
    let failed = |source: io::Error| TokenError::File {
        path: path.clone(),
        what: "made",
        source,
    };
    dirs::private(folder).map_err(failed)?;
    // Whole or not at all, 0600 from the first byte, and where two programs
    // make it at once the first one counts for both.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    writeln!(file, "{}", random()?).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    match file.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error.error)),
    }
    read(&path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// The token in a file; `None` if there is no such file.
fn read(path: &Path) -> Result<Option<String>, TokenError> {
    let failed = |source: io::Error| TokenError::File {
        path: path.into(),
        what: "read",
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = file.metadata().map_err(failed)?;
        let ours = found.uid() == rustix::process::geteuid().as_raw() || found.uid() == 0;
        if found.is_file() && (!ours || found.mode() & 0o077 != 0) {
            return Err(TokenError::Exposed(path.into()));
        }
    }
    let mut text = String::new();
    file.take(FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let token = text.trim();
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::Unusable(path.into()));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests;
