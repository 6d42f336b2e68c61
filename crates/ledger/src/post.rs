//! Messages between processes, by the way of whoever they share a ledger with: at most once,
//! in the order in which one sends them, and kept by nobody.

use crate::Pending;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use std::fmt;

/// A way from each of several processes to each other.
pub trait Post: fmt::Debug + Send + Sync {
    /// Sends a message to whoever listens there.
    fn send(&self, to: &str, message: Bytes) -> Pending<()>;

    /// The same; where nobody listens there, [`Post::unheard`] says so.
    fn send_noted(&self, to: &str, message: Bytes) -> Pending<()>;

    /// Where messages were sent to that nobody has heard, from now on.
    fn unheard(&self) -> Pending<BoxStream<'static, String>>;

    /// Sends a message, and waits until somebody says that it has it; whether anybody did. Nobody
    /// is waited for where nobody listens.
    fn hand_over(&self, to: &str, message: Bytes) -> Pending<bool>;

    /// All that comes from now on to places of two more words behind this one.
    fn listen(&self, at: &str) -> Pending<BoxStream<'static, Arrival>>;

    /// Says that a message has arrived.
    fn acknowledge(&self, arrival: &Arrival) -> Pending<()>;
}

/// A message that has come.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Where it was sent to.
    pub to: String,
    /// What it is.
    pub message: Bytes,
    /// Where somebody waits to hear that it arrived.
    pub reply: Option<String>,
}
