//! A place for one connection: made when it is first needed, made again when
//! it has ended, and never by two at once.

use super::{
    connecting::with_last_words,
    connection::{Connection, Ended},
};
use crate::{catalog::note_move, error::CallError, limits};
use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};
use switchboard_local::random;
use switchboard_transport::Undelivered;
use switchboard_wire::Era;
use tokio::sync::watch;

/// Why a connection could not be made.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// It cannot be reached, or does not behave.
    #[error("{0}")]
    Failed(String),
    /// It answered, and said no to the handshake.
    #[error("{0}")]
    Refused(String),
    /// It works, but only in the other era.
    #[error("the server speaks only the {0} era")]
    WrongEra(Era),
    /// It wants us to sign in.
    #[error("{0}")]
    NeedsAuth(Undelivered),
}

impl ConnectError {
    pub(super) fn from_call(fault: &CallError) -> Self {
        match fault {
            CallError::Undelivered {
                why: why @ Undelivered::NeedsAuth { .. },
                ..
            } => Self::NeedsAuth(why.clone()),
            CallError::Undelivered { why, .. } => Self::Failed(why.to_string()),
            CallError::Interrupted { reason, .. } | CallError::NotConnected { reason, .. } => {
                Self::Failed(reason.clone())
            }
            CallError::TimedOut { allowed, .. } => {
                Self::Failed(format!("no answer to the handshake within {allowed:?}"))
            }
            other => Self::Failed(other.to_string()),
        }
    }

    /// Whether trying again would change nothing until somebody does something.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::NeedsAuth(_) | Self::WrongEra(_) | Self::Refused(_)
        )
    }

    /// The same after this many attempts in a row: it says what happens next, if
    /// that is nothing.
    pub(super) fn after(self, attempts: u32, server: &str) -> Self {
        match self {
            Self::Failed(why) if attempts >= limits::ATTEMPTS => {
                let next = left_alone(server);
                Self::Failed(format!(
                    "{attempts} attempts in a row have failed; {next}. The last time: {why}"
                ))
            }
            other => other,
        }
    }

    /// What a request that needed the connection ends with.
    pub(super) fn to_call_error(&self, server: &str, client_era: Era) -> CallError {
        match self {
            Self::WrongEra(server_era) => CallError::EraMismatch {
                server: server.to_owned(),
                server_era: *server_era,
                client_era,
            },
            Self::NeedsAuth(why) if why.missing_scope().is_some() => CallError::Undelivered {
                server: server.to_owned(),
                why: why.clone(),
            },
            other => CallError::NotConnected {
                server: server.to_owned(),
                reason: other.to_string(),
            },
        }
    }
}

/// What is in the slot.
#[derive(Clone, Debug, Default)]
pub(super) enum Content {
    /// Nothing yet.
    #[default]
    Empty,
    /// Somebody is making it.
    Connecting,
    /// Here it is; it may have ended since.
    Ready(Arc<Connection>),
    /// It could not be made, and is not tried again before `retry`. What was
    /// subscribed on the one before it is taken over by the one after.
    Failed {
        error: ConnectError,
        attempts: u32,
        retry: Instant,
        old: Option<Arc<Connection>>,
    },
}

#[derive(Debug)]
pub(super) struct Slot {
    content: watch::Sender<Content>,
    /// When it was last asked for.
    used: Mutex<tokio::time::Instant>,
    /// How many connections in a row ended before they were of any use.
    useless: AtomicU32,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            content: watch::Sender::default(),
            used: Mutex::new(tokio::time::Instant::now()),
            useless: AtomicU32::new(0),
        }
    }
}

impl Slot {
    /// Notes that it is asked for now.
    pub(super) fn touch(&self) {
        *self.used.lock() = tokio::time::Instant::now();
    }

    /// When it was last asked for.
    pub(super) fn used(&self) -> tokio::time::Instant {
        *self.used.lock()
    }

    /// Whether nobody uses what is in it.
    pub(super) fn is_idle(&self) -> bool {
        match &*self.content.borrow() {
            Content::Ready(connection) => connection.is_idle(),
            Content::Connecting => false,
            Content::Empty | Content::Failed { .. } => true,
        }
    }

    /// What is in it now.
    pub(super) fn content(&self) -> Content {
        self.content.borrow().clone()
    }

    /// The connection, if there is one that has not ended.
    pub(super) fn working(&self) -> Option<Arc<Connection>> {
        match &*self.content.borrow() {
            Content::Ready(connection) if !connection.has_ended() => Some(connection.clone()),
            _ => None,
        }
    }

    /// The connection, if it was ended since nobody used it.
    pub(super) fn asleep(&self) -> Option<Arc<Connection>> {
        match &*self.content.borrow() {
            Content::Ready(connection) if connection.how_it_ended() == Some(Ended::Asleep) => {
                Some(connection.clone())
            }
            _ => None,
        }
    }

    /// Claims the making of the connection: true for exactly one caller while it is needed.
    pub(super) fn claim(&self, force: bool) -> bool {
        let mut claimed = false;
        let moved = self.content.send_if_modified(|content| {
            let failed = match content {
                Content::Empty => None,
                Content::Ready(connection) => match connection.how_it_ended() {
                    // That it rested is no sign of anything.
                    Some(Ended::Asleep) => None,
                    Some(how) => self.crashed(connection, how.to_string()),
                    None => return false,
                },
                Content::Failed { retry, .. } if force || Instant::now() >= *retry => None,
                Content::Connecting | Content::Failed { .. } => return false,
            };
            claimed = force || failed.is_none();
            *content = if claimed {
                Content::Connecting
            } else {
                failed.unwrap_or_default()
            };
            true
        });
        if moved {
            note_move();
        }
        claimed
    }

    /// Whatever happened before does not count any more: somebody wants it anew.
    pub(super) fn pardon(&self) {
        self.useless.store(0, Ordering::Relaxed);
    }

    /// A server that ends before it was of any use is started again once, and
    /// then less and less often.
    fn crashed(&self, connection: &Arc<Connection>, why: String) -> Option<Content> {
        if connection.was_of_use() {
            self.pardon();
            return None;
        }
        let attempts = self.useless.fetch_add(1, Ordering::Relaxed) + 1;
        let retry = Instant::now() + backoff(attempts);
        let why = with_last_words(why, &connection.last_words());
        let next = match attempts < limits::ATTEMPTS {
            true => "the pauses before it is started again grow".to_owned(),
            false => left_alone(connection.server_name()),
        };
        let when = match connection.passed_cap() {
            Some(_) => "soon after its start",
            None => "before it was of any use",
        };
        let error = ConnectError::Failed(format!(
            "it ended {attempts} times in a row {when}; {next}. The last time: {why}"
        ));
        let old = Some(connection.clone());
        (attempts > 1).then_some(Content::Failed {
            error,
            attempts,
            retry,
            old,
        })
    }

    /// Puts in what the claimed attempt gave. `attempts` counts failures in a row.
    pub(super) fn fill(
        &self,
        result: Result<Arc<Connection>, ConnectError>,
        failures_before: u32,
        old: Option<Arc<Connection>>,
    ) {
        self.content.send_replace(match result {
            Ok(connection) => Content::Ready(connection),
            Err(error) => {
                let attempts = failures_before + 1;
                Content::Failed {
                    error,
                    attempts,
                    retry: Instant::now() + backoff(attempts),
                    old,
                }
            }
        });
        note_move();
    }

    /// Waits until nobody is connecting.
    pub(super) async fn settled(&self) -> Content {
        let mut watch = self.content.subscribe();
        let settled = watch
            .wait_for(|content| !matches!(content, Content::Connecting | Content::Empty))
            .await;
        settled.map(|content| content.clone()).unwrap_or_default()
    }
}

/// What becomes of a server after a row of failures.
pub(super) fn left_alone(server: &str) -> String {
    format!(
        "it is left alone until somebody uses it later on, or says: switchboard reconnect {server}"
    )
}

/// Full jitter: anywhere up to a bound that doubles each time. After a row of
/// failures the whole bound: whoever asks is then told at once.
pub(super) fn backoff(attempts: u32) -> Duration {
    if attempts >= limits::ATTEMPTS {
        return limits::BACKOFF_CAP;
    }
    let bound = limits::RETRY_PAUSE
        .saturating_mul(1 << attempts.min(10))
        .min(limits::BACKOFF_CAP);
    // Without randomness the whole wait: never none at all.
    let random = random::bytes().map_or(u32::MAX, u32::from_le_bytes);
    bound.mul_f64(f64::from(random) / f64::from(u32::MAX))
}
