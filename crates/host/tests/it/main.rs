//! The upstream side against servers in this process: one test program, a module
//! for each subject.

#[expect(dead_code, reason = "an agent's tests use the rest")]
mod scripted;

mod breaks;
mod bridge;
mod observe;
mod states;
mod subscriptions;
mod waiting;
mod whose;
mod wide;
