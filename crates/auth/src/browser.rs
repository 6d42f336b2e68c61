//! Opening the system's browser: no shell, nothing but a web address, and none of
//! the secrets in our environment.

use crate::settings::Opener;
use std::{process::Stdio, sync::Arc};
use switchboard_process as process;
use tokio::process::Command;
use url::Url;

/// Opens addresses with the system's own opener.
pub fn system() -> Opener {
    Arc::new(|url| Box::pin(async move { open(&url).await }))
}

async fn open(url: &Url) -> Result<(), String> {
    let [program, before @ ..] = opener() else {
        return Err("there is no way to open a browser here".into());
    };
    // A web address begins with a letter, so it cannot be taken for an option.
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("this is not a web address".into());
    }
    let mut child = Command::new(program)
        .args(before)
        .arg(url.as_str())
        .env_clear()
        .envs(process::without_secrets())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|fault| format!("{program}: {fault}"))?;
    // Openers return at once, or stay as long as the browser does.
    let waited = tokio::time::timeout(std::time::Duration::from_secs(3), child.wait()).await;
    match waited {
        Ok(Ok(status)) if !status.success() => Err(format!("{program} ended with {status}")),
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
