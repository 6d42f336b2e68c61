//! A run of the program to its end.

use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::Launch;

/// How long any run may take on a machine that has other things to do.
pub const RUN_LIMIT: Duration = Duration::from_secs(180);

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub out: String,
    /// Its stderr.
    pub err: String,
}

impl Ran {
    /// What the system says of a process that has ended.
    ///
    /// # Panics
    /// When what it said is not text.
    #[track_caller]
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// The same with `folder` taken out of its texts, for expectations that are
    /// written down.
    #[must_use]
    pub fn without(self, folder: &Path) -> Self {
        let folder = folder.display().to_string();
        let text = |text: String| {
            text.replace(&format!("{folder}/"), "/")
                .replace(&folder, "/")
        };
        Self {
            code: self.code,
            out: text(self.out),
            err: text(self.err),
        }
    }

    /// stdout as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// The error in the last line of stderr that has one.
    ///
    /// # Panics
    /// When no line has one.
    #[track_caller]
    pub fn error(&self) -> Value {
        let mut lines = self.err.lines();
        let line = lines.rfind(|line| line.starts_with("{\"error\""));
        serde_json::from_str(line.unwrap_or_default())
            .unwrap_or_else(|error| panic!("no JSON error on stderr ({error}): {self:?}"))
    }

    /// It succeeded.
    ///
    /// # Panics
    /// When it did not, with what it said.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Runs a program to its end, with stdin closed.
///
/// # Panics
/// When it does not end in time.
pub async fn run(launch: Launch) -> Ran {
    let (status, out, err) = launch.spawn().output(RUN_LIMIT).await;
    Ran {
        code: status.code(),
        out: String::from_utf8(out).expect("stdout is UTF-8"),
        err,
    }
}

/// Runs our program to its end with these servers and no others of its own.
pub async fn run_with(servers: &Value, args: &[&str]) -> Ran {
    let config = super::config(servers);
    run(super::switchboard()
        .args(["--mcp-config", &config])
        .args(args))
    .await
}
