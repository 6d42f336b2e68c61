//! Without `sign-in`: the list of connectors is not fetched, and whoever wants it is told.

use switchboard_config::{connectors::Connectors, expand};
use switchboard_transport::NotBuilt;

/// What would let us have the list.
#[derive(Clone, Debug)]
pub(super) struct Token(());

impl Token {
    pub(super) fn of(_: &Connectors, _: expand::Lookup<'_>) -> Self {
        Self(())
    }

    #[allow(
        clippy::unused_async,
        reason = "it takes time where there is `sign-in`"
    )]
    pub(super) async fn ask(&self, connectors: &Connectors) -> Result<String, String> {
        let (url, place) = (&connectors.url, &connectors.place);
        Err(format!("{url} ({place}): {}", NotBuilt("sign-in")))
    }
}
