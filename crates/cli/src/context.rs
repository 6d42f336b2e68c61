//! What every command works with.

use crate::{
    args::Global,
    connectors::{self, Late},
    failure::{Code, Failure},
    show::{live, safe, term},
    told, trusting,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use switchboard::{
    Access, Dirs, Purpose, Roster, Settings,
    attached::Attached,
    auth::TokenStore,
    builtin::InUse,
    config::{
        self, Configured, Entry, Loaded, Places, Request, Scope, Standing, approval::Store,
        environment::Environment, settings::PermissionRule,
    },
    host::{Host, permission::Mode},
    in_use,
    local::secret,
    logs,
    roster::{Reloaded, With},
    running,
    wire::name::Style,
};

/// The global options, and where we are.
#[derive(Clone, Debug)]
pub struct Context {
    /// As given.
    pub global: Global,
    /// The directory we work in.
    pub directory: PathBuf,
    /// A list of connectors that may be on its way.
    pub late: Late,
    /// What this run is told by and runs: the file tools leave it alone.
    pub in_use: InUse,
    /// Gateways that run and answer, once they have been asked.
    gateways: Arc<OnceLock<Vec<Attached>>>,
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
            let text = format!("the working directory cannot be found: {error}");
            Failure::new(Code::Usage, text).hint("go to a directory that exists, or use -C DIR")
        })?;
        term::decide(global.no_color);
        Ok(Self {
            global,
            directory,
            late: Late::default(),
            in_use: InUse::default(),
            gateways: Arc::default(),
        })
    }

    /// Reads what is configured, and tells about what cannot be read in places
    /// that the user did not name.
    pub fn load(&self) -> Loaded {
        self.load_telling(|loaded, (scope, fault)| {
            // What nothing goes on without is told as the failure that it is.
            !is_fatal(*scope) && !loaded.lawless.contains(fault)
        })
    }

    /// The same for commands that only look at what is configured, or mend it.
    pub fn load_to_look(&self) -> Loaded {
        self.load_telling(|_, (scope, _)| !is_fatal(*scope))
    }

    fn load_telling(&self, tells: impl Fn(&Loaded, &(Scope, config::Fault)) -> bool) -> Loaded {
        let loaded = read(&self.global, &self.directory);
        for fault in loaded.faults.iter().filter(|fault| tells(&loaded, fault)) {
            warn(&fault.1.to_string());
        }
        let waiting = loaded.environment.waiting();
        if let Some(first) = waiting.first() {
            let names: Vec<&str> = waiting.iter().map(|one| one.name.as_str()).collect();
            warn(&format!(
                "{}: the administrator sets {}, which does not count before you approve it: switchboard approve --environment",
                first.place,
                names.join(", ")
            ));
        }
        loaded
    }

    /// The same without a word.
    pub fn quiet_load(&self) -> Loaded {
        read(&self.global, &self.directory)
    }

    /// The same, for commands that must not go on without what the user named,
    /// and that are about to use it.
    pub fn load_all(&self) -> Result<Loaded, Failure> {
        let mut loaded = self.load();
        match unusable(&loaded) {
            Some(failure) => Err(failure),
            None => {
                self.pin(&mut loaded);
                Ok(loaded)
            }
        }
    }

    /// The same for commands that use tools, resources and prompts: what a
    /// running gateway has besides what is configured is there, too.
    pub fn load_shared(&self) -> Result<Loaded, Failure> {
        let loaded = self.load_all()?;
        let mut loaded = trusting::asked(self, loaded)?;
        self.late
            .begin(connectors::fetching(self, &loaded).as_ref());
        self.bring_along(&mut loaded);
        Ok(loaded)
    }

    /// Adds what a running gateway has besides what is configured.
    pub fn bring_along(&self, loaded: &mut Loaded) {
        let asks = |rule: &PermissionRule| rule.list == "ask";
        // Where a person has to be asked it is at this terminal, by us alone.
        let alone = self.global.strict_mcp_config || loaded.exclusive.is_some();
        if alone || loaded.permissions.rules.iter().any(asks) {
            return;
        }
        let mut gateways = self.gateways();
        gateways.sort_by_key(|gateway| gateway.running.directory != self.directory);
        for gateway in &gateways {
            for known in gateway.servers.iter().filter(|known| known.builtin) {
                if loaded.find(&known.name).is_none() {
                    let entry = gateway.entry(known);
                    let server = Configured::new(entry, Standing::Active);
                    loaded.servers.push(server);
                }
            }
        }
    }

    /// Where files are.
    pub fn places(&self) -> Result<Places, Failure> {
        places(&self.directory).ok_or_else(|| {
            Failure::new(Code::Configuration, "the home directory is not known").hint("set HOME")
        })
    }

    /// Keeps what a list of the user's approved, so that a change of it asks
    /// again. What cannot be kept is not used.
    pub fn pin(&self, loaded: &mut Loaded) {
        let Some(places) = places(&self.directory).filter(|_| !loaded.pins.is_empty()) else {
            return;
        };
        let pins: Vec<_> = loaded.pins.drain(..).map(|pin| (pin, true)).collect();
        if let Err(error) = Store::decide(&places.approvals(), &pins) {
            warn(&format!(
                "approvals cannot be kept, so that servers wait for them: {error}"
            ));
            for server in &mut loaded.servers {
                let pinned = pins.iter().any(|(pin, _)| pin.name == server.entry.name);
                if server.entry.inside && pinned && server.standing == Standing::Active {
                    server.standing = Standing::PendingApproval;
                }
            }
        }
    }

    /// Turns what was loaded into servers, for a command of the user's own. Those
    /// that a running gateway has are reached through it, unless `--direct` says
    /// otherwise.
    pub fn roster(&self, loaded: Loaded, style: Style) -> Result<(Roster, Settings), Failure> {
        self.roster_for(Purpose::Command, None, loaded, style)
    }

    /// The same for whoever is behind the calls. A gateway starts servers itself.
    pub fn roster_for(
        &self,
        purpose: Purpose,
        mode: Option<Mode>,
        mut loaded: Loaded,
        style: Style,
    ) -> Result<(Roster, Settings), Failure> {
        let environment = loaded.environment.clone();
        let lookup = |name: &str| environment.get(name);
        let settings = self.settings(&environment);
        self.protect(&loaded);
        let permissions = std::mem::take(&mut loaded.permissions);
        let data = places(&self.directory).map(|places| places.data);
        // Where a person has to be asked it is at this terminal, by us alone.
        let asks = permissions.rules.iter().any(|rule| rule.list == "ask");
        let shares = purpose == Purpose::Command && !asks && loaded.active().next().is_some();
        let mut gateways = if shares { self.gateways() } else { Vec::new() };
        let access = self.access_for(purpose, &loaded);
        let with = With {
            settings: &settings,
            access: access.as_ref(),
            lookup: &lookup,
        };
        let roster = Roster::led(loaded, &with, style, &mut gateways);
        let warnings = roster
            .govern(&permissions, purpose, mode, data.as_deref())
            .map_err(|fault| {
                Failure::new(Code::Configuration, fault.to_string())
                    .hint("correct the rule where it is written; until then nothing is used")
            })?;
        for warning in warnings {
            warn(&warning);
        }
        Ok((roster, settings))
    }

    /// Where sign-ins are kept. `store` is what the user says for this once.
    pub fn access(&self, loaded: &Loaded, store: Option<TokenStore>) -> Result<Access, Failure> {
        let dirs = Dirs::from_env().map_err(|error| {
            Failure::new(Code::Configuration, error.to_string()).hint("set HOME")
        })?;
        let lookup = |name: &str| loaded.environment.get(name);
        Ok(Access::new(&dirs, &loaded.sign_in, store, &lookup))
    }

    /// An entry with its variables filled in.
    pub fn expanded(&self, loaded: &Loaded, entry: &Entry) -> Result<Entry, Failure> {
        if !entry.faults.is_empty() {
            return Err(faulty(&entry.faults));
        }
        let lookup = |name: &str| loaded.environment.get(name);
        config::expand::expand(entry, &lookup).map_err(|faults| faulty(&faults))
    }

    /// Changes a host's servers, and the rules for them, to what was loaded since.
    pub fn reload(
        &self,
        host: &Arc<Host>,
        mut loaded: Loaded,
        mode: Option<Mode>,
    ) -> Result<Reloaded, Failure> {
        let permissions = std::mem::take(&mut loaded.permissions);
        let data = places(&self.directory).map(|places| places.data);
        let access = self.access_for(Purpose::Gateway, &loaded);
        let environment = loaded.environment.clone();
        let with = With {
            settings: &self.settings(&environment),
            access: access.as_ref(),
            lookup: &|name: &str| environment.get(name),
        };
        let govern =
            |roster: &Roster| roster.govern(&permissions, Purpose::Gateway, mode, data.as_deref());
        let reloaded = Roster::reload(host, loaded, &with, govern).map_err(|fault| {
            Failure::new(Code::Configuration, fault.to_string())
                .hint("correct the rule where it is written; until then nothing is used")
        })?;
        for warning in &reloaded.warnings {
            warn(warning);
        }
        Ok(reloaded)
    }

    fn access_for(&self, purpose: Purpose, loaded: &Loaded) -> Option<Access> {
        let access = self.access(loaded, None).ok()?;
        Some(match purpose {
            // The clients of a gateway can start a sign-in.
            Purpose::Gateway => access.for_clients(),
            Purpose::Command => access,
        })
    }

    /// The user's gateways that run and answer, unless `--direct` says otherwise.
    /// They are asked once, side by side; who does not answer is passed by.
    pub fn gateways(&self) -> Vec<Attached> {
        self.gateways.get_or_init(|| self.gateways_now()).clone()
    }

    /// The same, asked anew.
    pub fn gateways_now(&self) -> Vec<Attached> {
        let Some(dirs) = Dirs::from_env().ok().filter(|_| !self.global.direct) else {
            return Vec::new();
        };
        let found = running::all(&dirs);
        for fault in &found.damaged {
            warn(&fault.to_string());
        }
        let asked: Vec<_> = std::thread::scope(|scope| {
            let asking: Vec<_> = found
                .running
                .iter()
                .map(|running| scope.spawn(move || Attached::open(running)))
                .collect();
            asking.into_iter().map(|asked| asked.join()).collect()
        });
        let mut answering = Vec::new();
        for (running, asked) in found.running.iter().zip(asked) {
            match asked.unwrap_or_else(|_| Err("asking it went wrong".to_owned())) {
                Ok(attached) => answering.push(attached),
                Err(why) => warn(&format!(
                    "the gateway at http://{} (process {}) is passed by: {why}; switchboard doctor says what to do",
                    running.address, running.pid
                )),
            }
        }
        answering
    }

    /// Keeps the file tools away from what this run is told by and runs.
    pub fn protect(&self, loaded: &Loaded) {
        let lookup = |name: &str| loaded.environment.get(name);
        let mut read = self.files(loaded);
        read.extend(in_use::signed_in_with(loaded, &self.directory, &lookup));
        let run = in_use::run_from(loaded, &self.directory, &lookup);
        self.in_use.set(read, run);
    }

    fn settings(&self, environment: &Environment) -> Settings {
        let mut settings = settings(environment, &self.directory);
        settings.in_use = self.in_use.clone();
        settings
    }

    /// The files that decide what is configured.
    pub fn files(&self, loaded: &Loaded) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = loaded
            .looked
            .iter()
            .map(|looked| looked.file.clone())
            .collect();
        let named = self.global.mcp_config.iter();
        let named = named.filter(|value| !value.trim_start().starts_with('{'));
        files.extend(named.map(|file| self.directory.join(file)));
        if let Some(places) = places(&self.directory) {
            files.extend([places.approvals(), places.folders()]);
        }
        files
    }
}

/// Whether there is anything to start: decides if a keeper is needed.
pub fn has_servers(global: &Global) -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    let directory = global
        .directory
        .as_ref()
        .map_or(here.clone(), |directory| here.join(directory));
    read(global, &directory).active().next().is_some()
}

fn read(global: &Global, directory: &Path) -> Loaded {
    let own = std::env::current_exe()
        .ok()
        .and_then(|path| path.canonicalize().ok());
    config::load(&Request {
        mcp_config: global.mcp_config.clone(),
        strict: global.strict_mcp_config,
        directory: directory.to_owned(),
        own_program: own,
        places: places(directory),
    })
}

/// `SWITCHBOARD_CONFIG_DIR` is judged by its place, so the rest is found without it.
fn places(directory: &Path) -> Option<Places> {
    let lookup = |name: &str| std::env::var_os(name).filter(|_| name != "SWITCHBOARD_CONFIG_DIR");
    let dirs = Dirs::find_from(directory, |name| lookup(name).map(PathBuf::from)).ok()?;
    Some(Places::find(
        directory,
        &dirs.config,
        &dirs.data,
        &dirs.cache,
        |name| std::env::var_os(name),
    ))
}

/// Whether nothing goes on without a file of this scope.
fn is_fatal(scope: Scope) -> bool {
    matches!(scope, Scope::Dynamic | Scope::Enterprise)
}

/// Whether it cannot be told what is forbidden: then nothing may be started.
pub fn is_lawless(loaded: &Loaded) -> bool {
    let managed = |(scope, _): &(Scope, config::Fault)| *scope == Scope::Enterprise;
    !loaded.lawless.is_empty() || loaded.faults.iter().any(managed)
}

/// The failure that files are which nothing goes on without, all of them at once.
pub fn unusable(loaded: &Loaded) -> Option<Failure> {
    let faults = loaded.faults.iter().filter(|(scope, _)| is_fatal(*scope));
    let texts: Vec<String> = faults.map(|(_, fault)| fault.to_string()).collect();
    if !texts.is_empty() {
        let hint = if loaded.exclusive.is_some() {
            "no server is used until it is put right by whoever administers this machine"
        } else {
            "correct what --mcp-config names, or leave it out"
        };
        return Some(Failure::new(Code::Configuration, texts.join("\n")).hint(hint));
    }
    if !loaded.lawless.is_empty() {
        let texts: Vec<String> = loaded.lawless.iter().map(ToString::to_string).collect();
        let hint = "correct it; until then nothing is used, since what it forbids would not count";
        return Some(Failure::new(Code::Configuration, texts.join("\n")).hint(hint));
    }
    // What the user typed is refused, not passed over.
    let file = loaded.exclusive.as_ref()?;
    loaded
        .servers
        .iter()
        .find(|server| server.entry.scope == Scope::Dynamic)?;
    let text = format!(
        "--mcp-config is not permitted: {} allows no other servers",
        file.display()
    );
    Some(Failure::new(Code::NotPermitted, text).hint("leave --mcp-config out"))
}

/// The failure that an entry is which cannot work as it is written.
pub fn faulty(faults: &[config::Fault]) -> Failure {
    let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Failure::new(Code::Configuration, texts.join("\n")).hint("correct it where it is written")
}

/// Tells the user something on stderr.
pub fn warn(text: &str) {
    if !told::is_news(text) {
        return;
    }
    let warning = term::stderr().yellow("warning:");
    let text = secret::text(text);
    live::stderr_line(&format!("{warning} {}", safe::lines(&text)));
}

/// The same where nothing is wrong.
pub fn note(text: &str) {
    let note = term::stderr().dim("note:");
    live::stderr_line(&format!("{note} {}", safe::lines(text)));
}

fn settings(environment: &Environment, directory: &Path) -> Settings {
    let mut settings = Settings::from_env(|name| environment.get(name));
    if let Ok(dirs) = Dirs::from_env() {
        settings.catalogs = Some(dirs.cache.join("catalogs"));
        settings.logs = Some(logs::folder(&dirs));
        // Empty directories are of no use where a repository can fill those above.
        let rooms = dirs.state.join("rooms");
        let inside = places(directory).is_none_or(|places| places.is_inside(&rooms));
        settings.rooms = (!inside).then_some(rooms);
    }
    settings
}
