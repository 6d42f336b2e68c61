//! One file per command.

pub mod builtin;
pub mod call;
pub mod generate;
pub mod list;
pub mod serve;
pub mod tools;
pub mod up;
