//! A home directory of its own for each test, with a repository that is trusted,
//! and the program run in it to its end.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use switchboard_testkit::{LEGACY, Program, StdioClient};

pub struct Home {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home/repo/.git", "etc"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let home = Self { _dir: dir, root };
        home.write(
            "home/.local/share/switchboard/folders.json",
            r#"{"folders": {"ROOT/home/repo": true}}"#,
        );
        home
    }

    /// The same, where nobody has said that the repository is trusted.
    pub fn untrusted() -> Self {
        let home = Self::new();
        fs::remove_dir_all(home.path("home/.local")).unwrap();
        home
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, text: impl AsRef<str>) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(
            &file,
            text.as_ref()
                .replace("ROOT", &self.root.display().to_string()),
        )
        .unwrap();
        file
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The program, in the repository, with an environment of its own.
    pub fn command(&self, args: &[&str]) -> Command {
        self.any(env!("CARGO_BIN_EXE_switchboard"), args)
    }

    pub fn any(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("SWITCHBOARD_TEST_MANAGED_DIR", self.path("etc"))
            .current_dir(self.path("home/repo"))
            .stdin(Stdio::null());
        command
    }

    /// The program on a terminal of this size, which `script` makes.
    #[track_caller]
    pub fn on_terminal(&self, rows: u16, columns: u16, words: &str) -> Command {
        let there = self.any("script", &["--version"]).output();
        assert!(
            there.is_ok_and(|said| said.status.success()),
            "there is no `script` to make a terminal with: `cargo xtask setup` installs it, \
             or the package that has it (bsdutils, util-linux)"
        );
        let program = env!("CARGO_BIN_EXE_switchboard");
        let line = format!("stty rows {rows} cols {columns}; exec {program} {words}");
        let mut command = self.any("script", &["-qefc", &line, "/dev/null"]);
        command.env("TERM", "xterm");
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap(), &self.root)
    }

    /// The program over stdio in the repository, with a client that has shaken
    /// hands, and with a second server.
    pub async fn serve(&self, args: &[&str]) -> StdioClient {
        let second = super::config(&serde_json::json!({"second": super::echo(&[])}));
        let program = Program::new(env!("CARGO_BIN_EXE_switchboard"));
        let mut launch = program
            .args(["--mcp-config", &second, "serve"])
            .args(args)
            .env("HOME", self.path("home"))
            .env("SWITCHBOARD_TEST_MANAGED_DIR", self.path("etc"))
            .cwd(self.path("home/repo"));
        for (name, folder) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ] {
            launch = launch.env(name, self.path("home").join(folder));
        }
        let mut client = StdioClient::new(launch.spawn());
        client.initialize(LEGACY).await;
        client
    }

    /// Approves without a terminal: what `--show` prints, by its digest.
    #[track_caller]
    pub fn approve(&self, name: &str) -> Ran {
        approve_by(|args| self.run(args), name)
    }

    /// Every file with its content, to see that nothing was written.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.root, &mut found);
        found
    }
}

/// Approves without a terminal, by the digests of what is shown. Gives all that
/// was said.
#[track_caller]
pub fn approve_by(run: impl Fn(&[&str]) -> Ran, name: &str) -> Ran {
    let shown = run(&["approve", name, "--show"]).ok();
    let (mut server, mut all) = (name, shown.out.clone());
    for line in shown.out.lines() {
        if name == "all" && !line.starts_with(' ') {
            server = line;
        }
        if let Some(digest) = line.strip_prefix("  digest    ") {
            all += &run(&["approve", server, "--digest", digest]).ok().out;
        }
    }
    Ran { out: all, ..shown }
}

fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.insert(path.clone(), Vec::new());
            walk(&path, found);
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
}

/// What a run left, with the temporary folder taken out of its texts.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output, root: &Path) -> Self {
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&format!("{}/", root.display()), "/")
                .replace(&root.display().to_string(), "/")
        };
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Succeeds, or says what was said.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}
