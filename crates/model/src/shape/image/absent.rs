//! Without `images`: nothing is decoded, so that nothing can be shown.

use super::{Image, ImageFault};

pub(in crate::shape) fn for_model(_: &[u8]) -> Result<Image, ImageFault> {
    Err(ImageFault::NotBuilt)
}
