//! One configured server, as its file has it: nothing is expanded yet.

mod scope;
mod worker;

pub use scope::Scope;
pub use worker::WorkerOptions;

use crate::{
    approval::{Pin, contents::Bound},
    fault::{Fault, Source},
    policy::DeniedAddresses,
};
use serde_json::{Map, Value};
use std::{fmt, path::PathBuf, sync::Arc};
use switchboard_wire::Era;

/// One server, as it is written somewhere.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name it has in its file.
    pub name: String,
    /// Where in the order of precedence it stands.
    pub scope: Scope,
    /// The file, or which `--mcp-config` text.
    pub source: Source,
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// How the server is reached.
    pub transport: Transport,
    /// The program to start (stdio).
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its own variables, in the order they are written.
    pub env: Vec<(String, String)>,
    /// A file with more of them, read at each start; `env` beats it.
    pub env_file: Option<String>,
    /// Which of our variables it gets besides the usual ones (`inheritEnv`):
    /// with none in the list not even those by which a network is reached.
    pub inherit_env: Option<Vec<String>>,
    /// Where to start it.
    pub cwd: Option<String>,
    /// Where it listens (all but stdio and builtin).
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: Vec<(String, String)>,
    /// A command that prints more headers as JSON (`headersHelper`).
    pub headers_helper: Option<String>,
    /// Whether the headers that are written suffice where the helper fails.
    pub headers_helper_optional: bool,
    /// How we sign in there.
    pub oauth: Oauth,
    /// Its tools never wait to be searched for.
    pub always_load: bool,
    /// A gateway is not ready before it is connected, and connects it from the start.
    pub required: bool,
    /// Whom to trust over TLS, and who we are.
    pub tls: Tls,
    /// The token that an IDE wants, in place of the one in its lock file.
    pub auth_token: Option<String>,
    /// Where an IDE keeps its lock files (sse-ide, ws-ide).
    pub lock_folder: Option<String>,
    /// Which built-in server it is; its own name where nothing is said.
    pub builtin: Option<String>,
    /// What that built-in server is told.
    pub builtin_options: BuiltinOptions,
    /// Which workers run it, where it is a worker's.
    pub worker: WorkerOptions,
    /// It may be reached at public addresses only, whatever its name leads to.
    pub public_only: bool,
    /// Where it may not be reached, whatever its name leads to.
    pub denied_addresses: Option<Arc<DeniedAddresses>>,
    /// The directories that it hears of when it asks for roots (all but builtin).
    pub roots: Vec<String>,
    /// How long a tool call may take, in milliseconds.
    pub timeout: Option<u64>,
    /// How long its process may be unused before it ends until it is needed, in
    /// milliseconds; 0 for ever (`idleTimeout`).
    pub idle_timeout: Option<u64>,
    /// What its processes may use of the machine.
    pub limits: Caps,
    /// Who shares a copy of it.
    pub isolation: Isolation,
    /// Holds the server to one era.
    pub era: Option<Era>,
    /// Which of its tools exist for us.
    pub tools: ToolLists,
    /// What becomes of its definitions that are not what they were.
    pub pins: Option<Pinning>,
    /// The file of a repository that it was imported from: then it needs the
    /// approval that it would need there.
    pub imported_from: Option<String>,
    /// Switched off where it is written.
    pub disabled: bool,
    /// Whether a repository could have written it, so that somebody must approve it.
    pub inside: bool,
    /// Whether it comes from outside of the folder that we are in, and that is
    /// not trusted: then nothing of the folder may get into what is started.
    pub wary: bool,
    /// The program that an approval was given for: that one runs, whatever PATH
    /// says by then.
    pub program: Option<PathBuf>,
    /// What of the repository it was approved with: nothing else of it may run.
    pub bound: Option<Arc<Bound>>,
    /// An approval that has to be kept before it is started.
    pub pin: Option<Arc<Pin>>,
    /// Variables that it knows by its place, such as `CLAUDE_PLUGIN_ROOT`.
    pub given: Vec<(String, String)>,
    /// The only variables of this machine that its texts may hold; any where nothing is
    /// said.
    pub variables: Option<Arc<[String]>>,
    /// Files that its texts were filled in from.
    pub filled_from: Vec<String>,
    /// All of it, as it is written: what an approval is bound to.
    pub written: Value,
    /// Keys that mean nothing to us (yet), as they are written.
    pub unknown: Map<String, Value>,
    /// What is wrong with it. An entry with faults is shown and never started.
    pub faults: Vec<Fault>,
}

/// What becomes of a server's tools, prompts and instructions that are not what
/// they were when they were pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// They wait until somebody says yes.
    Hold,
    /// They are used, and told.
    Tell,
    /// Nothing is looked at.
    Off,
}

impl Pinning {
    /// How each is written.
    pub const SPELLINGS: &'static str = "hold, tell or off";

    /// The one that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "hold" => Some(Self::Hold),
            "tell" => Some(Self::Tell),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Transport {
    /// A child process.
    #[default]
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as before 2025-03-26.
    Sse,
    /// WebSocket.
    Ws,
    /// An IDE on this machine, over HTTP+SSE.
    SseIde,
    /// An IDE on this machine, over WebSocket.
    WsIde,
    /// A server inside this program.
    Builtin,
    /// A server that a worker of this cluster runs.
    Worker,
}

impl Transport {
    /// Every spelling of `type` that is understood, for messages.
    pub const SPELLINGS: &str = "stdio, http (also streamable-http, streamableHttp, streamable_http), sse, ws, sse-ide, ws-ide, builtin, worker";

    /// The transport that a `type` names.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "stdio" => Some(Self::Stdio),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" => Some(Self::Http),
            "sse" => Some(Self::Sse),
            "ws" => Some(Self::Ws),
            "sse-ide" => Some(Self::SseIde),
            "ws-ide" => Some(Self::WsIde),
            "builtin" => Some(Self::Builtin),
            "worker" => Some(Self::Worker),
            _ => None,
        }
    }

    /// The word that `list --json` uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Ws => "ws",
            Self::SseIde => "sse-ide",
            Self::WsIde => "ws-ide",
            Self::Builtin => "builtin",
            Self::Worker => "worker",
        }
    }

    /// Whether the server is somewhere else, so that many can be met at once.
    pub const fn is_remote(self) -> bool {
        matches!(
            self,
            Self::Http | Self::Sse | Self::Ws | Self::SseIde | Self::WsIde
        )
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `tls: {ca, cert, key}`: PEM files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Authorities to trust besides the system's.
    pub ca: Option<String>,
    /// The certificate by which the server knows us.
    pub cert: Option<String>,
    /// Its private key.
    pub key: Option<String>,
}

/// `oauth`: how we sign in to a remote server. All of it is optional: most
/// servers say themselves what they want.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Oauth {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret; better kept out of files (`add --client-secret`).
    pub client_secret: Option<String>,
    /// The only issuer that this client is for.
    pub issuer: Option<String>,
    /// The address of a document that describes us (CIMD).
    pub client_metadata_url: Option<String>,
    /// The port on which a sign-in comes back.
    pub callback_port: Option<u16>,
    /// What to ask for, instead of what the server suggests.
    pub scopes: Option<Vec<String>>,
    /// The authorization server's metadata, where the server names none.
    pub auth_server_metadata_url: Option<String>,
    /// Whether the server may name hosts in private networks.
    pub allow_private_addresses: bool,
    /// Whether clients of a gateway may sign in where they are several, for all of them.
    pub clients_sign_in: bool,
    /// Whether the enterprise's identity provider signs us in; `None` where
    /// nothing is said.
    pub xaa: Option<bool>,
    /// In whose name, where it is not a person's.
    pub grant: OauthGrant,
    /// The private key (PEM file) of a client, instead of a secret.
    pub private_key: Option<String>,
    /// How that key signs.
    pub signing_algorithm: Option<String>,
    /// The file with a workload's identity token.
    pub assertion_file: Option<String>,
}

/// In whose name we sign in (`oauth.grant`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OauthGrant {
    /// A person's, with a browser (`authorization_code`).
    #[default]
    Person,
    /// Our own, with a secret or key (`client_credentials`).
    Client,
    /// A workload's, with a token of its platform (`jwt-bearer`).
    Workload,
}

impl fmt::Debug for Oauth {
    // The secret stays out of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oauth")
            .field("client_id", &self.client_id)
            .field("callback_port", &self.callback_port)
            .field("scopes", &self.scopes)
            .field("xaa", &self.xaa)
            .finish_non_exhaustive()
    }
}

/// What an entry of type `builtin` says to its server. Each takes what is its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltinOptions {
    /// `root` or `roots`: the directories of `files` and `shell`; the working
    /// directory where there are none. What `tools` runs begins in the first.
    pub roots: Vec<String>,
    /// `allowProtected`: what `files` may use although it is protected.
    pub allow_protected: Vec<String>,
    /// `readOnly`: `files` changes nothing.
    pub read_only: bool,
    /// `enabled`: somebody wants the shell.
    pub enabled: bool,
    /// `data`: where `memory` keeps its file.
    pub data: Option<String>,
    /// `folder`: the manifests of `tools`.
    pub folder: Option<String>,
}

impl BuiltinOptions {
    /// The keys.
    pub const KEYS: [&str; 7] = [
        "root",
        "roots",
        "allowProtected",
        "readOnly",
        "enabled",
        "data",
        "folder",
    ];
}

/// Who shares one copy of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// All clients of one principal.
    #[default]
    Shared,
    /// Nobody: each client has its own.
    Session,
}

/// `limits: {memory, cpu, processes}`: what a server's processes may use together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Thousandths of a processor core.
    pub cpu: Option<u32>,
    /// How many there may be.
    pub processes: Option<u32>,
}

/// `tools: {allow, deny}`: the server's own names, `*` as a wildcard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolLists {
    /// If there is a list, only these.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
}

impl Entry {
    /// Whether it may have files of this machine read into its texts and variables: only
    /// what the user or the administrator wrote themselves may. Whoever else could
    /// name a file could have it sent wherever they like.
    pub fn may_read_files(&self) -> bool {
        let is_own = match self.scope {
            Scope::User | Scope::Local | Scope::Dynamic | Scope::Enterprise => true,
            Scope::Fleet | Scope::Connector | Scope::Plugin | Scope::Project => false,
        };
        is_own && !self.inside
    }

    /// The files by which it trusts its server and is known to it, and that its
    /// variables and texts come from, with their fields.
    pub fn credential_files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let (tls, oauth) = (&self.tls, &self.oauth);
        let files = [
            ("tls.ca", &tls.ca),
            ("tls.cert", &tls.cert),
            ("tls.key", &tls.key),
            ("oauth.privateKey", &oauth.private_key),
            ("oauth.assertionFile", &oauth.assertion_file),
            ("envFile", &self.env_file),
        ];
        let named = files.into_iter();
        let named = named.filter_map(|(field, file)| Some((field, file.as_deref()?)));
        named.chain(
            self.filled_from
                .iter()
                .map(|file| ("${file:…}", file.as_str())),
        )
    }

    /// An entry of which nothing but its place is known.
    pub fn at(name: impl Into<String>, scope: Scope, source: Source, line: usize) -> Self {
        Self {
            name: name.into(),
            scope,
            source,
            line,
            transport: Transport::default(),
            command: None,
            args: Vec::new(),
            env: Vec::new(),
            env_file: None,
            inherit_env: None,
            cwd: None,
            url: None,
            headers: Vec::new(),
            headers_helper: None,
            headers_helper_optional: false,
            oauth: Oauth::default(),
            always_load: false,
            required: false,
            pins: None,
            tls: Tls::default(),
            auth_token: None,
            lock_folder: None,
            builtin: None,
            builtin_options: BuiltinOptions::default(),
            worker: WorkerOptions::default(),
            public_only: false,
            denied_addresses: None,
            timeout: None,
            idle_timeout: None,
            limits: Caps::default(),
            roots: Vec::new(),
            isolation: Isolation::default(),
            era: None,
            tools: ToolLists::default(),
            imported_from: None,
            disabled: false,
            inside: false,
            wary: false,
            program: None,
            bound: None,
            pin: None,
            given: Vec::new(),
            variables: None,
            filled_from: Vec::new(),
            written: Value::Null,
            unknown: Map::new(),
            faults: Vec::new(),
        }
    }

    /// Whether what is started for it starts in an empty directory, because the
    /// one that we are in is not trusted. A `cwd` of its own counts.
    pub fn starts_elsewhere(&self) -> bool {
        let starts = self.transport == Transport::Stdio || self.headers_helper.is_some();
        self.wary && starts && self.cwd.is_none()
    }

    /// The built-in server that it means.
    pub fn builtin_name(&self) -> &str {
        self.builtin.as_deref().unwrap_or(&self.name)
    }

    /// A fault in one of its fields.
    pub fn fault(&self, field: &str, problem: impl Into<String>) -> Fault {
        Fault {
            source: self.source.clone(),
            line: self.line,
            column: None,
            server: Some(self.name.clone()),
            field: Some(field.to_owned()),
            problem: problem.into(),
            hint: None,
        }
    }
}
