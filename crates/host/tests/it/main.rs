//! The upstream side against servers in this process: one test program, a module
//! for each subject.

mod scripted;

mod agent;
mod bridge;
mod matrix;
mod scale;
mod states;
mod subscriptions;
