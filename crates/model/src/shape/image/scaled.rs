//! Decoding and scaling.
//!
//! An image that is fine as it is keeps its bytes. It is decoded all the same:
//! a broken one would make the API refuse the whole conversation.

use super::{Image, ImageFault};
use crate::limits;
use base64::{Engine, engine::general_purpose::STANDARD};
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, Rgb, RgbImage, Rgba,
    codecs::jpeg::JpegEncoder, imageops::FilterType,
};
use std::io::Cursor;

impl From<ImageError> for ImageFault {
    fn from(fault: ImageError) -> Self {
        Self::Broken(fault.to_string())
    }
}

/// The image, scaled and encoded anew only where it must be.
pub(in crate::shape) fn for_model(bytes: &[u8]) -> Result<Image, ImageFault> {
    let (format, media_type) = match image::guess_format(bytes) {
        Ok(format @ ImageFormat::Png) => (format, "image/png"),
        Ok(format @ ImageFormat::Jpeg) => (format, "image/jpeg"),
        Ok(format @ ImageFormat::Gif) => (format, "image/gif"),
        Ok(format @ ImageFormat::WebP) => (format, "image/webp"),
        _ => return Err(ImageFault::Format),
    };
    let decoded = decode(bytes, format)?;
    let (width, height) = (decoded.width(), decoded.height());
    if width.max(height) <= limits::IMAGE_EDGE && bytes.len() <= limits::IMAGE_BYTES {
        return Ok(Image {
            media_type,
            data: STANDARD.encode(bytes),
            width,
            height,
        });
    }
    shrink(decoded, format)
}

/// Decodes under limits; what the header declares is checked before any pixel is made.
fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, ImageFault> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut caps = Limits::no_limits();
    caps.max_alloc = Some(limits::IMAGE_ALLOC);
    reader.limits(caps.clone());
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > limits::IMAGE_PIXELS {
        return Err(ImageFault::TooLarge { width, height });
    }
    caps.reserve(decoder.total_bytes())?;
    decoder.set_limits(caps)?;
    let orientation = decoder.orientation()?;
    let mut decoded = DynamicImage::from_decoder(decoder)?;
    // An image that is encoded anew loses the note that says how it was held.
    decoded.apply_orientation(orientation);
    Ok(decoded)
}

/// Scales to the largest edge, then tries encodings, then smaller edges.
fn shrink(mut decoded: DynamicImage, format: ImageFormat) -> Result<Image, ImageFault> {
    let mut edge = limits::IMAGE_EDGE;
    let lossless = format != ImageFormat::Jpeg;
    while edge >= 64 {
        if decoded.width().max(decoded.height()) > edge {
            decoded = scale(&decoded, edge);
        }
        let ways: [fn(&DynamicImage) -> Encoded; 3] =
            [png, |image| jpeg(image, 85), |image| jpeg(image, 60)];
        for encode in ways.into_iter().skip(usize::from(!lossless)) {
            let (media_type, bytes) = encode(&decoded)?;
            if bytes.len() <= limits::IMAGE_BYTES {
                let (width, height) = (decoded.width(), decoded.height());
                return Ok(Image {
                    media_type,
                    data: STANDARD.encode(bytes),
                    width,
                    height,
                });
            }
        }
        edge /= 2;
    }
    Err(ImageFault::Incompressible)
}

/// First quickly to twice the size, then well to the size: as good to the eye, and many times faster.
fn scale(decoded: &DynamicImage, edge: u32) -> DynamicImage {
    if decoded.width().max(decoded.height()) > edge.saturating_mul(2) {
        let rough = decoded.thumbnail(edge * 2, edge * 2);
        return rough.resize(edge, edge, FilterType::Triangle);
    }
    decoded.resize(edge, edge, FilterType::Triangle)
}

/// The type of what was encoded, and its bytes.
type Encoded = Result<(&'static str, Vec<u8>), ImageFault>;

fn png(image: &DynamicImage) -> Encoded {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(("image/png", bytes.into_inner()))
}

fn jpeg(image: &DynamicImage, quality: u8) -> Encoded {
    let mut bytes = Vec::new();
    let opaque = on_white(image);
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&opaque)?;
    Ok(("image/jpeg", bytes))
}

/// JPEG has no transparency; dropping it would turn a clear background black.
fn on_white(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let clear = image.to_rgba8();
    RgbImage::from_fn(clear.width(), clear.height(), |x, y| {
        let Rgba([r, g, b, a]) = *clear.get_pixel(x, y);
        let over = |c: u8| ((u32::from(c) * u32::from(a) + 255 * (255 - u32::from(a))) / 255) as u8;
        Rgb([over(r), over(g), over(b)])
    })
}

#[cfg(test)]
mod tests;
