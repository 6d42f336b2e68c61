//! Calls, what is kept of their messages, and cassettes of them.

use super::{
    Api,
    answer::{Answer, No},
    asking::Ask,
    feed::Wanted,
};
use std::sync::Arc;

pub(super) async fn answer(_api: &Arc<Api>, _ask: &Ask) -> Answer {
    Err(No::unavailable("this gateway keeps no calls"))
}

/// What a filter lets through.
pub(super) fn wanted(_api: &Arc<Api>, _filter: &str) -> Result<Wanted, No> {
    Err(No::unavailable("this gateway keeps no calls").field("/filter"))
}
