//! What the file tools leave alone, in one table.

/// What may not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forbidden {
    /// Changing it.
    Writing,
    /// Reading it, and changing it.
    Everything,
}

/// Where something is. What lies below it is meant too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Below the home directory.
    Home(&'static str),
    /// Below `XDG_CONFIG_HOME`, and below `~/.config`.
    Config(&'static str),
    /// Below `XDG_DATA_HOME`, and below `~/.local/share`.
    Data(&'static str),
    /// What a variable names, or what is called so below it.
    Variable(&'static str, &'static str),
    /// From the very top.
    Top(&'static str),
    /// In any directory. `*` at the beginning of a name is any text, `**` any
    /// directories or none.
    Anywhere(&'static str),
    /// One of our own folders.
    Own(Own),
}

/// Our own folders, wherever they were moved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Settings, manifests.
    Config,
    /// Tokens, approvals, sign-ins; large results in it may be read.
    Data,
    /// What runs.
    State,
    /// What can be made again.
    Cache,
}

/// Things that are protected for the same reason.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// What they are, as it stands in a sentence: "… is protected: …".
    pub what: &'static str,
    /// What may not be done with them.
    pub forbidden: Forbidden,
    /// Where they are.
    pub places: &'static [At],
}

use At::{Anywhere, Config, Data, Home, Top, Variable};
use Forbidden::{Everything, Writing};

/// The table.
pub const TABLE: &[Group] = &[
    Group {
        what: "keys and secrets",
        forbidden: Everything,
        places: &[
            Anywhere(".ssh"),
            Anywhere(".gnupg"),
            Variable("GNUPGHOME", ""),
            Home(".password-store"),
            Variable("PASSWORD_STORE_DIR", ""),
            Home(".age"),
            Config("age"),
            Config("sops"),
            Home(".pki"),
            Data("keyrings"),
            Data("kwalletd"),
            Home("Library/Keychains"),
            Home(".vault-token"),
            Config("op"),
            Config("Bitwarden CLI"),
            Home(".pgpass"),
            Variable("PGPASSFILE", ""),
            Home(".my.cnf"),
            Home(".mylogin.cnf"),
            Top("/etc/shadow"),
            Top("/etc/gshadow"),
            Top("/etc/sudoers"),
            Top("/etc/sudoers.d"),
            Top("/etc/ssh"),
            Top("/etc/ssl/private"),
            Top("/run/secrets"),
            Top("/run/credentials"),
            // Variables and memory of every process.
            Top("/proc"),
        ],
    },
    Group {
        what: "credentials of clouds and services",
        forbidden: Everything,
        places: &[
            Home(".aws"),
            Variable("AWS_SHARED_CREDENTIALS_FILE", ""),
            Variable("AWS_CONFIG_FILE", ""),
            Home(".azure"),
            Variable("AZURE_CONFIG_DIR", ""),
            Config("gcloud"),
            Variable("CLOUDSDK_CONFIG", ""),
            Variable("GOOGLE_APPLICATION_CREDENTIALS", ""),
            Home(".boto"),
            Home(".s3cfg"),
            Home(".oci"),
            Config("doctl"),
            Home(".fly"),
            Home(".netlify"),
            Config("netlify"),
            Data("com.vercel.cli"),
            Home(".wrangler"),
            Config(".wrangler"),
            Config("stripe"),
            Config("rclone"),
            Home(".databrickscfg"),
            Home(".snowflake"),
            Home(".kaggle"),
            Home(".cache/huggingface/token"),
            Home(".huggingface"),
            Home(".kube/config"),
            Variable("KUBECONFIG", ""),
            Home(".docker/config.json"),
            Variable("DOCKER_CONFIG", "config.json"),
            Config("containers/auth.json"),
            Home(".terraform.d/credentials.tfrc.json"),
            Home(".terraformrc"),
            Config("gh"),
            Variable("GH_CONFIG_DIR", ""),
            Config("glab-cli"),
            Config("hub"),
            Config("github-copilot"),
            Anywhere(".claude/.credentials.json"),
            Variable("CLAUDE_CONFIG_DIR", ".credentials.json"),
            Home(".codex/auth.json"),
            Variable("CODEX_HOME", "auth.json"),
            Home(".gemini/oauth_creds.json"),
            Data("opencode/auth.json"),
        ],
    },
    Group {
        what: "credentials of Git and of package managers",
        forbidden: Everything,
        places: &[
            Anywhere(".netrc"),
            Anywhere("_netrc"),
            Variable("NETRC", ""),
            Anywhere(".git-credentials"),
            Anywhere(".gitconfig"),
            Config("git"),
            Variable("GIT_CONFIG_GLOBAL", ""),
            Anywhere(".git/config"),
            Anywhere("*.git/**/config"),
            Anywhere("*.git/**/config.worktree"),
            Anywhere(".npmrc"),
            Variable("NPM_CONFIG_USERCONFIG", ""),
            Anywhere(".yarnrc"),
            Anywhere(".yarnrc.yml"),
            Anywhere(".pypirc"),
            Home(".pip"),
            Config("pip"),
            Data("uv/credentials"),
            Home(".cargo/credentials"),
            Home(".cargo/credentials.toml"),
            Variable("CARGO_HOME", "credentials"),
            Variable("CARGO_HOME", "credentials.toml"),
            Home(".gem/credentials"),
            Home(".bundle/config"),
            Home(".m2/settings.xml"),
            Home(".m2/settings-security.xml"),
            Home(".gradle/gradle.properties"),
            Home(".composer/auth.json"),
            Config("composer/auth.json"),
            Home(".nuget/NuGet"),
            Config("NuGet"),
        ],
    },
    Group {
        what: "variables that a shell takes in a directory",
        forbidden: Everything,
        places: &[Anywhere(".envrc"), Config("direnv")],
    },
    Group {
        what: "Switchboard's own folder",
        forbidden: Everything,
        places: &[
            At::Own(Own::Config),
            At::Own(Own::Data),
            At::Own(Own::State),
            At::Own(Own::Cache),
            Top("/etc/switchboard"),
        ],
    },
    Group {
        what: "a client's or a project's MCP servers",
        forbidden: Everything,
        places: &[
            Config("Claude/claude_desktop_config.json"),
            Config("claude/claude_desktop_config.json"),
            Config("Code/User/mcp.json"),
            Config("zed/settings.json"),
            Config("goose/config.yaml"),
            Config("opencode/opencode.json"),
            Home(".codeium/windsurf/mcp_config.json"),
            Home("Library/Application Support/Claude/claude_desktop_config.json"),
            Home("Library/Application Support/Code/User/mcp.json"),
            Anywhere(".mcp.json"),
            Anywhere(".claude.json"),
            Variable("CLAUDE_CONFIG_DIR", ".claude.json"),
            Anywhere("claude_desktop_config.json"),
            Anywhere(".cursor/mcp.json"),
            Anywhere(".vscode/mcp.json"),
            Anywhere("User/mcp.json"),
            Anywhere("User/profiles/*/mcp.json"),
            Anywhere(".codex/config.toml"),
            Variable("CODEX_HOME", "config.toml"),
            Anywhere("windsurf/mcp_config.json"),
            Anywhere(".zed/settings.json"),
            Anywhere("zed/settings.json"),
            Anywhere("goose/config.yaml"),
            Anywhere(".gemini/settings.json"),
            Anywhere("opencode.json"),
            Anywhere("opencode.jsonc"),
            Anywhere("cline_mcp_settings.json"),
            Anywhere(".roo/mcp.json"),
            Anywhere(".kilocode/mcp.json"),
            Anywhere(".amazonq/mcp.json"),
            Anywhere(".kiro/settings/mcp.json"),
            Anywhere(".junie/mcp"),
            Anywhere(".continue/mcpServers"),
            Top("/etc/claude-code"),
        ],
    },
    Group {
        what: "a start file, which runs when somebody logs in or opens a shell",
        forbidden: Writing,
        places: &[
            Anywhere(".bashrc"),
            Anywhere(".bash_profile"),
            Anywhere(".bash_login"),
            Anywhere(".bash_logout"),
            Anywhere(".bash_aliases"),
            Anywhere(".profile"),
            Anywhere(".zshrc"),
            Anywhere(".zprofile"),
            Anywhere(".zshenv"),
            Anywhere(".zlogin"),
            Anywhere(".zlogout"),
            Anywhere(".kshrc"),
            Anywhere(".mkshrc"),
            Anywhere(".cshrc"),
            Anywhere(".tcshrc"),
            Anywhere(".inputrc"),
            Anywhere(".xprofile"),
            Anywhere(".xinitrc"),
            Anywhere(".xsession"),
            Anywhere(".xsessionrc"),
            Anywhere(".pam_environment"),
            Home(".login"),
            Home(".logout"),
            Config("fish"),
            Config("nushell"),
            Config("powershell"),
            Config("environment.d"),
            Config("autostart"),
            Config("systemd"),
            Data("systemd"),
            Home("Library/LaunchAgents"),
            Top("/etc"),
        ],
    },
    Group {
        what: "a program that is found by its name",
        forbidden: Writing,
        places: &[
            Home("bin"),
            Home(".local/bin"),
            Home(".cargo/bin"),
            Home("go/bin"),
            Home(".bun/bin"),
            Home(".deno/bin"),
            Home(".npm-global/bin"),
        ],
    },
    Group {
        what: "what Git, an editor or an agent runs by itself",
        forbidden: Writing,
        places: &[
            Anywhere(".git"),
            Anywhere(".git/hooks"),
            Anywhere("*.git/hooks"),
            Anywhere(".gitmodules"),
            Anywhere(".husky"),
            Anywhere(".vscode"),
            Anywhere(".idea"),
            Anywhere(".devcontainer"),
            Anywhere(".zed/tasks.json"),
            Anywhere(".claude/settings.json"),
            Anywhere(".claude/settings.local.json"),
            Anywhere(".claude/hooks"),
            Variable("CLAUDE_CONFIG_DIR", "settings.json"),
            Anywhere(".cursor/hooks.json"),
            Anywhere(".codex/hooks.json"),
            Anywhere(".ripgreprc"),
            Anywhere(".vimrc"),
            Anywhere(".exrc"),
            Anywhere(".emacs"),
            Anywhere(".emacs.d"),
            Config("nvim"),
            Anywhere(".gdbinit"),
            Anywhere(".lldbinit"),
        ],
    },
];

impl At {
    /// How it is written for people.
    pub fn shown(&self) -> String {
        let below = |folder: &str, name: &str| match name {
            "" => folder.to_owned(),
            name => format!("{folder}/{name}"),
        };
        match self {
            Home(name) => below("~", name),
            Config(name) => below("~/.config", name),
            Data(name) => below("~/.local/share", name),
            Variable(variable, name) => below(&format!("${variable}"), name),
            Top(path) => (*path).to_owned(),
            Anywhere(name) => format!("…/{name}"),
            At::Own(Own::Config) => "~/.config/switchboard".to_owned(),
            At::Own(Own::Data) => {
                "~/.local/share/switchboard (results/ in it may be read)".to_owned()
            }
            At::Own(Own::State) => "~/.local/state/switchboard".to_owned(),
            At::Own(Own::Cache) => "~/.cache/switchboard".to_owned(),
        }
    }
}
