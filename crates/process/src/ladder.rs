//! The ladder: how a server is asked, then told, then made to end.
//!
//! stdin closed and SIGINT, 100 ms, SIGTERM, 400 ms, SIGKILL; 600 ms in all, or as long as
//! a busy machine needs to look for them and kill them three times.
//! It ends as soon as no process of the server is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use switchboard_tasks as tasks;
use tokio::process::ChildStdin;

use crate::family::{Family, Presence};
use crate::{exit::Exit, limits};

pub use crate::limits::GIVE_UP_AFTER;
pub use crate::limits::KILL_AFTER;
pub use crate::limits::TERMINATE_AFTER;

/// How far the ladder had to be climbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Everything had ended before.
    None,
    /// Closing stdin and SIGINT were enough.
    Interrupt,
    /// SIGTERM was needed.
    Terminate,
    /// SIGKILL was needed.
    Kill,
}

/// How a server was stopped.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    /// How its leader ended; `None` if even SIGKILL has not ended it yet.
    pub exit: Option<Exit>,
    /// What it took.
    pub rung: Rung,
    /// How long it took.
    pub took: Duration,
    /// No process of the server is left. (False: one sleeps in the kernel, or
    /// belongs to another user.)
    pub is_complete: bool,
}

/// Climbs, beginning with closing `stdin`. Being dropped half-way leaves the
/// family as it then is.
pub(super) async fn climb(family: &Arc<Family>, stdin: Option<ChildStdin>) -> Stopped {
    let begun = Instant::now();
    let mut presence = look(family, |family| {
        family.remember();
        family.presence()
    })
    .await;
    drop(stdin);
    let mut rung = Rung::None;
    if presence == Presence::Group {
        family.signal_group(Signal::INT);
        rung = Rung::Interrupt;
    }
    let mut kill_after = KILL_AFTER;
    let mut kills = 0;
    let mut pause = Duration::from_millis(1);
    while presence != Presence::Gone {
        let passed = begun.elapsed();
        if passed >= GIVE_UP_AFTER && kills >= limits::KILLS_AT_LEAST {
            break;
        }
        if rung >= Rung::Terminate && passed >= kill_after {
            // Again and again: who forks while being killed is still there.
            rung = Rung::Kill;
            kills += 1;
            look(family, Family::kill_all).await;
            pause = Duration::from_millis(1);
        } else if rung < Rung::Terminate
            && (presence == Presence::Outsiders || passed >= TERMINATE_AFTER)
        {
            rung = Rung::Terminate;
            if presence == Presence::Outsiders {
                kill_after = KILL_AFTER.min(passed + limits::OUTSIDERS_GRACE);
            }
            look(family, |family| {
                family.signal_all(Signal::TERM);
            })
            .await;
            pause = Duration::from_millis(1);
        } else if rung == Rung::Terminate && presence == Presence::Outsiders {
            kill_after = kill_after.min(passed + limits::OUTSIDERS_GRACE);
        }
        let next = match rung {
            Rung::None | Rung::Interrupt => TERMINATE_AFTER,
            Rung::Terminate => kill_after,
            Rung::Kill => GIVE_UP_AFTER,
        };
        tokio::time::sleep(pause.min(next.saturating_sub(begun.elapsed()))).await;
        pause = (pause * 2).min(limits::LONGEST_DEATH_LOOK);
        presence = look(family, Family::presence).await;
    }
    Stopped {
        exit: family.exit(),
        rung,
        took: begun.elapsed(),
        is_complete: presence == Presence::Gone,
    }
}

/// Kills a family at once and without waiting for anyone else: for when there
/// may be no runtime to wait on. Returns within a tenth of a second; who is left then is
/// pursued by a thread of its own, as on a busy machine somebody who forks away may be
/// quicker than we are.
pub(super) fn kill_now(family: &Arc<Family>) {
    if kill_for(family, limits::KILLED_AT_ONCE) == Presence::Gone {
        return;
    }
    let theirs = Arc::clone(family);
    let pursuit = std::thread::Builder::new()
        .name("pursuit".into())
        .spawn(move || {
            kill_for(&theirs, limits::UNKILLABLE_AFTER);
            theirs.abandon();
        });
    if pursuit.is_err() {
        family.abandon();
    }
}

/// Kills all of a family, again and again until none is left or the time is over.
fn kill_for(family: &Family, most: Duration) -> Presence {
    let give_up = Instant::now() + most;
    loop {
        family.kill_all();
        let presence = family.presence();
        if presence == Presence::Gone || Instant::now() >= give_up {
            return presence;
        }
        #[expect(clippy::disallowed_methods, reason = "the runtime may be gone")]
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Listing processes reads many small files: not on a thread that serves.
async fn look<T: Send + 'static>(
    family: &Arc<Family>,
    how: impl FnOnce(&Family) -> T + Copy + Send + 'static,
) -> T {
    let theirs = Arc::clone(family);
    match tasks::blocking(move || how(&theirs)).await {
        Ok(value) => value,
        // The runtime is going away, and takes no more work.
        Err(_) => how(family),
    }
}
