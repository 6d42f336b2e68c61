//! Other gateways, as their users install and start them: from the registries,
//! by package name, with their logging turned down. Each stands between HTTP
//! clients and the upstream over stdio.

use super::subjects::{Programs, START_LIMIT, Subject, free_port, listens};
use crate::process::Group;
use crate::setup::{self, PythonPackage};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MCP_PROXY: PythonPackage = PythonPackage("mcp-proxy", "0.13.0");
const FASTMCP: PythonPackage = PythonPackage("fastmcp", "4.0.0");

/// What is measured, by name and version.
pub fn versions() -> String {
    let PythonPackage(mcp_proxy, its) = MCP_PROXY;
    let PythonPackage(fastmcp, version) = FASTMCP;
    format!(
        "{}, {mcp_proxy} {its}, {fastmcp} {version}",
        setup::supergateway()
    )
}

/// Where they are installed.
pub struct Others {
    node: PathBuf,
    supergateway: PathBuf,
    mcp_proxy: PathBuf,
    fastmcp: PathBuf,
}

impl Others {
    /// Installs what is missing.
    pub fn install() -> Result<Self> {
        let tools = setup::run()?;
        Ok(Self {
            node: tools.node,
            supergateway: tools.supergateway,
            mcp_proxy: setup::python(&MCP_PROXY)?.join("bin/mcp-proxy"),
            fastmcp: setup::python(&FASTMCP)?.join("bin/fastmcp"),
        })
    }

    fn command(
        &self,
        subject: Subject,
        upstream: &Path,
        port: u16,
        scratch: &Path,
    ) -> Result<Command> {
        let mut command;
        match subject {
            Subject::McpProxy => {
                command = Command::new(&self.mcp_proxy);
                command
                    .args(["--log-level", "ERROR", "--port", &port.to_string(), "--"])
                    .arg(upstream)
                    .arg("--stdio");
            }
            Subject::FastMcp => {
                let config =
                    json!({"mcpServers": {"echo": {"command": upstream, "args": ["--stdio"]}}});
                let file = scratch.join("fastmcp.mcp.json");
                std::fs::write(&file, config.to_string())?;
                command = Command::new(&self.fastmcp);
                command
                    .arg("run")
                    .arg(file)
                    .args(["--transport", "http", "--no-banner"])
                    .args(["--log-level", "ERROR", "--port", &port.to_string()]);
            }
            Subject::Supergateway => {
                command = Command::new(&self.node);
                command
                    .arg(&self.supergateway)
                    .args(["--stdio", &format!("{} --stdio", upstream.display())])
                    .args(["--outputTransport", "streamableHttp", "--stateful"])
                    .args(["--logLevel", "none", "--port", &port.to_string()]);
            }
            ours => bail!("{} is not another gateway", ours.name()),
        }
        Ok(command)
    }
}

/// agentgateway with one server on stdio, as its own example has it. JSON is YAML.
fn agentgateway(program: &Path, upstream: &Path, port: u16, scratch: &Path) -> Result<Command> {
    let target = json!({"name": "echo", "stdio": {"cmd": upstream, "args": ["--stdio"]}});
    let backends = json!([{"mcp": {"targets": [target]}}]);
    let config =
        json!({"binds": [{"port": port, "listeners": [{"routes": [{"backends": backends}]}]}]});
    let file = scratch.join("agentgateway.yaml");
    std::fs::write(&file, config.to_string())?;
    let mut command = Command::new(program);
    command.arg("-f").arg(file).env("RUST_LOG", "error");
    Ok(command)
}

/// Starts one of them in front of the upstream.
pub fn start(subject: Subject, programs: &Programs, scratch: &Path) -> Result<(Group, String)> {
    let port = free_port()?;
    let upstream = &programs.upstream;
    let mut command = match subject {
        Subject::Agentgateway => {
            let program = programs.agentgateway.as_ref();
            let program = program.context("where is agentgateway? --agentgateway PATH")?;
            agentgateway(program, upstream, port, scratch)?
        }
        _ => {
            let others = programs.others.as_ref();
            let others = others.context("the other gateways are not installed: --others")?;
            others.command(subject, upstream, port, scratch)?
        }
    };
    let log = scratch.join("other.log");
    command
        .current_dir(scratch)
        .stdin(Stdio::null())
        .stdout(File::create(&log)?)
        .stderr(File::options().append(true).open(&log)?);
    let group = Group::spawn(&mut command)?;
    listens(subject.name(), port, &log, START_LIMIT)?;
    Ok((group, format!("http://127.0.0.1:{port}/mcp")))
}
