//! The screen as a whole: keys and answers go in, cells come out.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests: a failure is a panic, and what they saw is printed"
)]

mod acts;
mod asked;
mod random;
mod reading;
mod samples;
mod snapshots;
mod still;
mod views;
