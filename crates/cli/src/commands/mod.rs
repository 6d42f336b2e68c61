//! One file per command.

pub mod add;
pub mod approve;
pub mod builtin;
pub mod call;
pub mod doctor;
pub mod explain;
mod gather;
pub mod generate;
pub mod get;
pub mod import;
pub mod list;
pub mod listen;
pub mod login;
pub mod logs;
pub mod prompts;
pub mod reconnect;
pub mod remove;
pub mod resources;
pub mod serve;
pub mod switch;
pub mod token;
pub mod tool_list;
pub mod tools;
pub mod trust;
pub mod up;
