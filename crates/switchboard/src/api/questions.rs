//! What waits for a person.

use super::{
    Api,
    answer::{Answer, No},
    asking::Ask,
};
use std::sync::Arc;

pub(super) async fn answer(_api: &Arc<Api>, _ask: &Ask) -> Answer {
    Err(No::unavailable("this gateway asks nobody"))
}

/// How many wait.
pub(super) fn waiting(_api: &Api) -> usize {
    0
}
