//! What a run is set in: folders of its own, programs, an environment without surprises.

use super::package::Package;
use crate::bench::subjects::token;
use crate::process::Server as Gateway;
use crate::{paths, setup};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a gateway may take until it listens.
const GATEWAY_START: Duration = Duration::from_secs(60);

/// Folders and programs of one run.
pub struct Scene {
    /// Logs, and files that clients are configured with.
    pub scratch: PathBuf,
    /// A repository of git with one file.
    pub work: PathBuf,
    /// Everybody's home.
    pub home: PathBuf,
    /// The program that is tried.
    pub switchboard: PathBuf,
    /// Our Node.js first, then the machine's programs.
    pub path: OsString,
}

impl Scene {
    /// Makes the folders, and finds the programs.
    pub fn set(profile: &str) -> Result<Self> {
        let tools = setup::run()?;
        let scratch = paths::scratch("peers")?;
        let (work, home) = (scratch.join("work"), scratch.join("home"));
        for folder in [&work, &home] {
            fs::create_dir_all(folder)?;
        }
        let node = tools.node.parent().context("node is in no folder")?;
        let mut path = node.as_os_str().to_owned();
        path.push(":/usr/local/bin:/usr/bin:/bin");
        let scene = Self {
            work: work.canonicalize()?,
            home: home.canonicalize()?,
            switchboard: paths::program(profile, "switchboard")?,
            scratch,
            path,
        };
        scene.fill_work()?;
        Ok(scene)
    }

    /// A commit that is the same on every machine.
    fn fill_work(&self) -> Result<()> {
        fs::write(self.work.join("hello.txt"), "hello from a file\n")?;
        let known = r#"{"type":"entity","name":"peers","entityType":"x","observations":["hello from memory"]}"#;
        fs::write(self.work.join("memory.jsonl"), format!("{known}\n"))?;
        let who = ["-c", "user.name=peers", "-c", "user.email=peers@localhost"];
        for args in [
            vec!["init", "--quiet"],
            vec!["add", "hello.txt"],
            [&who[..], &["commit", "--quiet", "-m", "the first commit"]].concat(),
        ] {
            let mut git = self.command("git");
            let output = git.args(&args).current_dir(&self.work).output();
            let output = output.context("git")?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "git {}: {said}", args.join(" "));
        }
        Ok(())
    }

    /// A command in `home`, which sees nothing of our environment but how a network is
    /// reached.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| reaches(name)))
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .current_dir(&self.work);
        command
    }

    /// A program of an installed package.
    pub fn program(&self, package: &Package, name: &str) -> Result<PathBuf> {
        let path = package.programs()?.join(name);
        let title = package.title();
        ensure!(path.exists(), "{title} has no program {name}");
        Ok(path)
    }

    /// `text` with what only this run knows.
    pub fn filled(&self, text: &str) -> String {
        text.replace("{work}", &self.work.display().to_string())
    }

    /// A new folder in `scratch`.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Starts a gateway with these servers. It has a home of its own, so that nothing
    /// is known from before.
    pub fn gateway(&self, name: &str, servers: &Value) -> Result<(Gateway, String)> {
        let config = self.config(name, servers)?;
        let home = self.folder(&format!("{name}-home"))?;
        let file = token(&home)?;
        let mut command = self.command(&self.switchboard);
        command
            .args(["serve", "--http", "127.0.0.1:0", "--token-file"])
            .arg(&file)
            .args(["--strict-mcp-config", "--mcp-config"])
            .arg(config)
            .env("HOME", &home)
            .current_dir(&home);
        let log = self.scratch.join(format!("{name}.log"));
        let gateway = Gateway::start(&mut command, log, GATEWAY_START)?;
        Ok((gateway, fs::read_to_string(file)?.trim().to_owned()))
    }

    /// Writes a file of servers.
    pub fn config(&self, name: &str, servers: &Value) -> Result<PathBuf> {
        let file = self.scratch.join(format!("{name}.mcp.json"));
        let text = serde_json::json!({ "mcpServers": servers }).to_string();
        fs::write(&file, text)?;
        Ok(file)
    }
}

/// Whether a variable says how a network is reached. Nobody has to for what is tried,
/// but some look for news first, and wait long where they cannot.
fn reaches(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    let ends = [
        "_PROXY",
        "_CA_CERTS",
        "_CA_BUNDLE",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ];
    ends.iter().any(|end| name.ends_with(end))
}

/// Where the text of a log ends.
pub fn last_words(log: &Path, lines: usize) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    crate::process::tail(text.trim_end(), lines)
}
