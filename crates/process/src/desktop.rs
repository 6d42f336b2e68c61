//! Telling whoever sits at this machine's screen something in one line.

use crate::{environment::without_secrets, limits};
use std::{io, process::Stdio};
use tokio::process::Command;

/// Tells it with `notify-send`. No shell; what is told comes after all options.
///
/// # Errors
/// Where that program is not there, or does not end well and soon.
pub async fn notify(title: &str, text: &str) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "it ends by itself, or is ended")]
    let mut child = Command::new("notify-send")
        .args(["--app-name=Switchboard", "--", title, text])
        .env_clear()
        .envs(without_secrets())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let waited = tokio::time::timeout(limits::NOTIFY, child.wait()).await;
    match waited {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(io::Error::other(format!("it ended with {status}"))),
        Ok(Err(fault)) => Err(fault),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
