//! In the place of `cluster`, in a program that is always alone.

use crate::{context::Context, failure::Failure};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::{convert::Infallible, ffi::OsString, path::PathBuf};
use switchboard::{Joined, Look};

/// All that a command is about is this machine's own.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct OfCluster {}

impl OfCluster {
    /// It is never a cluster's.
    pub fn shared(&self) -> Option<Infallible> {
        None
    }

    /// Does it.
    pub async fn with_sign_ins<T>(
        &self,
        _context: &Context,
        _look: &Look,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        Ok(work.await)
    }
}

/// Nothing can be said about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Membership {}

impl Membership {
    /// Whether it is to be one of several.
    pub fn is_wanted(&self) -> bool {
        false
    }

    /// Whether it follows what is applied to all.
    pub fn follows(&self) -> bool {
        false
    }

    /// The files that hold its secrets.
    pub fn secrets(&self, _context: &Context) -> Vec<PathBuf> {
        Vec::new()
    }

    /// It is alone.
    #[expect(
        clippy::unused_async,
        reason = "where there is a cluster, it is waited for"
    )]
    pub async fn join(&self, _context: &Context) -> Result<Option<Joined>, Failure> {
        Ok(None)
    }
}

/// What is said where somebody asks for it all the same.
pub fn lacking(words: &[OsString]) -> Option<Failure> {
    let words = || words.iter().skip(1).filter_map(|word| word.to_str());
    // The command is the first word that is no option: a server may have its name.
    let command = words().find(|word| !word.starts_with('-'));
    let command = command.filter(|word| ["cluster", "worker"].contains(word));
    // What comes behind `--` is another program's.
    let mut own = words().take_while(|word| *word != "--");
    let asked = command.or_else(|| own.find(|word| word.starts_with("--cluster")))?;
    let text = format!("{asked}: this program was built without what makes several gateways one");
    Some(
        Failure::usage(text)
            .hint("build it whole: cargo install --path crates/cli --profile dist --features full"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asks_for_it_is_told() {
        let told = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            lacking(&words).map(|failure| failure.to_string())
        };
        for line in [
            "switchboard cluster status",
            "switchboard --json worker --typo",
            "switchboard serve --cluster nats://127.0.0.1",
            "switchboard login docs --cluster",
        ] {
            assert!(
                told(line).is_some_and(|it| it.contains("built without")),
                "{line}"
            );
        }
        for line in [
            "switchboard add cluster --typo",
            "switchboard call worker echo --typo",
            "switchboard add it --typo -- npx --cluster",
            "switchboard --typo",
        ] {
            assert_eq!(told(line), None, "{line}");
        }
    }
}
