//! A world of its own for each test: a home with settings in it, an
//! administrator's folder, a folder to work in; the program in it, its servers,
//! a gateway, and clients of both eras.
//!
//! ```no_run
//! # async fn test() {
//! use serde_json::json;
//! use switchboard_testkit::world::{World, echo, servers};
//!
//! let world = World::with(&servers([("left", echo(&[]))]));
//! let gateway = world.gateway().await;
//! let mut client = world.attached(&[]).await;
//! assert_eq!(client.call("left__echo", json!({"nonce": "n"})).await["id"], 2);
//! world.run(&["list"]).await.ok();
//! # drop(gateway);
//! # }
//! ```

mod approving;
mod carriers;
mod client;
mod entries;
pub(crate) mod environment;
mod gateway;
mod processes;
mod ran;
mod replicas;
mod signing;

pub use approving::approve_by;
pub use carriers::{CARRIERS, Carrier, Served, Upstream};
pub use client::{Client, able_to, news, to_the_end};
pub use entries::{address, answering, command, config, echo, echo_http, servers, shell_server};
pub use gateway::{Gateway, http, stdio, stdio_client, tool_names, until_listed};
pub use processes::{alive, children, guard_of, kib, kill, numbers, peak_mib, until, worker_of};
pub use ran::{RUN_LIMIT, Ran, run, run_with};
pub use signing::{Login, expire, fake_browser, now_ms, protected, states};

use crate::{LEGACY, Launch, Program, StdioClient, bin};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How often something is tried: this often in a run of all tests, and as often as it
/// should be where `cargo xtask soak full` asks for that.
pub fn tries(sample: usize, full: usize) -> usize {
    let wanted = std::env::var_os("SWITCHBOARD_TEST_FULL");
    if wanted.is_some_and(|value| value == "1") {
        full
    } else {
        sample
    }
}

/// How many rounds `cargo xtask soak` asks for, if it is that.
pub fn soak_rounds() -> Option<usize> {
    std::env::var("SWITCHBOARD_SOAK_ROUNDS").ok()?.parse().ok()
}

/// The first round's seed.
pub fn soak_seed() -> usize {
    let seed = std::env::var("SWITCHBOARD_SOAK_SEED").ok();
    seed.and_then(|seed| seed.parse().ok()).unwrap_or_default()
}

/// The program, ready for arguments, in an empty home of its own.
pub fn switchboard() -> Launch {
    Program::new(bin("switchboard"))
}

/// A folder with `home`, `etc` (an administrator's) and `tmp` in it, which lives
/// as long as the world or a program in it. Paths begin at that folder; in texts
/// that are written `ROOT` stands for it.
#[derive(Clone, Debug)]
pub struct World {
    folder: Arc<tempfile::TempDir>,
    /// The folder, as the system names it.
    pub root: PathBuf,
    work: PathBuf,
    variables: BTreeMap<String, OsString>,
}

impl World {
    /// Nothing but empty folders; programs start in the home.
    ///
    /// # Panics
    /// When no folder can be made.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        for part in ["home", "etc", "tmp"] {
            fs::create_dir_all(root.join(part)).expect("a folder in our own");
        }
        Self {
            folder: Arc::new(folder),
            work: root.join("home"),
            root,
            variables: BTreeMap::new(),
        }
    }

    /// With these servers for the user everywhere.
    pub fn with(servers: &Value) -> Self {
        let world = Self::new();
        world.configure(servers);
        world
    }

    /// Programs start in `home/repo`, a repository that the user trusts.
    pub fn repository() -> Self {
        let world = Self::untrusted();
        world.write(
            "home/.local/share/switchboard/folders.json",
            r#"{"folders": {"ROOT/home/repo": true}}"#,
        );
        world
    }

    /// The same, where nobody has said that the repository is trusted.
    pub fn untrusted() -> Self {
        let world = Self::new().working_in("home/repo");
        fs::create_dir_all(world.path("home/repo/.git")).expect("a folder in our own");
        world
    }

    /// Programs start in this folder, which is made.
    #[must_use]
    pub fn working_in(mut self, path: &str) -> Self {
        self.work = self.path(path);
        fs::create_dir_all(&self.work).expect("a folder in our own");
        self
    }

    /// One more variable for every program.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Without a variable of ours.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    /// A path in this world.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The user's own settings.
    pub fn settings(&self) -> PathBuf {
        self.path("home/.config/switchboard/settings.json")
    }

    /// Writes the user's servers.
    pub fn configure(&self, servers: &Value) {
        self.write(self.settings(), config(servers));
    }

    /// Writes the user's settings.
    pub fn write_settings(&self, settings: &Value) {
        self.write(self.settings(), settings.to_string());
    }

    /// Writes a file whole, as an editor would: nobody reads half of it, links
    /// stay links, and rights stay as they were. Gives its path.
    ///
    /// # Panics
    /// When that is not possible.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<str>) -> PathBuf {
        let file = self.path(path);
        let parent = file.parent().expect("a file lies in a folder");
        fs::create_dir_all(parent).expect("a folder in our own");
        let root = self.root.display().to_string();
        let text = text.as_ref().replace("ROOT", &root);
        let Ok(there) = file.canonicalize() else {
            fs::write(&file, text).expect("a file in our own folder");
            return file;
        };
        let mut name = there.file_name().expect("a file has a name").to_owned();
        name.push(".new");
        let new = there.with_file_name(name);
        let rights = fs::metadata(&there).expect("our own file").permissions();
        fs::write(&new, text).expect("a file in our own folder");
        fs::set_permissions(&new, rights).expect("our own file");
        fs::rename(&new, &there).expect("a file in our own folder");
        file
    }

    /// The text of a file.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let file = self.path(path);
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    /// Every file with its content, to see that nothing was written.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.root, &mut found);
        found
    }

    /// A token of the user's.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn token(&self, path: &str) -> String {
        let folder = Path::new("home/.local/share/switchboard");
        self.read(folder.join(path)).trim().to_owned()
    }

    /// Puts a program on the search path, before all others.
    pub fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let file = self.write(format!("home/bin/{name}"), script);
        let runnable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(file, runnable).expect("our own file");
    }

    /// All that a program sees here.
    pub fn environment(&self) -> Vec<(String, OsString)> {
        let (home, tmp) = (self.home(), self.path("tmp"));
        let path = format!("{}:{}", home.join("bin").display(), environment::SYSTEM);
        let all = environment::environment(&home, &self.path("etc"), &tmp, path.into());
        let all = all
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let own = self.variables.iter();
        all.chain(own.map(|(name, value)| (name.clone(), value.clone())))
            .collect()
    }

    /// The program in this world, with clients of ours.
    pub fn launch(&self, args: &[&str]) -> Launch {
        self.launch_any(bin("switchboard")).args(args)
    }

    /// The program in this world, with so many descriptors at most.
    pub fn launch_within(&self, descriptors: u32, args: &[&str]) -> Launch {
        let limited = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
        self.launch_any("/bin/sh")
            .args(["-c", &limited])
            .arg(bin("switchboard"))
            .args(args)
    }

    /// Any program in this world.
    pub fn launch_any(&self, program: impl AsRef<Path>) -> Launch {
        Launch::within(
            program.as_ref(),
            self.environment(),
            &self.work,
            (self.home(), self.folder.clone()),
        )
    }

    /// The program as a plain command, its input empty.
    pub fn command(&self, args: &[&str]) -> Command {
        self.any(bin("switchboard"), args)
    }

    /// The program as a command of a test that goes on meanwhile: its output is
    /// piped, and it ends with the test.
    pub fn async_command(&self, args: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::from(self.command(args));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    /// Any program as a plain command, its input empty.
    pub fn any(&self, program: impl AsRef<Path>, args: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .args(args)
            .env_clear()
            .envs(self.environment())
            .current_dir(&self.work)
            .stdin(Stdio::null());
        command
    }

    /// The program on a terminal of this size, which `script` makes.
    ///
    /// # Panics
    /// When there is no `script`.
    #[track_caller]
    pub fn on_terminal(&self, rows: u16, columns: u16, words: &str) -> Command {
        let there = self.any("script", &["--version"]).output();
        assert!(
            there.is_ok_and(|said| said.status.success()),
            "there is no `script` to make a terminal with: `cargo xtask setup` installs it, \
             or the package that has it (bsdutils, util-linux)"
        );
        let program = bin("switchboard");
        let program = program.display();
        let line = format!("stty rows {rows} cols {columns}; exec {program} {words}");
        let mut command = self.any("script", &["-qefc", &line, "/dev/null"]);
        command.env("TERM", "xterm");
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, args: &[&str]) -> Ran {
        run(self.launch(args)).await
    }

    /// Runs the program to its end where nothing else goes on in the test, and
    /// takes the world's folder out of what it says.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn show(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the program starts");
        Ran::of(output).without(&self.root)
    }

    /// A gateway on a free port, once other commands can find it.
    pub async fn gateway(&self) -> Program {
        self.gateway_with(&[]).await
    }

    /// A gateway on a free port with these options, once other commands can find it.
    ///
    /// # Panics
    /// When it leaves no note.
    pub async fn gateway_with(&self, args: &[&str]) -> Program {
        let (program, _) = self.serve(args).await;
        let noted = until(Duration::from_secs(20), || {
            (!self.notes().is_empty()).then_some(())
        });
        noted.await.expect("a note is left");
        program
    }

    /// A gateway on a free port, and its address.
    pub async fn serve(&self, args: &[&str]) -> (Program, String) {
        let launch = self.launch(&["serve", "--http", "127.0.0.1:0"]);
        let program = launch.args(args).spawn();
        let url = program.url().await;
        (program, url)
    }

    /// The notes of running gateways.
    pub fn notes(&self) -> Vec<PathBuf> {
        let folder = self.path("home/.local/state/switchboard/gateways");
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = files.map(|file| file.path());
        files
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect()
    }

    /// A stdio client of `serve`.
    pub fn client(&self, args: &[&str]) -> StdioClient {
        StdioClient::new(self.launch(&["serve"]).args(args).spawn())
    }

    /// A stdio client of `serve`, attached to the gateway that runs.
    pub async fn attached(&self, args: &[&str]) -> StdioClient {
        let mut client = self.client(args);
        client.initialize(LEGACY).await;
        client
            .program
            .wait_for_line("attached to the gateway")
            .await;
        client
    }

    /// A stdio client of `serve` that has shaken hands, where an echo server
    /// called `second` stands beside what is configured.
    pub async fn beside_a_second(&self, args: &[&str]) -> StdioClient {
        let second = config(&json!({"second": echo(&[])}));
        let launch = self.launch(&["--mcp-config", &second, "serve"]);
        let mut client = StdioClient::new(launch.args(args).spawn());
        client.initialize(LEGACY).await;
        client
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.insert(path.clone(), Vec::new());
            walk(&path, found);
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
}
