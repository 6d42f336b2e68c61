//! What is answered, or why not.

use http::StatusCode;
use serde::Serialize;
use switchboard_api::Refused;
use switchboard_gateway::{Controlled, EventBytes, Pieces, Said};

/// An answer, or why there is none.
pub(crate) type Answer = Result<Reply, No>;

/// What is answered.
pub(crate) enum Reply {
    /// A value.
    Json(String),
    /// Events as they come.
    Events(EventBytes),
    /// A page of another kind, as it is made.
    Pieces(Pieces),
}

impl Reply {
    /// A value.
    pub(crate) fn json(value: &impl Serialize) -> Answer {
        let text = serde_json::to_string(value);
        text.map(Self::Json).map_err(|fault| No::broken(&fault))
    }
}

/// Why something is not done.
#[derive(Debug)]
pub(crate) struct No {
    status: StatusCode,
    refused: Box<Refused>,
}

impl No {
    fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        let refused = Refused {
            error: error.into(),
            code: code.to_owned(),
            ..Refused::default()
        };
        Self {
            status,
            refused: Box::new(refused),
        }
    }

    /// Nobody was let in who could ask this.
    pub(crate) fn nobody() -> Self {
        let text = "a token is needed: Authorization: Bearer …";
        Self::new(StatusCode::UNAUTHORIZED, "not-allowed", text)
    }

    /// A code that opens nothing, or does no longer.
    pub(crate) fn wrong_code() -> Self {
        let text = "this code is wrong, was used already, or is older than a minute";
        Self::new(StatusCode::UNAUTHORIZED, "not-allowed", text).hint("switchboard console")
    }

    /// Who asks may not.
    pub(crate) fn not_allowed(error: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "not-allowed", error)
    }

    /// There is nothing of the kind; of another's is said the same.
    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", error)
    }

    /// This gateway does not have it.
    pub(crate) fn unavailable(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unavailable", error)
    }

    /// Somebody else cannot be asked just now.
    pub(crate) fn away(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error)
    }

    /// The path is there, and has other verbs.
    pub(crate) fn verb(has: &str) -> Self {
        let error = format!("this path has {has}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", error)
    }

    /// What was sent makes no sense.
    pub(crate) fn invalid(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", error)
    }

    /// It is not, or not any more, as the request takes it to be.
    pub(crate) fn conflict(error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", error)
    }

    /// It has to be said once more that it is meant.
    pub(crate) fn confirm(error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "confirm", error)
    }

    /// It was there, and is over.
    pub(crate) fn gone(error: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "gone", error)
    }

    /// There are too many already.
    pub(crate) fn too_many(error: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", error)
    }

    /// A fault of ours, or of the machine's.
    pub(crate) fn broken(error: &dyn std::fmt::Display) -> Self {
        let error = error.to_string();
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "broken", error)
    }

    /// With what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.refused.hint = Some(hint.into());
        self
    }

    /// With the field that is wrong, as a JSON pointer.
    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.refused.field = Some(field.into());
        self
    }
}

impl From<No> for Controlled {
    fn from(no: No) -> Self {
        let json = serde_json::to_string(&no.refused).unwrap_or_default();
        Self::json(no.status, json)
    }
}

impl From<Reply> for Controlled {
    fn from(reply: Reply) -> Self {
        let status = StatusCode::OK;
        match reply {
            Reply::Json(json) => Self::json(status, json),
            Reply::Events(events) => Self {
                status,
                said: Said::Events(events),
            },
            Reply::Pieces(pieces) => Self {
                status,
                said: Said::Pieces(pieces),
            },
        }
    }
}
