//! Fetching the list of connectors. What is configured is always read from the
//! copy that is kept; fetching happens beside everything else, and whoever
//! follows the files sees the copy change. So a slow or broken address delays
//! nothing, and the last good list goes on counting.

#[cfg(feature = "sign-in")]
mod token;
#[cfg(not(feature = "sign-in"))]
#[path = "absent/token.rs"]
mod token;

use crate::limits;
use std::{
    path::Path,
    sync::mpsc::{self, Receiver},
    time::{Duration, SystemTime},
};
use switchboard_config::{
    Fault,
    connectors::{Cache, Connectors, State},
    edit::EditError,
    expand,
};
pub use token::AskError;
use token::Token;
use tokio_util::sync::CancellationToken;

/// One address, and all that is needed to ask it.
#[derive(Clone, Debug)]
pub struct Fetching {
    connectors: Connectors,
    cache: Cache,
    token: Token,
}

impl Fetching {
    /// For what the settings say; `cache` is the folder of things that can be
    /// made again.
    pub fn new(connectors: &Connectors, cache: &Path, lookup: expand::Lookup<'_>) -> Self {
        Self {
            connectors: connectors.clone(),
            cache: Cache::new(cache),
            token: Token::of(connectors, lookup),
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
    pub async fn fetch(&self) -> Result<bool, FetchError> {
        let from = self.connectors.url.as_str();
        let kept = self.fetch_and_keep().await;
        if let Err(why) = &kept
            && let Err(error) = self.cache.failed(from, &why.to_string())
        {
            tracing::debug!(%error, "how fetching connectors went cannot be kept");
        }
        kept
    }

    async fn fetch_and_keep(&self) -> Result<bool, FetchError> {
        let text = self.token.ask(&self.connectors).await?;
        let servers = self.connectors.accept(&text)?;
        Ok(self.cache.keep(self.connectors.url.as_str(), &servers)?)
    }
}

/// Why there is no new list of connectors.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It did not come.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// What came is no list of servers.
    #[error(transparent)]
    List(#[from] Box<Fault>),
    /// It cannot be kept.
    #[error(transparent)]
    Keep(#[from] EditError),
    /// There is nobody to fetch it.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A fetch beside a short command.
#[derive(Debug)]
pub struct Background {
    done: Receiver<Result<bool, FetchError>>,
}

impl Background {
    /// Begins, if it is time.
    pub fn begin(fetching: &Fetching) -> Option<Self> {
        if !fetching.is_due() {
            return None;
        }
        let (tell, done) = mpsc::sync_channel(1);
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
                Err(error) => Err(error.into()),
            };
            let _ = tell.send(fetched);
        };
        let thread = std::thread::Builder::new().name("connectors".into());
        thread.spawn(work).ok()?;
        Some(Self { done })
    }

    /// What came of it, if it is known within this time.
    pub fn wait(&self, limit: Duration) -> Option<Result<bool, FetchError>> {
        self.done.recv_timeout(limit).ok()
    }
}

/// Fetches whenever it is time, until it is told to stop. `current` says what
/// the settings say by then.
pub(crate) async fn follow(current: impl Fn() -> Option<Fetching>, stop: CancellationToken) {
    loop {
        if let Some(fetching) = current().filter(Fetching::is_due) {
            tokio::select! {
                fetched = fetching.fetch() => match fetched {
                    Ok(true) => tracing::info!("the list of connectors has changed"),
                    Ok(false) => {}
                    Err(why) => tracing::warn!(%why, "connectors cannot be fetched; the last list goes on counting"),
                },
                () = stop.cancelled() => return,
            }
        }
        tokio::select! {
            () = tokio::time::sleep(limits::CONNECTORS_LOOK) => {}
            () = stop.cancelled() => return,
        }
    }
}
