//! The clients, and where they keep their files.

use std::path::{Path, PathBuf};

/// A client whose files can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
    /// Codex.
    Codex,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
    /// goose.
    Goose,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::Windsurf,
        Self::Zed,
        Self::Goose,
        Self::Gemini,
        Self::OpenCode,
    ];

    /// How the user calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Goose => "goose",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The client of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == text)
    }

    /// How it calls itself.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Goose => "goose",
            Self::Gemini => "Gemini CLI",
            Self::OpenCode => "OpenCode",
        }
    }

    /// The file that it reads: the one that is there, or the one that this
    /// system's users have.
    pub fn file(self, home: &Path) -> PathBuf {
        let files = self.files(home);
        let usual = if cfg!(target_os = "macos") {
            files.last()
        } else {
            files.first()
        };
        let there = files.iter().find(|file| file.is_file());
        there.or(usual).cloned().unwrap_or_default()
    }

    /// Under which key its servers are.
    pub const fn key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::Codex => "mcp_servers",
            Self::Zed => "context_servers",
            Self::Goose => "extensions",
            Self::OpenCode => "mcp",
            _ => "mcpServers",
        }
    }

    /// Its files, the one that counts most first. Only the user's own: what a
    /// repository brings along must not become the user's by an import.
    pub fn files(self, home: &Path) -> Vec<PathBuf> {
        let support = |path: &str| home.join("Library/Application Support").join(path);
        let config = |path: &str| home.join(".config").join(path);
        match self {
            Self::ClaudeDesktop => vec![
                config("Claude/claude_desktop_config.json"),
                config("claude/claude_desktop_config.json"),
                support("Claude/claude_desktop_config.json"),
            ],
            Self::ClaudeCode => vec![home.join(".claude.json")],
            Self::Cursor => vec![home.join(".cursor/mcp.json")],
            Self::VsCode => vec![config("Code/User/mcp.json"), support("Code/User/mcp.json")],
            Self::Codex => vec![home.join(".codex/config.toml")],
            Self::Windsurf => vec![home.join(".codeium/windsurf/mcp_config.json")],
            Self::Zed => vec![config("zed/settings.json")],
            Self::Goose => vec![config("goose/config.yaml")],
            Self::Gemini => vec![home.join(".gemini/settings.json")],
            Self::OpenCode => vec![config("opencode/opencode.json")],
        }
    }
}
