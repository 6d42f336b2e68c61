//! Something wrong in a configuration, said so that a person can mend it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Where configuration text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// JSON given on the command line: the how-manieth `--mcp-config`, from 1.
    Argument(usize),
    /// Something that was fetched; from where.
    Address(String),
    /// Switchboard itself, such as the servers that `up` brings along.
    Ours,
}

impl Source {
    /// The file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Argument(_) | Self::Address(_) | Self::Ours => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Argument(1) => f.write_str("--mcp-config"),
            Self::Argument(n) => write!(f, "--mcp-config (no. {n})"),
            Self::Address(url) => f.write_str(url),
            Self::Ours => f.write_str("switchboard"),
        }
    }
}

/// One thing that is wrong: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file or argument.
    pub source: Source,
    /// The line, counted from 1; 0 where the whole file is meant.
    pub line: usize,
    /// The column in characters, counted from 1, where one character is to blame.
    pub column: Option<usize>,
    /// The server whose entry it is in.
    pub server: Option<String>,
    /// The field of the entry, such as `args[1]` or `env.PORT`.
    pub field: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Fault {
    /// Something wrong with the whole of a source.
    pub(crate) fn whole(source: Source, problem: String, hint: impl Into<String>) -> Self {
        Self {
            source,
            line: 0,
            column: None,
            server: None,
            field: None,
            problem,
            hint: Some(hint.into()),
        }
    }

    /// What is wrong, without the place: for where the place is shown already.
    pub fn reason(&self) -> String {
        let field = self
            .field
            .as_ref()
            .map(|field| format!("`{field}`: "))
            .unwrap_or_default();
        let hint = self
            .hint
            .as_ref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        format!("{field}{}{hint}", self.problem)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.source)?;
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
        }
        if let Some(column) = self.column {
            write!(f, "{column}:")?;
        }
        if let Some(server) = &self.server {
            write!(f, " server {server:?}:")?;
        }
        write!(f, " {}", self.reason())
    }
}

impl std::error::Error for Fault {}
