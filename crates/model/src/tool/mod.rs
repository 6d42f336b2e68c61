//! Tools as a model sees them: safe names, descriptions and schemas within
//! what model APIs take, and what each costs.
//!
//! What a model is shown may be looser than what the server wrote, never
//! stricter: arguments are checked against the server's own schema
//! ([`ModelTool::input_schema`]).

pub(crate) mod acceptable;
mod rename;
mod sound;

pub use acceptable::{Acceptable, acceptable_schema};
pub use rename::Renames;

use crate::limits;
use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_host::catalog::Annotations;
use switchboard_local::visible::cut;
use switchboard_wire::{
    Span, json as raw_json,
    name::{Namer, Style},
};

/// One tool, ready for a model API.
#[derive(Clone, Debug)]
pub struct ModelTool {
    /// `mcp__server__tool`, unique among all tools.
    pub name: String,
    /// The server's configured name.
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Its description, cut.
    pub description: String,
    /// The schema for the model.
    pub schema: Value,
    /// What was done to the schema, in words for `explain`. Empty: nothing.
    pub changes: Vec<String>,
    /// How to turn the model's argument names back into the server's.
    pub renames: Renames,
    /// The schema as the server wrote it: the one that arguments are checked against.
    pub input_schema: Bytes,
    /// The schema of its structured results, where it has one.
    pub output_schema: Option<Bytes>,
    /// What it says of itself.
    pub annotations: Annotations,
    /// `anthropic/searchHint`: words to find it by. A tool that has it waits to be searched for.
    pub search_hint: Option<String>,
    /// `anthropic/alwaysLoad`: it never waits to be searched for.
    pub always_load: bool,
    /// `anthropic/maxResultSizeChars`.
    pub max_result_chars: Option<usize>,
    /// What its definition costs: an estimate.
    pub tokens: usize,
}

/// A tool that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?} of server {server:?} is left out: {reason}")]
pub struct LeftOut {
    /// Whose it is.
    pub server: String,
    /// Its name, as far as it could be read.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// The tools of all servers. `items` are (server, definition as the server
/// wrote it). One that cannot be read is left out and named; the others stay.
pub fn model_tools<'a>(
    servers: impl IntoIterator<Item = &'a str>,
    items: &[(&str, Bytes)],
) -> (Vec<ModelTool>, Vec<LeftOut>) {
    let (mut tools, mut left_out) = (Vec::with_capacity(items.len()), Vec::new());
    for (server, raw) in items {
        match ModelTool::read(server, raw) {
            Ok(tool) => tools.push(tool),
            Err(fault) => left_out.push(fault),
        }
    }
    let namer = Namer::new(Style::Full, servers);
    let pairs: Vec<(&str, &str)> = tools
        .iter()
        .map(|tool| (tool.server.as_str(), tool.tool.as_str()))
        .collect();
    let names = namer.assign(&pairs);
    for (tool, name) in tools.iter_mut().zip(names) {
        tool.named(name);
    }
    (tools, left_out)
}

impl ModelTool {
    /// Reads a definition. The name is the tool's own until [`named`](Self::named) gives it another.
    pub fn read(server: &str, raw: &Bytes) -> Result<Self, LeftOut> {
        let left_out = |tool: &str, reason: String| LeftOut {
            server: server.to_owned(),
            tool: tool.chars().take(80).collect(),
            reason,
        };
        raw_json::check(raw).map_err(|fault| left_out("", fault.to_string()))?;
        let keys = [
            "name",
            "title",
            "description",
            "inputSchema",
            "outputSchema",
            "annotations",
            "_meta",
        ];
        let [name, title, description, input, output, annotations, meta] =
            raw_json::fields(raw, keys).map_err(|fault| left_out("", fault.to_string()))?;
        let text = |span: Option<Span>| span.and_then(|span| raw_json::text(span.of(raw)));
        let name = text(name)
            .ok_or_else(|| left_out("", "it has no name".to_owned()))?
            .into_owned();
        let slice = |span: Span| raw.slice(span.start..span.end);
        let input = input.ok_or_else(|| left_out(&name, "it has no inputSchema".to_owned()))?;
        let accepted = acceptable_schema(input.of(raw));
        let annotations = annotations
            .map(|span| Annotations::read(span.of(raw)))
            .unwrap_or_default();
        let meta = Meta::read(meta.map(|span| span.of(raw)).unwrap_or_default());
        let mut tool = Self {
            name: name.clone(),
            server: server.to_owned(),
            tool: name,
            title: text(title)
                .map(|title| cut(&title, limits::DESCRIPTION_CHARS))
                .or(annotations.title.clone()),
            description: text(description)
                .map(|text| cut(&text, limits::DESCRIPTION_CHARS))
                .unwrap_or_default(),
            schema: accepted.schema,
            changes: accepted.changes,
            renames: accepted.renames,
            input_schema: slice(input),
            output_schema: output
                .filter(|span| span.of(raw).starts_with(b"{"))
                .map(slice),
            annotations,
            search_hint: meta.search_hint,
            always_load: meta.always_load,
            max_result_chars: meta.max_result_chars,
            tokens: 0,
        };
        tool.estimate();
        Ok(tool)
    }

    /// Gives it the name that the model knows it by.
    pub fn named(&mut self, name: String) {
        self.name = name;
        self.estimate();
    }

    fn estimate(&mut self) {
        self.tokens = estimate_tokens(self.to_anthropic(false).to_string().len());
    }

    /// The tool in the form of the Claude API. `deferred` leaves it for the API's own tool search.
    pub fn to_anthropic(&self, deferred: bool) -> Value {
        let mut tool = json!({ "name": self.name, "description": self.description, "input_schema": self.schema });
        if deferred {
            tool["defer_loading"] = Value::Bool(true);
        }
        tool
    }

    /// The tool in the form of OpenAI's chat completions.
    pub fn to_openai(&self) -> Value {
        json!({
            "type": "function",
            "function": { "name": self.name, "description": self.description, "parameters": self.schema },
        })
    }

    /// The tool in the form of OpenAI's responses.
    pub fn to_openai_responses(&self) -> Value {
        json!({
            "type": "function",
            "name": self.name,
            "description": self.description,
            "parameters": self.schema,
            // Strict mode takes only a small part of JSON Schema.
            "strict": false,
        })
    }

    /// The names of its arguments, as the model knows them.
    pub fn argument_names(&self) -> impl Iterator<Item = &str> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
    }
}

/// What a text of this many bytes costs a model. An estimate, and to be shown as one.
pub fn estimate_tokens(bytes: usize) -> usize {
    bytes.div_ceil(limits::BYTES_PER_TOKEN)
}

/// What a tool of a list costs a model, as the model sees it; one that no model can be shown
/// costs what it takes in the list. The same wherever it is said.
pub fn cost(server: &str, raw: &Bytes) -> usize {
    match ModelTool::read(server, raw) {
        Ok(tool) => tool.tokens,
        Err(_) => estimate_tokens(raw.len()),
    }
}

/// The keys of a tool's `_meta` that clients know.
#[derive(Default)]
struct Meta {
    search_hint: Option<String>,
    always_load: bool,
    max_result_chars: Option<usize>,
}

impl Meta {
    fn read(raw: &[u8]) -> Self {
        let keys = [
            "anthropic/searchHint",
            "anthropic/alwaysLoad",
            "anthropic/maxResultSizeChars",
        ];
        let Ok([hint, always, chars]) = raw_json::fields(raw, keys) else {
            return Self::default();
        };
        let hint = hint.and_then(|span| raw_json::text(span.of(raw)));
        Self {
            search_hint: hint
                .filter(|hint| !hint.is_empty())
                .map(|hint| cut(&hint, limits::DESCRIPTION_CHARS)),
            always_load: always.is_some_and(|span| span.of(raw) == b"true"),
            max_result_chars: chars.and_then(|span| serde_json::from_slice(span.of(raw)).ok()),
        }
    }
}

#[cfg(test)]
mod tests;
