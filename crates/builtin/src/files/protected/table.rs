//! What the file tools leave alone, in one table: what nobody reads in
//! `secrets`, what nobody writes in `runs`.

mod runs;
mod secrets;

/// What may not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forbidden {
    /// Changing it.
    Writing,
    /// Reading it, and changing it.
    Everything,
}

/// Where something is. What lies below it is meant too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Below the home directory.
    Home(&'static str),
    /// Below `XDG_CONFIG_HOME`, and below `~/.config`.
    Config(&'static str),
    /// Below `XDG_DATA_HOME`, and below `~/.local/share`.
    Data(&'static str),
    /// What a variable names, or what is called so below it.
    Variable(&'static str, &'static str),
    /// From the very top.
    Top(&'static str),
    /// In any directory. `*` at the beginning of a name is any text, `**` any
    /// directories or none.
    Anywhere(&'static str),
    /// One of our own folders.
    Own(Own),
    /// What this very run of the program uses.
    Used(Used),
    /// The directories of `PATH`.
    Path,
}

/// Our own folders, wherever they were moved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Settings, manifests.
    Config,
    /// Tokens, approvals, sign-ins; large results in it may be read.
    Data,
    /// What runs.
    State,
    /// What can be made again.
    Cache,
}

/// What this run of the program uses, wherever it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// It is read, and decides what is served and to whom.
    Read,
    /// It is run, or loaded by what is run.
    Run,
}

/// Things that are protected for the same reason.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// What they are, as it stands in a sentence: "… is protected: …".
    pub what: &'static str,
    /// What may not be done with them.
    pub forbidden: Forbidden,
    /// Whether they are full of files: then not all of those are looked for
    /// under other names.
    pub is_large: bool,
    /// Where they are.
    pub places: &'static [At],
}

/// What Git's configuration is, wherever a repository lies.
pub(super) const GIT_CREDENTIALS: &str = "credentials of Git and of package managers";
/// What decides which programs run without anybody's command.
pub(super) const RUN_BY_ITSELF: &str = "what Git, an editor or an agent runs by itself";

/// The table.
pub const TABLE: &[Group] = &[
    secrets::KEYS,
    secrets::CLOUDS,
    secrets::PACKAGES,
    secrets::DIRECTORY_VARIABLES,
    secrets::OWN,
    secrets::CONFIGURED_BY,
    secrets::MCP,
    secrets::HISTORIES,
    secrets::BROWSERS,
    runs::GATEWAY,
    runs::START,
    runs::DESKTOP,
    runs::PROGRAMS,
    runs::BY_ITSELF,
];

use At::{Anywhere, Config, Data, Home, Top, Variable};

impl At {
    /// How it is written for people.
    pub fn shown(&self) -> String {
        let below = |folder: &str, name: &str| match name {
            "" => folder.to_owned(),
            name => format!("{folder}/{name}"),
        };
        match self {
            Home(name) => below("~", name),
            Config(name) => below("~/.config", name),
            Data(name) => below("~/.local/share", name),
            Variable(variable, name) => below(&format!("${variable}"), name),
            Top(path) => (*path).to_owned(),
            Anywhere(name) => format!("…/{name}"),
            Self::Own(Own::Config) => "~/.config/switchboard".to_owned(),
            Self::Own(Own::Data) => {
                "~/.local/share/switchboard (results/ in it may be read)".to_owned()
            }
            Self::Own(Own::State) => "~/.local/state/switchboard".to_owned(),
            Self::Own(Own::Cache) => "~/.cache/switchboard".to_owned(),
            Self::Path => "every directory of PATH".to_owned(),
            Self::Used(Used::Read) => {
                "every file that servers, rules, approvals and tokens are read from (--mcp-config, --token-file, assertionFile, …)".to_owned()
            }
            Self::Used(Used::Run) => {
                "the folders of tools and of plugins, and the programs and scripts that entries name by their path".to_owned()
            }
        }
    }
}
