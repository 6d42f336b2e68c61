//! Servers that run inside the program, written with rmcp's macros.
//!
//! Each is an MCP server like any other: it gets one end of a pipe, or the
//! process's own stdin and stdout, and knows nothing of the gateway around it.
//! [`Server`] starts any of them; a connection to one is its session.
//!
//! | module | what |
//! |---|---|
//! | `files`, `shell`, `system`, `memory`, `tools` | the servers, one folder each |
//! | `start`, `serve` | which there are, and serving one |
//! | `answer` | how tools answer, and the four patterns of errors |
//! | `process` | running a program to its end |
//! | `early` | what a subscription must know from before |
//! | `text`, `limits` | harmless text, and every cap |

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod answer;
mod early;
mod files;
pub mod limits;
mod linked;
mod memory;
mod process;
mod serve;
mod shell;
mod start;
mod system;
mod text;
pub mod tools;

pub use answer::{Check, plain_schema};
pub use files::{
    Files,
    protected::{Forbidden, InUse, OwnFolders, Protection, TABLE as PROTECTED},
};
pub use linked::linked;
pub use memory::Memory;
pub use serve::{BuiltinError, Session, in_process, on_stdio, on_stdio_until, sessions_ended};
pub use shell::Shell;
pub use start::{Server, ServerKind, Setup};
pub use system::{ServerReport, System, Variable};
pub use tools::Toolbox;
