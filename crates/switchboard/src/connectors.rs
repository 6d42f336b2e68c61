//! Fetching the list of connectors. What is configured is always read from the
//! copy that is kept; fetching happens beside everything else, and whoever
//! follows the files sees the copy change. So a slow or broken address delays
//! nothing, and the last good list goes on counting.

use std::{
    path::Path,
    sync::mpsc::{self, Receiver},
    time::{Duration, SystemTime},
};
use switchboard_auth::{BearerError, NetLimits, Secret, get_with_token, kept_token};
use switchboard_config::{
    connectors::{Cache, Connectors, State},
    expand,
};
use tokio_util::sync::CancellationToken;

/// The variable with the token, where the settings have none.
const VARIABLE: &str = "SWITCHBOARD_CONNECTORS_TOKEN";
/// The keychain's account with the token, where the environment has none.
const ACCOUNT: &str = "connectors";
/// How often a gateway asks itself whether it is time.
const LOOK: Duration = Duration::from_secs(1);
const LIMITS: NetLimits = NetLimits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(10),
    body: 1024 * 1024,
};

/// One address, and all that is needed to ask it.
#[derive(Clone, Debug)]
pub struct Fetching {
    connectors: Connectors,
    cache: Cache,
    token: Token,
}

#[derive(Clone, Debug)]
enum Token {
    Known(Secret),
    Keychain,
    /// A variable that the settings name is not set.
    Missing(String),
}

impl Fetching {
    /// For what the settings say; `cache` is the folder of things that can be
    /// made again.
    pub fn new(connectors: &Connectors, cache: &Path, lookup: expand::Lookup<'_>) -> Self {
        let token = match &connectors.token {
            Some(written) => match expand::substitute(written, lookup) {
                Ok(token) => Token::Known(Secret::new(token)),
                Err(missing) => Token::Missing(missing.join(", ")),
            },
            None => match lookup(VARIABLE).filter(|token| !token.is_empty()) {
                Some(token) => Token::Known(Secret::new(token)),
                None => Token::Keychain,
            },
        };
        Self {
            connectors: connectors.clone(),
            cache: Cache::new(cache),
            token,
        }
    }

    /// Whether it is time to ask (again).
    pub fn is_due(&self) -> bool {
        self.cache
            .is_due(self.connectors.url.as_str(), SystemTime::now())
    }

    /// How the last attempt went, if this address was ever asked.
    pub fn state(&self) -> Option<State> {
        let state = self.cache.state()?;
        (state.from == self.connectors.url.as_str()).then_some(state)
    }

    /// Fetches the list and keeps it; whether it is another than before.
    ///
    /// # Errors
    /// What went wrong, where, and what to do. The list that was kept stays.
    pub async fn fetch(&self) -> Result<bool, String> {
        let from = self.connectors.url.as_str();
        let kept = match self.ask().await {
            Ok(text) => match self.connectors.accept(&text) {
                Ok(servers) => self.cache.keep(from, &servers).map_err(|e| e.to_string()),
                Err(fault) => Err(fault.to_string()),
            },
            Err(why) => Err(why),
        };
        if let Err(why) = &kept
            && let Err(error) = self.cache.failed(from, why)
        {
            tracing::debug!(%error, "how fetching connectors went cannot be kept");
        }
        kept
    }

    async fn ask(&self) -> Result<String, String> {
        let (url, place) = (&self.connectors.url, &self.connectors.place);
        let token = match &self.token {
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

const NO_TOKEN: &str = "there is no token for the list of connectors; set SWITCHBOARD_CONNECTORS_TOKEN, or put it into the keychain as account \"connectors\" of service \"switchboard\"";

/// A fetch beside a short command.
#[derive(Debug)]
pub struct Background {
    done: Receiver<Result<bool, String>>,
}

impl Background {
    /// Begins, if it is time.
    pub fn begin(fetching: &Fetching) -> Option<Self> {
        if !fetching.is_due() {
            return None;
        }
        let (tell, done) = mpsc::channel();
        let fetching = fetching.clone();
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let fetched = match runtime {
                Ok(runtime) => {
                    let fetched = runtime.block_on(fetching.fetch());
                    // A name that is being looked up must not keep us.
                    runtime.shutdown_background();
                    fetched
                }
                Err(error) => Err(error.to_string()),
            };
            let _ = tell.send(fetched);
        };
        let thread = std::thread::Builder::new().name("connectors".into());
        thread.spawn(work).ok()?;
        Some(Self { done })
    }

    /// What came of it, if it is known within this time.
    pub fn wait(&self, limit: Duration) -> Option<Result<bool, String>> {
        self.done.recv_timeout(limit).ok()
    }
}

/// Fetches whenever it is time, until it is told to stop. `current` says what
/// the settings say by then.
pub async fn follow(current: impl Fn() -> Option<Fetching>, stop: CancellationToken) {
    loop {
        if let Some(fetching) = current().filter(Fetching::is_due) {
            tokio::select! {
                fetched = fetching.fetch() => match fetched {
                    Ok(true) => tracing::info!("the list of connectors has changed"),
                    Ok(false) => {}
                    Err(why) => tracing::warn!(why, "connectors cannot be fetched; the last list goes on counting"),
                },
                () = stop.cancelled() => return,
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => return,
        }
    }
}
