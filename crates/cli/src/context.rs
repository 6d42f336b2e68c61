//! What every command works with.

use crate::{
    args::Global,
    failure::{Code, Failure},
    show::{safe, term},
};
use std::{io::Write, path::PathBuf};
use switchboard::{
    Roster, Settings,
    config::{self, Loaded, Request, Scope},
    wire::name::Style,
};

/// The global options, and where we are.
#[derive(Debug)]
pub struct Context {
    /// As given.
    pub global: Global,
    /// The directory we work in.
    pub directory: PathBuf,
}

impl Context {
    /// Goes to the directory that `-C` names.
    pub fn new(global: Global) -> Result<Self, Failure> {
        if let Some(directory) = &global.directory {
            std::env::set_current_dir(directory).map_err(|error| {
                Failure::usage(format!("-C {}: {error}", directory.display()))
                    .hint("give a directory that exists")
            })?;
        }
        let directory = std::env::current_dir().map_err(|error| {
            Failure::new(
                Code::Usage,
                format!("the working directory cannot be found: {error}"),
            )
        })?;
        term::decide(global.no_color);
        Ok(Self { global, directory })
    }

    /// Reads what is configured, and tells about what cannot be read in places
    /// that the user did not name.
    pub fn load(&self) -> Loaded {
        let own = std::env::current_exe()
            .ok()
            .and_then(|path| path.canonicalize().ok());
        let loaded = config::load(&Request {
            mcp_config: self.global.mcp_config.clone(),
            strict: self.global.strict_mcp_config,
            directory: self.directory.clone(),
            own_program: own,
        });
        for (scope, fault) in &loaded.faults {
            if *scope == Scope::Project {
                warn(&fault.to_string());
            }
        }
        loaded
    }

    /// The same, for commands that must not go on without what the user named.
    pub fn load_all(&self) -> Result<Loaded, Failure> {
        let loaded = self.load();
        match unusable(&loaded) {
            Some(failure) => Err(failure),
            None => Ok(loaded),
        }
    }

    /// Turns what was loaded into servers.
    pub fn roster(&self, loaded: Loaded, style: Style) -> (Roster, Settings) {
        let settings = Settings::from_env(variable);
        (Roster::new(loaded, &settings, style, &variable), settings)
    }
}

/// The failure that unreadable `--mcp-config` files are, all of them at once.
pub fn unusable(loaded: &Loaded) -> Option<Failure> {
    let faults = loaded
        .faults
        .iter()
        .filter(|(scope, _)| *scope == Scope::Dynamic);
    let texts: Vec<String> = faults.map(|(_, fault)| fault.to_string()).collect();
    (!texts.is_empty()).then(|| Failure::new(Code::Configuration, texts.join("\n")))
}

/// Tells the user something on stderr.
pub fn warn(text: &str) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "{} {}",
        term::stderr().yellow("warning:"),
        safe::lines(text)
    );
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
