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

/// A number for a text, after what came before it; eight bytes at once. It is for places
/// in memory, where texts that fall together cost a little time: nothing hangs on it.
fn mixed(before: u64, text: &str) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |all: u64, word: u64| (all.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut all = mix(before, text.len() as u64);
    for word in words {
        all = mix(all, u64::from_le_bytes(*word));
    }
    let last = rest
        .iter()
        .fold(0, |last, byte| last << 8 | u64::from(*byte));
    mix(all, last)
}
