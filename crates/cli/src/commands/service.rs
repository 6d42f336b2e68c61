//! `service`: the gateway starts with the machine. On Linux that is a unit of the
//! user's systemd, on macOS an agent of launchd.

mod text;

use crate::{
    args::Cli,
    context::{Context, warn},
    failure::{Advice, Code, Failure},
    show::{out, safe},
};
use clap::{Args, CommandFactory, Subcommand};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use switchboard::local::private;
use text::Service;

/// What the unit is called.
const UNIT: &str = "switchboard.service";
/// What the agent is called.
const LABEL: &str = "switchboard.gateway";

/// Options of `service`.
#[derive(Debug, Args)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Have `up` start in this directory with the machine, and start it now
    Install {
        /// Options of up, after --
        #[arg(value_name = "OPTIONS", last = true)]
        up: Vec<String>,
    },
    /// Stop it, and have it start no more
    Uninstall,
    /// Say whether it is installed, and whether it runs
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Does it.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let manager = Manager::of(context)?;
    match &options.action {
        Action::Install { up } => install(context, &manager, up),
        Action::Uninstall => uninstall(&manager),
        Action::Status { json } => status(&manager, *json),
    }
}

/// Starts it anew, if it is what runs the gateway. Whether it is.
pub fn restart(context: &Context) -> Result<bool, Failure> {
    let manager = Manager::of(context)?;
    if !manager.file.exists() || manager.state().as_deref() != Some(ACTIVE) {
        return Ok(false);
    }
    let verb = match manager.hands_over() {
        true => Verb::Reload,
        false => Verb::Restart,
    };
    manager.tell(&manager.words(verb)).map_err(|why| {
        Failure::new(
            Code::Answered,
            format!("the service was not restarted: {why}"),
        )
    })?;
    Ok(true)
}

fn install(context: &Context, manager: &Manager, up: &[String]) -> Result<Code, Failure> {
    let words = ["switchboard", "up"]
        .into_iter()
        .chain(up.iter().map(String::as_str));
    if let Err(error) = Cli::command().try_get_matches_from(words) {
        let first = error.render().to_string();
        let first = first
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        return Err(Failure::usage(first).hint("what follows -- are options of switchboard up"));
    }
    let program = std::env::current_exe().map_err(Failure::from)?;
    let path = context.options.variables.get("PATH").unwrap_or_default();
    let service = Service {
        program: &program,
        directory: &context.options.directory,
        words: up,
        path: &path.to_string_lossy(),
    };
    let text = match manager.kind {
        Kind::Systemd => service.unit(),
        Kind::Launchd => service.agent(LABEL),
    };
    let text = text.map_err(|why| Failure::usage(why.to_string()))?;
    let folder = manager.file.parent().unwrap_or(Path::new("."));
    private::make_folder(folder)
        .and_then(|()| private::write(&manager.file, text.as_bytes()))
        .map_err(|error| {
            let text = format!("{}: {error}", manager.file.display());
            Failure::new(Code::Configuration, text)
        })?;
    out::line(&format!(
        "Written: {}",
        safe::line(&manager.file.display().to_string())
    ))?;
    for words in manager.words(Verb::Install) {
        if let Err(why) = manager.tell(std::slice::from_ref(&words)) {
            let line = words.join(" ");
            warn(&format!("not done: {why}\nto start it, say: {line}"));
            return Ok(Code::Done);
        }
    }
    out::line("It runs now, and starts when you log in.")?;
    if manager.kind == Kind::Systemd {
        out::line(
            "To have it start with the machine, before anybody logs in: loginctl enable-linger",
        )?;
    }
    Ok(Code::Done)
}

fn uninstall(manager: &Manager) -> Result<Code, Failure> {
    if !manager.file.exists() {
        out::line("No service is installed.")?;
        return Ok(Code::Done);
    }
    if let Err(why) = manager.tell(&manager.words(Verb::Uninstall)) {
        warn(&format!("it could not be stopped: {why}"));
    }
    std::fs::remove_file(&manager.file)?;
    // What has no file any more is forgotten.
    if manager.kind == Kind::Systemd {
        let _ = manager.tell(&[systemctl(&["daemon-reload"])]);
    }
    out::line(&format!(
        "Removed: {}",
        safe::line(&manager.file.display().to_string())
    ))?;
    Ok(Code::Done)
}

fn status(manager: &Manager, json: bool) -> Result<Code, Failure> {
    let installed = manager.file.exists();
    let state = manager.state().filter(|_| installed);
    let file = manager.file.display().to_string();
    if json {
        let whole = json!({"installed": installed, "file": file, "state": state});
        out::json(whole.to_string().as_bytes())?;
    } else if installed {
        let state = state
            .as_deref()
            .unwrap_or("unknown: its manager does not answer");
        out::line(&format!("Installed: {}", safe::line(&file)))?;
        out::line(&format!("State: {}", safe::line(state)))?;
    } else {
        out::line(
            "No service is installed. To have the gateway start with the machine: switchboard service install",
        )?;
    }
    Ok(Code::Done)
}

/// The state of one that runs, in its manager's word.
const ACTIVE: &str = "active";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Systemd,
    Launchd,
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Install,
    Uninstall,
    Restart,
    Reload,
}

/// Whoever starts services here.
struct Manager {
    kind: Kind,
    file: PathBuf,
}

impl Manager {
    fn of(context: &Context) -> Result<Self, Failure> {
        let home = context.places()?.home.ok_or_else(|| {
            Failure::new(Code::Configuration, "the home directory is not known").hint("set HOME")
        })?;
        if cfg!(target_os = "macos") {
            let folder = home.join("Library/LaunchAgents");
            let file = folder.join(format!("{LABEL}.plist"));
            return Ok(Self {
                kind: Kind::Launchd,
                file,
            });
        }
        let config = context.options.variables.get("XDG_CONFIG_HOME");
        let config = config.map(PathBuf::from).filter(|path| path.is_absolute());
        let config = config.unwrap_or_else(|| home.join(".config"));
        Ok(Self {
            kind: Kind::Systemd,
            file: config.join("systemd/user").join(UNIT),
        })
    }

    /// Whether one can take the place of another. Units of earlier versions do not say how.
    fn hands_over(&self) -> bool {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        self.kind == Kind::Systemd && text.lines().any(|line| line.starts_with("ExecReload="))
    }

    /// The commands for it, one after the other.
    fn words(&self, verb: Verb) -> Vec<Vec<String>> {
        let domain = format!("gui/{}", rustix::process::geteuid().as_raw());
        let service = format!("{domain}/{LABEL}");
        let file = self.file.display().to_string();
        match (self.kind, verb) {
            (Kind::Systemd, Verb::Install) => vec![
                systemctl(&["daemon-reload"]),
                systemctl(&["enable", "--now", UNIT]),
            ],
            (Kind::Systemd, Verb::Uninstall) => vec![systemctl(&["disable", "--now", UNIT])],
            (Kind::Systemd, Verb::Restart) => vec![systemctl(&["restart", UNIT])],
            (Kind::Systemd, Verb::Reload) => vec![systemctl(&["reload", UNIT])],
            (Kind::Launchd, Verb::Install) => {
                vec![line("launchctl", &["bootstrap", &domain, &file])]
            }
            (Kind::Launchd, Verb::Uninstall) => vec![line("launchctl", &["bootout", &service])],
            (Kind::Launchd, Verb::Restart | Verb::Reload) => {
                vec![line("launchctl", &["kickstart", "-k", &service])]
            }
        }
    }

    /// Runs commands; why one did not do it, in its own words.
    fn tell(&self, commands: &[Vec<String>]) -> Result<(), Advice> {
        for words in commands {
            #[expect(
                clippy::disallowed_methods,
                reason = "the system's own manager of services"
            )]
            let ran = Command::new(&words[0]).args(&words[1..]).output();
            let ran = ran.map_err(|error| Advice::from(format!("{}: {error}", words[0])))?;
            if !ran.status.success() {
                let said = String::from_utf8_lossy(&ran.stderr);
                return Err(format!("{}: {}", words.join(" "), said.trim()).into());
            }
        }
        Ok(())
    }

    /// How it is doing, if its manager says so.
    fn state(&self) -> Option<String> {
        let words = match self.kind {
            Kind::Systemd => systemctl(&["is-active", UNIT]),
            Kind::Launchd => line("launchctl", &["list", LABEL]),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the system's own manager of services"
        )]
        let ran = Command::new(&words[0]).args(&words[1..]).output().ok()?;
        if self.kind == Kind::Launchd {
            return ran.status.success().then(|| ACTIVE.to_owned());
        }
        let said = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
        (!said.is_empty()).then_some(said)
    }
}

fn systemctl(words: &[&str]) -> Vec<String> {
    line("systemctl", &[&["--user"], words].concat())
}

fn line(program: &str, words: &[&str]) -> Vec<String> {
    [&[program], words]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
}
