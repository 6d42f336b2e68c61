//! What can go wrong between a client's request and a server's answer.

use serde_json::json;
use std::time::Duration;
use switchboard_transport::Undelivered;
use switchboard_wire::{Era, ErrorObject, code};

/// What the data of an error says, as `refused`, where a call was not made because nobody
/// allowed it: whoever called through a gateway can tell that from a server's own error.
pub const NOT_ALLOWED: &str = "not-allowed";

/// Why a request got no answer from its server.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The request itself is wrong, or names something that is not there.
    #[error("{}", .0.message)]
    Refused(ErrorObject),
    /// The server cannot be reached now.
    #[error("server {server:?} is not connected: {reason}")]
    NotConnected {
        /// Which server.
        server: String,
        /// Why not.
        reason: String,
    },
    /// The client speaks one era, the server only the other.
    #[error(
        "server {server:?} speaks only the {server_era} protocol era, this client the {client_era} one; they cannot be joined yet"
    )]
    EraMismatch {
        /// Which server.
        server: String,
        /// What it speaks.
        server_era: Era,
        /// What the client speaks.
        client_era: Era,
    },
    /// The connection ended while the call was running.
    #[error(
        "server {server:?} went away during the call: {reason}; whether it was carried out is unknown"
    )]
    Interrupted {
        /// Which server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The link could not deliver it.
    #[error("server {server:?}: {why}")]
    Undelivered {
        /// Which server.
        server: String,
        /// Why.
        why: Undelivered,
    },
    /// The server's answer cannot be read.
    #[error("the answer of server {server:?} cannot be read: {reason}")]
    Unreadable {
        /// Which server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The server does not accept how we put a request to it: our business, and not the client's.
    #[error("server {server:?} does not accept how its request was put: {reason}")]
    WrongForm {
        /// Which server.
        server: String,
        /// The server's own code.
        code: i64,
        /// What it said.
        reason: String,
    },
    /// No answer in time.
    #[error("server {server:?}: no answer within {allowed:?}")]
    TimedOut {
        /// Which server.
        server: String,
        /// How long it had.
        allowed: Duration,
    },
    /// It may not be seen or reached.
    #[error("{what} is not permitted: {reason}")]
    NotPermitted {
        /// What was asked for.
        what: String,
        /// Why not, for whoever wrote the rules.
        reason: String,
    },
    /// It may be reached once somebody says yes, and nobody did.
    #[error("{what} was not allowed: {reason}")]
    NotAllowed {
        /// What was asked for.
        what: String,
        /// Why not, and what would allow it.
        reason: String,
    },
    /// Given up by the client: nothing is owed to it.
    #[error("cancelled")]
    Cancelled,
    /// Too much is going on.
    #[error("server {server:?} is busy: {reason}")]
    Busy {
        /// Which server.
        server: String,
        /// What is full.
        reason: String,
    },
}

/// Whose fault it is that a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The client's: it asks for what is not there, or may not be reached.
    Client,
    /// Ours.
    Us,
    /// The server's.
    Server,
}

/// Whether the same request may be made once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It was not carried out, so that a second time does no harm.
    Safe,
    /// It may have been carried out: only if doing it twice does no harm.
    IfRepeatable,
    /// It would end in the same way until somebody changes something.
    Useless,
}

impl CallError {
    /// Whose fault it was.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Refused(error) if error.code == code::INTERNAL => Blame::Us,
            Self::Refused(_)
            | Self::NotPermitted { .. }
            | Self::NotAllowed { .. }
            | Self::Cancelled => Blame::Client,
            Self::WrongForm { .. } | Self::Busy { .. } => Blame::Us,
            Self::NotConnected { .. }
            | Self::EraMismatch { .. }
            | Self::Interrupted { .. }
            | Self::Undelivered { .. }
            | Self::Unreadable { .. }
            | Self::TimedOut { .. } => Blame::Server,
        }
    }

    /// Whether a retry is safe.
    pub fn again(&self) -> Again {
        match self {
            Self::NotConnected { .. } | Self::WrongForm { .. } | Self::Busy { .. } => Again::Safe,
            Self::Undelivered { why, .. } => match why {
                Undelivered::NotSent(_) | Undelivered::SessionExpired => Again::Safe,
                Undelivered::Unknown(_) | Undelivered::TimedOut(_) | Undelivered::Status { .. } => {
                    Again::IfRepeatable
                }
                Undelivered::NeedsAuth { .. } => Again::Useless,
            },
            Self::Interrupted { .. }
            | Self::TimedOut { .. }
            | Self::Unreadable { .. }
            | Self::Cancelled => Again::IfRepeatable,
            Self::Refused(_)
            | Self::EraMismatch { .. }
            | Self::NotPermitted { .. }
            | Self::NotAllowed { .. } => Again::Useless,
        }
    }

    /// Whether it failed on the way, so that another connection may do better; what
    /// took too long did not.
    pub(crate) fn was_lost(&self) -> bool {
        match self {
            Self::Interrupted { .. } | Self::WrongForm { .. } => true,
            Self::Undelivered { why, .. } => !matches!(
                why,
                Undelivered::TimedOut(_)
                    | Undelivered::Status { .. }
                    | Undelivered::NeedsAuth { .. }
            ),
            _ => false,
        }
    }

    /// The error as the client gets it. Causes that are the client's own business keep their code.
    pub fn to_error(&self) -> ErrorObject {
        let (server, reason) = match self {
            Self::Refused(error) => return error.clone(),
            Self::EraMismatch {
                server,
                server_era,
                client_era,
            } => {
                return ErrorObject::new(code::INTERNAL, self.to_string()).with_data(json!({
                    "server": server, "serverEra": server_era.to_string(), "clientEra": client_era.to_string(),
                }));
            }
            Self::NotConnected { server, reason }
            | Self::Interrupted { server, reason }
            | Self::Unreadable { server, reason }
            | Self::WrongForm { server, reason, .. }
            | Self::Busy { server, reason } => (server.clone(), reason.clone()),
            Self::Undelivered { server, why } => {
                if let Some(scope) = why.missing_scope() {
                    let command = format!("switchboard login {server}");
                    let text = format!("{self}; sign in again: {command}");
                    let data = json!({"server": server, "scope": scope, "command": command});
                    return ErrorObject::new(code::INTERNAL, text).with_data(data);
                }
                (server.clone(), why.to_string())
            }
            // Where the rule stands is its author's business, not every client's.
            Self::NotPermitted { what, .. } => {
                return ErrorObject::new(code::INVALID_PARAMS, format!("{what} is not permitted"));
            }
            Self::NotAllowed { .. } => {
                return ErrorObject::new(code::INVALID_PARAMS, self.to_string())
                    .with_data(json!({ "refused": NOT_ALLOWED }));
            }
            Self::TimedOut { server, allowed } => {
                (server.clone(), format!("no answer within {allowed:?}"))
            }
            Self::Cancelled => return ErrorObject::new(code::INTERNAL, self.to_string()),
        };
        ErrorObject::new(code::INTERNAL, self.to_string())
            .with_data(json!({ "server": server, "reason": reason }))
    }

    /// A fault of our own ended it: a task that it depended on panicked.
    pub fn broke_off() -> Self {
        let text =
            "something broke inside Switchboard; this is a bug, and the gateway's log says where";
        Self::refused(code::INTERNAL, text)
    }

    /// The gateway ends, and what was under way does not: nobody will ever know.
    pub fn gateway_ended() -> Self {
        let text = "the gateway has ended while this was under way: whether it was carried out is not known";
        let error = ErrorObject::new(code::INTERNAL, text);
        Self::Refused(error.with_data(json!({"outcome": "unknown"})))
    }

    /// A refusal with this code and text.
    pub fn refused(code: i64, message: impl Into<String>) -> Self {
        Self::Refused(ErrorObject::new(code, message))
    }
}

impl From<ErrorObject> for CallError {
    fn from(error: ErrorObject) -> Self {
        Self::Refused(error)
    }
}

#[cfg(test)]
mod tests;
