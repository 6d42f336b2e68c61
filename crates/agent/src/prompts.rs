//! Prompts as commands: `mcp__server__prompt`, with arguments by name or in order.

use super::Agent;
use crate::limits;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use switchboard_host::{CallError, catalog::List};
use switchboard_local::visible::cut;
use switchboard_model::shape::Origin;
use switchboard_wire::{
    Method, json as raw,
    name::{Namer, Style},
};

/// A prompt that can be called up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptCommand {
    /// `mcp__server__prompt`.
    pub name: String,
    /// The server's name.
    pub server: Arc<str>,
    /// The server's own name for it.
    pub prompt: String,
    /// Its description, cut.
    pub description: String,
    /// Its arguments, each with whether it is needed.
    pub arguments: Vec<(String, bool)>,
}

/// Why a prompt could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PromptFault {
    /// There is none of this name.
    #[error("there is no prompt {0:?}")]
    Unknown(String),
    /// An argument that it needs is missing.
    #[error("the prompt needs the argument {0:?}")]
    Missing(String),
    /// More arguments than it takes, or one that it does not know.
    #[error("the prompt takes no argument {0:?}")]
    Unexpected(String),
    /// The server did not give it.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Agent {
    /// The prompts of all servers.
    pub async fn prompts(&self) -> Vec<PromptCommand> {
        self.refresh(&[List::Prompts]).await;
        let mut found: Vec<(Arc<str>, String, Bytes)> = Vec::new();
        for (group, server) in self.places() {
            let items = group
                .host
                .guard()
                .visible(&group.client, server, List::Prompts);
            found.extend(
                items
                    .into_iter()
                    .map(|item| (server.name().clone(), item.key.clone(), item.raw.clone())),
            );
        }
        let servers = self.servers();
        let namer = Namer::new(Style::Full, servers.iter().map(AsRef::as_ref));
        let pairs: Vec<(&str, &str)> = found
            .iter()
            .map(|(server, prompt, _)| (server.as_ref(), prompt.as_str()))
            .collect();
        let names = namer.assign(&pairs);
        let command = |((server, prompt, raw), name): (&(Arc<str>, String, Bytes), String)| {
            let written: Value = serde_json::from_slice(raw).unwrap_or_default();
            let arguments = written["arguments"].as_array().into_iter().flatten();
            PromptCommand {
                name,
                server: server.clone(),
                prompt: prompt.clone(),
                description: cut(
                    written["description"].as_str().unwrap_or_default(),
                    limits::DESCRIPTION_CHARS,
                ),
                arguments: arguments
                    .filter_map(|argument| {
                        let name = argument["name"].as_str()?.to_owned();
                        Some((name, argument["required"] == true))
                    })
                    .collect(),
            }
        };
        found.iter().zip(names).map(command).collect()
    }

    /// Gets a prompt as messages of the Claude API. `given` are values in the
    /// order of the prompt's own list, or `name=value`.
    pub async fn prompt(&self, name: &str, given: &[&str]) -> Result<Vec<Value>, PromptFault> {
        let all = self.prompts().await;
        let command = all
            .iter()
            .find(|command| command.name == name)
            .ok_or_else(|| PromptFault::Unknown(name.to_owned()))?;
        let arguments = command.parse(given)?;
        let Some((group, server)) = self.place(&command.server) else {
            return Err(PromptFault::Unknown(name.to_owned()));
        };
        let params = format!(
            "{{\"name\":{},\"arguments\":{}}}",
            raw::quote(&command.prompt),
            Value::Object(arguments)
        );
        let dialogue = self.dialogue(group, server);
        let result = dialogue.request(Method::PromptsGet, &params).await?;
        let result: Value = serde_json::from_slice(&result).unwrap_or_default();
        let shaper = self.inner.setup.shaper.clone();
        let messages = result["messages"].as_array().into_iter().flatten();
        let shaped = messages.map(|message| {
            let content = json!({ "content": [message["content"]] }).to_string();
            let origin = Origin {
                server: &command.server,
                tool: &command.prompt,
                max_chars: None,
            };
            let blocks = shaper
                .shape(&origin, content.as_bytes())
                .map(|shaped| shaped.to_claude());
            json!({ "role": message["role"], "content": blocks.unwrap_or_default() })
        });
        Ok(shaped.collect())
    }
}

impl PromptCommand {
    /// The arguments by name.
    fn parse(&self, given: &[&str]) -> Result<Map<String, Value>, PromptFault> {
        let mut arguments = Map::new();
        let mut rest = Vec::new();
        for text in given {
            let named = text.split_once('=');
            match named.filter(|(name, _)| self.arguments.iter().any(|(known, _)| known == name)) {
                Some((name, value)) => {
                    arguments.insert(name.to_owned(), json!(value));
                }
                None => rest.push(*text),
            }
        }
        let open: Vec<&String> = self
            .arguments
            .iter()
            .map(|(name, _)| name)
            .filter(|name| !arguments.contains_key(*name))
            .collect();
        if let Some(extra) = rest.get(open.len()) {
            return Err(PromptFault::Unexpected((*extra).to_owned()));
        }
        for (name, value) in open.iter().zip(&rest) {
            arguments.insert((*name).clone(), json!(value));
        }
        let missing = self
            .arguments
            .iter()
            .find(|(name, needed)| *needed && !arguments.contains_key(name));
        match missing {
            Some((name, _)) => Err(PromptFault::Missing(name.clone())),
            None => Ok(arguments),
        }
    }
}
