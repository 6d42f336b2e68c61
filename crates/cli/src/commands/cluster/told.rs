//! Workers are told what they are to run by what is applied.

use super::Shared;
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
};
use switchboard::cluster::{ApplyKey, ApplyKeys, ClusterError, Statement, apply::Book};

/// Tells workers what they are to run.
pub(super) async fn to_workers(
    book: &Book,
    statement: &Statement,
    key: &ApplyKey,
) -> Result<(), Failure> {
    let told = book.tell(statement, key).await;
    told.map_err(|error| {
        let version = statement.version;
        let text = format!("version {version} holds for replicas, and no worker knows it: {error}");
        Failure::new(Code::Unreachable, text).hint("apply it again: then they are told")
    })
}

/// The same where whoever applied it last broke off before that, or somebody has put
/// something else there.
pub(super) fn again(
    context: &Context,
    shared: &Shared,
    key: &ApplyKey,
    signers: &ApplyKeys,
    holds: &Statement,
) -> Result<(), Failure> {
    life::short(async |_| {
        let (store, file) = shared.opens(context);
        let book = Book::open(&store, &file, signers.clone()).await?;
        let told = book.is_told(holds).await;
        let is_told = told.map_err(|fault| Failure::from(ClusterError::Store(fault)))?;
        if !is_told {
            to_workers(&book, holds, key).await?;
        }
        Ok(())
    })?
}
