//! The built-in servers, tried over a pipe in this process: one test program, a
//! module for each server and for what they have in common.

#![allow(unreachable_pub, reason = "a program has no outside")]

mod common;

mod confinement;
mod files;
mod finding;
mod flows;
mod memory;
mod modern;
mod patterns;
mod resources;
mod shell;
mod tools;
