//! No page in a browser.

use crate::Options;
use switchboard_gateway::SharedPages;

/// None.
pub(crate) fn pages(_options: &Options) -> Option<SharedPages> {
    None
}
