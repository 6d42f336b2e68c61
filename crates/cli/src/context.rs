//! What every command works with.

use crate::{
    args::Global,
    connectors::Late,
    failure::{Code, Failure},
    show::{live, safe, term},
    told, trusting,
};
use std::{path::PathBuf, sync::Arc};
use switchboard::{
    Access, Approvals, Config, Dirs, Governed, Look, Options, Purpose, Tell,
    auth::TokenStore,
    config::{self, Entry, Places, Variables, expand::Expanded},
    local::secret,
    wire::name::Style,
};

/// The global options, and where we are.
#[derive(Clone, Debug)]
pub struct Context {
    /// As given.
    pub global: Global,
    /// What we are told, and by whom.
    pub options: Options,
    /// A list of connectors that may be on its way.
    pub late: Late,
}

/// What is said of faults when the configuration is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    /// Nothing: it was said, or is said in another way.
    Nothing,
    /// What the command goes on without. The rest is told as the failure that it is.
    Problems,
    /// All of it, by commands that only look at what is configured, or mend it.
    Everything,
}

impl Context {
    /// Goes to the directory that `-C` names.
    pub fn new(global: Global) -> Result<Self, Failure> {
        if let Some(directory) = &global.directory {
            #[expect(clippy::disallowed_methods, reason = "-C, before anything else runs")]
            std::env::set_current_dir(directory).map_err(|error| {
                Failure::usage(format!("-C {}: {error}", directory.display()))
                    .hint("give a directory that exists")
            })?;
        }
        #[expect(clippy::disallowed_methods, reason = "the program asks, once")]
        let directory = std::env::current_dir().map_err(|error| {
            let text = format!("the working directory cannot be found: {error}");
            Failure::new(Code::Usage, text).hint("go to a directory that exists, or use -C DIR")
        })?;
        term::decide(global.no_color);
        Ok(Self {
            options: options(&global, directory),
            global,
            late: Late::default(),
        })
    }

    /// Reads what is configured.
    pub fn look(&self, say: Say) -> Look {
        let look = Config::look(&self.options);
        if say != Say::Nothing {
            look.warn(say == Say::Everything);
        }
        look
    }

    /// The same, for commands that must not go on without what the user named.
    pub fn config(&self) -> Result<Config, Failure> {
        Ok(self.look(Say::Problems).usable()?)
    }

    /// The servers of a command of the user's own, which uses tools, resources or
    /// prompts. Those that a running gateway has are reached through it, also what it
    /// has besides what is configured, unless `--direct` says otherwise.
    pub fn servers(&self) -> Result<Governed, Failure> {
        let config = trusting::asked(self, self.config()?)?;
        self.late.begin(config.read().fetching().as_ref());
        let approved = config.approve(&self.options.approvals()).bring_along();
        Ok(approved.govern(None, Purpose::Command)?)
    }

    /// The same servers as the clients of a gateway would have them, for commands that
    /// explain what those see.
    pub fn as_served(&self, look: &Look) -> Result<Governed, Failure> {
        let approved = look.clone().lawful()?.approve(&Approvals::at_start());
        let approved = approved.names(Style::Full);
        Ok(approved.govern(None, Purpose::Gateway)?)
    }

    /// Where files are.
    pub fn places(&self) -> Result<Places, Failure> {
        self.options.places().ok_or_else(|| {
            Failure::new(Code::Configuration, "the home directory is not known").hint("set HOME")
        })
    }

    /// Our own directories.
    pub fn dirs(&self) -> Result<Dirs, Failure> {
        self.options
            .dirs()
            .map_err(|error| Failure::new(Code::Configuration, error.to_string()).hint("set HOME"))
    }
}

/// Where sign-ins are kept. `store` is what the user says for this once.
pub fn access(look: &Look, store: Option<TokenStore>) -> Result<Access, Failure> {
    look.access(store)
        .map_err(|error| Failure::new(Code::Configuration, error.to_string()).hint("set HOME"))
}

/// An entry with its variables filled in.
pub fn expanded(look: &Look, entry: &Entry) -> Result<Expanded, Failure> {
    look.expanded(entry).map_err(|faults| faulty(&faults))
}

/// Whether there is anything to start: decides if a keeper is needed.
pub fn has_servers(global: &Global) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the program asks, before there is a context"
    )]
    let here = std::env::current_dir().unwrap_or_default();
    let directory = match &global.directory {
        Some(directory) => here.join(directory),
        None => here,
    };
    Config::look(&options(global, directory))
        .active()
        .next()
        .is_some()
}

/// Whether a gateway of this user runs: the screen then starts nothing itself.
pub fn has_gateway(global: &Global) -> bool {
    let dirs = options(global, PathBuf::new()).dirs();
    dirs.is_ok_and(|dirs| !switchboard::running::all(&dirs).running.is_empty())
}

/// What the process is told is given to everything else from here.
fn options(global: &Global, directory: PathBuf) -> Options {
    let own = std::env::current_exe().ok();
    let mut options = Options::new(directory, Variables::new(|name| std::env::var_os(name)));
    options.mcp_config.clone_from(&global.mcp_config);
    options.strict = global.strict_mcp_config;
    options.own_program = own.and_then(|path| path.canonicalize().ok());
    options.direct = global.direct;
    options.tell = Arc::new(Stderr);
    options
}

/// Warnings go to stderr, each once.
struct Stderr;

impl Tell for Stderr {
    fn warn(&self, text: &str) {
        warn(text);
    }

    fn read_again(&self) {
        told::read_again();
    }
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
