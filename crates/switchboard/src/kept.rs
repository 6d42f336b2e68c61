//! Where sessions are kept that outlive the process that opened them: one file in the
//! user's state folder, which all gateways of the user share.

use crate::pipeline::Options;
use std::{io, path::Path, sync::Arc};
use switchboard_gateway::Keeping;
use switchboard_ledger::{Clock, LedgerError, Lives, Sqlite};

/// Opens it. Where that is impossible, sessions end with the process, and it is said.
pub(crate) fn keeping(options: &Options) -> Option<Keeping> {
    let folder = options.dirs().ok()?.state.join("sessions");
    let opened = open(&folder);
    let told = opened.inspect_err(|why| {
        options.tell.warn(&format!(
            "sessions of clients end with this gateway: they cannot be kept in {}: {why}",
            folder.display()
        ));
    });
    told.ok()
}

/// Why nothing is kept.
#[derive(Debug, thiserror::Error)]
enum NotKept {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Folder(#[from] io::Error),
}

fn open(folder: &Path) -> Result<Keeping, NotKept> {
    let ledger = Sqlite::open(&folder.join("ledger.sqlite3"), Clock::wall())?;
    let lives = Lives::join(&folder.join("lives"))?;
    Ok(Keeping::new(Arc::new(ledger), lives))
}
