//! The table of clients: paths, keys, words. Nothing here does anything.

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
    Allow, AllowSome, BearerVariable, Called, Command, Deny, Enabled, EnvFile, EnvNames,
    HeaderVariables, HttpUrl, Lost, Needless, Oauth, RequestOptions, Same, Scopes, SecretNames,
    SseUrl, StartTimeout, Timeout, Transport, Url,
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
pub(super) const ROWS: &[Row] = &[
    Row {
        word: "claude-desktop",
        title: "Claude Desktop",
        programs: &["claude-desktop"],
        files: &[
            (At::AppData, "Claude/claude_desktop_config.json", SERVERS),
            (At::Config, "claude/claude_desktop_config.json", SERVERS),
        ],
        workspace: &[],
        fields: &[],
        variables: Spelling::None,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "claude-code",
        title: "Claude Code",
        programs: &["claude"],
        files: &[(At::ClaudeJson, "", SERVERS)],
        // Its .mcp.json is read by Switchboard itself.
        workspace: &[],
        fields: &[("alwaysLoad", Same), ("headersHelper", Same)],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        files: &[(At::Home, ".cursor/mcp.json", SERVERS)],
        workspace: &[(".cursor/mcp.json", SERVERS)],
        fields: &[("auth", Oauth(CURSOR_AUTH))],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "vscode",
        title: "VS Code",
        programs: &["code"],
        files: &[
            (At::AppData, "Code/User/mcp.json", CODE),
            (At::AppData, "Code/User/profiles/*/mcp.json", CODE),
            (At::AppData, "Code/User/settings.json", CODE_SETTINGS),
        ],
        workspace: &[
            (".vscode/mcp.json", CODE),
            (".vscode/settings.json", CODE_SETTINGS),
        ],
        fields: CODE_FIELDS,
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Typed,
        off: None,
    },
    Row {
        word: "vscode-insiders",
        title: "VS Code Insiders",
        programs: &["code-insiders"],
        files: &[
            (At::AppData, "Code - Insiders/User/mcp.json", CODE),
            (
                At::AppData,
                "Code - Insiders/User/profiles/*/mcp.json",
                CODE,
            ),
            (
                At::AppData,
                "Code - Insiders/User/settings.json",
                CODE_SETTINGS,
            ),
        ],
        workspace: &[],
        fields: CODE_FIELDS,
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Typed,
        off: None,
    },
    Row {
        word: "vscodium",
        title: "VSCodium",
        programs: &["codium"],
        files: &[
            (At::AppData, "VSCodium/User/mcp.json", CODE),
            (At::AppData, "VSCodium/User/profiles/*/mcp.json", CODE),
            (At::AppData, "VSCodium/User/settings.json", CODE_SETTINGS),
        ],
        workspace: &[],
        fields: CODE_FIELDS,
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Typed,
        off: None,
    },
    Row {
        word: "codex",
        title: "Codex",
        programs: &["codex"],
        files: &[(
            At::Moved("CODEX_HOME", ".codex"),
            "config.toml",
            &["mcp_servers"],
        )],
        workspace: &[(".codex/config.toml", &["mcp_servers"])],
        fields: &[
            ("env_vars", EnvNames),
            ("http_headers", Called("headers")),
            ("env_http_headers", HeaderVariables),
            ("bearer_token_env_var", BearerVariable),
            ("startup_timeout_sec", StartTimeout),
            ("startup_timeout_ms", StartTimeout),
            ("tool_timeout_sec", Timeout(Unit::Seconds)),
            ("enabled_tools", Allow),
            ("disabled_tools", Deny),
            ("scopes", Scopes),
            (
                "oauth_resource",
                Lost("the server says itself which resource it is"),
            ),
            ("required", Lost("a server that fails ends nothing here")),
            (
                "supports_parallel_tool_calls",
                Lost("calls run side by side anyway"),
            ),
            (
                "experimental_environment",
                Lost("servers run on this machine"),
            ),
            ("default_tools_approval_mode", ASKS),
            ("tools", ASKS),
        ],
        variables: Spelling::None,
        switches: Switches::None,
        shape: Shape::Usual,
        off: NOT_ENABLED,
    },
    Row {
        word: "windsurf",
        title: "Windsurf",
        programs: &["windsurf"],
        files: &[
            (At::Home, ".codeium/windsurf/mcp_config.json", SERVERS),
            (At::Home, ".codeium/mcp_config.json", SERVERS),
        ],
        workspace: &[],
        fields: &[("registry", SHOWN), ("serverId", SHOWN)],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: DISABLED,
    },
    Row {
        word: "zed",
        title: "Zed",
        programs: &["zed", "zeditor"],
        files: &[(At::Config, "zed/settings.json", &["context_servers"])],
        workspace: &[(".zed/settings.json", &["context_servers"])],
        fields: &[
            ("timeout", Timeout(Unit::Seconds)),
            ("source", Needless),
            ("settings", Lost("it is for an extension of Zed")),
            ("remote", Lost("servers run on this machine")),
        ],
        variables: Spelling::None,
        switches: Switches::None,
        shape: Shape::Zed,
        off: NOT_ENABLED,
    },
    Row {
        word: "goose",
        title: "goose",
        programs: &["goose"],
        files: &[(At::Config, "goose/config.yaml", &["extensions"])],
        workspace: &[],
        fields: &[
            ("cmd", Command),
            ("envs", Called("env")),
            ("env_keys", SecretNames),
            ("uri", Url),
            ("timeout", Timeout(Unit::Seconds)),
            ("available_tools", AllowSome),
            ("bundled", SHOWN),
            ("display_name", SHOWN),
            ("socket", Lost("write the address as unix://…")),
            ("code", Lost("a program of goose's own")),
            ("dependencies", Lost("a program of goose's own")),
        ],
        variables: Spelling::Dollar,
        switches: Switches::None,
        shape: Shape::Goose,
        off: NOT_ENABLED,
    },
    Row {
        word: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        files: &[(
            At::Moved("GEMINI_CLI_HOME", ""),
            ".gemini/settings.json",
            SERVERS,
        )],
        workspace: &[(".gemini/settings.json", SERVERS)],
        fields: GEMINI_FIELDS,
        variables: Spelling::Dollar,
        switches: Switches::Gemini,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "qwen",
        title: "Qwen Code",
        programs: &["qwen"],
        files: &[(At::Moved("QWEN_HOME", ".qwen"), "settings.json", SERVERS)],
        workspace: &[(".qwen/settings.json", SERVERS)],
        fields: GEMINI_FIELDS,
        variables: Spelling::Dollar,
        switches: Switches::Gemini,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "opencode",
        title: "OpenCode",
        programs: &["opencode"],
        files: &[
            (At::Config, "opencode/opencode.json", &["mcp"]),
            (At::Config, "opencode/opencode.jsonc", &["mcp"]),
            (At::Config, "opencode/config.json", &["mcp"]),
        ],
        workspace: &[
            ("opencode.json", &["mcp"]),
            ("opencode.jsonc", &["mcp"]),
            (".opencode/opencode.json", &["mcp"]),
            (".opencode/opencode.jsonc", &["mcp"]),
        ],
        fields: &[("environment", Called("env"))],
        variables: Spelling::OpenCode,
        switches: Switches::OpenCode,
        shape: Shape::OpenCode,
        off: NOT_ENABLED,
    },
    Row {
        word: "cline",
        title: "Cline",
        programs: &[],
        files: &[
            (
                At::AppData,
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "VSCodium/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "Windsurf/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                SERVERS,
            ),
        ],
        workspace: &[],
        fields: CLINE_FIELDS,
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: DISABLED,
    },
    Row {
        word: "cline-cli",
        title: "Cline CLI",
        programs: &["cline"],
        files: &[(
            At::Moved("CLINE_DIR", ".cline"),
            "data/settings/cline_mcp_settings.json",
            SERVERS,
        )],
        workspace: &[],
        fields: CLINE_FIELDS,
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: DISABLED,
    },
    Row {
        word: "roo",
        title: "Roo Code",
        programs: &[],
        files: &[
            (
                At::AppData,
                "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                SERVERS,
            ),
            (
                At::AppData,
                "Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                SERVERS,
            ),
        ],
        workspace: &[(".roo/mcp.json", SERVERS)],
        fields: CLINE_FIELDS,
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: DISABLED,
    },
    Row {
        word: "continue",
        title: "Continue",
        programs: &["cn"],
        files: &[(At::Home, ".continue/config.yaml", SERVERS)],
        workspace: &[
            (".continue/mcpServers/*.yaml", SERVERS),
            (".continue/mcpServers/*.yml", SERVERS),
            (".continue/mcpServers/*.json", SERVERS),
        ],
        fields: &[
            ("name", Needless),
            ("serverName", SHOWN),
            ("faviconUrl", SHOWN),
            ("sourceFile", SHOWN),
            ("connectionTimeout", StartTimeout),
            ("requestOptions", RequestOptions),
            ("apiKey", Lost("write it as a header")),
            ("uses", Lost("the block of a hub: write the server itself")),
            ("with", Lost("the block of a hub: write the server itself")),
        ],
        variables: Spelling::Continue,
        switches: Switches::None,
        shape: Shape::Continue,
        off: None,
    },
    Row {
        word: "copilot-cli",
        title: "GitHub Copilot CLI",
        programs: &["copilot"],
        files: &[(
            At::Moved("COPILOT_HOME", ".copilot"),
            "mcp-config.json",
            SERVERS,
        )],
        workspace: &[(".github/mcp.json", SERVERS)],
        fields: &[
            ("tools", Allow),
            ("filterMapping", EDITOR),
            ("isDefaultServer", SHOWN),
            ("displayName", SHOWN),
            ("source", SHOWN),
            ("sourcePath", SHOWN),
        ],
        variables: Spelling::Dollar,
        switches: Switches::None,
        shape: Shape::Copilot,
        off: None,
    },
    Row {
        word: "copilot-jetbrains",
        title: "GitHub Copilot in JetBrains IDEs",
        programs: &[],
        files: &[(At::Config, "github-copilot/intellij/mcp.json", CODE)],
        workspace: &[],
        fields: &[("requestInit", RequestOptions)],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Typed,
        off: None,
    },
    Row {
        word: "kiro",
        title: "Kiro",
        programs: &["kiro", "kiro-cli"],
        files: &[(At::Home, ".kiro/settings/mcp.json", SERVERS)],
        workspace: &[(".kiro/settings/mcp.json", SERVERS)],
        fields: &[("oauthScopes", Scopes)],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: DISABLED,
    },
    Row {
        word: "junie",
        title: "JetBrains Junie",
        programs: &["junie"],
        files: &[(At::Home, ".junie/mcp/mcp.json", SERVERS)],
        workspace: &[(".junie/mcp/mcp.json", SERVERS)],
        fields: &[],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "warp",
        title: "Warp",
        programs: &["warp", "warp-terminal"],
        files: &[(At::Home, ".warp/.mcp.json", SERVERS)],
        workspace: &[(".warp/.mcp.json", SERVERS)],
        fields: &[
            ("working_directory", Called("cwd")),
            (
                "start_on_launch",
                Lost("servers start when they are needed"),
            ),
        ],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "lm-studio",
        title: "LM Studio",
        programs: &["lms"],
        files: &[
            (At::Home, ".lmstudio/mcp.json", SERVERS),
            (At::Home, ".cache/lm-studio/mcp.json", SERVERS),
        ],
        workspace: &[],
        fields: &[],
        variables: Spelling::None,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "amp",
        title: "Amp",
        programs: &["amp"],
        files: &[
            (At::Config, "amp/settings.json", &["amp.mcpServers"]),
            (At::Config, "amp/settings.jsonc", &["amp.mcpServers"]),
        ],
        workspace: &[
            (".amp/settings.json", &["amp.mcpServers"]),
            (".amp/settings.jsonc", &["amp.mcpServers"]),
        ],
        fields: &[("includeTools", Allow)],
        variables: Spelling::Braces,
        switches: Switches::Amp,
        shape: Shape::Usual,
        off: None,
    },
    Row {
        word: "mcporter",
        title: "MCPorter",
        programs: &["mcporter"],
        files: &[
            (At::Home, ".mcporter/mcporter.json", SERVERS),
            (At::Home, ".mcporter/mcporter.jsonc", SERVERS),
        ],
        workspace: &[("config/mcporter.json", SERVERS)],
        fields: &[
            ("baseUrl", HttpUrl),
            ("bearerTokenEnv", BearerVariable),
            ("auth", Lost("sign in: switchboard login NAME")),
            ("tokenCacheDir", Lost("sign-ins are kept in one place here")),
            ("clientName", SHOWN),
            ("oauthRedirectUrl", Lost("write oauth.callbackPort")),
            ("lifecycle", Lost("servers end when nobody needs them")),
            (
                "logging",
                Lost("switchboard logs NAME shows what a server writes"),
            ),
            ("allowedTools", Allow),
            ("blockedTools", Deny),
        ],
        variables: Spelling::Braces,
        switches: Switches::None,
        shape: Shape::Usual,
        off: None,
    },
];
