//! Applying something to all replicas of a cluster, for a command: what holds, what would,
//! and putting it there, signed.

use super::{ApplyKey, ApplyKeys, ClusterError, Signed, Statement, Store, whole_keys};
use crate::{applied, limits};
use std::{
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_config::{Fault, approval::Binding, faults_of, hires_of};
use switchboard_gateway::{AppliedBook, AppliedPage, ApplyError, Cluster, Hire, Part};
pub use switchboard_gateway::{Approval, Document, NotApplied, TokenDigest};
use switchboard_ledger::{Joining, LedgerError, Nats};
use switchboard_local::visible;

/// What was applied to a cluster.
#[derive(Debug)]
pub struct Book {
    book: AppliedBook,
    signers: ApplyKeys,
    /// The versions that replicas say they run, newer than what is there if that was lost.
    /// Nobody has signed that they do.
    runs: Vec<(String, u64)>,
}

/// What holds now.
#[derive(Debug, Default)]
pub struct Holding(Option<AppliedPage>);

impl Holding {
    /// What it says, if anything counts.
    pub fn signed(&self) -> Option<&Signed> {
        self.0.as_ref()?.signed.as_ref().ok()
    }

    /// Why what is there does not count.
    pub fn refused(&self) -> Option<&NotApplied> {
        self.0.as_ref()?.signed.as_ref().err()
    }
}

impl Book {
    /// Opens it, for whoever believes these signatures.
    pub async fn open(store: &Store, key: &Path, signers: ApplyKeys) -> Result<Self, ClusterError> {
        let ledger = Nats::join(store, Joining::Now).await;
        let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
        let keys = Arc::new(whole_keys(key)?);
        let looked = Cluster::survey(ledger.clone(), &keys).await;
        let looked = looked.map_err(|fault| ClusterError::Store(ledger.told(fault)));
        let replicas = looked?.replicas;
        let runs = replicas.into_iter();
        let runs = runs.filter_map(|(id, node)| Some((id, node.applied?)));
        Ok(Self {
            book: AppliedBook::of(ledger, whole_keys(key)?),
            signers,
            runs: runs.collect(),
        })
    }

    /// What holds.
    pub async fn now(&self) -> Result<Holding, LedgerError> {
        Ok(Holding(self.book.now(&self.signers).await?))
    }

    /// All versions that are kept, the newest first.
    pub async fn all(&self) -> Result<Vec<Signed>, LedgerError> {
        self.book.all(&self.signers).await
    }

    /// The version that comes next: newer than all that anybody knows. What a replica says that is
    /// far beyond what was signed does not count, or one that lies could say the last there is.
    pub fn next(&self, now: &Holding, all: &[Signed]) -> u64 {
        let all = all.iter().chain(now.signed());
        let known = all.map(|signed| signed.statement.version).max();
        let known = known.unwrap_or(0);
        let mut newest = known;
        for (id, runs) in &self.runs {
            if *runs <= known.saturating_add(limits::APPLIED_LEAP) {
                newest = newest.max(*runs);
                continue;
            }
            let text = "a replica says that it runs a version which nobody can have signed: it does not count";
            tracing::warn!(replica = %visible::line(id), version = runs, "{text}");
        }
        newest.saturating_add(1)
    }

    /// Signs it and puts it in the place of what held.
    pub async fn put(
        &self,
        before: &Holding,
        statement: &Statement,
        key: &ApplyKey,
    ) -> Result<(), ApplyError> {
        // Nothing holds for replicas that workers could not be told.
        AppliedBook::fits(&hires(statement, key))?;
        let signed = key.signed(Part::Replicas, statement);
        self.book.put(before.0.as_ref(), &signed).await
    }

    /// Whether workers are told what they are to run by what holds.
    pub async fn is_told(&self, statement: &Statement) -> Result<bool, LedgerError> {
        self.book.is_told(statement.version, &self.signers).await
    }

    /// Tells them: after it was put there, or where whoever did broke off before that.
    pub async fn tell(&self, statement: &Statement, key: &ApplyKey) -> Result<(), ApplyError> {
        self.book.tell(&hires(statement, key), &self.signers).await
    }
}

/// What workers are to run by a statement, signed for them: they get none of the rest.
fn hires(statement: &Statement, key: &ApplyKey) -> Signed {
    let all = hires_of(&applied::documents(statement)).into_iter();
    let hires = all.filter_map(|(name, options)| {
        let hire = Hire {
            outposts: options.workers,
            labels: options.labels.into_iter().collect(),
            runs: options.runs?,
        };
        Some((name, hire))
    });
    let theirs = Statement {
        version: statement.version,
        at: statement.at,
        hires: hires.collect(),
        ..Statement::default()
    };
    key.signed(Part::Outposts, &theirs)
}

/// What time it is, in seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// An approval as it is applied to all replicas.
pub fn approval(binding: &Binding) -> Approval {
    let text = |path: &Path| path.display().to_string();
    let contents = binding.contents.iter();
    Approval {
        name: binding.name.clone(),
        directory: text(&binding.directory),
        program: binding.program.as_deref().map(text),
        entry: binding.entry.clone(),
        contents: contents
            .map(|(path, content)| (text(path), content.to_string()))
            .collect(),
    }
}

/// All that is wrong with what would be applied.
pub fn faults(statement: &Statement) -> Vec<Fault> {
    faults_of(&applied::documents(statement))
}
