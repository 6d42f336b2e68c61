//! Clients with commands of their own.

use super::clients::Way;
use super::drive::{Saw, Stage, TOOL, count_in};
use anyhow::Result;
use serde_json::json;
use std::process::Command;

/// The inspector's command line, of either version.
pub fn inspector(stage: &Stage) -> Result<Saw> {
    let servers = json!({"mcpServers": {"sb": stage.entry(None)}});
    let servers = stage.write("servers.json", &servers.to_string())?;
    let run = |method: &[&str]| -> Result<String> {
        let mut command = stage.command("mcp-inspector")?;
        command.arg("--cli");
        match stage.way {
            Way::Stdio => command
                .arg("--config")
                .arg(&servers)
                .args(["--server", "sb"])
                .args(method),
            Way::Http => {
                let header = format!("Authorization: Bearer {}", stage.target.token);
                let address = [stage.target.url.as_str(), "--transport", "http", "--header"];
                command.args(address).arg(header).args(method)
            }
        };
        stage.output(&mut command)
    };
    let tools = Some(count_in(&run(&["--method", "tools/list"])?)?);
    let query = stage.arguments()["query"].clone();
    let pair = format!("query={}", query.as_str().unwrap_or_default());
    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        TOOL,
        "--tool-arg",
        &pair,
    ];
    Ok(Saw {
        tools,
        said: run(&call)?,
    })
}

/// mcporter, which reads a file of servers.
pub fn mcporter(stage: &Stage) -> Result<Saw> {
    let file = json!({"mcpServers": {"sb": stage.entry(None)}, "imports": []});
    let file = stage.write("mcporter.json", &file.to_string())?;
    let run = |args: &[&str]| -> Result<String> {
        let mut command = stage.command("mcporter")?;
        stage.output(command.arg("--config").arg(&file).args(args))
    };
    let tools = Some(count_in(&run(&["list", "sb", "--json"])?)?);
    let arguments = stage.arguments().to_string();
    let call = ["call", &format!("sb.{TOOL}"), "--args", &arguments];
    Ok(Saw {
        tools,
        said: run(&call)?,
    })
}

/// A client that lists only on a terminal: its call is all that is tried.
pub fn wong2(stage: &Stage) -> Result<Saw> {
    let file = json!({"mcpServers": {"sb": stage.entry(None)}});
    let file = stage.write("servers.json", &file.to_string())?;
    let mut command = stage.command("mcp-cli")?;
    command.arg("--config").arg(file);
    let arguments = stage.arguments().to_string();
    let call = ["call-tool", &format!("sb:{TOOL}"), "--args", &arguments];
    Ok(Saw {
        tools: None,
        said: stage.output(command.args(call))?,
    })
}

/// mcp-remote: stdio in front of an address.
pub fn mcp_remote(stage: &Stage) -> Result<Command> {
    let mut command = stage.command("mcp-remote")?;
    let header = format!("Authorization: Bearer {}", stage.target.token);
    command
        .args([
            &stage.target.url,
            "--allow-http",
            "--transport",
            "http-only",
            "--header",
        ])
        .arg(header);
    Ok(command)
}

/// supergateway, the other way round than it is known for.
pub fn supergateway(stage: &Stage) -> Result<Command> {
    let mut command = stage.command("supergateway")?;
    let (url, token) = (&stage.target.url, &stage.target.token);
    command.args([
        "--streamableHttp",
        url,
        "--oauth2Bearer",
        token,
        "--logLevel",
        "none",
    ]);
    Ok(command)
}

/// mcp-proxy, the same.
pub fn mcp_proxy(stage: &Stage) -> Result<Command> {
    let mut command = stage.command("mcp-proxy")?;
    let (url, token) = (&stage.target.url, &stage.target.token);
    command
        .args(["--transport", "streamablehttp", url])
        .env("API_ACCESS_TOKEN", token);
    Ok(command)
}
