//! No page in a browser.

use crate::{Options, api::Frames};
use std::sync::Arc;
use switchboard_gateway::SharedPages;

/// None.
pub(crate) fn pages(_options: &Options, _frames: Arc<Frames>) -> Option<SharedPages> {
    None
}
