//! Systems that do not show their processes as files: only groups are known
//! there.

use std::{io, time::Duration};

use rustix::process::Signal;

use super::{Entry, Mark, ProcessId};
use crate::{tag::Tag, usage::Usage};

pub(super) fn entries() -> io::Result<Vec<Entry>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn entry(_pid: i32) -> Option<Entry> {
    None
}

/// What is used is not shown here.
pub(crate) fn usage(_pid: i32, _with_ended: bool) -> Option<Usage> {
    None
}

/// Nor is that.
pub(super) fn age(_started: u64) -> Option<Duration> {
    None
}

/// Nor is that.
pub(crate) fn share_of_memory(_pid: i32) -> Option<u64> {
    None
}

/// Environments cannot be read here.
pub(crate) fn mark(_id: ProcessId, _tag: &Tag) -> Mark {
    Mark::Other
}

/// Orphans go to the first process of the machine here.
pub(crate) fn adopts_orphans() -> bool {
    false
}

/// Only a group can be signalled safely here.
pub(crate) fn signal(_id: ProcessId, _signal: Signal) -> bool {
    false
}
