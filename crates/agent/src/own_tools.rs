//! Tools of the agent itself: searching tools, reading large results, and
//! listing and reading resources.

use super::Agent;
use serde_json::{Value, json};
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

impl Agent {
    /// Runs a tool of our own; `None` if it is none.
    pub(super) async fn run_own(&self, name: &str, arguments: &str) -> Option<Own> {
        let told = |result: Result<String, String>| match result {
            Ok(text) => Own::Text(text, false),
            Err(text) => Own::Text(text, true),
        };
        Some(match name {
            search::NAME => told(self.search(arguments.as_bytes())),
            read_result::NAME => {
                let store = self.inner.setup.shaper.store.clone()?;
                let arguments = arguments.as_bytes().to_vec();
                let read = move || read_result::run(&store, &arguments);
                let read = tasks::blocking(read).await;
                told(read.unwrap_or_else(|fault| Err(fault.to_string())))
            }
            LIST_RESOURCES => told(self.list_for_model(arguments).await),
            READ_RESOURCE => match self.read_for_model(arguments).await {
                Ok(blocks) => Own::Blocks(blocks),
                Err(text) => Own::Text(text, true),
            },
            _ => return None,
        })
    }

    /// Searches, and shows what was found from now on.
    fn search(&self, arguments: &[u8]) -> Result<String, String> {
        let toolset = self.known_tools();
        let found = search::run(&toolset.index, arguments)?;
        let mut shown = self.inner.found.lock();
        let names = found.tools.iter().filter_map(|at| toolset.tools.get(*at));
        shown.extend(names.map(|tool| tool.name.clone()));
        Ok(found.to_text(&toolset.tools))
    }
}
