//! Comparing what a server lists with what is kept of it.

use super::{
    definition::Group,
    kept::{Kept, Kind, Pin, Told, Version},
};
use crate::limits;
use std::collections::HashSet;

/// What becomes of what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It waits for somebody to say yes.
    Hold,
    /// It is used, and told.
    Tell,
    /// Nothing is compared.
    Pass,
}

/// What a server lists, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) kind: Kind,
    pub(super) groups: &'a [Group],
    /// Whether this is all of it.
    pub(super) whole: bool,
    /// Whether the server has listed all of it since it was started.
    pub(super) settled: bool,
    /// Whether what is new is no surprise: the server is used for the first time,
    /// or somebody has just signed in.
    pub(super) welcome: bool,
}

/// What is worth a line in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Names that wait from now on.
    pub(super) held: Vec<String>,
    /// Names that are told from now on.
    pub(super) told: Vec<String>,
}

/// Compares, and keeps what comes of it.
pub(super) fn judge(kept: &mut Kept, seen: Seen<'_>, manner: Manner) -> Found {
    let mut found = Found::default();
    let kind = seen.kind;
    let is_kept = manner != Manner::Pass;
    let first = kept.section(kind).is_none();
    // What somebody has signed is all that there is to be.
    let signed = kept.signed.is_some() && !first;
    if is_kept {
        kept.pins(kind);
    }
    if seen.whole
        && !seen.settled
        && let Some(waiting) = kept.waiting.get_mut(&kind)
    {
        // A new start is a new question; what it does not ask about makes room.
        let listed: HashSet<&str> = seen.groups.iter().map(Group::name).collect();
        waiting.retain(|name, _| listed.contains(name.as_str()));
    }
    for group in seen.groups {
        let pin = kept.section(kind).and_then(|pins| pins.get(&group.name));
        let change = match pin {
            Some(pin) if pin.version.accepts(group) => {
                let outdated = group.first.is_some() && pin.version.definition.is_none();
                if outdated && !group.hashes.contains(&pin.version.hash) {
                    let pin = Pin::of(Version::of(group));
                    kept.pins(kind).insert(group.name.clone(), pin);
                }
                // What was back as it was pinned waits no longer.
                if let Some(waiting) = kept.waiting.get_mut(&kind) {
                    waiting.remove(&group.name);
                }
                continue;
            }
            Some(_) => Change::Other,
            None => Change::New,
        };
        let waits = kept.waiting.get(&kind);
        let waited = waits.is_some_and(|waiting| waiting.contains_key(&group.name));
        let expected = change == Change::New && (first || seen.welcome) && !waited;
        let held = match manner {
            _ if group.hidden => true,
            Manner::Hold if signed => true,
            Manner::Hold if expected => false,
            // What waits does not get in by going away and coming again.
            Manner::Hold => {
                change == Change::Other || !seen.settled || waited || is_full(kept, kind)
            }
            Manner::Tell | Manner::Pass => false,
        };
        if held {
            let waiting = kept.waits(kind);
            let version = Version::of(group);
            let known = waiting.get(&group.name);
            if known.is_some_and(|known| known.is(&version)) {
                continue;
            }
            if waiting.len() < limits::PINS_WAITING || waited {
                waiting.insert(group.name.clone(), version);
            }
            found.held.push(group.name.clone());
        } else if is_kept {
            if let Some(waiting) = kept.waiting.get_mut(&kind) {
                waiting.remove(&group.name);
            }
            if (change == Change::Other || !is_full(kept, kind))
                && pin_as_is(kept, seen.kind, group, expected)
            {
                found.told.push(group.name.clone());
            }
        }
    }
    kept.waiting.retain(|_, waiting| !waiting.is_empty());
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    New,
    Other,
}

fn is_full(kept: &Kept, kind: Kind) -> bool {
    kept.section(kind)
        .is_some_and(|pins| pins.len() >= limits::PINS)
}

/// Pins what is there now. Whether that is to be told.
fn pin_as_is(kept: &mut Kept, kind: Kind, group: &Group, expected: bool) -> bool {
    let version = Version::of(group);
    let pins = kept.pins(kind);
    let Some(pin) = pins.get_mut(&group.name) else {
        let told = (!expected).then(Box::<Told>::default);
        let is_told = told.is_some();
        pins.insert(group.name.clone(), Pin { version, told });
        return is_told;
    };
    let before = std::mem::replace(&mut pin.version, version);
    match pin.told.as_deref() {
        None => pin.told = Some(Box::new(Told { was: Some(before) })),
        // It is again what somebody last looked at.
        Some(Told { was: Some(was) }) if was.is(&pin.version) => {
            pin.told = None;
            return false;
        }
        Some(_) => {}
    }
    true
}

/// Why a thing must not be used as it is now, if so: it waits, in one word or two.
pub(super) fn objection(
    kept: &Kept,
    kind: Kind,
    group: &Group,
    manner: Manner,
) -> Option<&'static str> {
    let section = kept.section(kind);
    let pin = section.and_then(|pins| pins.get(&group.name));
    if pin.is_some_and(|pin| pin.version.accepts(group)) {
        return None;
    }
    if group.hidden {
        return Some(super::news::HIDDEN);
    }
    match (manner, section, pin) {
        (Manner::Hold, Some(_), Some(_)) => Some(super::news::CHANGED),
        (Manner::Hold, Some(_), None) => Some(super::news::NEW),
        _ => None,
    }
}
