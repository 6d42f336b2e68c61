//! A server of one's own: tools in Rust, for clients of either era on every
//! transport that Switchboard has.
//!
//! ```no_run
//! use serde::Deserialize;
//! use switchboard::server::{Call, JsonSchema, Server, schemars, typed};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greeting {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let greet = async |greeting: Greeting, _: Call| format!("Hello, {}!", greeting.name);
//!     Server::new("greeter", "1.0.0")
//!         .tool("greet", "Greets somebody.", typed::<Greeting>(), greet)
//!         .run()
//!         .await?;
//!     Ok(())
//! }
//! ```
//!
//! [`Server::run`] speaks on stdin and stdout, [`Server::run_http`] on an address
//! (streamable HTTP of both eras, HTTP+SSE and WebSocket), and [`Server::spec`]
//! is the server for an [`Agent`](crate::Agent), a host or a gateway in the same
//! program. All of them go through the gateway's own faces, so that a server of
//! one's own is held to the same rules as everything else that Switchboard serves.
//!
//! | module | what |
//! |---|---|
//! | `tool` | a tool: what it takes, and who answers |
//! | `answer` | what a handler may return |
//! | `call` | what a handler can do meanwhile: progress, logs, questions |
//! | `line` | one connection |
//! | `serving` | the ways to serve one |

mod answer;
mod call;
mod line;
mod serving;
#[cfg(test)]
mod tests;
mod tool;

pub use answer::{Answer, IntoAnswer, Json};
pub use call::{Answered, AskFault, Call, Level, Page};
pub use schemars::{self, JsonSchema};
pub use tool::{ArgumentsError, NoArguments, Tool, ToolInput, Typed, typed};

use line::Kit;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};
use switchboard_host::{ServerSpec, Target};
use switchboard_wire::Era;

/// Why a server cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerFault {
    /// Two tools have one name.
    #[error("the server {server} has two tools of the name {tool:?}: give one of them another")]
    SameName {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A tool cannot be offered as it is.
    #[error("the tool {tool:?} of the server {server} cannot be offered: {problem}")]
    Tool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Everybody would be let in from everywhere.
    #[error(
        "{0} can be reached from other machines, and the door is open to everybody: \
         listen on 127.0.0.1, or let clients show a token"
    )]
    OpenToAll(std::net::SocketAddr),
    /// The system says no.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A server of one's own, before anybody is connected to it.
#[derive(Debug)]
pub struct Server {
    name: String,
    version: String,
    title: Option<String>,
    instructions: Option<String>,
    tools: Vec<Tool>,
}

impl Server {
    /// A server of this name and version, without tools yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            instructions: None,
            tools: Vec::new(),
        }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What a model should know about the server as a whole.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// One more tool. `input` says what it takes: [`typed`] arguments, a JSON
    /// schema as a [`Value`], or [`NoArguments`]. What does not fit never reaches
    /// the handler. What the handler returns is the result ([`IntoAnswer`]); its
    /// future is dropped when the client cancels the call or goes away.
    #[must_use]
    pub fn tool<I, H, F>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        input: I,
        handler: H,
    ) -> Self
    where
        I: ToolInput,
        H: Fn(I::Arguments, Call) -> F + Send + Sync + 'static,
        F: Future<Output: IntoAnswer> + Send + 'static,
    {
        self.with_tool(Tool::new(name, description, input, handler))
    }

    /// One more tool, with a title, hints or a schema of its results.
    #[must_use]
    pub fn with_tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// The server as one of an agent, a host or a gateway in this program, under
    /// its own name.
    ///
    /// # Errors
    /// When a tool cannot be offered.
    pub fn spec(self) -> Result<ServerSpec, ServerFault> {
        let name = self.name.clone();
        let kit = Arc::new(self.kit()?);
        let target = Target::Calling(Arc::new(move |end, callers| {
            line::serve(kit.clone(), end, callers);
            Ok(())
        }));
        let mut spec = ServerSpec::new(name, target);
        // A handler asks in the middle of its work. Clients of the newer era
        // reach it over the bridge, which keeps the call while they answer.
        spec.era = Some(Era::Legacy);
        Ok(spec)
    }

    fn kit(self) -> Result<Kit, ServerFault> {
        let mut tools = HashMap::new();
        let mut listed = Vec::new();
        for tool in self.tools {
            let ready = tool.ready().map_err(|(tool, problem)| ServerFault::Tool {
                server: self.name.clone(),
                tool,
                problem,
            })?;
            listed.push(ready.definition.clone());
            let name = ready.name.clone();
            if tools.insert(name.clone(), Arc::new(ready)).is_some() {
                let server = self.name;
                return Err(ServerFault::SameName { server, tool: name });
            }
        }
        let mut info = json!({"name": self.name, "version": self.version});
        if let Some(title) = self.title {
            info["title"] = title.into();
        }
        let mut hello = json!({"capabilities": {"tools": {}, "logging": {}}, "serverInfo": info});
        if let Some(instructions) = self.instructions {
            hello["instructions"] = instructions.into();
        }
        Ok(Kit {
            hello,
            tools,
            list: json!({ "tools": Value::Array(listed) }).to_string(),
        })
    }
}
