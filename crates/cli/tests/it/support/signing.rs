//! A person with a home directory who signs in to servers of a strict
//! authorization server.

use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
    sync::Arc,
    time::Duration,
};
use switchboard_testkit::{
    Launch, Program,
    oauth::{Site, redirected},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStderr, Command},
    time::timeout,
};
use url::Url;

pub const LIMIT: Duration = Duration::from_secs(180);

/// A home that lives as long as the test, for many runs of the program.
#[derive(Clone)]
pub struct Person {
    home: Arc<tempfile::TempDir>,
    variables: Vec<(String, String)>,
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

impl Person {
    /// Keeps sign-ins in files: tests have no keychain.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("bin")).unwrap();
        fs::create_dir_all(home.path().join("work")).unwrap();
        Self {
            home: Arc::new(home),
            variables: vec![("SWITCHBOARD_TOKEN_STORE".into(), "file".into())],
        }
    }

    /// With these servers for the user everywhere.
    pub fn with(servers: &Value) -> Self {
        let person = Self::new();
        person.settings(&json!({ "mcpServers": servers }));
        person
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self
    }

    pub fn settings(&self, settings: &Value) {
        self.write(".config/switchboard/settings.json", &settings.to_string());
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        file
    }

    /// Puts a program on the search path, before all others.
    pub fn program(&self, name: &str, script: &str) {
        let file = self.write(&format!("bin/{name}"), script);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Every file of the vault with its text.
    pub fn vault(&self) -> Vec<(PathBuf, String)> {
        let folder = self.path(".local/share/switchboard/vault");
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
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.starts_with(&format!("server-{server}-")) && name.ends_with(".json") {
                let mut record: Value = serde_json::from_str(&text).unwrap();
                change(&mut record);
                fs::write(&path, record.to_string()).unwrap();
                found += 1;
            }
        }
        assert_eq!(found, 1, "the sign-in to {server}");
    }

    /// The program, ready to be started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.path("bin").display()
        );
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", path)
            .env("SWITCHBOARD_TEST_MANAGED_DIR", self.path("etc"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// The same for the testkit's clients.
    pub fn launch(&self, args: &[&str]) -> Launch {
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.path("bin").display()
        );
        let mut launch = Program::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(args)
            .env("HOME", self.home.path())
            .env("PATH", path)
            .env("SWITCHBOARD_TEST_MANAGED_DIR", self.path("etc"))
            .cwd(self.path("work"));
        for (variable, folder) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ] {
            launch = launch.env(variable, self.path(folder));
        }
        for (name, value) in &self.variables {
            launch = launch.env(name, value);
        }
        launch
    }

    /// A gateway of this person's over HTTP, and its address.
    pub async fn serve(&self, args: &[&str]) -> (Program, String) {
        let mut all = vec!["serve", "--http", "127.0.0.1:0"];
        all.extend(args);
        let program = self.launch(&all).spawn();
        let url = program.url().await;
        (program, url)
    }

    /// Runs it to its end.
    pub async fn run(&self, args: &[&str]) -> Ran {
        let child = self.command(args).spawn().unwrap();
        let output = timeout(LIMIT, child.wait_with_output()).await;
        ran(output
            .unwrap_or_else(|_| panic!("{args:?} takes too long"))
            .unwrap())
    }

    /// Starts `login --no-browser`, up to the address that it shows.
    pub async fn login(&self, args: &[&str]) -> Login {
        let mut all = vec!["login", "--no-browser"];
        all.extend(args);
        let mut child = self.command(&all).stdin(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut err = String::new();
        let page = timeout(LIMIT, page_in(&mut lines, &mut err)).await.unwrap();
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
    pub err: String,
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
            stdout.read_to_string(&mut out).await.unwrap();
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
            self.child.wait().await.unwrap()
        };
        timeout(LIMIT, work).await.expect("login ends")
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
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
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (text(row, "name"), text(row, "state")))
        .collect()
}

/// A browser for tests: follows redirects, as `xdg-open` would let one do.
pub fn fake_browser(person: &Person) {
    assert!(
        Path::new("/usr/bin/curl").exists() || Path::new("/bin/curl").exists(),
        "curl is missing"
    );
    let log = person.path("opened");
    person.program(
        "xdg-open",
        &format!(
            "#!/bin/sh\necho \"$1\" >> {}\nexec curl -sL --max-time 30 -o /dev/null \"$1\"\n",
            log.display()
        ),
    );
}

pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

/// Makes a stored access token useless.
pub fn expire(record: &mut Value) {
    record["tokens"]["received_at"] = json!(now_ms() - 3_600_000);
    record["tokens"]["expires_at"] = json!(now_ms() - 1);
}
