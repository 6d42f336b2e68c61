//! Results that are too large to show: kept in a file, with a text that says
//! where it is, how large, in what format, and how to read it.

use super::{Block, Draft, Form, Origin, Shaped, Shaper, Stored};
use crate::limits;
use std::io;
use switchboard_wire::json;

/// How much text a result may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    chars: usize,
    /// Not where the tool says how much its results may have.
    tokens: Option<usize>,
}

/// How much it has.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    chars: usize,
    bytes: usize,
}

impl Size {
    fn of(text: &str) -> Self {
        Self {
            chars: text.chars().count(),
            bytes: text.len(),
        }
    }

    fn tokens(self) -> usize {
        self.bytes.div_ceil(limits::BYTES_PER_TOKEN)
    }
}

impl Limit {
    fn is_passed_by(self, size: Size) -> bool {
        size.chars > self.chars || self.tokens.is_some_and(|tokens| size.tokens() > tokens)
    }
}

impl Shaper {
    /// The limit for a tool: its definition can change it, and so can the result's own `_meta`.
    pub(super) fn limit(&self, origin: &Origin<'_>, meta: Option<&[u8]>) -> Limit {
        let in_result = || {
            let meta = meta?;
            let span = json::field(meta, "anthropic/maxResultSizeChars").ok()??;
            serde_json::from_slice(span.of(meta)).ok()
        };
        match origin.max_chars.or_else(in_result) {
            Some(chars) => Limit {
                chars: chars.min(limits::RESULT_CHARS_CEILING),
                tokens: None,
            },
            None => Limit {
                chars: self.options.max_chars,
                tokens: Some(self.options.max_tokens),
            },
        }
    }

    /// Brings a result within its limit. Images are within theirs already.
    pub(super) fn fit(&self, origin: &Origin<'_>, limit: Limit, draft: Draft) -> Shaped {
        let Draft {
            blocks,
            form,
            schema,
            file,
        } = draft;
        let size = size_of_texts(&blocks);
        if !limit.is_passed_by(size) {
            return Shaped {
                blocks,
                form,
                schema,
                stored: None,
            };
        }
        let text = file.unwrap_or_else(|| joined(&blocks));
        let images = blocks
            .into_iter()
            .filter(|block| matches!(block, Block::Image(_)));
        let about = format!(
            "The result of the tool {} of server {} is too large to show: {} characters, {} bytes, about {} tokens \
             (an estimate); the limit is {}.",
            origin.tool,
            origin.server,
            size.chars,
            size.bytes,
            size.tokens(),
            limit.words(),
        );
        let (notice, stored) = match self.kept(&text, form) {
            Some(Ok(stored)) => {
                let format = format_of(form, schema.as_deref());
                let start: String = text.chars().take(limits::PREVIEW_CHARS).collect();
                let notice = format!(
                    "{about}\nThe whole of it was saved to {} ({} characters, {} bytes, {} lines).\nFormat: {format}.\n\
                     Read it in parts with the tool ReadResult: id {:?}, offset (the first line) and lines, or pattern \
                     (a regular expression) to search. Any tool that reads files can open the path instead.\n\
                     It begins:\n{start}",
                    stored.path.display(),
                    stored.chars,
                    stored.bytes,
                    stored.lines,
                    stored.id,
                );
                (notice, Some(stored))
            }
            failed => {
                let reason = match failed {
                    Some(Err(fault)) => format!("it could not be saved ({fault})"),
                    _ => "there is no place to save it".to_owned(),
                };
                (
                    format!(
                        "{about}\nOnly its start is shown, since {reason}:\n{}",
                        limit.start_of(&text)
                    ),
                    None,
                )
            }
        };
        let blocks = std::iter::once(Block::Text(notice)).chain(images).collect();
        Shaped {
            blocks,
            form,
            schema,
            stored,
        }
    }

    /// The text in a file, where there is a place for one.
    fn kept(&self, text: &str, form: Form) -> Option<io::Result<Stored>> {
        let extension = match form {
            Form::Structured => "json",
            _ => "txt",
        };
        let store = self.store.as_ref()?;
        Some(store.put(text.as_bytes(), extension))
    }
}

/// How large all that can be read is together.
fn size_of_texts(blocks: &[Block]) -> Size {
    let mut all = Size::default();
    for block in blocks {
        if let Block::Text(text) = block {
            let more = Size::of(text);
            all.chars += more.chars;
            all.bytes += more.bytes;
        }
    }
    all
}

/// What a file holds, for whoever is to read it.
fn format_of(form: Form, schema: Option<&str>) -> String {
    match (form, schema) {
        (Form::Structured, Some(schema)) => {
            format!("JSON, one value a line, with the schema {schema}")
        }
        (Form::Content, Some(schema)) => {
            format!("plain text, converted from content with the schema {schema}")
        }
        _ => "plain text".to_owned(),
    }
}

impl Limit {
    fn words(self) -> String {
        match self.tokens {
            Some(tokens) => format!("{tokens} tokens or {} characters", self.chars),
            None => format!("{} characters, which the tool itself declares", self.chars),
        }
    }

    /// As much of the text as the limit allows.
    fn start_of(self, text: &str) -> &str {
        let bytes = self.tokens.map_or(usize::MAX, |tokens| {
            tokens.saturating_mul(limits::BYTES_PER_TOKEN)
        });
        let mut end = text
            .char_indices()
            .nth(self.chars)
            .map_or(text.len(), |(at, _)| at)
            .min(bytes);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }
}

fn joined(blocks: &[Block]) -> String {
    let parts: Vec<String> = blocks.iter().map(Block::to_text).collect();
    parts.join("\n")
}

#[cfg(test)]
mod tests;
