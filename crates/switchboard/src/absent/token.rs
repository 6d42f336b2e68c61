//! Without `sign-in`: the list of connectors is not fetched, and whoever wants it is told.

use switchboard_config::{connectors::Connectors, expand};
use switchboard_transport::NotBuilt;

/// Why the list did not come.
#[derive(Debug, thiserror::Error)]
#[error("{from}: {why}")]
pub struct AskError {
    from: String,
    why: NotBuilt,
}

/// What would let us have the list.
#[derive(Clone, Debug)]
pub(super) struct Token(());

impl Token {
    pub(super) fn of(_: &Connectors, _: expand::Lookup<'_>) -> Self {
        Self(())
    }

    #[expect(
        clippy::unused_async,
        reason = "it takes time where there is `sign-in`"
    )]
    pub(super) async fn ask(&self, connectors: &Connectors) -> Result<String, AskError> {
        Err(AskError {
            from: format!("{} ({})", connectors.url, connectors.place),
            why: NotBuilt("sign-in"),
        })
    }
}
