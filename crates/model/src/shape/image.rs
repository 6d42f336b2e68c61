//! Images within what model APIs take: format, size in pixels, size in bytes.
//!
//! A build without `images` shows none, and says so where one would be.

#[cfg(not(feature = "images"))]
mod absent;
#[cfg(feature = "images")]
mod scaled;

#[cfg(not(feature = "images"))]
pub(super) use absent::for_model;
#[cfg(feature = "images")]
pub(super) use scaled::for_model;

use crate::limits;

/// An image for a model.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// What it is, told by its bytes, whatever the server said.
    pub media_type: &'static str,
    /// The file, in base64.
    pub data: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Image({}, {}x{}, {} bytes)",
            self.media_type,
            self.width,
            self.height,
            self.bytes()
        )
    }
}

impl Image {
    /// Bytes of the file.
    pub fn bytes(&self) -> usize {
        let padding = self
            .data
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'=')
            .count();
        (self.data.len() / 4 * 3).saturating_sub(padding)
    }

    /// What it costs a model: an estimate, by the rule that Anthropic publishes.
    pub fn tokens(&self) -> usize {
        (self.width as usize * self.height as usize).div_ceil(750)
    }
}

/// Why an image cannot be shown to a model.
#[derive(Debug, thiserror::Error)]
pub enum ImageFault {
    /// No model API takes it, and we do not decode it.
    #[error("it is none of PNG, JPEG, GIF and WebP")]
    Format,
    /// It says that it is larger than we decode.
    #[error(
        "it declares {width} × {height} pixels, and the limit is {} in all",
        limits::IMAGE_PIXELS
    )]
    TooLarge {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// It is broken, or takes too much to decode.
    #[error("it cannot be decoded ({0})")]
    Broken(String),
    /// It stays too large however it is scaled.
    #[error("it cannot be made small enough")]
    Incompressible,
    /// This build does not decode images.
    #[error("this build has no `images`")]
    NotBuilt,
}

/// Whether this is one of the types that model APIs take as images.
pub(super) fn is_model_format(mime: &str) -> bool {
    matches!(
        mime,
        "image/png" | "image/jpeg" | "image/jpg" | "image/gif" | "image/webp"
    )
}
