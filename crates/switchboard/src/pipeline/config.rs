//! What is configured: to look at, and once nothing stands against it to use.

use super::{Approvals, Approved, Options};
use crate::{
    access::{Access, TokenStore},
    attached,
    connectors::Fetching,
    dirs::NoHome,
    in_use, logs,
    permissions::Purpose,
    roster::{Preview, preview},
    settings::Settings,
    spec::With,
};
#[cfg(feature = "cluster")]
use std::sync::Arc;
use std::{fmt, ops::Deref, path::PathBuf};
use switchboard_config::{
    self as config, Configured, Entry, Environment, Fault, Loaded, Request, Scope,
    expand::{self, Expanded},
};

/// What is configured, as it was found, faults and all. For whoever looks at it or
/// mends it; what it would start needs a [`Config`].
#[derive(Clone, Debug)]
pub struct Look {
    pub(super) options: Options,
    pub(super) loaded: Loaded,
}

impl Deref for Look {
    type Target = Loaded;

    fn deref(&self) -> &Loaded {
        &self.loaded
    }
}

/// What is configured, and nothing stands against using it: what is forbidden can be
/// told, and what was named can be read.
#[derive(Clone, Debug)]
pub struct Config(pub(super) Look);

/// Why nothing of what is configured may be used: all reasons of one kind at once.
#[derive(Clone, Debug)]
pub enum Unusable {
    /// Files that nothing goes on without.
    Files {
        /// What is wrong with them.
        faults: Vec<Fault>,
        /// Whether they are an administrator's: then everything is shut.
        managed: bool,
    },
    /// The user's own rules cannot be told, and might forbid anything.
    Lawless(Vec<Fault>),
    /// Servers were named, and an administrator allows no others than in this file.
    Exclusive(PathBuf),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { faults, .. } | Self::Lawless(faults) => {
                let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            Self::Exclusive(file) => write!(
                f,
                "--mcp-config is not permitted: {} allows no other servers",
                file.display()
            ),
        }
    }
}

impl std::error::Error for Unusable {}

impl Config {
    /// Reads everything. What cannot be used is told with all its faults at once; a
    /// fault in one entry, or in a file that something can go on without, keeps
    /// nobody from using the rest, and is told to [`Options::tell`].
    pub fn load(options: &Options) -> Result<Self, Unusable> {
        let look = Look::new(options);
        look.warn(false);
        look.usable()
    }

    /// Reads everything, to look at it.
    pub fn look(options: &Options) -> Look {
        Look::new(options)
    }

    /// What was read.
    pub fn read(&self) -> &Look {
        &self.0
    }

    /// Keeps what a list of the user's approved, so that a change of it asks again.
    /// What cannot be kept is not used.
    pub fn approve(self, approvals: &Approvals) -> Approved {
        Approved::new(self.0, approvals)
    }
}

/// Whether nothing goes on without a file of this scope.
fn is_fatal(scope: Scope) -> bool {
    matches!(scope, Scope::Dynamic | Scope::Enterprise)
}

impl Look {
    pub(super) fn new(options: &Options) -> Self {
        let loaded = config::load(&Request {
            mcp_config: options.mcp_config.clone(),
            strict: options.strict,
            directory: options.directory.clone(),
            variables: options.variables.clone(),
            own_program: options.own_program.clone(),
            places: options.places(),
            applied: options.applied.read().configured.clone(),
        });
        Self {
            options: options.clone(),
            loaded,
        }
    }

    /// What was read, for use.
    pub fn usable(self) -> Result<Config, Unusable> {
        match self.unusable() {
            Some(unusable) => Err(unusable),
            None => Ok(Config(self)),
        }
    }

    /// The same for whoever goes on without files that were named and cannot be read.
    /// Nobody goes on while it cannot be told what is forbidden.
    pub fn lawful(self) -> Result<Config, Unusable> {
        match self.unusable().filter(|_| self.is_lawless()) {
            Some(unusable) => Err(unusable),
            None => Ok(Config(self)),
        }
    }

    /// Whether it cannot be told what is forbidden: then nothing may be started.
    pub fn is_lawless(&self) -> bool {
        let managed = |(scope, _): &(Scope, Fault)| *scope == Scope::Enterprise;
        !self.loaded.lawless.is_empty() || self.loaded.faults.iter().any(managed)
    }

    /// Why nothing of it may be used, if so.
    pub fn unusable(&self) -> Option<Unusable> {
        let loaded = &self.loaded;
        let fatal = loaded.faults.iter().filter(|(scope, _)| is_fatal(*scope));
        let faults: Vec<Fault> = fatal.map(|(_, fault)| fault.clone()).collect();
        if !faults.is_empty() {
            let managed = loaded.exclusive.is_some();
            return Some(Unusable::Files { faults, managed });
        }
        if !loaded.lawless.is_empty() {
            return Some(Unusable::Lawless(loaded.lawless.clone()));
        }
        // What the user typed is refused, not passed over.
        let file = loaded.exclusive.as_ref()?;
        let typed = |server: &Configured| server.entry.scope == Scope::Dynamic;
        let typed = loaded.servers.iter().any(typed);
        typed.then(|| Unusable::Exclusive(file.clone()))
    }

    /// Tells what is wrong in places that the user did not name. What of it makes
    /// everything [unusable](Self::unusable) is a failure of its own, unless `all` is
    /// to be told because somebody only looks.
    pub fn warn(&self, all: bool) {
        let tells = |(scope, fault): &&(Scope, Fault)| {
            !is_fatal(*scope) && (all || !self.loaded.lawless.contains(fault))
        };
        let tell = &self.options.tell;
        for (_, fault) in self.loaded.faults.iter().filter(tells) {
            tell.warn(&fault.to_string());
        }
        let waiting = self.loaded.environment.waiting();
        if let Some(first) = waiting.first() {
            let names: Vec<&str> = waiting.iter().map(|one| one.name.as_str()).collect();
            tell.warn(&format!(
                "{}: the administrator sets {}, which does not count before you approve it: switchboard approve --environment",
                first.place,
                names.join(", ")
            ));
        }
    }

    /// Adds what running gateways have besides what is configured.
    pub fn bring_along(&mut self) {
        if self.options.strict || self.loaded.exclusive.is_some() {
            return;
        }
        attached::bring_along(&self.options, &mut self.loaded);
    }

    /// What became of each entry, without anything that could be started.
    pub fn previews(&self) -> Vec<Preview> {
        let kit = self.kit(Purpose::Command);
        kit.with(|with| preview(self.loaded.clone(), with))
    }

    /// Where sign-ins are kept. `store` is what the user says for this once.
    pub fn access(&self, store: Option<TokenStore>) -> Result<Access, NoHome> {
        let dirs = self.options.dirs()?;
        let lookup = |name: &str| self.loaded.environment.get(name);
        let directory = &self.options.directory;
        let access = Access::new(directory, &dirs, &self.loaded.sign_in, store, &lookup);
        #[cfg(feature = "sign-in")]
        let access = access.shared(self.options.sign_ins.clone());
        Ok(access)
    }

    /// From now on sign-ins are those of a cluster.
    #[cfg(feature = "cluster")]
    pub fn share_sign_ins(&self, sign_ins: Arc<dyn switchboard_auth::Fleet>) {
        self.options.sign_ins.set(sign_ins);
    }

    /// An entry with its variables filled in, or all that is wrong with it.
    pub fn expanded(&self, entry: &Entry) -> Result<Expanded, Vec<Fault>> {
        if !entry.faults.is_empty() {
            return Err(entry.faults.clone());
        }
        let lookup = |name: &str| self.loaded.environment.get(name);
        expand::expand(entry, &lookup)
    }

    /// The list of connectors that the settings name, if they do.
    pub fn fetching(&self) -> Option<Fetching> {
        let connectors = self.loaded.connectors.as_ref()?;
        let places = self.options.places()?;
        let lookup = |name: &str| self.loaded.environment.get(name);
        Some(Fetching::new(connectors, &places.cache, &lookup))
    }

    /// The files that decide what is configured.
    pub fn files(&self) -> Vec<PathBuf> {
        let looked = self.loaded.looked.iter();
        let mut files: Vec<PathBuf> = looked.map(|looked| looked.file.clone()).collect();
        let named = self.options.mcp_config.iter();
        let named = named.filter(|value| !value.trim_start().starts_with('{'));
        files.extend(named.map(|file| self.options.directory.join(file)));
        if let Some(places) = self.options.places() {
            files.extend([places.approvals(), places.folders()]);
        }
        files
    }

    /// Keeps the file tools away from what this run is told by and runs.
    pub fn protect(&self) {
        let lookup = |name: &str| self.loaded.environment.get(name);
        let directory = &self.options.directory;
        let mut read = self.files();
        let named = in_use::named(&self.loaded, directory, &lookup);
        read.extend(named.read);
        self.options.in_use.set(read, named.run);
    }

    /// What servers are made with.
    pub(super) fn kit(&self, purpose: Purpose) -> Kit {
        let access = self.access(None).ok().map(|access| match purpose {
            // The clients of a gateway can start a sign-in.
            Purpose::Gateway => access.for_clients(),
            Purpose::Command | Purpose::Agent => access,
        });
        Kit {
            directory: self.options.directory.clone(),
            settings: self.settings(),
            access,
            environment: self.loaded.environment.clone(),
        }
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::from_env(|name| self.loaded.environment.get(name));
        if let Ok(dirs) = self.options.dirs() {
            settings.catalogs = Some(dirs.cache.join("catalogs"));
            settings.logs = Some(logs::folder(&dirs));
            // Empty directories are of no use where a repository can fill those above.
            let rooms = dirs.state.join("rooms");
            let places = self.options.places();
            let inside = places.is_none_or(|places| places.is_inside(&rooms));
            settings.rooms = (!inside).then_some(rooms);
        }
        settings.in_use = self.options.in_use.clone();
        settings.far_way = self.options.far_way.clone();
        settings
    }
}

/// What servers are made with, besides their entries.
pub(super) struct Kit {
    directory: PathBuf,
    pub(super) settings: Settings,
    access: Option<Access>,
    environment: Environment,
}

impl Kit {
    pub(super) fn with<T>(&self, make: impl FnOnce(&With<'_>) -> T) -> T {
        make(&With {
            directory: &self.directory,
            settings: &self.settings,
            access: self.access.as_ref(),
            lookup: &|name| self.environment.get(name),
        })
    }
}
