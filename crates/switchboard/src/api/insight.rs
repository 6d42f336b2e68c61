//! Times, and what lists cost a model.

use super::{
    Api,
    answer::{Answer, No},
    asking::Ask,
};
use std::sync::Arc;
use switchboard_api::insight::TapState;

pub(super) async fn answer(_api: &Arc<Api>, _ask: &Ask) -> Answer {
    Err(No::unavailable("this gateway counts nothing"))
}

/// Whether messages are kept.
pub(super) fn tap(_api: &Api) -> TapState {
    TapState::default()
}
