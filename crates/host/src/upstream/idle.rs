//! A process that nobody uses ends after a while, and starts again when it is needed:
//! what it lists is known, so that nobody misses it. It stays while a client is there
//! that ever had anything done by it, since the process may remember something for that
//! one, and while anybody subscribes to something or has a task with it.

use super::{
    connection::Connection, health::ServerState, server::Server, slots::Owner, spec::Target,
};
use crate::client::Client;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use switchboard_tasks as tasks;
use tokio::time::Instant;

/// Since when a connection has not been used, as far as anybody looked.
#[derive(Debug, Default)]
pub(super) struct Unused(Mutex<Option<(u64, Instant)>>);

impl Unused {
    /// Notes how often it was used so far. Since when that has been so.
    fn note(&self, uses: u64) -> Instant {
        let now = Instant::now();
        let mut seen = self.0.lock();
        match *seen {
            Some((before, since)) if before == uses => since,
            _ => {
                *seen = Some((uses, now));
                now
            }
        }
    }

    /// It is in use now.
    fn forget(&self) {
        *self.0.lock() = None;
    }
}

impl Server {
    /// How long its processes may be unused, where it is a program that rests.
    pub(crate) fn rests_after(&self) -> Option<Duration> {
        let is_process = matches!(self.spec.target, Target::Stdio(_));
        self.spec.timeouts.idle.filter(|_| is_process)
    }

    /// Ends those of its processes that nobody has used for long enough. `is_there`
    /// says who is connected although no connection knows of it.
    pub(crate) fn rest(&self, is_there: impl Fn(u64) -> bool) {
        let Some(allowed) = self.rests_after() else {
            return;
        };
        for (_, slot) in self.slots().all() {
            let Some(connection) = slot.working().filter(|at| !at.is_stand_in()) else {
                continue;
            };
            if connection.may_rest(allowed, &is_there) {
                self.put_to_sleep(connection, allowed);
            }
        }
    }

    fn put_to_sleep(&self, connection: Arc<Connection>, allowed: Duration) {
        connection.fall_asleep();
        tracing::info!(server = %self.spec.name, unused = ?allowed, "nobody uses it: its process ends until it is needed");
        self.note_copies();
        self.note(ServerState::Asleep);
        let ending = async move { connection.close_link().await };
        tasks::spawn_in(self.retirement().tasks(), tasks::Kind::Background, ending);
    }

    /// What signed all of its connections in is void: those on which nothing is under way
    /// end with the one that was told so. They would be told the same, and until then the
    /// server would count as one that works.
    pub(super) fn rest_signed_out(&self) {
        for (_, slot) in self.slots().all() {
            let Some(connection) = slot.working().filter(|at| !at.is_stand_in()) else {
                continue;
            };
            if connection.ends_unused() {
                let ending = async move { connection.close_link().await };
                tasks::spawn_in(self.retirement().tasks(), tasks::Kind::Background, ending);
            }
        }
        self.note_copies();
    }

    /// What a process had that is lost, it has no more.
    pub(super) fn note_lost_process(&self, owner: &Owner) {
        let slots = self.slots().all();
        let mut theirs = slots.iter().filter(|(key, _)| key.owner == *owner);
        let another = theirs.any(|(_, slot)| slot.working().is_some());
        if !another && !self.spec.target.is_remote() {
            self.owned(owner).tasks.forget_open();
        }
    }

    /// Has it looked after from now on, where there is anything to look after.
    pub(super) fn look_after(&self) {
        if matches!(self.spec.target, Target::Stdio(_))
            && let Some(host) = self.host()
        {
            host.look_after();
        }
    }

    /// Whether the copy that this client would use rests. It hears of it when that
    /// is there again.
    pub(crate) fn sleeps_for(&self, client: &Arc<Client>) -> bool {
        let owner = self.owner(client);
        let mut asleep = None;
        for (key, slot) in self.slots().all() {
            if key.owner == owner {
                if slot.working().is_some() {
                    return false;
                }
                asleep = asleep.or_else(|| slot.asleep());
            }
        }
        let Some(connection) = asleep else {
            return false;
        };
        if client.addressable && !client.has_left() {
            connection.audience().add(client);
        }
        true
    }
}

impl Connection {
    /// Whether nobody has used it for so long, and nobody is there who did. Then
    /// nothing is done on it any more.
    fn may_rest(&self, allowed: Duration, is_there: &impl Fn(u64) -> bool) -> bool {
        let uses = self.calls().uses().count();
        if self.is_busy() {
            self.unused().forget();
            return false;
        }
        self.unused().note(uses).elapsed() >= allowed
            && !self.is_kept(is_there)
            && self.calls().uses().end_at(uses)
    }

    /// Ends if nothing is under way here; then nothing begins on it any more. Its link is
    /// still to be closed.
    pub(super) fn ends_unused(&self) -> bool {
        let uses = self.calls().uses().count();
        let ends = !self.is_busy() && self.calls().uses().end_at(uses);
        if ends {
            self.fall_asleep();
        }
        ends
    }

    /// Whether anything is under way here.
    fn is_busy(&self) -> bool {
        let calls = self.calls();
        !calls.numbers().is_empty()
            || calls.passing().count() > 0
            || calls.waiting() > 0
            || self.questions().are_open()
    }

    /// Whether somebody may come back for what the process remembers.
    fn is_kept(&self, is_there: &impl Fn(u64) -> bool) -> bool {
        let audience = self.audience();
        let callers = self.calls().callers();
        let mut attached = self.attached().into_iter();
        attached.any(|client| callers.has(client.identity))
            || callers.iter().any(is_there)
            || !audience.subscriptions().topics().is_empty()
            || audience.tasks().has_open()
    }
}
