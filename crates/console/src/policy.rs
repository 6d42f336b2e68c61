//! What a browser is told that the page may do, and the tag by which it knows a file
//! again. Shared with the build script.

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

/// What the page may do: run its own files, show what it was given as data, ask the
/// gateway that it is from, and frame what that gateway serves at its other name.
/// Nothing else, and no text ever becomes script.
const RULES: &str = "default-src 'none'; script-src 'self' 'sha256-{map}'; style-src 'self'; \
     connect-src 'self'; frame-src 'self'; img-src 'self' data:; media-src data:; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The policy of a page, whose import map is the only script that stands in it.
pub(crate) fn policy(page: &str) -> String {
    RULES.replace("{map}", &hash(import_map(page).as_bytes()))
}

/// What stands in the page's import map.
pub(crate) fn import_map(page: &str) -> &str {
    let begin = "<script type=\"importmap\">";
    let Some((_, rest)) = page.split_once(begin) else {
        return "";
    };
    rest.split_once("</script>").map_or("", |(map, _)| map)
}

/// A tag for bytes: other bytes have another.
pub(crate) fn tag(bytes: &[u8]) -> String {
    let short = &Sha256::digest(bytes)[..12];
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(short);
    format!("\"{text}\"")
}

fn hash(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(Sha256::digest(bytes))
}
