//! The test peers, directly: what others are tested with is tested itself.
#![allow(clippy::unwrap_used, reason = "tests")]

mod echo;
mod evil;
mod recorder;
