//! Other gateways, as their users install and start them: from the registries,
//! by package name, with their logging turned down. Each stands between HTTP
//! clients and the upstream over stdio.

use super::subjects::{START_LIMIT, Subject, free_port, listens};
use crate::process::Group;
use crate::setup::{self, PythonPackage};
use anyhow::{Result, bail};
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

    /// Starts one of them in front of `upstream`, a program that is given `--stdio`.
    pub fn start(
        &self,
        subject: Subject,
        upstream: &Path,
        scratch: &Path,
    ) -> Result<(Group, String)> {
        let port = free_port()?;
        let mut command = match subject {
            Subject::McpProxy => {
                let mut command = Command::new(&self.mcp_proxy);
                command
                    .args(["--log-level", "ERROR", "--port", &port.to_string(), "--"])
                    .arg(upstream)
                    .arg("--stdio");
                command
            }
            Subject::FastMcp => {
                let config =
                    json!({"mcpServers": {"echo": {"command": upstream, "args": ["--stdio"]}}});
                let file = scratch.join("fastmcp.mcp.json");
                std::fs::write(&file, config.to_string())?;
                let mut command = Command::new(&self.fastmcp);
                command
                    .arg("run")
                    .arg(file)
                    .args(["--transport", "http", "--no-banner"])
                    .args(["--log-level", "ERROR", "--port", &port.to_string()]);
                command
            }
            Subject::Supergateway => {
                let mut command = Command::new(&self.node);
                command
                    .arg(&self.supergateway)
                    .args(["--stdio", &format!("{} --stdio", upstream.display())])
                    .args(["--outputTransport", "streamableHttp", "--stateful"])
                    .args(["--logLevel", "none", "--port", &port.to_string()]);
                command
            }
            ours => bail!("{} is not another gateway", ours.name()),
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
}
