//! Somebody who signs in to servers of a strict authorization server.

use super::{RUN_LIMIT, Ran, World};
use crate::oauth::{Site, redirected};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStderr},
    time::timeout,
};
use url::Url;

impl World {
    /// Somebody who keeps sign-ins in files (tests have no keychain), and works in
    /// a folder that is no repository.
    pub fn person() -> Self {
        let world = Self::new().working_in("home/work");
        world.variable("SWITCHBOARD_TOKEN_STORE", "file")
    }

    /// The same with these servers.
    pub fn person_with(servers: &Value) -> Self {
        let world = Self::person();
        world.configure(servers);
        world
    }

    /// Every file of the vault with its text.
    pub fn vault(&self) -> Vec<(PathBuf, String)> {
        let folder = self.path("home/.local/share/switchboard/vault");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                (entry.path(), text)
            })
            .collect()
    }

    /// Changes the stored sign-in of a server, as time would.
    pub fn age(&self, server: &str, change: impl Fn(&mut Value)) {
        let mut found = 0;
        for (path, text) in self.vault() {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.starts_with(&format!("server-{server}-")) && name.ends_with(".json") {
                let mut record: Value = serde_json::from_str(&text).expect("a record");
                change(&mut record);
                fs::write(&path, record.to_string()).expect("our own file");
                found += 1;
            }
        }
        assert_eq!(found, 1, "the sign-in to {server}");
    }

    /// Starts `login --no-browser`, up to the address that it shows.
    pub async fn login(&self, args: &[&str]) -> Login {
        let mut all = vec!["login", "--no-browser"];
        all.extend(args);
        let mut command = self.async_command(&all);
        let child = command.stdin(Stdio::piped()).spawn();
        let mut child = child.expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        let mut err = String::new();
        let page = timeout(RUN_LIMIT, page_in(&mut lines, &mut err)).await;
        let page = page.expect("login says something");
        Login {
            child,
            lines,
            err,
            page,
        }
    }

    /// Signs in to a server by a plain browser elsewhere.
    pub async fn sign_in(&self, server: &str) -> Ran {
        let login = self.login(&[server]).await;
        let page = login
            .page
            .clone()
            .unwrap_or_else(|| panic!("{}", login.err));
        let back = redirected(&page).await;
        login.paste(&back).await
    }
}

/// The first address on stderr.
async fn page_in(lines: &mut Lines<BufReader<ChildStderr>>, err: &mut String) -> Option<Url> {
    while let Ok(Some(line)) = lines.next_line().await {
        err.push_str(&line);
        err.push('\n');
        if line.trim_start().starts_with("http") {
            return Url::parse(line.trim()).ok();
        }
    }
    None
}

/// A sign-in under way.
pub struct Login {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    /// What it said on stderr so far.
    pub err: String,
    /// The page that it shows, if it came so far.
    pub page: Option<Url>,
}

impl Login {
    /// Pastes where the browser ended up.
    pub async fn paste(mut self, back: &str) -> Ran {
        if let Some(mut stdin) = self.child.stdin.take() {
            let _ = stdin.write_all(format!("{back}\n").as_bytes()).await;
        }
        let status = self.finish().await;
        let mut out = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut out).await.expect("text");
        }
        Ran {
            code: status.code(),
            out,
            err: self.err,
        }
    }

    async fn finish(&mut self) -> ExitStatus {
        let work = async {
            while let Ok(Some(line)) = self.lines.next_line().await {
                self.err.push_str(&line);
                self.err.push('\n');
            }
            self.child.wait().await.expect("our own child")
        };
        timeout(RUN_LIMIT, work).await.expect("login ends")
    }
}

/// An entry for a protected server.
pub fn protected(site: &Site, path: &str) -> Value {
    json!({ "type": "http", "url": site.url(path).as_str() })
}

/// The state of each server in `list --json`.
pub fn states(list: &Ran) -> Vec<(String, String)> {
    let rows = list.json();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| (text(row, "name"), text(row, "state")))
        .collect()
}

/// A browser for tests: follows redirects, as `xdg-open` would let one do.
pub fn fake_browser(world: &World) {
    assert!(
        Path::new("/usr/bin/curl").exists() || Path::new("/bin/curl").exists(),
        "curl is missing"
    );
    let log = world.path("home/opened");
    world.program(
        "xdg-open",
        &format!(
            "#!/bin/sh\necho \"$1\" >> {}\nexec curl -sL --max-time 30 -o /dev/null \"$1\"\n",
            log.display()
        ),
    );
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.expect("after 1970").as_millis()).expect("before the end of time")
}

/// Makes a stored access token useless.
pub fn expire(record: &mut Value) {
    record["tokens"]["received_at"] = json!(now_ms() - 3_600_000);
    record["tokens"]["expires_at"] = json!(now_ms() - 1);
}
