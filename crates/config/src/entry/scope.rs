//! Whose an entry is.

use std::fmt;

/// Where an entry comes from. Later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Somebody has signed it for this machine and others like it.
    Fleet,
    /// A list of remote servers that an account brings along.
    Connector,
    /// A plugin's folder.
    Plugin,
    /// The user, everywhere.
    User,
    /// `.mcp.json`, inside a repository: needs approval.
    Project,
    /// The user, in one project.
    Local,
    /// `--mcp-config`: what the user typed.
    Dynamic,
    /// The administrator; where there is such a file nothing else counts.
    Enterprise,
}

impl Scope {
    /// The word that `list --json` uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fleet => "fleet",
            Self::Connector => "claudeai",
            Self::Plugin => "plugin",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Dynamic => "dynamic",
            Self::Enterprise => "enterprise",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
