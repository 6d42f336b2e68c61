//! The suite's server as the host speaks to it.

use crate::answers::Accept;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_agent::{Dialogue, Operator, skills};
use switchboard_host::{
    Client, Host, NoSink, Remote, ServerSpec, Target,
    catalog::{Item, List},
    permission::Rules,
};
use switchboard_transport::{Budget, http::Authorize};
use switchboard_wire::{Method, Revision, name::Style};

/// How much may be in memory at once.
const BUDGET: usize = 64 * 1024 * 1024;

/// The server under its own name, and who we are to it.
pub struct Peer {
    host: Arc<Host>,
    dialogue: Dialogue,
}

impl Peer {
    pub fn new(url: http::Uri, revision: Revision) -> Self {
        Self::authorized(url, revision, None)
    }

    /// The same with somebody who adds credentials.
    pub fn authorized(
        url: http::Uri,
        revision: Revision,
        authorize: Option<Arc<dyn Authorize>>,
    ) -> Self {
        let target = Target::Http(Remote {
            authorize,
            ..Remote::new(url)
        });
        let host = Host::new(
            vec![ServerSpec::new("suite", target)],
            Rules::everything_allowed(),
            Style::default(),
            Budget::new(BUDGET),
        );
        let capabilities = capabilities(revision);
        let greeting = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "switchboard-conformance-client", "version": env!("CARGO_PKG_VERSION")},
        });
        let client = Client::new(
            "conformance".into(),
            revision,
            capabilities.to_string().into(),
            Arc::new(NoSink),
        );
        let client = Arc::new(client.exclusive(Some(greeting.to_string().into())));
        let server = host.servers()[0].clone();
        let dialogue = Dialogue::new(host.clone(), client, server, Arc::new(Accept));
        Self { host, dialogue }
    }

    pub fn dialogue(&self) -> &Dialogue {
        &self.dialogue
    }

    pub async fn connect(&self) -> Result<()> {
        self.dialogue.connect().await?;
        Ok(())
    }

    pub async fn list(&self, list: List) -> Result<Vec<Arc<Item>>> {
        self.dialogue
            .list(list)
            .await
            .with_context(|| list.method().as_str())
    }

    /// The tool of this name, which must be listed.
    pub async fn tool(&self, name: &str) -> Result<Arc<Item>> {
        let tools = self.list(List::Tools).await?;
        tools
            .into_iter()
            .find(|tool| tool.key == name)
            .with_context(|| format!("{name} is not listed"))
    }

    /// Calls a tool, which must work, and gives its result.
    pub async fn call(&self, tool: &str, arguments: &str) -> Result<Value> {
        call(&self.dialogue, tool, arguments).await
    }

    /// The same with another operator.
    pub async fn call_with(
        &self,
        operator: Arc<dyn Operator>,
        tool: &str,
        arguments: &str,
    ) -> Result<Value> {
        call(&self.dialogue.with_operator(operator), tool, arguments).await
    }

    pub async fn request(&self, method: Method, params: &Value) -> Result<Bytes> {
        let reply = self.dialogue.request(method, &params.to_string()).await;
        reply.with_context(|| method.as_str())
    }

    /// Ends the session and the connections.
    pub async fn close(&self) {
        self.host.close().await;
    }
}

/// Calls a tool, which must work.
pub async fn call(dialogue: &Dialogue, tool: &str, arguments: &str) -> Result<Value> {
    let result = dialogue
        .call_tool(tool, arguments)
        .await
        .with_context(|| format!("calling {tool}"))?;
    let result: Value = serde_json::from_slice(&result)?;
    ensure!(result["isError"] != true, "{tool} failed: {result}");
    Ok(result)
}

/// What `Accept` can do, in the words of the revision.
fn capabilities(revision: Revision) -> Value {
    let mut capabilities = json!({"roots": {}, "sampling": {}});
    if revision >= Revision::V2025_06_18 {
        capabilities["elicitation"] = json!({});
    }
    if revision >= Revision::V2025_11_25 {
        capabilities["elicitation"]["form"] = json!({});
    }
    if revision >= Revision::V2026_07_28 {
        capabilities["extensions"] = json!({ skills::EXTENSION: {} });
    }
    capabilities
}
