//! The tools for background processes.

use super::{ShellSession, background::Background, run::numbers};
use crate::{answer::Failure, limits, process::decode, text};
use rmcp::{
    Json,
    handler::server::wrapper::Parameters,
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use switchboard_tasks as tasks;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartArguments {
    /// The command, as it would be typed into a shell.
    #[schemars(length(min = 1))]
    command: String,
    /// The directory to run it in; the first allowed one when absent.
    cwd: Option<String>,
    /// Variables to add to its environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadArguments {
    /// The number that startProcess gave.
    id: u32,
    /// How long to wait for output if there is none yet, in milliseconds.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    wait_ms: u64,
    /// How many bytes at most (100000 when absent).
    #[schemars(range(min = 1, max = 1_000_000))]
    max_bytes: Option<usize>,
    /// Leave control sequences as they are instead of writing them out.
    #[serde(default)]
    raw: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WriteArguments {
    /// The number that startProcess gave.
    id: u32,
    /// What it reads; end a line with \n.
    #[serde(default)]
    text: String,
    /// Close its standard input afterwards.
    #[serde(default)]
    close: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StopArguments {
    /// The number that startProcess gave.
    id: u32,
}

/// A background process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Process {
    /// Its number for the other tools.
    id: u32,
    /// Its number in the system.
    pid: u32,
    /// Its command.
    command: String,
    /// Whether it still runs.
    running: bool,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The number of the signal that killed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// How long ago it was started, in milliseconds.
    age_ms: u64,
}

/// What `listProcesses` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ListAnswer {
    /// All of this connection, oldest first.
    processes: Vec<Process>,
}

/// What `readProcess` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadAnswer {
    /// What it wrote since the last time, to standard output and standard error.
    output: String,
    /// Bytes before that which nobody read in time and which are gone.
    dropped_bytes: u64,
    /// Whether there is more to read at once.
    has_more: bool,
    /// How it is.
    process: Process,
}

/// What `writeProcess` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct WriteAnswer {
    /// How many bytes it was given.
    bytes: usize,
    /// How it is.
    process: Process,
}

#[tool_router(router = process_router, vis = "pub(super)")]
impl ShellSession {
    #[tool(
        name = "startProcess",
        title = "Start a background process",
        description = "Starts a command and returns at once, with a number for readProcess, writeProcess and \
                       stopProcess. It ends with the connection. Example: {\"command\": \"npm run dev\", \"cwd\": \
                       \"web\"}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = true
        )
    )]
    async fn start_process(
        &self,
        Parameters(arguments): Parameters<StartArguments>,
    ) -> Result<Json<Process>, Failure> {
        let env = &arguments.env;
        let mut command = self
            .shell
            .command(&arguments.command, arguments.cwd.as_deref(), env)?;
        // One stream, in the order in which it was written.
        command.args[1] = format!("exec 2>&1\n{}", arguments.command).into();
        let started = self.processes.start(&arguments.command, &command)?;
        self.end_processes_with_connection();
        Ok(Json(describe(&started)))
    }

    #[tool(
        name = "readProcess",
        title = "Read from a background process",
        description = "Reads what a background process has written since the last time. Example: {\"id\": 1, \
                       \"waitMs\": 2000}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = false,
            open_world_hint = true
        )
    )]
    async fn read_process(
        &self,
        Parameters(arguments): Parameters<ReadArguments>,
        cancel: CancellationToken,
    ) -> Result<Json<ReadAnswer>, Failure> {
        let process = self.processes.get(arguments.id)?;
        let wait = Duration::from_millis(arguments.wait_ms).min(limits::PROCESS_WAIT);
        let most = arguments.max_bytes.unwrap_or(limits::OUTPUT_BYTES);
        let part = tokio::select! {
            part = process.read(most, wait) => part,
            () = cancel.cancelled() => return Err(Failure::new("cancelled")),
            () = self.over.cancelled() => return Err(Failure::new("the client has gone")),
        };
        Ok(Json(ReadAnswer {
            output: decode(&part.bytes, arguments.raw),
            dropped_bytes: part.dropped,
            has_more: part.has_more,
            process: describe(&process),
        }))
    }

    #[tool(
        name = "writeProcess",
        title = "Write to a background process",
        description = "Writes to the standard input of a background process. Example: {\"id\": 1, \"text\": \"y\\n\"}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = false,
            open_world_hint = true
        )
    )]
    async fn write_process(
        &self,
        Parameters(arguments): Parameters<WriteArguments>,
        cancel: CancellationToken,
    ) -> Result<Json<WriteAnswer>, Failure> {
        let process = self.processes.get(arguments.id)?;
        tokio::select! {
            written = process.write(arguments.text.as_bytes(), arguments.close) => written?,
            () = cancel.cancelled() => return Err(Failure::new("cancelled")),
            () = self.over.cancelled() => return Err(Failure::new("the client has gone")),
        }
        Ok(Json(WriteAnswer {
            bytes: arguments.text.len(),
            process: describe(&process),
        }))
    }

    #[tool(
        name = "stopProcess",
        title = "Stop a background process",
        description = "Stops a background process and all that it started: politely, then by force. Example: \
                       {\"id\": 1}",
        annotations(
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn stop_process(
        &self,
        Parameters(arguments): Parameters<StopArguments>,
    ) -> Result<Json<Process>, Failure> {
        let process = self.processes.get(arguments.id)?;
        process.stop().await;
        self.processes.forget(arguments.id);
        Ok(Json(describe(&process)))
    }

    #[tool(
        name = "listProcesses",
        title = "List background processes",
        description = "Lists the background processes of this connection. Example: {}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn list_processes(&self) -> Json<ListAnswer> {
        let all = self.processes.list();
        Json(ListAnswer {
            processes: all.iter().map(|process| describe(process)).collect(),
        })
    }

    /// Started once for each process; whichever comes first closes them all.
    fn end_processes_with_connection(&self) {
        let (over, processes) = (self.over.clone(), Arc::clone(&self.processes));
        tasks::spawn(tasks::Kind::Builtin, async move {
            over.cancelled().await;
            processes.close().await;
        });
    }
}

fn describe(process: &Background) -> Process {
    let exit = process.exit();
    let (exit_code, signal) = exit.map_or((None, None), numbers);
    Process {
        id: process.id,
        pid: process.pid(),
        command: text::cut(&text::line(&process.command), 500),
        running: exit.is_none(),
        exit_code,
        signal,
        age_ms: u64::try_from(process.started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}
