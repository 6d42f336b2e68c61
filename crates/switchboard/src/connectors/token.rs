//! The token that the list of connectors is fetched with.

use crate::limits;
use switchboard_auth::{BearerError, NetLimits, Secret, get_with_token, kept_token};
use switchboard_config::{connectors::Connectors, expand};

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
                Ok(token) => Token::Known(Secret::new(token)),
                Err(missing) => Token::Missing(missing.join(", ")),
            },
            None => match lookup(VARIABLE).filter(|token| !token.is_empty()) {
                Some(token) => Token::Known(Secret::new(token)),
                None => Token::Keychain,
            },
        }
    }

    /// Asks the address, and shows the token.
    pub(super) async fn ask(&self, connectors: &Connectors) -> Result<String, String> {
        let (url, place) = (&connectors.url, &connectors.place);
        let token = match self {
            Token::Known(token) => token.clone(),
            Token::Missing(names) => {
                return Err(format!(
                    "{place}: `connectors.token`: the environment variable {names} is not set; set it, or put the token into the keychain"
                ));
            }
            Token::Keychain => match kept_token(ACCOUNT).await {
                Ok(Some(token)) => token,
                Ok(None) => return Err(format!("{place}: {NO_TOKEN}")),
                Err(why) => return Err(format!("{place}: {NO_TOKEN} (the keychain: {why})")),
            },
        };
        let body = get_with_token(url, &token, &LIMITS)
            .await
            .map_err(|fault| {
                let advice = match fault {
                    BearerError::Token | BearerError::NotAccepted(_) => "check the token",
                    BearerError::Refused(_) | BearerError::Moved(_) => "check the address",
                    BearerError::Unreachable(_) | BearerError::Status(_) => {
                        "the list that was fetched last goes on counting"
                    }
                };
                format!("{url} ({place}): {fault}; {advice}")
            })?;
        String::from_utf8(body.into()).map_err(|_| format!("{url} ({place}): is no text"))
    }
}
