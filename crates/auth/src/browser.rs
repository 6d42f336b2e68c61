//! Opening the system's browser: no shell, nothing but a web address, and none of
//! the secrets in our environment.

use crate::{limits, settings::Opener};
use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::Arc,
};
use switchboard_process as process;
use tokio::process::Command;
use url::Url;

/// Opens addresses with the system's own opener.
pub fn system() -> Opener {
    Arc::new(|url| Box::pin(async move { Ok(open(&url).await?) }))
}

/// Why no browser was opened.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error("there is no way to open a browser here")]
    NoOpener,
    #[error("this is not a web address")]
    NotWeb,
    #[error("{program}: {source}")]
    NotStarted {
        program: &'static str,
        source: io::Error,
    },
    #[error("{program} ended with {status}")]
    Failed {
        program: &'static str,
        status: ExitStatus,
    },
}

async fn open(url: &Url) -> Result<(), OpenError> {
    let [program, before @ ..] = opener() else {
        return Err(OpenError::NoOpener);
    };
    // A web address begins with a letter, so it cannot be taken for an option.
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(OpenError::NotWeb);
    }
    #[expect(clippy::disallowed_methods, reason = "the user's own browser stays")]
    let mut child = Command::new(program)
        .args(before)
        .arg(url.as_str())
        .env_clear()
        .envs(process::without_secrets())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| OpenError::NotStarted { program, source })?;
    // Openers return at once, or stay as long as the browser does.
    let waited = tokio::time::timeout(limits::BROWSER_START, child.wait()).await;
    match waited {
        Ok(Ok(status)) if !status.success() => Err(OpenError::Failed { program, status }),
        _ => Ok(()),
    }
}

#[cfg(target_os = "macos")]
fn opener() -> &'static [&'static str] {
    &["open"]
}

#[cfg(not(target_os = "macos"))]
fn opener() -> &'static [&'static str] {
    &["xdg-open"]
}
