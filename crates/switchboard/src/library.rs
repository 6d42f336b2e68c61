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

#[cfg(feature = "builtin")]
mod builtin;

#[cfg(feature = "builtin")]
pub(crate) use builtin::made_when_needed;
#[cfg(feature = "builtin")]
pub use builtin::{builtin, linked, system};

use http::{HeaderName, HeaderValue, Uri};
use std::ffi::OsString;
use switchboard_host::{Host, Remote, ServerSpec, Target};
use switchboard_process::{Inherit, ServerCommand};

/// Ends all servers, built-in ones with what they have started too. For the end of
/// the program: built-in servers of other hosts are waited for as well, for a moment.
pub async fn close(host: &Host) {
    host.close().await;
    #[cfg(feature = "builtin")]
    builtin::ended().await;
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

/// A server at an address, over streamable HTTP or HTTP+SSE. A build without `http` has
/// no connection to it, and says why.
pub fn remote(name: &str, url: Uri) -> ServerSpec {
    ServerSpec::new(name, Target::Http(Remote::new(url)))
}

/// Adds a header to every request to a server at an address; to one that is a program it
/// means nothing.
pub fn header(spec: &mut ServerSpec, name: &str, value: &str) -> Result<(), http::Error> {
    let (name, value) = (HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    if let Target::Http(remote) = &mut spec.target {
        remote.headers.append(name, value);
    }
    Ok(())
}
