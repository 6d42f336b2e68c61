//! Servers that run inside the program, written with rmcp's macros.
//!
//! Each is an MCP server like any other: it gets one end of a pipe, or the
//! process's own stdin and stdout, and knows nothing of the gateway around it.

mod answer;
pub mod files;
pub mod limits;
mod process;
mod serve;
pub mod shell;
pub mod system;
mod text;

pub use files::Files;
pub use serve::{BuiltinError, Session, in_process, on_stdio, on_stdio_until};
pub use shell::Shell;
pub use system::{ServerReport, System};

/// The built-in servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// How this machine and the gateway are doing.
    System,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::System];

    /// The built-in server of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
        }
    }
}
