//! An agent with two servers that are programs: it needs none of the features.
//! `switchboard = { …, default-features = false }`
#![allow(clippy::print_stderr, reason = "an example for people to read")]

use std::error::Error;
use switchboard::{Agent, host::permission::Mode, library};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::builder()
        .server(library::command("git", "uvx", ["mcp-server-git"]))
        .server(library::command("time", "uvx", ["mcp-server-time"]))
        .mode(Mode::ReadOnly)
        .build()?;
    for (server, connected) in agent.connect().await {
        match connected {
            Ok(()) => eprintln!("{server}: connected"),
            Err(why) => eprintln!("{server}: {why}"),
        }
    }
    for tool in agent.tools().await.to_anthropic() {
        eprintln!("{}", tool["name"]);
    }
    agent.close().await;
    Ok(())
}
