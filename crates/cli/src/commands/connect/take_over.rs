//! The servers that a client has: which of them come to us whole, and so need not run
//! in the client any more.

use super::{
    Ground, Standing, Wanted,
    plan::{Fate, Plan},
};
use crate::{
    commands::{
        add::{Scope, failed},
        import::{Outcome, Rename, Taking, is_ours},
    },
    context::{note, warn},
    failure::Failure,
    show::{live, safe},
    trusting,
};
use switchboard::config::{
    clients::Client,
    connect::Change,
    import::{Became, Found, ONLY_SHOWN, find},
};

/// Whether a client's servers are taken over: as was said, or as a person answers.
pub fn wanted(
    ground: &Ground<'_>,
    client: Client,
    said: bool,
    asks: bool,
) -> Result<Wanted, Failure> {
    if said {
        return Ok(Wanted::Servers);
    }
    let own = Standing::of(ground, client).own;
    if own.is_empty() {
        return Ok(Wanted::Entry);
    }
    let title = client.title();
    let names = safe::line(&own.join(", "));
    if !asks {
        note(&format!(
            "{title} has servers of its own, which run beside ours: {names} (--take-over moves them here)"
        ));
        return Ok(Wanted::Entry);
    }
    live::stderr_line(&format!(
        "{title} has servers of its own: {names}.\nTaken over, they are served from here to all clients, and do not run \
         in {title} besides."
    ));
    match trusting::ask("Take them over? [y/N] ")? {
        true => Ok(Wanted::Servers),
        false => Ok(Wanted::Entry),
    }
}

/// Adds to a plan what becomes of each server. Files of a project are not looked at.
pub(super) fn plan(plan: &mut Plan, ground: &Ground<'_>) -> Result<(), Failure> {
    let mut faults = Vec::new();
    let all = find(plan.client, &ground.homes, &mut faults);
    for fault in &faults {
        warn(&fault.to_string());
    }
    let mut taking = Taking::new(ground.context);
    let own = all.into_iter().filter(|found| !found.workspace);
    for mut found in own.filter(|found| !is_ours(found, ground.context)) {
        // What does not run there does not run twice.
        if found.entry["disabled"] == true {
            continue;
        }
        let (outcome, stays) = match not_whole(plan.client, &found) {
            Some(why) => (Outcome::LeftOut(why.clone()), Some(why)),
            None => match taking.take(&mut found, Scope::User, true, Rename::No)? {
                Outcome::LeftOut(why) => (Outcome::LeftOut(why.clone()), Some(why)),
                outcome => {
                    let stays = take_off(plan, ground, &found)?;
                    (outcome, stays)
                }
            },
        };
        plan.servers.push(Fate {
            found,
            outcome,
            stays,
        });
    }
    Ok(())
}

/// Why a server would not be the same here: then it stays as it is. What people read
/// is lost only where the entry goes; one that is switched off keeps it.
fn not_whole(client: Client, found: &Found) -> Option<String> {
    if let Some(why) = &found.left_out {
        return Some(why.clone());
    }
    let lost = found.fields.iter().find_map(|field| match &field.became {
        Became::Lost(why) if why == ONLY_SHOWN && client.off().is_some() => None,
        Became::Lost(why) => Some(format!("{} would be lost: {why}", field.name)),
        _ => None,
    });
    // Something that only the client knows, or that somebody has to do first. That
    // it is called otherwise here changes nothing.
    let note = || {
        let mut notes = found.notes.iter();
        notes
            .find(|note| !note.starts_with("it was called "))
            .cloned()
    };
    lost.or_else(note)
}

/// Has a server not run in the client any more; why it cannot be done.
fn take_off(
    plan: &mut Plan,
    ground: &Ground<'_>,
    found: &Found,
) -> Result<Option<String>, Failure> {
    let known = plan
        .changes
        .iter()
        .position(|change| change.file() == found.file);
    let at = match known {
        Some(at) => at,
        // Who reads that file may not have our entry.
        None if !plan.client.reads_all() => {
            let file = ground.shown(&found.file);
            return Ok(Some(format!("it is in {file}, which stays as it is")));
        }
        None => {
            let mut files = plan.client.files(&ground.homes).into_iter();
            let Some(file) = files.find(|file| file.path == found.file) else {
                return Ok(Some("its file is not known".to_owned()));
            };
            let change = Change::begin(plan.client, &file).map_err(|error| failed(&error))?;
            plan.changes.push(change);
            plan.changes.len() - 1
        }
    };
    let done = plan.changes[at].take_off(plan.client, &found.written_name);
    Ok(done.err().map(|error| error.to_string()))
}
