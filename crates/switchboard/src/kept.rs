//! Where sessions are kept that outlive the process that opened them: one file in the
//! user's state folder, which all gateways of the user share.

use crate::pipeline::Options;
use std::{path::Path, sync::Arc};
use switchboard_gateway::Keeping;
use switchboard_ledger::{Clock, Lives, Sqlite};

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

fn open(folder: &Path) -> Result<Keeping, String> {
    let said = |fault: &dyn std::fmt::Display| fault.to_string();
    let file = folder.join("ledger.sqlite3");
    let ledger = Sqlite::open(&file, Clock::wall()).map_err(|fault| said(&fault))?;
    let lives = Lives::join(&folder.join("lives")).map_err(|fault| said(&fault))?;
    Ok(Keeping::new(Arc::new(ledger), lives))
}
