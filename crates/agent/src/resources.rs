//! Resources: what a model lists and reads, and what a person mentions as `@server:uri`.

use super::{Agent, own_tools::OwnToolError};
use serde_json::{Value, json};
use switchboard_host::{CallError, catalog::List};
use switchboard_model::shape::{Origin, Unexpected};
use switchboard_tasks as tasks;
use switchboard_wire::{Method, code, json as raw};

impl Agent {
    /// Reads what `@server:uri` names, as content blocks of the Claude API.
    pub async fn mention(&self, address: &str) -> Result<Vec<Value>, CallError> {
        let address = address.strip_prefix('@').unwrap_or(address);
        // A server's name may have a colon in it, so the longest that fits counts.
        let places = address.match_indices(':').map(|(at, _)| at);
        let mut known = places.filter(|at| self.place(&address[..*at]).is_some());
        let Some(at) = known.next_back() else {
            let text = format!("{address:?} names no server that there is: expected @server:uri");
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        };
        self.read(&address[..at], &address[at + 1..]).await
    }

    /// Reads a resource, as content blocks of the Claude API.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Vec<Value>, CallError> {
        let Some((group, known)) = self.place(server) else {
            let text = format!("there is no server {server:?}");
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        };
        let params = format!("{{\"uri\":{}}}", raw::quote(uri));
        let dialogue = self.dialogue(group, known);
        let result = dialogue.request(Method::ResourcesRead, &params).await?;
        let contents = raw::field(&result, "contents").ok().flatten();
        let contents = contents.map_or(b"[]".as_slice(), |span| span.of(&result));
        // The parts of a resource are what a tool's result embeds.
        let mut content = Vec::from(&b"{\"content\":["[..]);
        for (at, span) in raw::elements(contents).enumerate() {
            if at > 0 {
                content.push(b',');
            }
            content.extend_from_slice(b"{\"type\":\"resource\",\"resource\":");
            content.extend_from_slice(span.of(contents));
            content.push(b'}');
        }
        content.extend_from_slice(b"]}");
        let (shaper, server) = (self.inner.setup.shaper.clone(), server.to_owned());
        let shaped = tasks::blocking(move || {
            let origin = Origin {
                server: &server,
                tool: Method::ResourcesRead.as_str(),
                max_chars: None,
            };
            shaper
                .shape(&origin, &content)
                .map(|shaped| shaped.to_claude())
                .map_err(|fault: Unexpected| fault.to_string())
        });
        let unreadable = |reason: String| CallError::Unreadable {
            server: known.name().to_string(),
            reason,
        };
        match shaped.await {
            Ok(shaped) => shaped.map_err(unreadable),
            Err(fault) => Err(unreadable(fault.to_string())),
        }
    }

    pub(super) async fn list_for_model(&self, arguments: &str) -> Result<String, OwnToolError> {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let only = arguments["server"].as_str();
        if let Some(name) = only
            && self.place(name).is_none()
        {
            let known: Vec<String> = self.servers().iter().map(ToString::to_string).collect();
            let name = name.to_owned();
            return Err(OwnToolError::UnknownServer { name, known });
        }
        self.refresh(&[List::Resources]).await;
        let mut all = Vec::new();
        for (group, server) in self.places() {
            if only.is_some_and(|only| only != server.name().as_ref()) {
                continue;
            }
            let items = group
                .host
                .guard()
                .visible(&group.client, server, List::Resources);
            for item in items {
                let written: Value = serde_json::from_slice(&item.raw).unwrap_or_default();
                all.push(json!({
                    "server": server.name().as_ref(),
                    "uri": item.key,
                    "name": written["name"],
                    "mimeType": written["mimeType"],
                    "description": written["description"],
                }));
            }
        }
        Ok(Value::Array(all).to_string())
    }

    pub(super) async fn read_for_model(&self, arguments: &str) -> Result<Vec<Value>, OwnToolError> {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let (Some(server), Some(uri)) = (arguments["server"].as_str(), arguments["uri"].as_str())
        else {
            return Err(OwnToolError::Unnamed);
        };
        Ok(self.read(server, uri).await?)
    }
}
