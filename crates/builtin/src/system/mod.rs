//! `system`: how this machine and the gateway are doing.

mod environment;
mod resident;

use self::{environment::EnvironmentArguments, resident::resident_bytes};
use crate::answer::{Toolset, answers_with};
use chrono::{Local, SecondsFormat, Utc};
pub(crate) use environment::Environment;
pub use environment::Variable;
use rmcp::{
    Json, ServerHandler,
    handler::server::wrapper::Parameters,
    model::{Implementation, ServerCapabilities, ServerConfig},
    schemars::{self, JsonSchema},
    tool, tool_router,
};
use serde::Serialize;
use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

static TOOLS: LazyLock<Toolset<System>> = LazyLock::new(|| Toolset::new(System::tool_router()));

/// Asks how the gateway's servers are.
type Servers = Arc<dyn Fn() -> Vec<ServerReport> + Send + Sync>;

/// The server.
#[derive(Clone)]
pub struct System {
    version: Arc<str>,
    started: Instant,
    servers: Option<Servers>,
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// How one server is doing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ServerReport {
    /// Its configured name.
    pub name: String,
    /// idle, pending, connected, failed or needs-auth.
    pub state: String,
    /// Why, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What `health` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health {
    /// "ok", or "degraded" when a server has failed.
    pub status: String,
    /// The version of Switchboard.
    pub version: String,
    /// Seconds since it was started.
    pub uptime_seconds: u64,
    /// Bytes of memory that this process uses, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The servers behind the gateway; missing where there is no gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<ServerReport>>,
}

/// What `info` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    /// The operating system, such as "linux".
    pub os: String,
    /// The processor architecture, such as "x86_64".
    pub architecture: String,
    /// The machine's name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// How many processors may be used.
    pub processors: usize,
    /// The directory that Switchboard was started in.
    pub working_directory: String,
    /// The number of this process.
    pub process_id: u32,
    /// The version of Switchboard.
    pub version: String,
}

/// What `time` answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Time {
    /// The time in UTC, in the form of RFC 3339.
    pub utc: String,
    /// The local time with its offset, in the form of RFC 3339.
    pub local: String,
    /// Milliseconds since 1970-01-01 in UTC.
    pub unix_milliseconds: u64,
    /// The day of the week, in local time.
    pub weekday: String,
}

impl System {
    /// A server that reports this version.
    pub fn new(version: impl Into<Arc<str>>) -> Self {
        Self {
            version: version.into(),
            started: Instant::now(),
            servers: None,
        }
    }

    /// The same server, which can also say how others are.
    #[must_use]
    pub fn reporting(
        mut self,
        servers: impl Fn() -> Vec<ServerReport> + Send + Sync + 'static,
    ) -> Self {
        self.servers = Some(Arc::new(servers));
        self
    }
}

#[tool_router]
impl System {
    #[tool(
        title = "Health",
        description = "Tells whether Switchboard is well: its version, how long it has been running, the memory it \
                       uses, and the state of every server behind it.",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn health(&self) -> Json<Health> {
        let servers = self.servers.as_ref().map(|report| report());
        let failed = servers
            .iter()
            .flatten()
            .any(|server| server.state == "failed");
        Json(Health {
            status: if failed { "degraded" } else { "ok" }.to_owned(),
            version: self.version.to_string(),
            uptime_seconds: self.started.elapsed().as_secs(),
            memory_bytes: resident_bytes(),
            servers,
        })
    }

    #[tool(
        title = "System information",
        description = "Tells about the machine: operating system, architecture, host name, processors, the working \
                       directory and the process.",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn info(&self) -> Json<Info> {
        #[expect(clippy::disallowed_methods, reason = "what this tool is there to tell")]
        // tidy: what this tool is there to tell.
        let directory = std::env::current_dir().unwrap_or_default();
        Json(Info {
            os: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            hostname: hostname(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            working_directory: directory.display().to_string(),
            process_id: std::process::id(),
            version: self.version.to_string(),
        })
    }

    #[tool(
        title = "Current time",
        description = "Tells the current date and time, in UTC and in the machine's own time zone.",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn time(&self) -> Json<Time> {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let local = Local::now();
        Json(Time {
            utc: Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true),
            local: local.to_rfc3339_opts(SecondsFormat::Millis, false),
            unix_milliseconds: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            weekday: local.format("%A").to_string(),
        })
    }

    #[tool(
        title = "Environment variables",
        description = "Shows the environment variables of Switchboard. Values that look like secrets, by their name \
                       or by themselves, are not shown. Example: {\"filter\": \"XDG_\"}",
        annotations(
            read_only_hint = true,
            destructive_hint = false,
            idempotent_hint = true,
            open_world_hint = false
        )
    )]
    async fn environment(
        &self,
        Parameters(arguments): Parameters<EnvironmentArguments>,
    ) -> Json<Environment> {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let all = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Json(environment::shown(all, arguments.filter.as_deref()))
    }
}

impl ServerHandler for System {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("switchboard-system", self.version.as_ref())
            .with_title("Switchboard system");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(
                "Tells how this machine and the gateway are doing. Nothing here changes anything.",
            )
    }

    answers_with!(TOOLS);
}

fn hostname() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

impl crate::Session for System {}
