//! The gateway in this process, without a program around it: one test program, a
//! module for each subject.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests: a program has no outside, and what is not there is a failure"
)]

mod support;

mod accept;
mod alone;
mod apps;
mod dual_era;
mod ending;
mod freshness;
mod in_process;
mod listen;
mod older;
mod parked;
mod rounds;
mod tasks;
mod tasks_aggregate;
mod undeclared;
mod wrong_form;
