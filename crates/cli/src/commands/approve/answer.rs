//! How somebody says yes: at a terminal, or with the digest of what was shown.
//!
//! Without a terminal there may be nobody who looks: whatever runs the command
//! could approve for its user. A digest at least says what was meant.

use super::Options;
use crate::{
    failure::{Code, Failure},
    show::{safe, term},
};
use std::io::Write;

/// What the command line says of the answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing: ask.
    Ask,
    /// `--yes`.
    Yes,
    /// `--show`.
    Show,
    /// `--digest`.
    Digest(String),
}

/// What a yes would be said to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    /// In the question.
    pub(super) what: &'a str,
    /// For the command line.
    pub(super) argument: &'a str,
    /// Of everything that was shown.
    pub(super) digest: &'a str,
}

impl Answer {
    pub(super) fn of(options: &Options) -> Self {
        match &options.digest {
            Some(digest) => Self::Digest(digest.trim().to_ascii_lowercase()),
            None if options.show => Self::Show,
            None if options.yes => Self::Yes,
            None => Self::Ask,
        }
    }

    /// Whether it is a yes to exactly this.
    pub(super) fn is_for(&self, digest: &str) -> bool {
        matches!(self, Self::Digest(said) if said == digest)
    }

    /// Whether it is a yes to exactly something else.
    pub(super) fn is_for_another(&self, digest: &str) -> bool {
        matches!(self, Self::Digest(said) if said != digest)
    }

    /// Whether somebody is there who will be asked.
    pub(super) fn will_ask(&self) -> bool {
        *self == Self::Ask && term::can_ask() && term::stdout().terminal
    }

    /// Whether it is a yes; asks where there is somebody to ask.
    pub(super) fn is_yes(&self, subject: &Subject<'_>) -> Result<bool, Failure> {
        let argument = safe::line(subject.argument);
        match self {
            Self::Show => Ok(false),
            Self::Digest(said) if said == subject.digest => Ok(true),
            Self::Digest(_) => {
                let text = "this is not what that digest was printed for: nothing was approved";
                Err(Failure::new(Code::NotPermitted, text).hint(format!(
                    "look at it as it is now: switchboard approve {argument} --show"
                )))
            }
            Self::Ask | Self::Yes if !term::can_ask() => {
                let text = match self {
                    Self::Yes => {
                        "--yes counts on a terminal only, where somebody sees what is approved"
                    }
                    _ => "nobody can be asked: there is no terminal",
                };
                Err(Failure::new(Code::NotPermitted, text).hint(format!(
                    "look at the above, then: switchboard approve {argument} --digest {}",
                    subject.digest
                )))
            }
            Self::Yes => Ok(true),
            Self::Ask => ask(subject.what),
        }
    }
}

fn ask(what: &str) -> Result<bool, Failure> {
    let _ = write!(
        std::io::stderr().lock(),
        "Approve {}? [y/N] ",
        safe::line(what)
    );
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| Failure::new(Code::Interrupted, error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
