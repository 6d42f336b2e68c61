//! For agent builders: servers without files. [`Agent`] does the rest.
//!
//! ```
//! use serde_json::json;
//! use switchboard::{Agent, host::permission::Mode, library};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let agent = Agent::builder()
//!     .server(library::system())
//!     .mode(Mode::Bypass)
//!     .build()?;
//! let request = json!({
//!     "model": "…",
//!     "tools": agent.tools().await.to_anthropic(),
//!     "messages": [{"role": "user", "content": "Is everything well?"}],
//! });
//! assert_eq!(request["tools"].as_array().map(|tools| !tools.is_empty()), Some(true));
//!
//! // What the model answers with goes in, what the next request needs comes out.
//! let tool_use = json!({
//!     "type": "tool_use", "id": "toolu_1", "name": "mcp__system__health", "input": {},
//! });
//! let tool_result = agent.call(&tool_use).await;
//! assert_eq!(tool_result["tool_use_id"], "toolu_1");
//! agent.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rules decide what is shown and called; where they ask, an
//! [`Operator`](switchboard_agent::Operator) answers:
//!
//! ```
//! use futures_util::future::BoxFuture;
//! use serde_json::json;
//! use std::sync::Arc;
//! use switchboard::{
//!     Agent,
//!     agent::Operator,
//!     host::{Consent, Verdict},
//!     library,
//! };
//!
//! struct Careful;
//!
//! impl Operator for Careful {
//!     fn permit<'a>(&'a self, consent: &'a Consent) -> BoxFuture<'a, Verdict> {
//!         let harmless = consent.hints.contains(&"read-only");
//!         Box::pin(async move { if harmless { Verdict::Once } else { Verdict::No } })
//!     }
//! }
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let agent = Agent::builder()
//!     .server(library::system())
//!     .operator(Arc::new(Careful))
//!     .deny("mcp__system__environment")
//!     .build()?;
//! let tools = agent.tools().await;
//! assert!(tools.find("mcp__system__environment").is_none());
//! let call = json!({"type": "tool_use", "id": "1", "name": "mcp__system__health", "input": {}});
//! assert_eq!(agent.call(&call).await.get("is_error"), None);
//! # agent.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A sub-agent shares servers by name, brings its own, and says without which
//! it cannot work ([`SubAgent`](switchboard_agent::SubAgent)).
//!
//! [`Agent`]: switchboard_agent::Agent

use crate::{VERSION, dirs::own_folders, flows::Flows, spec::LateHost};
use http::Uri;
use parking_lot::Mutex;
use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};
use switchboard_builtin::{Server, ServerKind, Setup};
use switchboard_config::environment::Variables;
use switchboard_host::{Host, Remote, ServerSpec, Target};
use switchboard_process::{Inherit, ServerCommand};
use switchboard_transport::in_process::End;
use tokio::time::timeout;

/// How long built-in servers may take to end what they have started.
const CLOSING: Duration = Duration::from_secs(3);

/// A server that comes with Switchboard, under its own name. The folders that
/// `variables` say are ours are protected from it, also where the setup does not say so.
pub fn builtin(kind: ServerKind, mut setup: Setup, variables: &Variables) -> ServerSpec {
    let directory = setup.roots.first().cloned().unwrap_or_default();
    let ours = || own_folders(&directory, |name| variables.get(name).map(PathBuf::from));
    setup.own_folders = setup.own_folders.or_else(ours);
    ServerSpec::new(kind.name(), made_when_needed(kind, setup, None))
}

/// A built-in server that is there already, under this name.
pub fn linked(name: &str, server: Server) -> ServerSpec {
    let target = Target::Linked(Arc::new(move |end| {
        link(&server, end);
        Ok(())
    }));
    ServerSpec::new(name, target)
}

/// A built-in server that is made when it is first needed, so that looking at
/// the configuration touches nothing. Its flows call servers of `host` as whoever
/// calls them.
pub(crate) fn made_when_needed(kind: ServerKind, setup: Setup, host: Option<LateHost>) -> Target {
    let made: Mutex<Option<Server>> = Mutex::new(None);
    Target::Calling(Arc::new(move |end, callers| {
        let mut made = made.lock();
        let server = match &*made {
            Some(server) => server.clone(),
            None => {
                let server = Server::new(kind, &setup).map_err(|fault| fault.to_string())?;
                made.insert(server).clone()
            }
        };
        let server = match &host {
            Some(host) => server.calling(Arc::new(Flows::new(host.clone(), callers))),
            None => server,
        };
        link(&server, end);
        Ok(())
    }))
}

fn link(server: &Server, end: End) {
    let sender = end.sender;
    server.linked(end.receiver, move |bytes| {
        let _ = sender.send(bytes.into());
    });
}

/// Ends all servers, built-in ones with what they have started too. For the end of
/// the program: built-in servers of other hosts are waited for as well, for a moment.
pub async fn close(host: &Host) {
    host.close().await;
    let _ = timeout(CLOSING, switchboard_builtin::sessions_ended()).await;
}

/// The built-in server `system`: health, time and the like.
pub fn system() -> ServerSpec {
    let setup = Setup {
        version: VERSION.to_owned(),
        ..Setup::default()
    };
    builtin(ServerKind::System, setup, &Variables::default())
}

/// A server that is a program: started when it is needed, ended with the agent.
pub fn command(
    name: &str,
    program: impl Into<OsString>,
    args: impl IntoIterator<Item = impl Into<OsString>>,
) -> ServerSpec {
    let command = ServerCommand {
        program: program.into(),
        args: args.into_iter().map(Into::into).collect(),
        inherit: Inherit::whole(),
        ..ServerCommand::default()
    };
    ServerSpec::new(name, Target::Stdio(command))
}

/// A server at an address, over streamable HTTP or HTTP+SSE.
pub fn remote(name: &str, url: Uri) -> ServerSpec {
    ServerSpec::new(name, Target::Http(Remote::new(url)))
}
