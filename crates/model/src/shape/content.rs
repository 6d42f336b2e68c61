//! Content items, one by one, as the blocks that a model can read: one
//! conversion table, with a note wherever something cannot be shown.

use super::{
    Block, Shaper,
    image::{self, ImageFault},
    token,
};
use crate::limits;
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use std::borrow::Cow;
use switchboard_wire::{Span, json};

/// Base64 as servers write it: some leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Converts the items of one result, and counts what its images cost.
pub(super) struct Converter<'a> {
    shaper: &'a Shaper,
    server: &'a str,
    images: usize,
    image_bytes: usize,
    image_tokens: usize,
}

/// Bytes that came as base64 inside an item.
struct Binary<'a> {
    /// Text that goes before them.
    prefix: &'a str,
    /// What they are, in a word.
    what: &'static str,
    data: &'a str,
    mime: Option<&'a str>,
    /// The size that the item itself declares.
    declared: Option<u64>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(shaper: &'a Shaper, server: &'a str) -> Self {
        Self {
            shaper,
            server,
            images: 0,
            image_bytes: 0,
            image_tokens: 0,
        }
    }

    /// All items of a `content` array.
    pub(super) fn convert(mut self, array: &[u8]) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (i, span) in json::elements(array).enumerate() {
            if i == limits::RESULT_ITEMS {
                let text = format!("[Only the first {i} content items are shown]");
                blocks.push(Block::Text(text));
                break;
            }
            self.item(span.of(array), &mut blocks);
        }
        blocks
    }

    fn item(&mut self, item: &[u8], out: &mut Vec<Block>) {
        let keys = [
            "type",
            "text",
            "data",
            "mimeType",
            "resource",
            "uri",
            "name",
            "description",
        ];
        let Ok([kind, words, data, mime, resource, uri, name, description]) =
            json::fields(item, keys)
        else {
            return out.push(self.note("An unreadable content item"));
        };
        let text = |span: Option<Span>| span.and_then(|span| token::lossy_cow(span.of(item)));
        let kind = text(kind).unwrap_or_default();
        match kind.as_ref() {
            "text" => out.push(match text(words) {
                Some(text) => Block::Text(text.into_owned()),
                None => self.note("A text without text"),
            }),
            "image" | "audio" => {
                let what = if kind == "image" { "Image" } else { "Audio" };
                let (data, mime) = (text(data).unwrap_or_default(), text(mime));
                let prefix = format!("[{what} from {}] ", self.server);
                let binary = Binary {
                    prefix: &prefix,
                    what,
                    data: &data,
                    mime: mime.as_deref(),
                    declared: None,
                };
                if kind == "image" {
                    // An image speaks for itself.
                    self.image(&binary, false, out);
                } else {
                    out.push(self.blob(&binary));
                }
            }
            "resource" => match resource {
                Some(span) => self.resource(span.of(item), out),
                None => out.push(self.note("A resource without content")),
            },
            "resource_link" => {
                let (name, uri) = (
                    text(name).unwrap_or_default(),
                    text(uri).unwrap_or_default(),
                );
                let mut link = format!("[Resource link: {name}] {uri}");
                if let Some(description) = text(description).filter(|text| !text.is_empty()) {
                    link.push_str(&format!(" ({description})"));
                }
                out.push(Block::Text(link));
            }
            other => {
                let other: String = other.chars().take(60).collect();
                out.push(self.note(&format!("Content of the unknown type {other:?}")));
            }
        }
    }

    /// A short note in place of something that cannot be shown.
    fn note(&self, what: &str) -> Block {
        Block::Text(format!("[{what} from {} is not shown]", self.server))
    }

    fn resource(&mut self, resource: &[u8], out: &mut Vec<Block>) {
        let Ok([uri, words, blob, mime, size]) =
            json::fields(resource, ["uri", "text", "blob", "mimeType", "size"])
        else {
            return out.push(self.note("An unreadable resource"));
        };
        let text = |span: Option<Span>| span.and_then(|span| token::lossy_cow(span.of(resource)));
        let uri = text(uri).unwrap_or(Cow::Borrowed("an unknown address"));
        let prefix = format!("[Resource from {} at {uri}] ", self.server);
        if let Some(text) = text(words) {
            return out.push(Block::Text(prefix + &text));
        }
        let Some(data) = text(blob) else {
            return out.push(Block::Text(prefix + "(no content)"));
        };
        let mime = text(mime);
        let declared = size.and_then(|span| serde_json::from_slice(span.of(resource)).ok());
        let binary = Binary {
            prefix: &prefix,
            what: "Data",
            data: &data,
            mime: mime.as_deref(),
            declared,
        };
        if mime.as_deref().is_some_and(image::is_model_format) {
            self.image(&binary, true, out);
        } else {
            out.push(self.blob(&binary));
        }
    }

    /// An image as an image; one that no model API takes becomes a file like other data.
    fn image(&mut self, binary: &Binary<'_>, prefixed: bool, out: &mut Vec<Block>) {
        let bytes = match decode(binary) {
            Ok(bytes) => bytes,
            Err(fault) => return out.push(refusal(binary, &fault.to_string())),
        };
        let image = match image::for_model(&bytes) {
            Ok(image) => image,
            Err(ImageFault::Format) => return out.push(self.keep(binary, &bytes)),
            Err(fault) => return out.push(refusal(binary, &fault.to_string())),
        };
        if !self.affords(&image) {
            return out.push(self.keep(binary, &bytes));
        }
        if prefixed {
            out.push(Block::Text(binary.prefix.to_owned()));
        }
        out.push(Block::Image(image));
    }

    /// Whether one more image fits; if so, it is counted. The first always does.
    fn affords(&mut self, image: &super::Image) -> bool {
        let bytes = self.image_bytes + image.data.len();
        let tokens = self.image_tokens + image.tokens();
        let fits = self.images < limits::RESULT_IMAGES
            && bytes <= limits::RESULT_IMAGE_BYTES
            && tokens <= self.shaper.options.max_tokens;
        if self.images > 0 && !fits {
            return false;
        }
        (self.images, self.image_bytes, self.image_tokens) = (self.images + 1, bytes, tokens);
        true
    }

    /// Data that is no image: a file, or base64 in the text where that was chosen.
    fn blob(&self, binary: &Binary<'_>) -> Block {
        if self.shaper.options.inline_blobs {
            let mime = binary
                .mime
                .filter(|mime| !mime.is_empty())
                .unwrap_or("unknown type");
            return Block::Text(format!(
                "{}Base64 data ({mime}) {}",
                binary.prefix, binary.data
            ));
        }
        match decode(binary) {
            Ok(bytes) => self.keep(binary, &bytes),
            Err(fault) => refusal(binary, &fault.to_string()),
        }
    }

    /// Writes bytes to a file and says where.
    fn keep(&self, binary: &Binary<'_>, bytes: &[u8]) -> Block {
        let mime = binary
            .mime
            .filter(|mime| !mime.is_empty())
            .unwrap_or("unknown type");
        let (prefix, what, size) = (binary.prefix, binary.what, bytes.len());
        let text = match &self.shaper.store {
            None => format!(
                "{prefix}{what} ({mime}, {size} bytes) that is not kept: there is no place for files"
            ),
            Some(store) => match store.put(bytes, extension(mime)) {
                Ok(stored) => format!(
                    "{prefix}{what} ({mime}, {size} bytes) saved to {}",
                    stored.path.display()
                ),
                Err(fault) => format!(
                    "{prefix}{what} ({mime}, {size} bytes) that could not be saved: {fault}"
                ),
            },
        };
        Block::Text(text)
    }
}

fn refusal(binary: &Binary<'_>, reason: &str) -> Block {
    Block::Text(format!(
        "{}{} that is not shown: {reason}",
        binary.prefix, binary.what
    ))
}

/// Why there are no bytes to show or keep.
#[derive(Debug, thiserror::Error)]
enum BlobError {
    #[error("it has {} bytes, and the limit is {}", .0, limits::BLOB_BYTES)]
    TooLarge(u64),
    #[error("it is not valid base64 ({0})")]
    NoBase64(#[from] base64::DecodeError),
}

/// The bytes behind base64 text. What is or says that it is too large is not even decoded.
fn decode(binary: &Binary<'_>) -> Result<Vec<u8>, BlobError> {
    let encoded = (binary.data.len() as u64).div_ceil(4) * 3;
    let size = binary.declared.unwrap_or(0).max(encoded);
    if size > limits::BLOB_BYTES as u64 {
        return Err(BlobError::TooLarge(size));
    }
    // Some servers wrap the lines of base64.
    let data = match binary.data.bytes().any(|byte| byte.is_ascii_whitespace()) {
        true => Cow::Owned(binary.data.split_ascii_whitespace().collect()),
        false => Cow::Borrowed(binary.data),
    };
    Ok(BASE64.decode(data.as_bytes())?)
}

/// How a file of this type is called. Only known endings: the type is a server's text.
fn extension(mime: &str) -> &'static str {
    let plain = mime
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match plain.as_str() {
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/tiff" => "tiff",
        "image/bmp" => "bmp",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/webm" | "video/webm" => "webm",
        "audio/mp4" => "m4a",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}
