//! The end of a connection, and what becomes of what is in flight then.

use super::{Connection, Ended, note_move};
use crate::{error::CallError, exchange::Outcome};

impl Connection {
    /// Ends the connection since nobody uses it.
    pub(in crate::upstream) fn fall_asleep(&self) {
        self.end(Ended::Asleep, &Ended::Asleep.to_string());
    }

    /// Ends the connection and what is behind it.
    pub async fn close(&self) {
        self.close_because(&Ended::ByUs.to_string()).await;
    }

    /// The same for one that is of no use any more: it is made again for those who listen.
    pub(crate) async fn give_up(&self, why: &str) {
        self.lose(why);
        self.close_link().await;
    }

    /// The same; whoever waits for an answer is told why.
    pub(in crate::upstream) async fn close_because(&self, why: &str) {
        // First, so that what the link says of its end is not taken for an accident.
        self.end(Ended::ByUs, why);
        self.close_link().await;
    }

    /// Ends what is behind it.
    pub(in crate::upstream) async fn close_link(&self) {
        if let Some(link) = self.link.get() {
            link.close().await;
        }
    }

    /// Whoever was let in before has to sign in again.
    pub(in crate::upstream) fn shut_out(&self) {
        self.give_way(Ended::SignedOut);
    }

    /// It is not used any more because of what became of one request. Over HTTP each of
    /// them stands alone: what else is in flight has its answer still to come.
    pub(in crate::upstream) fn give_way(&self, how: Ended) {
        match self.is_http() {
            true => {
                self.note_end(how);
            }
            false => self.end(how.clone(), &how.to_string()),
        }
    }

    /// Whether it is not used any more, and some of what was asked of it is not answered
    /// yet.
    pub(in crate::upstream) fn runs_out(&self) -> bool {
        self.has_ended() && (self.calls.passing().count() > 0 || !self.calls.numbers().is_empty())
    }

    /// It is lost.
    pub(in crate::upstream) fn lose(&self, why: &str) {
        self.end(Ended::Lost(why.to_owned()), why);
    }

    /// Ends all that is in flight, once; whoever waits is told why.
    pub(super) fn end(&self, how: Ended, why: &str) {
        if self.note_end(how) {
            self.interrupt(why);
        }
    }

    /// Notes its end; whether it is the first.
    fn note_end(&self, how: Ended) -> bool {
        let first = self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(how);
            }
            first
        });
        if first {
            note_move();
        }
        first
    }

    /// Ends what is in flight; whoever waits is told why.
    pub(in crate::upstream) fn interrupt(&self, why: &str) {
        for call in self.calls.take_all() {
            let (server, reason) = (self.name(), why.to_owned());
            call.finish(Outcome::Failed(CallError::Interrupted { server, reason }));
        }
        self.questions.withdraw_all();
    }
}
