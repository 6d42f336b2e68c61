//! Tools of the agent itself: searching tools, reading large results, and
//! listing and reading resources.

use super::Agent;
use serde_json::{Value, json};
use switchboard_host::CallError;
use switchboard_model::{search, shape::read_result};
use switchboard_tasks as tasks;

/// Whose tools these are, where a server is named.
pub(super) const SERVER: &str = "switchboard";
const LIST_RESOURCES: &str = "ListMcpResourcesTool";
const READ_RESOURCE: &str = "ReadMcpResourceTool";

pub(super) fn list_resources() -> Value {
    json!({
        "name": LIST_RESOURCES,
        "description": "Lists the resources that MCP servers offer. Each can be read with ReadMcpResourceTool.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "server": { "type": "string", "description": "Only those of this server" },
            },
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true },
        "_meta": { "anthropic/searchHint": "list resources of MCP servers" },
    })
}

pub(super) fn read_resource() -> Value {
    json!({
        "name": READ_RESOURCE,
        "description": "Reads a resource of an MCP server.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "server": { "type": "string", "description": "The server's name" },
                "uri": { "type": "string", "description": "The resource's URI" },
            },
            "required": ["server", "uri"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true },
        "_meta": { "anthropic/searchHint": "read a resource of an MCP server by URI" },
    })
}

/// What one of our own tools answered.
pub(super) enum Own {
    /// Content blocks of the Claude API.
    Blocks(Vec<Value>),
    /// A text for the model, and whether it is about a failure.
    Text(String, bool),
}

/// Why one of our own tools has nothing to say. The texts are for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum OwnToolError {
    #[error(transparent)]
    Search(#[from] search::WrongArguments),
    #[error(transparent)]
    ReadResult(#[from] read_result::ReadResultError),
    #[error(transparent)]
    Broken(#[from] tokio::task::JoinError),
    #[error("There is no server {name:?}; there are: {}", .known.join(", "))]
    UnknownServer { name: String, known: Vec<String> },
    #[error("\"server\" and \"uri\" are needed.")]
    Unnamed,
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Agent {
    /// Runs a tool of our own; `None` if it is none.
    pub(super) async fn run_own(&self, name: &str, arguments: &str) -> Option<Own> {
        let told = |result: Result<String, OwnToolError>| match result {
            Ok(text) => Own::Text(text, false),
            Err(fault) => Own::Text(fault.to_string(), true),
        };
        Some(match name {
            search::NAME => told(
                self.search(arguments.as_bytes())
                    .map_err(OwnToolError::from),
            ),
            read_result::NAME => {
                let store = self.inner.setup.shaper.store.clone()?;
                let arguments = arguments.as_bytes().to_vec();
                let read = move || read_result::run(&store, &arguments);
                let read = tasks::blocking(read).await.map_err(OwnToolError::from);
                told(read.and_then(|read| Ok(read?)))
            }
            LIST_RESOURCES => told(self.list_for_model(arguments).await),
            READ_RESOURCE => match self.read_for_model(arguments).await {
                Ok(blocks) => Own::Blocks(blocks),
                Err(fault) => Own::Text(fault.to_string(), true),
            },
            _ => return None,
        })
    }

    /// Searches, and shows what was found from now on.
    fn search(&self, arguments: &[u8]) -> Result<String, search::WrongArguments> {
        let toolset = self.known_tools();
        let found = search::run(&toolset.index, arguments)?;
        let mut shown = self.inner.found.lock();
        let names = found.tools.iter().filter_map(|at| toolset.tools.get(*at));
        shown.extend(names.map(|tool| tool.name.clone()));
        Ok(found.to_text(&toolset.tools))
    }
}
