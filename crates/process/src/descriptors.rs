//! How many files and sockets this process may have open.
//!
//! The usual soft limit (1,024) is there for programs that could not cope with
//! more. We can; what we start may not, and gets the limit that we were given.

use std::sync::OnceLock;

static GIVEN: OnceLock<rustix::process::Rlimit> = OnceLock::new();

/// Raises the soft limit to the hard one. Once, at the start of a program.
pub fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let given = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: given.maximum,
        maximum: given.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => {
            let _ = GIVEN.set(given);
        }
        Err(fault) => tracing::debug!(%fault, "the limit of open files stays as it is"),
    }
}

/// How many there may be; nothing where there is no limit.
pub fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Gives a process that we started the limit that we were given ourselves.
pub(crate) fn restore(process: rustix::process::Pid) {
    #[cfg(target_os = "linux")]
    if let Some(given) = GIVEN.get() {
        let given = rustix::process::Rlimit {
            current: given.current,
            maximum: given.maximum,
        };
        let nofile = rustix::process::Resource::Nofile;
        // It may have ended already.
        let _ = rustix::process::prlimit(Some(process), nofile, given);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = process;
}
