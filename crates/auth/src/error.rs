//! What can go wrong on the way in, in words that are safe to show: no token, no
//! secret and no control character is in any of them.

use crate::{address::AddressError, dpop::DpopError, limits, vault::VaultError};
use std::time::Duration;
use switchboard_local::{secret, visible};

/// Why signing in, renewing or signing out did not work.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// Only a person can help: somebody has to sign in.
    #[error("sign-in needed: {0}")]
    NeedsSignIn(String),
    /// An address that a server supplied is one we do not go to.
    #[error("refused: {0}")]
    Refused(String),
    /// What the server publishes about its authorization is missing or unusable.
    #[error("the server's authorization cannot be worked out: {0}")]
    Discovery(String),
    /// The authorization server is not the one that it should be.
    #[error("the authorization server identifies itself as {received}, expected {expected}")]
    Issuer {
        /// Who it should be.
        expected: String,
        /// Who it says it is; "nobody" where it does not say.
        received: String,
    },
    /// We have no client identity at the authorization server.
    #[error("no client registration: {0}")]
    Registration(String),
    /// The authorization server, or the person, said no.
    #[error("sign-in was refused: {error}{}", description.as_deref().map(|d| format!(" ({d})")).unwrap_or_default())]
    Denied {
        /// The OAuth error code.
        error: String,
        /// What the server says about it.
        description: Option<String>,
    },
    /// The browser came back with something that is not an answer to us.
    #[error("the answer to the sign-in cannot be accepted: {0}")]
    Callback(String),
    /// The token endpoint did not give a token, and may do so later.
    #[error("the token endpoint did not answer as it should: {0}")]
    Token(String),
    /// The token endpoint does not take us for a client of its own, however we
    /// prove it.
    #[error("the authorization server does not accept us as its client: {0}")]
    Client(String),
    /// The token endpoint will not take this refresh token any more.
    #[error("the authorization server has withdrawn the sign-in: {0}")]
    Withdrawn(String),
    /// Nobody signed in within the time.
    #[error("nobody signed in within {0:?}")]
    TimedOut(Duration),
    /// Tokens cannot be kept or read.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The configuration asks for something that does not work.
    #[error("{0}")]
    Settings(String),
    /// The headers helper failed.
    #[error("the headers helper {0}")]
    Helper(String),
}

impl From<AddressError> for SignInError {
    fn from(why: AddressError) -> Self {
        Self::Refused(why.to_string())
    }
}

impl From<DpopError> for SignInError {
    fn from(why: DpopError) -> Self {
        Self::Settings(why.to_string())
    }
}

impl SignInError {
    /// Whether a person has to sign in before this can work.
    pub fn needs_sign_in(&self) -> bool {
        matches!(
            self,
            Self::NeedsSignIn(_) | Self::Withdrawn(_) | Self::Client(_)
        )
    }
}

/// What a server said, made fit to be shown: one line, nothing hidden in it,
/// short, and nothing that looks like a secret.
pub(crate) fn shown(text: &str) -> String {
    let text = secret::text(text);
    let text = text.replace(char::is_control, " ");
    let text = visible::line(&text);
    let mut line: String = text.chars().take(limits::SHOWN_CHARS).collect();
    if text.chars().nth(limits::SHOWN_CHARS).is_some() {
        line.push('…');
    }
    line.trim().to_owned()
}
