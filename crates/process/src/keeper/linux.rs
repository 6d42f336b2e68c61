//! Which of the three are we?

use rustix::process::{Pid, getppid};

use super::{KeeperError, Kept, parent, worker};
use crate::table;

/// Names a process that keeps to the one that it starts: the former's number
/// and start time, what the latter is to be, and the number of the keeper.
///
/// Not a secret and no proof: it only counts when our parent is that very
/// process. Servers do not inherit it.
pub(super) const VARIABLE: &str = "SWITCHBOARD_KEEPER";

/// What a guard and a worker are called in it.
pub(super) const GUARD: &str = "guard";
pub(super) const WORKER: &str = "worker";

/// A worker starts right after what keeps it. A process that started much later
/// and finds the variable got it by accident.
// tidy: it tells two processes apart by their start times, and bounds nothing
const WORKER_STARTS_WITHIN: u64 = 5 * table::TICKS_PER_SECOND;

pub(super) fn enter(forget: &[&str]) -> Result<Kept, KeeperError> {
    match role() {
        Role::Worker { parent, keeper } => worker::begin(parent, keeper),
        Role::Orphan => Err(KeeperError::KeeperGone),
        Role::Guard { keeper } => match parent::guard(keeper, forget)? {},
        Role::Keeper => match parent::keep(forget)? {},
    }
}

pub(super) fn stand_guard(forget: &[&str]) {
    if let Role::Guard { keeper } = role() {
        let _ = parent::guard(keeper, forget);
    }
}

enum Role {
    /// Started by the user: to become the keeper.
    Keeper,
    /// Started by the keeper: stands between it and the worker.
    Guard { keeper: Pid },
    /// Started by the guard.
    Worker { parent: Pid, keeper: Pid },
    /// Started by one that is dead already.
    Orphan,
}

fn role() -> Role {
    let Some(named) = Named::read() else {
        return Role::Keeper;
    };
    let Named {
        parent,
        started,
        keeper,
        ..
    } = named;
    let raw = parent.as_raw_nonzero().get();
    if getppid() == Some(parent) && table::started(raw) == Some(started) {
        return if named.is_guard {
            Role::Guard { keeper }
        } else {
            Role::Worker { parent, keeper }
        };
    }
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let is_young = table::started(me)
        .is_some_and(|mine| (started..=started + WORKER_STARTS_WITHIN).contains(&mine));
    if is_young && table::started(raw) != Some(started) {
        return Role::Orphan;
    }
    // A child of the worker that is no server, such as a shell, has started
    // the program anew.
    Role::Keeper
}

/// What the variable says.
struct Named {
    parent: Pid,
    started: u64,
    is_guard: bool,
    keeper: Pid,
}

impl Named {
    fn read() -> Option<Self> {
        let value = std::env::var(VARIABLE).ok()?;
        let mut parts = value.split(':');
        let pid = |text: Option<&str>| Pid::from_raw(text?.parse().ok()?);
        Some(Self {
            parent: pid(parts.next())?,
            started: parts.next()?.parse().ok()?,
            is_guard: match parts.next()? {
                GUARD => true,
                WORKER => false,
                _ => return None,
            },
            keeper: pid(parts.next())?,
        })
    }
}
