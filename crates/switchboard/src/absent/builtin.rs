//! Without `builtin`: an entry of such a server is at fault.

use super::{LateHost, With, not_built};
use std::path::Path;
use switchboard_config::{Fault, expand::Expanded};
use switchboard_host::Target;

/// The target of an entry, which there is none of.
pub(super) fn target(entry: &Expanded, _: &With<'_>, _: &LateHost) -> Result<Target, Vec<Fault>> {
    Err(vec![not_built(entry, "type", "builtin")])
}

/// Whether what a built-in server says of its tools is our own word.
pub(super) fn is_our_word(_: &Expanded, _: &Path) -> bool {
    false
}
