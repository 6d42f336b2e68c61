//! Calls a tool of a server that is given as JSON, from a program.
#![allow(clippy::print_stderr, reason = "an example for people to read")]

use std::error::Error;
use switchboard::{
    Caller, Roster, Settings,
    agent::Nobody,
    config::{self, Request},
    wire::name::Style,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // What `--mcp-config` takes; `places` would bring the files of all scopes.
    let loaded = config::load(&Request {
        mcp_config: vec![r#"{"mcpServers": {"system": {"type": "builtin"}}}"#.to_owned()],
        ..Request::default()
    });
    let lookup = |name: &str| std::env::var(name).ok();
    let settings = Settings::from_env(lookup);
    let roster = Roster::new(loaded, &settings, None, Style::Short, &lookup);

    // Nothing has been started yet: that happens when a server is met.
    let caller = Caller::new(roster.host.clone());
    let server = roster
        .host
        .server("system")
        .ok_or("there is no such server")?;
    let met = caller.meet(&server).await?;
    for tool in caller.tools(&met).await? {
        eprintln!("{}", tool.key);
    }
    // Nobody is there to answer if the server asks something.
    let reply = caller.call(&met, "time", "{}", &Nobody).await?;
    eprintln!("{}", String::from_utf8_lossy(reply.message.body()));
    roster.host.close().await;
    Ok(())
}
