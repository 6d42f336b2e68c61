//! The gateway in this process, without a program around it: one test program, a
//! module for each subject.

mod support;

mod in_process;
mod listen;
mod misput;
mod parked;
mod rounds;
mod tasks;
mod tasks_aggregate;
mod twins;
