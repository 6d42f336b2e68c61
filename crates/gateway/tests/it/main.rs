//! The gateway in this process, without a program around it: one test program, a
//! module for each subject.

#![allow(unreachable_pub, reason = "a program has no outside")]

mod support;

mod dual_era;
mod in_process;
mod listen;
mod parked;
mod rounds;
mod tasks;
mod tasks_aggregate;
mod wrong_form;
