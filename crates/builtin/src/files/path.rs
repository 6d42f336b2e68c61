//! Paths as arguments and as answers.
//!
//! An argument is a path or a `file:///` address. In answers a path stands as
//! it is, unless its bytes are not text, or are text that would mislead: then
//! its address stands there instead, which every tool takes back.

use crate::{answer::Failure, limits, text};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};
use switchboard_local::percent;

/// Reads an argument: a path, or a `file://` address.
pub(crate) fn parse(argument: &str) -> Result<PathBuf, Failure> {
    if argument.is_empty() {
        return Err(Failure::new("the path is empty").hint("use \".\" for the first root"));
    }
    let is_address = argument
        .get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("file://"));
    let bytes = if is_address {
        from_address(&argument[7..])?
    } else {
        argument.as_bytes().to_vec()
    };
    if bytes.len() > limits::PATH_BYTES {
        return Err(Failure::new("the path is too long")
            .hint(format!("at most {} bytes", limits::PATH_BYTES)));
    }
    if bytes.contains(&0) {
        return Err(Failure::new("the path holds a NUL byte"));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn from_address(rest: &str) -> Result<Vec<u8>, Failure> {
    let wrong = |why: &str| {
        Failure::new(format!("the address {why}")).hint("write it like file:///home/me/notes.txt")
    };
    let rest = rest
        .strip_prefix("localhost")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(rest);
    if !rest.starts_with('/') {
        return Err(wrong("names another machine"));
    }
    if rest.contains(['?', '#']) {
        return Err(wrong("has a query or a fragment, which files have not"));
    }
    percent::decoded(rest)
        .ok_or_else(|| wrong("has a % that is followed by no two hexadecimal digits"))
}

/// The address of an absolute path.
pub(crate) fn address(path: &Path) -> String {
    format!(
        "file://{}",
        percent::encoded(path.as_os_str().as_bytes(), "/")
    )
}

/// An absolute path for an answer, which can be given back as an argument.
pub(crate) fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.chars().any(text::is_hostile) => text.to_owned(),
        _ => address(path),
    }
}

/// A name for people: what is not text, or would mislead, is written out.
pub(crate) fn name(name: &OsStr) -> String {
    text::line(&name.to_string_lossy())
}

/// What kind of content a name promises.
pub(crate) fn media_type(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "txt" | "log" | "conf" | "cfg" | "ini" | "lock" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" | "tsx" | "jsx" => "text/x-typescript",
        "json" | "jsonc" => "application/json",
        "toml" => "application/toml",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "rs" => "text/x-rust",
        "py" => "text/x-python",
        "go" => "text/x-go",
        "java" => "text/x-java",
        "c" | "h" => "text/x-c",
        "cc" | "cpp" | "hpp" => "text/x-c++",
        "sh" | "bash" => "text/x-shellscript",
        "sql" => "application/sql",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/vnd.microsoft.icon",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "tar" => "application/x-tar",
        "wasm" => "application/wasm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        for bytes in [
            b"/a/plain.txt".as_slice(),
            b"/a/with space%41",
            b"/a/\xff\xfe",
            b"/a/new\nline",
            "/a/ümlaut\u{202e}".as_bytes(),
        ] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(parse(&address(path)).unwrap(), path);
            assert_eq!(parse(&shown(path)).unwrap(), path);
            assert!(!shown(path).chars().any(text::is_hostile));
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for argument in [
            "",
            "a\0b",
            "file://host/x",
            "file:///%zz",
            "file:///%4",
            "file:///a%00b",
            "file:///a?x",
        ] {
            assert!(parse(argument).is_err(), "{argument:?}");
        }
        assert!(parse(&"x".repeat(limits::PATH_BYTES + 1)).is_err());
        assert_eq!(
            parse("file://localhost/x%20y").unwrap(),
            Path::new("/x y"),
            "a local address"
        );
    }
}
