//! One file per command.

pub mod add;
pub mod approve;
pub mod builtin;
pub mod call;
pub mod explain;
pub mod generate;
pub mod get;
pub mod import;
pub mod list;
pub mod login;
pub mod remove;
pub mod serve;
pub mod switch;
pub mod token;
pub mod tools;
pub mod up;
