//! Results of tools as a model, or a person, can read them.
//!
//! A [`Shaper`] takes the result object as the server wrote it and gives
//! [`Shaped`]: texts and images, within what a model API takes. What is too
//! large goes to the [`Store`], and the text says where and how to read it.
//! Gateway faces do not use this: they pass results on untouched.
//!
//! All of it is computation and small files, without awaits; images take real
//! time, so callers in async code run it on a blocking thread.

mod content;
mod image;
mod large;
mod layout;
pub mod read_result;
mod schema;
pub mod store;
mod token;

pub use self::image::{Image, ImageFault};
pub use schema::compact_schema;
pub use store::{Query, Store, Stored};

use crate::limits;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_local::visible;
use switchboard_wire::{
    Span,
    json::{self as raw_json, ValueKind},
};

/// Turns results into what a model can read.
#[derive(Clone, Debug, Default)]
pub struct Shaper {
    /// Where large results and blobs go. Without one they are cut or left out, and the text says so.
    pub store: Option<Arc<Store>>,
    /// The limits and choices.
    pub options: Options,
}

/// The limits and choices of a [`Shaper`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Tokens, estimated, that the text of a result may have (`MAX_MCP_OUTPUT_TOKENS`).
    pub max_tokens: usize,
    /// Characters that it may have.
    pub max_chars: usize,
    /// Blobs that are no images appear as base64 in the text instead of as a file.
    pub inline_blobs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_tokens: limits::RESULT_TOKENS,
            max_chars: limits::RESULT_CHARS,
            inline_blobs: false,
        }
    }
}

/// Where a result comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The server's configured name.
    pub server: &'a str,
    /// The tool's own name.
    pub tool: &'a str,
    /// `anthropic/maxResultSizeChars` of the tool's definition.
    pub max_chars: Option<usize>,
}

/// A result that can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaped {
    /// Its parts, in order.
    pub blocks: Vec<Block>,
    /// Which of the known forms the result had.
    pub form: Form,
    /// A short description of the value's shape, where there is a value.
    pub schema: Option<String>,
    /// The file that holds the whole text, where it was too large.
    pub stored: Option<Stored>,
}

/// One part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// An image that a model API takes.
    Image(Image),
}

/// The forms that a result can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `isError`: the text is what went wrong.
    Error,
    /// `toolResult`, as servers of the first revision wrote it.
    ToolResult,
    /// `structuredContent`.
    Structured,
    /// An array of content items.
    Content,
}

/// The result has none of the known forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unexpected response format from tool {tool}")]
pub struct Unexpected {
    /// The tool.
    pub tool: String,
}

impl Shaper {
    /// Shapes the text of a `tools/call` result.
    pub fn shape(&self, origin: &Origin<'_>, raw: &[u8]) -> Result<Shaped, Unexpected> {
        let unexpected = || Unexpected {
            tool: origin.tool.to_owned(),
        };
        raw_json::check(raw).map_err(|_| unexpected())?;
        let keys = [
            "isError",
            "error",
            "toolResult",
            "structuredContent",
            "content",
            "_meta",
        ];
        let [is_error, error, tool_result, structured, content, meta] =
            raw_json::fields(raw, keys).map_err(|_| unexpected())?;
        let bytes = |span: Option<Span>| span.map(|span| span.of(raw));
        let array = bytes(content).filter(|raw| ValueKind::of(raw) == Some(ValueKind::Array));
        let limit = self.limit(origin, bytes(meta));

        if bytes(is_error) == Some(b"true") {
            let text = error_text(array, bytes(error));
            return Ok(self.fit(origin, limit, Draft::text(Form::Error, text)));
        }
        if let Some(value) = bytes(tool_result) {
            let text = token::lossy(value).unwrap_or_else(|| layout::compact(value));
            return Ok(self.fit(origin, limit, Draft::text(Form::ToolResult, text)));
        }
        // `null` is how some servers write that there is none.
        if let Some(value) = bytes(structured).filter(|value| *value != b"null") {
            return Ok(self.fit(origin, limit, Draft::structured(value)));
        }
        let array = array.ok_or_else(unexpected)?;
        let blocks = content::Converter::new(self, origin.server).convert(array);
        Ok(self.fit(origin, limit, Draft::content(blocks)))
    }
}

/// A result that is not yet within its limits.
struct Draft {
    blocks: Vec<Block>,
    form: Form,
    schema: Option<String>,
    /// The text for the file, where it reads better in another layout.
    file: Option<String>,
}

impl Draft {
    fn text(form: Form, text: String) -> Self {
        Self {
            blocks: vec![Block::Text(text)],
            form,
            schema: None,
            file: None,
        }
    }

    fn structured(value: &[u8]) -> Self {
        Self {
            blocks: vec![Block::Text(layout::compact(value))],
            form: Form::Structured,
            schema: Some(schema::of_text(value)),
            // One value a line can be paged and searched.
            file: Some(layout::indented(value)),
        }
    }

    fn content(blocks: Vec<Block>) -> Self {
        let schema = schema::of_blocks(&blocks);
        Self {
            blocks,
            form: Form::Content,
            schema: Some(schema),
            file: None,
        }
    }
}

/// What went wrong: the first item's text; without items
/// the field `error`; without either "Unknown error".
fn error_text(content: Option<&[u8]>, error: Option<&[u8]>) -> String {
    let first =
        content.and_then(|array| raw_json::elements(array).next().map(|span| span.of(array)));
    let text = match (first, error) {
        (Some(item), _) => raw_json::field(item, "text")
            .ok()
            .flatten()
            .and_then(|span| token::lossy(span.of(item))),
        (None, Some(error)) => Some(token::lossy(error).unwrap_or_else(|| layout::compact(error))),
        (None, None) => None,
    };
    // An empty text tells a model nothing, and model APIs refuse it.
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| "Unknown error".to_owned())
}

impl Shaped {
    /// Whether the tool said that it failed.
    pub fn is_error(&self) -> bool {
        self.form == Form::Error
    }

    /// Content blocks of the Claude API.
    pub fn to_claude(&self) -> Vec<Value> {
        // The API refuses empty texts.
        let blocks = self
            .blocks
            .iter()
            .filter(|block| !matches!(block, Block::Text(text) if text.is_empty()));
        blocks.map(Block::to_claude).collect()
    }

    /// The whole `tool_result` block of the Claude API.
    pub fn to_tool_result(&self, tool_use_id: &str) -> Value {
        let mut block = json!({ "type": "tool_result", "tool_use_id": tool_use_id, "content": self.to_claude() });
        if self.is_error() {
            block["is_error"] = Value::Bool(true);
        }
        block
    }

    /// Plain text for models whose API takes nothing else; images are named, not shown.
    pub fn to_text(&self) -> String {
        let parts: Vec<String> = self.blocks.iter().map(Block::to_text).collect();
        parts.join("\n")
    }

    /// Text for a person: what a terminal would obey, or a reader could not see, is written out.
    pub fn to_people(&self) -> String {
        visible::lines(&self.to_text())
    }
}

impl Block {
    /// The block in the Claude API's form.
    pub fn to_claude(&self) -> Value {
        match self {
            Self::Text(text) => json!({ "type": "text", "text": text }),
            Self::Image(image) => json!({
                "type": "image",
                "source": { "type": "base64", "media_type": image.media_type, "data": image.data },
            }),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Image(image) => format!(
                "[Image: {}, {} × {} pixels, {} bytes]",
                image.media_type,
                image.width,
                image.height,
                image.bytes()
            ),
        }
    }
}

#[cfg(test)]
mod tests;
