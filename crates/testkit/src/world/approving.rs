//! Approving without a terminal: by the digests of what is shown.

use super::{Ran, World};

impl World {
    /// Approves a project's server, or all of them, and gives all that was said.
    #[track_caller]
    pub fn approve(&self, name: &str) -> Ran {
        approve_by(|args| self.show(args), name)
    }
}

/// The same by a command that the test makes itself.
#[track_caller]
pub fn approve_by(run: impl Fn(&[&str]) -> Ran, name: &str) -> Ran {
    let shown = run(&["approve", name, "--show"]).ok();
    let (mut server, mut all) = (name, shown.out.clone());
    for line in shown.out.lines() {
        if name == "all" && !line.starts_with(' ') {
            server = line;
        }
        if let Some(digest) = line.strip_prefix("  digest    ") {
            all += &run(&["approve", server, "--digest", digest]).ok().out;
        }
    }
    Ran { out: all, ..shown }
}
