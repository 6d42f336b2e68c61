//! The token that the list of connectors is fetched with.

use crate::limits;
use switchboard_auth::{BearerError, KeychainError, NetLimits, Secret, get_with_token, kept_token};
use switchboard_config::{connectors::Connectors, expand};
use url::Url;

/// The variable with the token, where the settings have none.
const VARIABLE: &str = "SWITCHBOARD_CONNECTORS_TOKEN";
/// The keychain's account with the token, where the environment has none.
const ACCOUNT: &str = "connectors";
const LIMITS: NetLimits = NetLimits {
    connect: limits::CONNECTORS_CONNECT,
    total: limits::CONNECTORS_TOTAL,
    body: limits::CONNECTORS_BYTES,
};

const NO_TOKEN: &str = "there is no token for the list of connectors; set SWITCHBOARD_CONNECTORS_TOKEN, or put it into the keychain as account \"connectors\" of service \"switchboard\"";

/// Why the list did not come: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The settings name a variable that is not there.
    #[error(
        "{place}: `connectors.token`: the environment variable {names} is not set; set it, or put the token into the keychain"
    )]
    Variable {
        /// Where the settings say so.
        place: String,
        /// Which.
        names: String,
    },
    /// Nothing would open the list.
    #[error("{place}: {NO_TOKEN}{}", of_keychain(.keychain.as_ref()))]
    NoToken {
        /// Where the settings ask for the list.
        place: String,
        /// Why the keychain is of no help.
        keychain: Option<KeychainError>,
    },
    /// The address did not give it.
    #[error("{url} ({place}): {why}; {}", advice(.why))]
    Refused {
        /// Where it should be.
        url: Url,
        /// Where the settings say so.
        place: String,
        /// Why.
        why: BearerError,
    },
    /// What came is no text: from where, and where the settings say so.
    #[error("{0} ({1}): is no text")]
    NoText(Url, String),
}

fn of_keychain(fault: Option<&KeychainError>) -> String {
    fault.map_or(String::new(), |why| format!(" (the keychain: {why})"))
}

const fn advice(why: &BearerError) -> &'static str {
    match why {
        BearerError::Token | BearerError::NotAccepted(_) => "check the token",
        BearerError::Refused(_) | BearerError::Moved(_) => "check the address",
        BearerError::Unreachable(_) | BearerError::Status(_) => {
            "the list that was fetched last goes on counting"
        }
    }
}

/// What lets us have the list.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Known(Secret),
    Keychain,
    /// A variable that the settings name is not set.
    Missing(String),
}

impl Token {
    /// The one that the settings or the environment name.
    pub(super) fn of(connectors: &Connectors, lookup: expand::Lookup<'_>) -> Self {
        match &connectors.token {
            Some(written) => match expand::substitute(written, lookup) {
                Ok(token) => Self::Known(Secret::new(token)),
                Err(missing) => Self::Missing(missing.join(", ")),
            },
            None => match lookup(VARIABLE).filter(|token| !token.is_empty()) {
                Some(token) => Self::Known(Secret::new(token)),
                None => Self::Keychain,
            },
        }
    }

    /// Asks the address, and shows the token.
    pub(super) async fn ask(&self, connectors: &Connectors) -> Result<String, AskError> {
        let (url, place) = (&connectors.url, connectors.place.clone());
        let no_token = |keychain| AskError::NoToken {
            place: place.clone(),
            keychain,
        };
        let token = match self {
            Self::Known(token) => token.clone(),
            Self::Missing(names) => {
                let names = names.clone();
                return Err(AskError::Variable { place, names });
            }
            Self::Keychain => match kept_token(ACCOUNT).await {
                Ok(Some(token)) => token,
                Ok(None) => return Err(no_token(None)),
                Err(why) => return Err(no_token(Some(why))),
            },
        };
        let body = match get_with_token(url, &token, &LIMITS).await {
            Ok(body) => body,
            Err(why) => {
                let url = url.clone();
                return Err(AskError::Refused { url, place, why });
            }
        };
        let no_text = |_| AskError::NoText(url.clone(), place);
        String::from_utf8(body.into()).map_err(no_text)
    }
}
