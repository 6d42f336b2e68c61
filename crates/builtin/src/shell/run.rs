//! `runShellCommand`: a command from its beginning to its end.

use super::ShellSession;
use crate::{
    answer::Failure,
    limits,
    process::{Ending, Job, run},
};
use rmcp::{
    ErrorData, Json,
    handler::server::{tool::IntoCallToolResult, wrapper::Parameters},
    model::{CallToolResponse, CallToolResult},
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use switchboard_process::Exit;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunArguments {
    /// The command, as it would be typed into a shell.
    #[schemars(length(min = 1))]
    command: String,
    /// The directory to run it in; the first allowed one when absent.
    cwd: Option<String>,
    /// Variables to add to its environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What it reads from its standard input.
    #[serde(default)]
    stdin: String,
    /// After how many milliseconds it is stopped (120000 when absent).
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// How many bytes of its output are kept: the beginning and the end (100000 when absent).
    #[schemars(range(min = 100, max = 1_000_000))]
    max_output_bytes: Option<usize>,
    /// Leave control sequences (colours, cursor movements) as they are instead of writing them out.
    #[serde(default)]
    raw: bool,
}

/// What `runShellCommand` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunAnswer {
    /// Why it did not come to its own end.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What it returned; 0 is success.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The number of the signal that killed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// Whether it was stopped after the time-out.
    timed_out: bool,
    /// What it wrote to its standard output.
    stdout: String,
    /// What it wrote to its standard error.
    stderr: String,
    /// How many bytes of both are left out.
    left_out_bytes: u64,
    /// How long it took, in milliseconds.
    duration_ms: u64,
}

/// Why there is no result, or only a part of one.
enum Unfinished {
    Failed(Failure),
    Stopped(Box<RunAnswer>),
}

impl From<Failure> for Unfinished {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl IntoCallToolResult for Unfinished {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        match self {
            Self::Failed(failure) => failure.into_call_tool_result(),
            Self::Stopped(answer) => match serde_json::to_value(answer) {
                Ok(answer) => Ok(CallToolResult::structured_error(answer).into()),
                Err(fault) => Failure::new(fault.to_string()).into_call_tool_result(),
            },
        }
    }
}

#[tool_router(router = run_router, vis = "pub(super)")]
impl ShellSession {
    #[tool(
        name = "runShellCommand",
        title = "Run a shell command",
        description = "Runs a command in the system shell and waits for its end. What it leaves in the background \
                       is stopped: use startProcess for that. Examples: {\"command\": \"ls -la\"}, {\"command\": \
                       \"cargo test\", \"cwd\": \"crates/wire\", \"timeoutMs\": 600000}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = true
        )
    )]
    async fn run_shell_command(
        &self,
        Parameters(arguments): Parameters<RunArguments>,
        cancel: CancellationToken,
    ) -> Result<Json<RunAnswer>, Unfinished> {
        let timeout = arguments
            .timeout_ms
            .map_or(limits::COMMAND_TIME, Duration::from_millis);
        let done = run(Job {
            command: self.shell.command(
                &arguments.command,
                arguments.cwd.as_deref(),
                &arguments.env,
            )?,
            stdin: arguments.stdin.into_bytes(),
            timeout: timeout.min(limits::COMMAND_TIME_MAX),
            keep: arguments
                .max_output_bytes
                .unwrap_or(limits::OUTPUT_BYTES)
                .min(limits::OUTPUT_BYTES_MAX),
            cancel,
            over: self.over.clone(),
        })
        .await?;
        let mut answer = RunAnswer {
            error: None,
            exit_code: None,
            signal: None,
            timed_out: done.ending == Ending::TimedOut,
            stdout: done.stdout.text(arguments.raw),
            stderr: done.stderr.text(arguments.raw),
            left_out_bytes: done.stdout.left_out() + done.stderr.left_out(),
            duration_ms: u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX),
        };
        match done.ending {
            Ending::Exited(exit) => {
                (answer.exit_code, answer.signal) = numbers(exit);
                return Ok(Json(answer));
            }
            Ending::TimedOut => {
                answer.error = Some(format!("stopped after {} ms", timeout.as_millis()));
            }
            Ending::Cancelled => answer.error = Some("cancelled".to_owned()),
        }
        Err(Unfinished::Stopped(Box::new(answer)))
    }
}

/// The exit code, or the signal.
pub(super) fn numbers(exit: Exit) -> (Option<i32>, Option<i32>) {
    match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Unknown => (None, None),
    }
}
