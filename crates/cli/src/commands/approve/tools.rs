//! Tools that changed after they were approved: shown as a difference, and
//! used again once somebody says yes.

use super::{
    answer::{Answer, Subject},
    show,
};
use crate::{
    commands::tools::{one, unreachable},
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
};
use std::sync::Arc;
use switchboard::{
    Caller, Purpose, Roster,
    config::{Loaded, approval::digest_of},
    host::{
        Server,
        catalog::{Item, List},
        pins::Change,
    },
    wire::name::Style,
};

/// Asks the server what it has now, shows what changed, and approves that.
/// Whether there was anything to approve.
pub(super) fn approve(
    context: &Context,
    loaded: &Loaded,
    name: &str,
    answer: &Answer,
) -> Result<bool, Failure> {
    let (roster, _) = context.roster_for(Purpose::Gateway, None, loaded.clone(), Style::Full)?;
    let server = one(&roster, name)?;
    let (items, changes) = life::short(async |stop| {
        let found = tokio::select! {
            found = look(&roster, &server) => found,
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        switchboard::library::close(&roster.host).await;
        found
    })??;
    if changes.is_empty() {
        return Ok(false);
    }
    let paint = term::stdout();
    for change in &changes {
        out::line(&paint.bold(&format!(
            "{} of {}",
            safe::line(&change.tool),
            safe::line(name)
        )))?;
        for line in change.diff.lines() {
            out::line(&format!("  {line}"))?;
        }
    }
    let changed = |item: &&Item| changes.iter().any(|change| change.tool == item.key);
    let approved: Vec<Item> = items.iter().filter(changed).cloned().collect();
    let parts = approved.iter().map(|item| item.raw.as_ref());
    let digest = digest_of(std::iter::once(name.as_bytes()).chain(parts));
    show::digest(&digest)?;
    let subject = Subject {
        what: name,
        argument: name,
        digest: &digest,
    };
    if !answer.is_yes(&subject)? {
        return Ok(true);
    }
    roster
        .host
        .guard()
        .approve(name, &approved)
        .map_err(|fault| {
            Failure::new(Code::Configuration, fault.to_string())
                .hint("nothing was approved; put that right and try again")
        })?;
    for item in &approved {
        out::line(&format!(
            "Approved {} of {}",
            safe::line(&item.key),
            safe::line(name)
        ))?;
    }
    Ok(true)
}

async fn look(roster: &Roster, server: &Arc<Server>) -> Result<(Vec<Item>, Vec<Change>), Failure> {
    let caller = Caller::new(roster.host.clone());
    let failed = |fault| unreachable(server, &fault);
    let met = caller.meet(server).await.map_err(failed)?;
    let listing = caller.list(&met, List::Tools).await.map_err(failed)?;
    let changes = roster.host.guard().quarantined(server, &met.connection);
    Ok((listing.items.clone(), changes))
}
