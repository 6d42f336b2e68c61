//! settings.

use super::{
    Api,
    answer::{Answer, No},
    asking::Ask,
};
use std::sync::Arc;

pub(super) async fn answer(_api: &Arc<Api>, _ask: &Ask) -> Answer {
    Err(No::unavailable("this gateway does not have this"))
}
