//! The table of clients: paths, keys, words. Nothing here does anything. What they
//! have in common is here, and each client in a file below.

mod desktop;
mod terminal;

use super::Shape;

/// One client.
#[derive(Debug)]
pub(crate) struct Row {
    /// How the user calls it.
    pub(super) word: &'static str,
    /// How it calls itself.
    pub(super) title: &'static str,
    /// Programs by which it is recognised.
    pub(super) programs: &'static [&'static str],
    /// The user's own files: where, and the keys that lead to the servers. The
    /// first that is there is the one that is written; those with [`CODE_SETTINGS`]
    /// and those of profiles are read only.
    pub(super) files: &'static [(At, &'static str, &'static [&'static str])],
    /// What its files are to each other.
    pub(super) together: Together,
    /// The same in a project.
    pub(super) workspace: &'static [(&'static str, &'static [&'static str])],
    /// What it calls the fields of a server, where that differs from [`FIELDS`].
    pub(super) fields: &'static [Named],
    /// How variables are written in its texts.
    pub(super) variables: Spelling,
    /// Where else it switches servers and tools off.
    pub(super) switches: Switches,
    /// How it writes our entry.
    pub(super) shape: Shape,
    /// The field of an entry that switches it off, and the value that does.
    pub(super) off: Option<(&'static str, bool)>,
}

/// What several files of one client are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Together {
    /// One of them counts.
    OneOf,
    /// All of them count at once.
    All,
    /// Each is that of another installation.
    Apart,
}

/// The two ways in which clients switch an entry off.
const DISABLED: Option<(&str, bool)> = Some(("disabled", true));
const NOT_ENABLED: Option<(&str, bool)> = Some(("enabled", false));

/// Where a path begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// The home directory.
    Home,
    /// `~/.config`, or what `XDG_CONFIG_HOME` says, on every system.
    Config,
    /// The same on Linux, `~/Library/Application Support` on macOS.
    AppData,
    /// The folder that this variable names, or else this one in the home.
    Moved(&'static str, &'static str),
    /// Claude Code's file of servers.
    ClaudeJson,
}

/// The variables of [`At::Moved`].
pub(super) const VARIABLES: [&str; 5] = [
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "COPILOT_HOME",
    "CLINE_DIR",
];

/// A field of theirs, and what it means.
pub(crate) type Named = (&'static str, Meaning);

/// What a field of a client's means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The same, under the same name.
    Same,
    /// The same, under this name.
    Called(&'static str),
    /// It says what is the case anyway.
    Needless,
    /// How the server is reached.
    Transport,
    /// The program: a text, a list with its arguments, or an object.
    Command,
    /// An address that is reached by streamable HTTP.
    HttpUrl,
    /// An address that is reached by streamable HTTP unless `type` says otherwise;
    /// most clients mean that by `url`.
    Url,
    /// An address that is reached by HTTP+SSE unless `type` says otherwise.
    SseUrl,
    /// How long a call may take.
    Timeout(Unit),
    /// How long a start may take.
    StartTimeout,
    /// Switched off when false.
    Enabled,
    /// The only tools that there are; `*` is all of them.
    Allow,
    /// The same, but an empty list is none.
    AllowSome,
    /// Tools that there are not.
    Deny,
    /// A file with variables.
    EnvFile,
    /// Names of variables that are handed on.
    EnvNames,
    /// Names of secrets that the client keeps itself.
    SecretNames,
    /// The variable with a bearer token.
    BearerVariable,
    /// Variables with the values of headers.
    HeaderVariables,
    /// `oauth` with these fields.
    Oauth(&'static [(&'static str, &'static str)]),
    /// Scopes of a sign-in.
    Scopes,
    /// `requestOptions` of Continue.
    RequestOptions,
    /// Nothing here stands for it: why.
    Lost(&'static str),
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Seconds,
}

/// How variables are written in a client's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Not at all: what looks like one is plain text.
    None,
    /// `${X}`, `${env:X}`, `${input:id}` and those of editors.
    Braces,
    /// The same, and `$X`.
    Dollar,
    /// `{env:X}` and `{file:path}`.
    OpenCode,
    /// `${{ secrets.X }}`.
    Continue,
}

/// Where a client switches servers and tools off besides the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switches {
    /// Nowhere.
    None,
    /// `mcp.allowed` and `mcp.excluded`, and a file beside.
    Gemini,
    /// `tools`: names that begin with the server's.
    OpenCode,
    /// `amp.tools.disable`.
    Amp,
}

use Meaning::{
    Allow, Command, Deny, Enabled, EnvFile, HttpUrl, Lost, Oauth, Same, SseUrl, StartTimeout,
    Timeout, Transport, Url,
};

const SHOWN: Meaning = Lost(crate::import::ONLY_SHOWN);
const ASKS: Meaning = Lost("write permissions.allow for tools that need no question");
const EDITOR: Meaning = Lost("it is for the editor alone");

/// What most clients mean.
pub(crate) const FIELDS: &[Named] = &[
    ("type", Transport),
    ("transport", Transport),
    ("transportType", Transport),
    ("command", Command),
    ("args", Same),
    ("env", Same),
    ("envFile", EnvFile),
    ("cwd", Same),
    ("url", Url),
    ("serverUrl", Url),
    ("headers", Same),
    ("timeout", Timeout(Unit::Milliseconds)),
    ("disabled", Same),
    ("enabled", Enabled),
    ("disabledTools", Deny),
    ("enabledTools", Allow),
    ("autoApprove", ASKS),
    ("alwaysAllow", ASKS),
    ("oauth", Oauth(OAUTH)),
    ("description", SHOWN),
    ("name", SHOWN),
    ("icon", SHOWN),
    ("iconPath", SHOWN),
];

/// Names that sign-ins have.
const OAUTH: &[(&str, &str)] = &[
    ("clientId", "clientId"),
    ("client_id", "clientId"),
    ("clientSecret", "clientSecret"),
    ("client_secret", "clientSecret"),
    ("scope", "scopes"),
    ("scopes", "scopes"),
    ("oauthScopes", "scopes"),
    ("callbackPort", "callbackPort"),
    ("issuer", "issuer"),
    ("authServerMetadataUrl", "authServerMetadataUrl"),
    ("clientMetadataUrl", "clientMetadataUrl"),
];

/// Cursor's `auth`.
const CURSOR_AUTH: &[(&str, &str)] = &[
    ("CLIENT_ID", "clientId"),
    ("CLIENT_SECRET", "clientSecret"),
    ("scopes", "scopes"),
];

const SERVERS: &[&str] = &["mcpServers"];
const CODE: &[&str] = &["servers"];
/// What VS Code moves to a file of its own when it starts.
pub(super) const CODE_SETTINGS: &[&str] = &["mcp", "servers"];

const CODE_FIELDS: &[Named] = &[
    ("dev", EDITOR),
    ("gallery", EDITOR),
    ("version", EDITOR),
    ("sandboxEnabled", EDITOR),
    ("sandbox", EDITOR),
];

const GEMINI_FIELDS: &[Named] = &[
    ("httpUrl", HttpUrl),
    ("url", SseUrl),
    ("tcp", Lost("WebSocket servers are written as url: ws://…")),
    ("includeTools", Allow),
    ("excludeTools", Deny),
    ("trust", ASKS),
    ("extensionName", SHOWN),
    (
        "authProviderType",
        Lost("write headersHelper, or sign in: switchboard login"),
    ),
    (
        "targetAudience",
        Lost("write headersHelper, or sign in: switchboard login"),
    ),
    (
        "targetServiceAccount",
        Lost("write headersHelper, or sign in: switchboard login"),
    ),
    ("discoveryTimeoutMs", StartTimeout),
];

const CLINE_FIELDS: &[Named] = &[
    ("timeout", Timeout(Unit::Seconds)),
    ("url", SseUrl),
    ("remoteConfigured", EDITOR),
    (
        "watchPaths",
        Lost("a changed entry is taken up by itself, files are not watched"),
    ),
];

/// All clients, in the order in which they are looked at.
pub(super) const ROWS: [&[Row]; 2] = [desktop::ROWS, terminal::ROWS];
