//! One file per command.

pub mod add;
mod alone;
pub mod answer;
pub mod approve;
pub mod audit;
pub mod builtin;
pub mod call;
pub mod connect;
pub mod console;
pub mod dev;
pub mod doctor;
pub mod explain;
mod gather;
pub mod generate;
pub mod get;
pub mod import;
pub mod inbox;
pub mod list;
pub mod listen;
pub mod log;
pub mod login;
pub mod logs;
pub mod prompts;
pub mod reconnect;
pub mod remove;
pub mod replay;
pub mod resources;
pub mod serve;
pub mod service;
pub mod stats;
pub mod status;
pub mod switch;
pub mod token;
pub mod tool_list;
pub mod tools;
pub mod traffic;
pub mod trust;
#[cfg(feature = "screen")]
pub mod ui;
#[cfg(not(feature = "screen"))]
#[path = "ui_absent.rs"]
pub mod ui;
pub mod up;
pub mod update;
pub mod verify;
pub mod watching;
