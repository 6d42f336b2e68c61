//! Agents: each is configured in a home of its own, as its pages say, with a scripted
//! model in place of its maker's.

use super::clients::Way;
use super::drive::Stage;
use anyhow::Result;
use serde_json::{Value, json};
use std::process::Command;

/// Writes an agent's files and says how it is run; the text is the model's address.
pub type Prepare = fn(&Stage, &str) -> Result<Command>;

/// What an agent is asked for. It must not say what the tool answers.
const PROMPT: &str = "Call the tool once.";
/// A key that opens nothing.
const KEY: &str = "opens-nothing";

/// Claude Code, which speaks the modern era.
pub fn claude_code(stage: &Stage, model: &str) -> Result<Command> {
    let kind = match stage.way {
        Way::Http => "http",
        Way::Stdio => "stdio",
    };
    let config = json!({"mcpServers": {"sb": stage.entry(Some(kind))}});
    let config = stage.write("mcp.json", &config.to_string())?;
    let mut command = stage.command("claude")?;
    command
        .args(["-p", PROMPT, "--strict-mcp-config", "--mcp-config"])
        .arg(config)
        .args(["--allowedTools", "mcp__sb", "--model", "claude-sonnet-4-5"])
        .env("ANTHROPIC_BASE_URL", model)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("ENABLE_TOOL_SEARCH", "false")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    Ok(command)
}

/// Codex.
pub fn codex(stage: &Stage, model: &str) -> Result<Command> {
    let (program, args) = stage.serve();
    let toml = |value: Value| value.to_string(); // strings and lists of them look alike
    let server = match stage.way {
        Way::Stdio => format!(
            "command = {}\nargs = {}\n[mcp_servers.sb.env]\nPATH = {}\nHOME = {}\n",
            toml(json!(program)),
            toml(json!(args)),
            toml(stage.env()["PATH"].clone()),
            toml(stage.env()["HOME"].clone()),
        ),
        Way::Http => format!(
            "url = {}\nhttp_headers = {{ Authorization = {} }}\n",
            toml(json!(stage.target.url)),
            toml(stage.headers()["Authorization"].clone()),
        ),
    };
    let config = format!(
        "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{model}/v1\"\n\
         env_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n\
         [mcp_servers.sb]\nstartup_timeout_sec = 60\nrequired = true\n{server}"
    );
    stage.write(".codex/config.toml", &config)?;
    let mut command = stage.command("codex")?;
    command
        .args(["exec", "--skip-git-repo-check"])
        .args(["--dangerously-bypass-approvals-and-sandbox", PROMPT])
        .env("SCRIPTED_KEY", KEY);
    Ok(command)
}

/// The entry of Gemini CLI and those that come from it.
fn gemini_entry(stage: &Stage) -> Value {
    let mut entry = stage.entry(None);
    if let Some(fields) = entry.as_object_mut() {
        if let Some(url) = fields.remove("url") {
            fields.insert("httpUrl".into(), url);
        }
        fields.insert("trust".into(), json!(true));
    }
    entry
}

/// Gemini CLI.
pub fn gemini(stage: &Stage, model: &str) -> Result<Command> {
    let settings = json!({
        "mcpServers": {"sb": gemini_entry(stage)},
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": false},
        },
        "general": {"disableAutoUpdate": true},
        "privacy": {"usageStatisticsEnabled": false},
    });
    stage.write(".gemini/settings.json", &settings.to_string())?;
    let mut command = stage.command("gemini")?;
    command
        .args([
            "-p",
            PROMPT,
            "--approval-mode",
            "yolo",
            "-m",
            "gemini-2.5-flash",
        ])
        .env("GEMINI_API_KEY", KEY)
        .env("GOOGLE_GEMINI_BASE_URL", model)
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    Ok(command)
}

/// Qwen Code.
pub fn qwen(stage: &Stage, model: &str) -> Result<Command> {
    let settings = json!({
        "mcpServers": {"sb": gemini_entry(stage)},
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
        "tools": {"toolSearch": {"enabled": false}},
        "general": {"disableAutoUpdate": true},
        "privacy": {"usageStatisticsEnabled": false},
    });
    stage.write(".qwen/settings.json", &settings.to_string())?;
    let mut command = stage.command("qwen")?;
    command
        .args(["-p", PROMPT, "--approval-mode", "yolo"])
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", format!("{model}/v1"))
        .env("OPENAI_MODEL", "scripted")
        .env("QWEN_CODE_LEGACY_MCP_BLOCKING", "1");
    Ok(command)
}

/// opencode.
pub fn opencode(stage: &Stage, model: &str) -> Result<Command> {
    let (program, args) = stage.serve();
    let server = match stage.way {
        Way::Http => json!({
            "type": "remote", "url": stage.target.url, "headers": stage.headers(),
            "oauth": false, "enabled": true,
        }),
        Way::Stdio => {
            let line: Vec<String> = std::iter::once(program).chain(args).collect();
            json!({
                "type": "local", "command": line, "environment": stage.env(), "enabled": true,
            })
        }
    };
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "scripted/m",
        "small_model": "scripted/m",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": format!("{model}/v1"), "apiKey": KEY},
            "models": {"m": {"name": "m", "tool_call": true}},
        }},
        "mcp": {"sb": server},
    });
    stage.write("opencode.json", &config.to_string())?;
    let mut command = stage.command("opencode")?;
    command
        .args(["run", PROMPT])
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    Ok(command)
}

/// GitHub's Copilot CLI, with a provider of one's own.
pub fn copilot(stage: &Stage, model: &str) -> Result<Command> {
    let kind = match stage.way {
        Way::Http => "http",
        Way::Stdio => "local",
    };
    let mut entry = stage.entry(Some(kind));
    entry["tools"] = json!(["*"]);
    let config = json!({"mcpServers": {"sb": entry}});
    stage.write(".copilot/mcp-config.json", &config.to_string())?;
    let mut command = stage.command("copilot")?;
    command
        .args(["-p", PROMPT, "--allow-all-tools"])
        .env("COPILOT_PROVIDER_TYPE", "openai")
        .env("COPILOT_PROVIDER_BASE_URL", format!("{model}/v1"))
        .env("COPILOT_PROVIDER_API_KEY", KEY)
        .env("COPILOT_MODEL", "gpt-4.1")
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_AUTO_UPDATE", "false");
    Ok(command)
}
