//! What a secret looks like, whatever it is called.

use std::ops::Range;

/// How well-known secrets begin; nothing else begins so.
const SURE: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glsoat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "xoxe-",
    "xoxe.",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "sk-ant-",
    "sk-proj-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "dckr_pat_",
    "shpat_",
    "shpss_",
    "dop_v1_",
    "lin_api_",
    "figd_",
    "hvs.",
    "tskey-",
    "tvly-",
    "nvapi-",
    "pplx-",
    "ATATT3",
    "ATCTT3",
    "apify_api_",
    "NRAK-",
    "pypi-AgE",
    "SG.",
];

/// Beginnings that also begin other words: what follows decides.
const MAYBE: &[&str] = &[
    "sk-", "sk_", "pk_", "rk_", "npm_", "hf_", "fc-", "gsk_", "xai-", "r8_", "sbp_", "ntn_",
    "secret_", "ya29.", "dapi", "phc_", "phx_", "pul-", "rnd_", "pat-", "key-", "key_", "ctx7sk-",
];

/// Values that are in every other configuration.
const EVERYDAY: &[&str] = &[
    "production",
    "development",
    "localhost",
    "disabled",
    "enabled",
    "readonly",
    "read-only",
    "no-cache",
    "keep-alive",
    "stateless",
    "streamable-http",
    "chromium",
    "firefox",
    "headless",
];

/// Words of which the next one is a secret.
const SCHEMES: &[&str] = &[
    "bearer",
    "basic",
    "dpop",
    "token",
    "apikey",
    "digest",
    "negotiate",
];

/// How a sum over something begins. It is as random as a key, and public.
const SUMS: &[&str] = &[
    "sha1", "sha224", "sha256", "sha384", "sha512", "md5", "blake3", "h1",
];

/// Whether a single word looks like a secret.
pub fn is_value(word: &str) -> bool {
    let word = word.trim();
    if word.contains("-----BEGIN") || begins_like_one(word) {
        return true;
    }
    if is_path(word) {
        return false;
    }
    is_random(word, false) || is_base64_key(word)
}

/// Whether a part of the word is a key of random bytes in base64, of which `/` and `+` are
/// letters like others: 30 bytes as AWS has them, 32 or 64.
fn is_base64_key(word: &str) -> bool {
    let is_sign = |c: char| matches!(c, '+' | '/');
    let mut runs = word.split(|c: char| !c.is_ascii_alphanumeric() && !is_sign(c));
    runs.any(|run| {
        let kind = |byte: u8| match byte {
            b'a'..=b'z' => 0,
            b'A'..=b'Z' => 1,
            b'0'..=b'9' => 2,
            _ => 3,
        };
        // Two of three neighbours are of different kinds where they are drawn; in the names
        // of files and folders one of three is at most.
        let changes = || {
            run.as_bytes()
                .windows(2)
                .filter(|two| kind(two[0]) != kind(two[1]))
        };
        let has = |wanted: u8| run.bytes().any(|byte| kind(byte) == wanted);
        matches!(run.len(), 40 | 43 | 86)
            && has(0)
            && has(1)
            && has(2)
            && changes().count() * 5 >= run.len() * 2
    })
}

/// The same for a part of an address, where nobody writes short sums.
pub(super) fn is_segment(segment: &str, strict: bool) -> bool {
    if is_uuid(segment) {
        return strict;
    }
    begins_like_one(segment) || is_random(segment, true) || strict && says_so(segment)
}

/// Whether a value that is kept where secrets are could be one, for all that
/// can be seen: it is not short, and nothing that one knows.
pub(super) fn is_opaque(value: &str) -> bool {
    // What comes from a variable is not written here; what is around it is.
    super::references(value).any(|part| match part {
        super::Part::Reference { default, .. } => default.is_some_and(is_opaque_word),
        super::Part::Literal(literal) => is_opaque_word(literal),
    })
}

fn is_opaque_word(value: &str) -> bool {
    let media = value.starts_with("application/") || value.starts_with("text/");
    let number = value.contains(['.', '-'])
        && value
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let language = value.ends_with("UTF-8") && value.len() < 16;
    let harmless = is_everyday(value)
        || media
        || number
        || language
        || is_address(value)
        || is_path(value) && !is_value(value);
    value.chars().count() >= 8 && !harmless
}

/// Whether this is a word that configurations are full of.
pub(super) fn is_everyday(value: &str) -> bool {
    EVERYDAY.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether this is an address of something: it has a host.
fn is_address(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.len() > 1
        && scheme.chars().all(named)
        && (host.contains(['.', ':', '[']) || host.starts_with("localhost") || host.is_empty())
}

/// Whether this is a place on this machine even where a secret is expected: it
/// begins as places do, and its parts are words.
pub(super) fn is_place(word: &str) -> bool {
    const ROOTS: [&str; 16] = [
        "/home/",
        "/Users/",
        "/etc/",
        "/run/",
        "/var/",
        "/tmp/",
        "/opt/",
        "/usr/",
        "/root/",
        "/mnt/",
        "/srv/",
        "/dev/",
        "/secrets/",
        "~/",
        "./",
        "../",
    ];
    let path = word.strip_prefix("file://").unwrap_or(word);
    let Some(rest) = ROOTS.iter().find_map(|root| path.strip_prefix(root)) else {
        return false;
    };
    let several = rest.trim_end_matches('/').contains('/');
    let drive_or_file = rest.rsplit('/').next().is_some_and(|last| {
        last.rsplit_once('.')
            .is_some_and(|(name, kind)| !name.is_empty() && (1..=6).contains(&kind.len()))
    });
    // Keys in base64 have slashes too, and signs that few paths have.
    (several || drive_or_file || path.starts_with("/dev/"))
        && !path.contains(['+', '='])
        && !path.split('/').any(is_value)
}

/// Whether this is a path of this machine, which everybody can see.
pub(super) fn is_path(word: &str) -> bool {
    let drive = word
        .as_bytes()
        .get(1..3)
        .is_some_and(|rest| rest == b":\\" || rest == b":/")
        && !word[1..].starts_with("://")
        && word.starts_with(|c: char| c.is_ascii_alphabetic());
    let begins = ["/", "~/", "./", "../", "file:///"];
    drive
        || word == "~"
        || word == "."
        || word == ".."
        || begins.iter().any(|start| word.starts_with(start))
}

/// Splits off the word for the kind of secret (`Bearer `), if there is one.
pub(super) fn scheme(value: &str) -> (&str, &str) {
    let Some(end) = value.find(' ') else {
        return ("", value);
    };
    let (word, rest) = value.split_at(end);
    if is_scheme(word) && !rest.trim().is_empty() {
        value.split_at(end + rest.len() - rest.trim_start().len())
    } else {
        ("", value)
    }
}

pub(super) fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether this is a word as people write them: no digit, one way of writing.
pub(super) fn is_plain(word: &str) -> bool {
    let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
    // No letter has more than four bytes.
    if letters.len() >= 24 * 4 {
        return false;
    }
    let mut inner = letters.chars().skip(1);
    let same = inner.clone().all(|c| !c.is_uppercase()) || inner.all(|c| !c.is_lowercase());
    letters.chars().count() < 24
        && same
        && !begins_like_one(letters)
        && letters
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '\'' | '/' | '.'))
}

/// Whether this stands for something that somebody is to write there.
pub(super) fn is_placeholder(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_uppercase() || c == '_';
    !word.is_empty() && word.chars().all(fits) || matches!(word, "…" | "...")
}

fn begins_like_one(word: &str) -> bool {
    if sure(word).next().is_some() {
        return true;
    }
    MAYBE.iter().any(|start| {
        word.strip_prefix(start).is_some_and(|rest| {
            let end = rest.find(|c: char| !c.is_ascii() || !goes_on(c as u8));
            let more = &rest[..end.unwrap_or(rest.len())];
            let odd = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
            let long = more.len() >= 24 && !more.contains(['_', '-']);
            more.len() >= 8 && (more.contains(odd) || long)
        })
    })
}

/// Whether this is a sign of a secret that has begun.
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Where well-known secrets stand in a text, by how they begin. Looks at every byte once,
/// and at the beginnings of words a little longer.
pub(super) fn sure(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let begin = at;
            at += 1;
            let begins = begin == 0 || !bytes[begin - 1].is_ascii_alphanumeric();
            if !begins || !bytes[begin].is_ascii_alphabetic() {
                continue;
            }
            let rest = &bytes[begin..];
            let follows = |from: usize| {
                let more = rest[from..].iter().take_while(|byte| goes_on(**byte));
                more.count()
            };
            let is_one = SURE.iter().any(|start| {
                // Four capitals are easily part of a word.
                let capitals = start.len() == 4 && start.bytes().all(|b| b.is_ascii_uppercase());
                let enough = if capitals { 8 } else { 4 };
                let more = |from: usize| {
                    let more = rest[from..].iter().take(enough);
                    more.take_while(|byte| goes_on(**byte)).count() == enough
                };
                rest.starts_with(start.as_bytes()) && more(start.len())
            });
            if is_one {
                at = begin + follows(0);
                return Some(begin..at);
            }
        }
        None
    })
}

fn is_uuid(word: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = word.split('-').collect();
    parts.len() == lengths.len()
        && parts.iter().zip(lengths).all(|(part, length)| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// Whether a part of an address says itself that it is a secret: `secret-0001`.
/// Where it ends in a version only, it is an interface: `api-key-v2`.
fn says_so(segment: &str) -> bool {
    let mut pieces = segment.split(|c: char| !c.is_ascii_alphanumeric());
    let numbered = |piece: &str| {
        let version = piece.len() <= 3 && piece.starts_with(['v', 'V']);
        !version && piece.bytes().any(|byte| byte.is_ascii_digit())
    };
    pieces.any(numbered) && super::is_name(segment)
}

/// Whether a part of the word was drawn and not written.
fn is_random(word: &str, in_address: bool) -> bool {
    let mut before = "";
    let mut mark = ' ';
    let mut rest = word;
    while !rest.is_empty() {
        let length = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(length);
        let sum = SUMS.iter().any(|known| before.eq_ignore_ascii_case(known));
        if sum && matches!(mark, ':' | '=' | '-') {
            return false;
        }
        let long = if in_address { 16 } else { 20 };
        if is_drawn(piece, long) && !is_known_sum(piece, mark, in_address) {
            return true;
        }
        before = piece;
        let mut marks = after.chars();
        mark = marks.next().unwrap_or(' ');
        rest = marks.as_str();
    }
    false
}

/// Whether a piece is the name of a state of sources: whole after `@` or `#`,
/// or short.
fn is_known_sum(piece: &str, mark: char, in_address: bool) -> bool {
    let hexadecimal = piece
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    hexadecimal && (matches!(mark, '@' | '#') || !in_address && piece.len() <= 12)
}

/// Letters and digits that change places as in no word, or are more than any
/// word has.
fn is_drawn(piece: &str, long: usize) -> bool {
    let length = piece.len();
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let letters = piece.bytes().filter(u8::is_ascii_alphabetic).count();
    if length < 10 || digits + letters < length || letters < 2 {
        return false;
    }
    let (mut changes, mut humps) = (0, 0);
    for pair in piece.as_bytes().windows(2) {
        changes += usize::from(pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
        humps += usize::from(pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    }
    digits >= 4 && changes >= 4
        || length >= 16 && digits >= 3 && changes >= 3
        || length >= 16 && (changes + humps) * 4 >= length
        || length >= long && digits >= 4 && letters >= 4
        || length >= 32
}
