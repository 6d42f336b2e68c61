//! Which of the two are we?

use rustix::process::getppid;

use super::{KeeperError, Kept, parent, worker};
use crate::process::table;

/// Names the keeper to the worker: its process number and start time.
///
/// Not a secret and no proof: it only counts when our parent is that very
/// process. Servers do not inherit it.
pub(super) const VARIABLE: &str = "SWITCHBOARD_KEEPER";

/// A worker starts right after its keeper. A process that started much later
/// and finds the variable got it by accident.
const WORKER_STARTS_WITHIN: u64 = 5 * table::TICKS_PER_SECOND;

pub(super) fn enter() -> Result<Kept, KeeperError> {
    match role() {
        Role::Worker { keeper } => worker::begin(keeper),
        Role::Orphan => Err(KeeperError::KeeperGone),
        Role::Keeper => match parent::run()? {},
    }
}

enum Role {
    /// Started by the user: to become the keeper.
    Keeper,
    /// Started by the keeper.
    Worker { keeper: i32 },
    /// Started by a keeper that is dead already.
    Orphan,
}

fn role() -> Role {
    let Some((keeper, started)) = named_keeper() else {
        return Role::Keeper;
    };
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent == Some(keeper) && table::started(keeper) == Some(started) {
        return Role::Worker { keeper };
    }
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let is_young = table::started(me)
        .is_some_and(|mine| (started..=started + WORKER_STARTS_WITHIN).contains(&mine));
    if is_young && table::started(keeper) != Some(started) {
        return Role::Orphan;
    }
    // A child of the worker that is no server, such as a shell, has started
    // the program anew.
    Role::Keeper
}

fn named_keeper() -> Option<(i32, u64)> {
    let value = std::env::var(VARIABLE).ok()?;
    let (pid, started) = value.split_once(':')?;
    Some((pid.parse().ok()?, started.parse().ok()?))
}

/// Signals that we were told to ignore, by `nohup` for one.
pub(super) struct SignalSet(u64);

impl SignalSet {
    pub(super) fn contains(&self, number: i32) -> bool {
        (1..=64).contains(&number) && self.0 & (1 << (number - 1)) != 0
    }
}

pub(super) fn ignored_signals() -> SignalSet {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    SignalSet(mask.unwrap_or_default())
}
