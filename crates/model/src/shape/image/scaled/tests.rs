use super::*;
use image::{
    ImageEncoder, Rgb, RgbImage, Rgba, RgbaImage,
    codecs::png::{CompressionType, FilterType, PngEncoder},
};

/// Noise, which no format makes smaller.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 0x9e37_79b9_u32;
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        Rgb([state as u8, (state >> 8) as u8, (state >> 16) as u8])
    }))
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// The head of a PNG that says it is this large, with nothing behind it.
fn declared(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&[0; 3], 1, 1, image::ExtendedColorType::Rgb8)
        .unwrap();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    })
}

#[test]
fn images_within_the_limits_keep_their_bytes() {
    let small = noise(20, 10);
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encoded(&small, format);
        let image = for_model(&bytes).unwrap();
        assert_eq!(
            (image.media_type, image.width, image.height),
            (media_type, 20, 10)
        );
        assert_eq!(STANDARD.decode(&image.data).unwrap(), bytes);
        assert_eq!(image.bytes(), bytes.len());
        assert_eq!(image.tokens(), 1);
    }
}

#[test]
fn an_image_of_20_megabytes_is_brought_within_the_limits() {
    // Noise gets no smaller, whatever time is taken for it.
    let mut bytes = Vec::new();
    let quick = (CompressionType::Uncompressed, FilterType::NoFilter);
    let encoder = PngEncoder::new_with_quality(&mut bytes, quick.0, quick.1);
    noise(3000, 2300).write_with_encoder(encoder).unwrap();
    assert!(bytes.len() > 20_000_000, "{}", bytes.len());
    let image = for_model(&bytes).unwrap();
    let back = STANDARD.decode(&image.data).unwrap();
    assert!(back.len() <= limits::IMAGE_BYTES, "{}", back.len());
    assert!(image.width.max(image.height) <= limits::IMAGE_EDGE);
    let decoded = image::load_from_memory(&back).unwrap();
    assert_eq!(
        (decoded.width(), decoded.height()),
        (image.width, image.height)
    );
    // The proportions stay.
    assert!((f64::from(image.width) / f64::from(image.height) - 3000.0 / 2300.0).abs() < 0.01);
}

#[test]
fn a_wide_drawing_stays_lossless() {
    let bytes = encoded(
        &DynamicImage::ImageRgb8(RgbImage::from_pixel(5000, 50, Rgb([1, 2, 3]))),
        ImageFormat::Png,
    );
    let image = for_model(&bytes).unwrap();
    assert_eq!(
        (image.media_type, image.width, image.height),
        ("image/png", 2000, 20)
    );
}

#[test]
fn what_an_image_declares_is_believed_before_it_is_decoded() {
    // A gibibyte of pixels in a hundred bytes.
    let bytes = declared(32_768, 32_768);
    assert!(matches!(
        for_model(&bytes),
        Err(ImageFault::TooLarge {
            width: 32_768,
            height: 32_768
        })
    ));
    let bytes = declared(u32::MAX >> 1, 1);
    assert!(for_model(&bytes).is_err());
    // Within the limits, but nothing behind the head.
    assert!(matches!(
        for_model(&declared(100, 100)),
        Err(ImageFault::Broken(_))
    ));
}

#[test]
fn broken_and_other_files_are_told_apart() {
    assert!(matches!(for_model(b""), Err(ImageFault::Format)));
    assert!(matches!(
        for_model(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        Err(ImageFault::Format)
    ));
    assert!(matches!(
        for_model(b"BM\x00\x00\x00\x00"),
        Err(ImageFault::Format)
    ));
    let mut cut = encoded(&noise(100, 100), ImageFormat::Png);
    cut.truncate(200);
    assert!(matches!(for_model(&cut), Err(ImageFault::Broken(_))));
}

#[test]
fn transparency_turns_white_where_it_must_go() {
    let clear = DynamicImage::ImageRgba8(RgbaImage::from_fn(2, 1, |x, _| {
        Rgba([0, 0, 0, if x == 0 { 0 } else { 255 }])
    }));
    let opaque = on_white(&clear);
    assert_eq!(
        (opaque.get_pixel(0, 0).0, opaque.get_pixel(1, 0).0),
        ([255; 3], [0; 3])
    );
}
