//! How a process ended.

use std::fmt;

/// How a server's leading process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// Someone else has collected its status.
    Unknown,
}

impl Exit {
    /// It ended as a program that found nothing wrong.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    pub(crate) fn of(status: &rustix::process::WaitIdStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (_, Some(signal)) => Self::Signal(signal),
            _ => Self::Unknown,
        }
    }
}

/// Fits after "the server …".
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => match signal_hook::low_level::signal_name(*number) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {number}"),
            },
            Self::Unknown => f.write_str("ended"),
        }
    }
}
