//! What is kept of the calls that pass through: counts and times, a line for each,
//! a record for those who are asked about it later, the messages themselves.
//!
//! Everything here is an [`Observer`](switchboard_host::observe::Observer) of the host's, or is
//! fed by one. Nothing of it makes a call wait, unless somebody asks for a record of each
//! call that is on disk before its answer leaves.
//!
//! | module | what |
//! |---|---|
//! | [`access_log`] | a line for each request |
//! | [`audit`] | what somebody is asked about later, in a chain that shows what is missing |
//! | [`cassette`] | what servers were asked and answered, in files: played, and held against |
//! | [`log_files`] | files of lines that are put aside when they are large or old |
//! | [`metrics`] | counts and times, for Prometheus and for people |
//! | [`tap`] | calls as they were: the list of them, their messages |
//! | `traces` | what becomes of each request in spans, for a collector (feature `otlp`) |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod access_log;
mod again;
pub mod audit;
pub mod cassette;
pub mod limits;
pub mod log_files;
pub mod metrics;
pub mod tap;
#[cfg(feature = "otlp")]
pub mod traces;

/// Whether two texts are the same. Most that are stand in the same place, so that they need
/// not be read.
#[inline]
fn same(one: &str, other: &str) -> bool {
    std::ptr::eq(one, other) || one == other
}
