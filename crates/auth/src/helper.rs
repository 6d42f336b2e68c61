//! The headers helper: a command of the user's that prints headers as JSON. Run by
//! the shell for at most ten seconds; what it prints overrides configured headers.
//! It sees of our environment what a server would, and the variables that the
//! command itself names; besides, the server's name and address.

use crate::{
    error::{SignInError, shown},
    limits,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use switchboard_local::secret;
use switchboard_process::{self as process, Inherit, Room};
use switchboard_transport::http::{Asking, Authorize, BoxFuture, Refusal, Withheld};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};
use zeroize::Zeroizing;

pub use crate::limits::HELPER as LIMIT;

/// A helper and what it last gave.
pub struct HeadersHelper {
    command: String,
    server: String,
    url: String,
    folder: Option<PathBuf>,
    /// Where to make an empty directory to run it in, if it may not run in ours.
    elsewhere: Option<Option<PathBuf>>,
    variables: Vec<(String, String)>,
    inherit: Inherit,
    limit: Duration,
    /// Whether a failure leaves the configured headers to do, because the
    /// configuration says that they suffice.
    optional: bool,
    /// Who adds what the helper does not give.
    beneath: Option<Arc<dyn Authorize>>,
    known: Mutex<Option<HeaderMap>>,
    turn: tokio::sync::Mutex<()>,
}

impl HeadersHelper {
    /// A helper for the server with this name and address.
    pub fn new(command: &str, server: &str, url: &str) -> Self {
        Self {
            command: command.into(),
            server: server.into(),
            url: url.into(),
            folder: None,
            elsewhere: None,
            variables: Vec::new(),
            inherit: Inherit::default(),
            limit: LIMIT,
            optional: false,
            beneath: None,
            known: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// Runs it in this folder instead of ours.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Runs it in an empty directory, made in this folder for each run; where
    /// none can be made, in the root directory.
    pub fn elsewhere(mut self, rooms: Option<PathBuf>) -> Self {
        self.elsewhere = Some(rooms);
        self
    }

    /// More variables for it, such as the folder of its plugin.
    pub fn knowing(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.variables.extend(variables);
        self
    }

    /// Another time limit.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// A failure is not the server's failure: its configured headers suffice.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// What it gets of our environment besides what every program needs.
    pub fn inheriting(mut self, inherit: Inherit) -> Self {
        self.inherit = inherit;
        self
    }

    /// Who adds what the helper does not give.
    pub fn over(mut self, beneath: Arc<dyn Authorize>) -> Self {
        self.beneath = Some(beneath);
        self
    }

    /// Runs the helper and reads what it prints.
    ///
    /// # Errors
    /// When it cannot be run, takes too long, fails or prints anything but a JSON
    /// object of strings.
    pub async fn run(&self) -> Result<HeaderMap, SignInError> {
        let room = self.elsewhere.iter().flatten().next();
        let room = room.and_then(|folder| Room::make(folder));
        let mut child = self
            .command(room.as_ref())
            .spawn()
            .map_err(|fault| SignInError::Helper(format!("cannot be started: {fault}")))?;
        let group = Group::of(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let work = async {
            let (out, err) = tokio::join!(read(stdout), read(stderr));
            (child.wait().await, out, err)
        };
        let ended = tokio::time::timeout(self.limit, work).await;
        // Whatever it started goes with it, also when all went well.
        drop(group);
        let Ok((status, out, err)) = ended else {
            return Err(SignInError::Helper(format!(
                "did not end within {:?}",
                self.limit
            )));
        };
        let status = status.map_err(|fault| SignInError::Helper(fault.to_string()))?;
        if !status.success() {
            let said = shown(&String::from_utf8_lossy(&err));
            let said = if said.is_empty() {
                String::new()
            } else {
                format!(": {said}")
            };
            return Err(SignInError::Helper(format!("failed ({status}){said}")));
        }
        headers(&out)
    }

    fn command(&self, room: Option<&Room>) -> Command {
        // Named whole: a repository could bring its own by way of PATH.
        let (shell, flag) = ("/bin/sh", "-c");
        let named = named_variables(&self.command)
            // tidy: the variables that the command itself names.
            .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        #[expect(clippy::disallowed_methods, reason = "in a room, and ended with it")]
        let mut command = Command::new(shell);
        command
            .arg(flag)
            .arg(&self.command)
            .env_clear()
            // What the command names comes first: a search path stays as it was cleaned.
            .envs(named)
            .envs(process::for_children(&self.inherit))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("CLAUDE_CODE_MCP_SERVER_NAME", &self.server)
            .env("CLAUDE_CODE_MCP_SERVER_URL", &self.url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.process_group(0);
        let elsewhere = self.elsewhere.is_some().then_some(Path::new("/"));
        let elsewhere = room.map(Room::path).or(elsewhere);
        if let Some(folder) = elsewhere.or(self.folder.as_deref()) {
            command.current_dir(folder);
        }
        command
    }

    /// What the helper gives, from the last run where there was one.
    async fn current(&self) -> Result<HeaderMap, SignInError> {
        if let Some(known) = self.known.lock().clone() {
            return Ok(known);
        }
        let _turn = self.turn.lock().await;
        if let Some(known) = self.known.lock().clone() {
            return Ok(known);
        }
        let headers = match self.run().await {
            Err(fault) if self.optional => {
                tracing::warn!(server = self.server, %fault, "the configured headers have to do");
                HeaderMap::new()
            }
            ran => ran?,
        };
        *self.known.lock() = Some(headers.clone());
        Ok(headers)
    }
}

impl Authorize for HeadersHelper {
    fn headers<'a>(
        &'a self,
        request: &'a Asking<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, Withheld>> {
        Box::pin(async move {
            let ours = self.current().await.map_err(|fault| fault.to_string())?;
            let mut all = match &self.beneath {
                Some(beneath) if !ours.contains_key(http::header::AUTHORIZATION) => {
                    beneath.headers(request).await?
                }
                _ => HeaderMap::new(),
            };
            all.extend(ours);
            Ok(all)
        })
    }

    fn challenged<'a>(&'a self, refusal: &'a Refusal<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if refusal.status == 401 && refusal.times == 1 {
                *self.known.lock() = None;
                return true;
            }
            match &self.beneath {
                Some(beneath) => beneath.challenged(refusal).await,
                None => false,
            }
        })
    }

    fn answered(&self, headers: &HeaderMap) {
        if let Some(beneath) = &self.beneath {
            beneath.answered(headers);
        }
    }
}

/// The variables that a command for the shell names: `$NAME`, `${NAME…`.
fn named_variables(command: &str) -> impl Iterator<Item = &str> {
    command.split('$').skip(1).filter_map(|after| {
        let name = after.strip_prefix('{').unwrap_or(after);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = name.find(|c| !fits(c)).unwrap_or(name.len());
        let name = &name[..end];
        (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    })
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::new());
    if let Some(pipe) = pipe {
        let _ = pipe
            .take(limits::HELPER_OUTPUT)
            .read_to_end(&mut text)
            .await;
    }
    text
}

fn headers(out: &[u8]) -> Result<HeaderMap, SignInError> {
    // Nothing that was printed is repeated: it holds credentials.
    let object: Map<String, Value> = serde_json::from_slice(out)
        .map_err(|_| SignInError::Helper("did not print a JSON object".into()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in &object {
        let wrong = |what: &str| SignInError::Helper(format!("gave {} {what}", shown(name)));
        let text = value
            .as_str()
            .ok_or_else(|| wrong("a value that is not text"))?;
        let mut value =
            HeaderValue::from_str(text).map_err(|_| wrong("a value that no header can have"))?;
        value.set_sensitive(true);
        secret::remember_value(name, text);
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| wrong("as a name, which no header can have"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The helper's process group, killed when this is dropped.
struct Group {
    leader: Option<rustix::process::Pid>,
}

impl Group {
    fn of(child: &Child) -> Self {
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw);
        Self { leader }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_variables() {
        let command = r#"echo "$A ${B:-x} ${C}" $1 $? $$ '$D' A$E_2-x $"#;
        let named: Vec<_> = named_variables(command).collect();
        assert_eq!(named, ["A", "B", "C", "D", "E_2"]);
    }
}
