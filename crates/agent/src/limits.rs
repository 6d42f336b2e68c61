//! The caps and times of this crate, in one place.

use std::time::Duration;

pub(crate) use switchboard_host::limits::{
    INSTRUCTIONS_CHARS, LIST_ITEMS, LIST_PAGES, OPEN_INPUTS, STILL_RUNNING,
};
pub(crate) use switchboard_model::limits::{CONTEXT_WINDOW, DESCRIPTION_CHARS, PATIENT_VALIDATION};

/// How often a request is sent again with the input that its server asked for.
pub(crate) const INPUT_ROUNDS: u32 = 10;
/// The first pause before a request is sent again whose server asked for nothing but time.
pub(crate) const INPUT_PAUSE: Duration = Duration::from_millis(250);
/// How often a call is sent again after pages were visited.
pub(crate) const PAGE_VISITS: u32 = 3;
/// Events of an agent that may wait for a listener; the oldest are dropped.
pub(crate) const AGENT_EVENTS: usize = 256;
/// How much later than a server's own time we stop waiting for it: the host's limit says
/// better what went wrong.
pub(crate) const GRACE: Duration = Duration::from_millis(250);
/// The longest frontmatter of a skill that is read.
pub(crate) const FRONTMATTER_BYTES: usize = 64 * 1024;
