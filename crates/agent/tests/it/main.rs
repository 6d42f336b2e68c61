//! An agent and its servers, in this process: one test program, a module for each
//! subject.

#[path = "../../../host/tests/it/scripted.rs"]
mod scripted;

mod agent;
mod matrix;
mod scale;
