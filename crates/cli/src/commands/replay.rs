//! `replay`: a server that answers from a cassette.

use super::{alone::Alone, listen::Listen};
use crate::{
    context::Context,
    failure::{Code, Failure},
    limits,
    near::{did_you_mean, near},
};
use clap::Args;
use std::path::{Path, PathBuf};
use switchboard::record::cassette::{
    Cassette, CassetteError,
    replay::{self, Playing, Unrecorded},
};

/// Options of `replay`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The cassette
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which of its servers, where it has several
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Answer only what was recorded; anything else is an error that says which recorded request
    /// is closest, and where it differs (the default)
    #[arg(long, conflicts_with = "closest")]
    pub strict: bool,
    /// Answer what was not recorded as the closest request of the same method was
    #[arg(long)]
    pub closest: bool,
    /// Take as long as it took when it was recorded; no call takes more than ten minutes
    #[arg(long)]
    pub in_time: bool,
    #[command(flatten)]
    pub listen: Listen,
}

const EXAMPLES: &str = "Examples:
  switchboard replay weather.mcp.jsonl
  switchboard replay weather.mcp.jsonl --closest --http 127.0.0.1:3800
  switchboard add weather -- switchboard replay weather.mcp.jsonl

A request that was recorded several times is answered in that order, and then as the last
time; each session begins at the beginning. To record: switchboard serve --record DIR.";

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let cassette = open(&options.file)?;
    let name = server(&cassette, &options.file, options.server.as_deref())?;
    let playing = Playing {
        unrecorded: match options.closest {
            true => Unrecorded::Closest,
            false => Unrecorded::Refused,
        },
        in_time: options.in_time,
    };
    let spec = replay::server(&options.file, cassette, &name, playing)?;
    let alone = Alone {
        spec,
        doors: options.listen.doors(context)?,
        keeps_lists: false,
    };
    alone.serve(|_, _| {})
}

/// Reads a cassette.
pub fn open(file: &Path) -> Result<Cassette, Failure> {
    Ok(Cassette::open(file)?)
}

impl From<CassetteError> for Failure {
    fn from(error: CassetteError) -> Self {
        let hint = match &error {
            CassetteError::File { .. } => "name a file that switchboard serve --record wrote",
            CassetteError::Line { .. } => "docs/reference/cassettes.md says what a line looks like",
        };
        Self::new(Code::Configuration, error.to_string()).hint(hint)
    }
}

/// The server of a cassette that is meant: the one that is named, or the only one.
pub fn server(cassette: &Cassette, file: &Path, named: Option<&str>) -> Result<String, Failure> {
    let names = cassette.servers();
    let all = names.iter().map(|name| &**name);
    let list = || {
        let some: Vec<&str> = all.clone().take(limits::NAMED).collect();
        let more = names.len() - some.len();
        match more {
            0 => some.join(", "),
            more => format!("{} and {more} more", some.join(", ")),
        }
    };
    match (named, names.as_slice()) {
        (Some(named), _) if all.clone().any(|name| name == named) => Ok(named.to_owned()),
        (Some(named), _) => {
            let hint = did_you_mean(&near(named, all.clone()));
            let hint = hint.unwrap_or_else(|| format!("there are: {}", list()));
            let text = format!("{} has no server {named:?}", file.display());
            Err(Failure::usage(text).hint(hint))
        }
        (None, [only]) => Ok(only.to_string()),
        (None, []) => {
            let text = format!("nothing is recorded in {}", file.display());
            Err(Failure::new(Code::Configuration, text))
        }
        (None, _) => {
            let text = format!("{} has several servers: {}", file.display(), list());
            Err(Failure::usage(text).hint("say which with --server"))
        }
    }
}
