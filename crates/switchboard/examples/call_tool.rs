//! Calls a tool of the servers that a user has configured, under that user's rules.
#![allow(clippy::print_stderr, reason = "an example for people to read")]

use serde_json::json;
use std::error::Error;
use switchboard::{Config, Options, Purpose, Variables, host::permission::Mode};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The library asks the process for nothing: where we are and for whom is said here.
    let variables = Variables::new(|name| std::env::var_os(name));
    let mut options = Options::new(std::env::current_dir()?, variables);
    // Besides what the files have, as with `--mcp-config`.
    let one = r#"{"mcpServers": {"system": {"type": "builtin"}}}"#;
    options.mcp_config.push(one.to_owned());

    let servers = Config::load(&options)? // every file, and all that is wrong, at once
        .approve(&options.approvals()) // what a project brings along
        .govern(Some(Mode::ReadOnly), Purpose::Agent)?; // the rules of the settings
    let agent = servers.agent().build()?;

    // Nothing has been started yet: that happens when a server is needed.
    for tool in agent.tools().await.to_anthropic() {
        eprintln!("{}", tool["name"]);
    }
    let tool_use = json!({"type": "tool_use", "id": "1", "name": "mcp__system__time", "input": {}});
    eprintln!("{}", agent.call(&tool_use).await);
    servers.close().await;
    Ok(())
}
