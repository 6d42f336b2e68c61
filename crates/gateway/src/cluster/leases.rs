//! Who has the right to do what only one may at a time, for whoever looks.

use super::{keys::ClusterKeys, outposts, turns::TURNS};
use crate::limits;
use std::sync::Arc;
use switchboard_ledger::{Ledger, LedgerError, Revision};

/// Something that one of several does alone, until it ends or is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What is done.
    pub of: LeaseOf,
    /// Who does it: the id of a replica, the name of a worker, or whatever has said so.
    pub holder: String,
    /// A number that grows each time it is said again.
    pub number: Revision,
}

/// What one does alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOf {
    /// It changes a sign-in, of which only a hash is known.
    SignIn(String),
    /// It runs a copy of a server.
    Server(String),
}

impl Lease {
    /// All that a ledger knows. What nobody of ours has written is none.
    pub(super) async fn look(
        ledger: &Arc<dyn Ledger>,
        keys: &ClusterKeys,
    ) -> Result<Vec<Self>, LedgerError> {
        let turns = ledger.entries(TURNS, limits::LEASES_SHOWN).await?;
        let turns = turns.into_iter().filter_map(|(name, entry)| {
            let holder = keys.open(&entry.value, &format!("{TURNS} {name}"))?;
            Some(Self {
                of: LeaseOf::SignIn(name),
                holder: String::from_utf8(holder).ok()?,
                number: entry.revision,
            })
        });
        let places = outposts::placed(ledger, keys).await?;
        let places = places.into_iter().map(|(name, holder, number)| Self {
            of: LeaseOf::Server(name),
            holder,
            number,
        });
        Ok(turns.chain(places).collect())
    }
}
