//! What a secret is called.

use crate::limits;

/// Names that only sound like secrets.
const HARMLESS: &[&str] = &[
    "ssh_auth_sock",
    "xauthority",
    "xdg_session_id",
    "xdg_session_type",
    "xdg_session_class",
    "xdg_session_desktop",
    "desktop_session",
    "author",
    "authors",
    "authority",
];

/// Last words of names that are about a secret, and are none.
const ABOUT: &[&str] = &[
    "file",
    "files",
    "path",
    "dir",
    "folder",
    "url",
    "uri",
    "endpoint",
    "host",
    "port",
    "type",
    "mode",
    "method",
    "provider",
    "limit",
    "count",
    "max",
    "min",
    "size",
    "length",
    "len",
    "name",
    "names",
    "env",
    "store",
    "helper",
    "scheme",
    "ttl",
    "expiry",
    "issuer",
    "audience",
    "scope",
    "scopes",
    "server",
    "realm",
    "sock",
    "socket",
    "id",
    "ids",
    "uuid",
    "version",
    "format",
    "algorithm",
    "alg",
    "enabled",
    "required",
    "optional",
    "timeout",
    "budget",
];

/// Last words of names whose values are sums over something: long, random, and public.
const SUMS: &[&str] = &[
    "digest",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "hash",
    "checksum",
    "commit",
    "rev",
    "revision",
    "ref",
    "integrity",
    "fingerprint",
    "md5",
    "etag",
];

/// Parts of a name that tell, wherever they are.
const PARTS: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "credential",
    "apikey",
    "privatekey",
    "bearer",
    "signature",
    "webhook",
];

/// Whole words of a name that tell.
const WORDS: &[&str] = &[
    "key",
    "keys",
    "pass",
    "pw",
    "pwd",
    "pat",
    "pin",
    "dsn",
    "tok",
    "sig",
    "jwt",
    "psk",
    "otp",
    "sas",
    "salt",
    "cookie",
    "cookies",
    "sessionid",
    "auth",
    "authn",
    "authorization",
    "signing",
    "encryption",
];

/// Words of names that count tokens.
const COUNTS: &[&str] = &[
    "max",
    "min",
    "num",
    "number",
    "total",
    "input",
    "output",
    "context",
    "prompt",
    "completion",
];

/// Words that end like a password and are none.
const NO_PASSES: &[&str] = &[
    "compass",
    "bypass",
    "trespass",
    "surpass",
    "overpass",
    "underpass",
];

/// Words that end like a key and are none.
const NO_KEYS: &[&str] = &["monkey", "turkey", "hockey", "jockey", "whiskey", "hotkey"];

/// Whether what has this name is a secret: a variable, an option, a header or
/// a parameter, in whatever spelling.
pub fn is_name(name: &str) -> bool {
    let name = bare(name);
    // The working directory, as shells call it. As an option it is a password.
    if matches!(name, "PWD" | "OLDPWD") {
        return false;
    }
    if name.is_empty() || HARMLESS.contains(&name.to_ascii_lowercase().as_str()) || is_about(name) {
        return false;
    }
    let words = words(name);
    let joined: String = words.concat();
    let tells = |part: &&str| {
        joined.find(*part).is_some_and(|at| {
            let rest = &joined[at + part.len()..];
            // A tokenizer keeps no secrets.
            let splits = rest.starts_with("iz") || rest.starts_with("is");
            let tokenizer = *part == "token" && splits;
            !tokenizer
        })
    };
    is_session(&words)
        || PARTS.iter().any(tells)
        || words.iter().any(|word| {
            WORDS.contains(&word.as_str())
                || word.len() > 3 && word.ends_with("key") && !NO_KEYS.contains(&word.as_str())
                || word.ends_with("pass") && !NO_PASSES.contains(&word.as_str())
        })
}

/// Whether a name is `key` and nothing else: among the fields of a message that is what a
/// value is kept under at least as often as it is one that opens something, so that the
/// value decides. Capitals throughout are a variable's.
pub fn is_bare_key(name: &str) -> bool {
    matches!(name, "key" | "Key" | "keys" | "Keys")
}

/// Whether this, under the name `key`, may be one that opens something: not words and short
/// numbers, as people name things.
pub fn could_be_key(value: &str) -> bool {
    let mut pieces = value.split(|c: char| !c.is_alphanumeric());
    let is_named = |piece: &str| {
        let all = |is: fn(char) -> bool| piece.chars().all(is);
        let length = piece.chars().count();
        length <= 3
            || length < 24 && all(char::is_alphabetic)
            || length <= 6 && all(|c| c.is_ascii_digit())
    };
    value.len() > limits::LONGEST_NAMED || super::is_value(value) || !pieces.all(is_named)
}

/// Whether what a field of this name holds is about ways in, so that a `key` in it is one.
pub fn is_about_access(name: &str) -> bool {
    const ABOUT: [&str; 6] = ["api", "access", "private", "service", "signing", "ssh"];
    words(bare(name))
        .iter()
        .any(|word| ABOUT.contains(&word.as_str()))
}

/// Whether the name is that of something about a secret, or of a sum: what
/// file it is in, how it is made, what it is checked with.
pub(crate) fn is_about(name: &str) -> bool {
    let words = words(bare(name));
    // Whoever has one of these is let in by it.
    if is_session(&words) {
        return false;
    }
    let counts = words.iter().any(|word| COUNTS.contains(&word.as_str()));
    words.last().is_some_and(|last| {
        let last = last.as_str();
        ABOUT.contains(&last) || SUMS.contains(&last) || counts && last == "tokens"
    })
}

/// Whether the name is that of a sum over something, or of a number that
/// stands for something: random to look at, and meant to be seen.
pub(crate) fn is_public(name: &str) -> bool {
    let words = words(bare(name));
    !is_session(&words)
        && words.last().is_some_and(|last| {
            SUMS.contains(&last.as_str()) || matches!(last.as_str(), "id" | "ids" | "uuid")
        })
}

/// Whether the name is that of a session, as cookies and headers have it: `session_id`.
fn is_session(words: &[String]) -> bool {
    words.ends_with(&["session".to_owned(), "id".to_owned()])
}

/// Headers that carry secrets under names that tell nothing.
pub(crate) fn is_header(name: &str) -> bool {
    ["x-forwarded-user", "proxy-authorization", "set-cookie"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether this could be the name of a variable: `API_KEY`.
pub(crate) fn is_variable(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(fits) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Without the hyphens of an option; of a file's path its last part, since folders are called
/// anything.
fn bare(name: &str) -> &str {
    let name = name.trim_start_matches('-').trim();
    match name.starts_with(['/', '~', '.']) {
        true => name.rsplit('/').next().unwrap_or(name),
        false => name,
    }
}

/// The words of a name, in small letters: `apiKey`, `API_KEY` and `api-key`
/// have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let hump = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if !c.is_ascii_alphanumeric() || hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}
