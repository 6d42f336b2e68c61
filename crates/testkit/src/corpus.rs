//! The lossless corpus: odd but legal messages, as data (`corpus/README.md`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which way a case travels, and which member its raw text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Client to server: the params of a request.
    Request,
    /// Client to server: the params of a notification.
    Notification,
    /// Server to client: the result of the client's request.
    Result,
    /// Server to client: the error of the client's request.
    Error,
    /// Server to client: the params of a notification during a request.
    ServerNotification,
    /// Server to client: the params of a request during a request.
    ServerRequest,
    /// Client to server: the result of the server's request.
    Answer,
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's name without its extension.
    pub name: String,
    /// Where it goes.
    pub direction: Direction,
    /// Whether it fits legacy peers.
    pub legacy: bool,
    /// Whether it fits modern peers.
    pub modern: bool,
    /// The method that it belongs to.
    pub method: String,
    /// The id of the request, as text to be written, where that is the point.
    pub id: Option<String>,
    /// The raw text is a whole message (with `@ID@` where the id goes)
    /// instead of its `params`, `result` or `error`.
    pub whole: bool,
    /// What it exercises.
    pub exercises: String,
    /// The raw text.
    pub raw: Vec<u8>,
}

/// What `@META@` becomes for modern peers.
pub const META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"testkit","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{}},"#,
    r#""io.modelcontextprotocol/logLevel":"debug","#,
);

impl Case {
    /// The raw text with `@META@` filled for the era; `@ID@` and `@TOKEN@` stay.
    pub fn text(&self, modern: bool) -> Vec<u8> {
        let meta = if modern { META } else { "" };
        // Cases are UTF-8 (lone surrogates are escapes), so nothing is lost.
        String::from_utf8_lossy(&self.raw)
            .replace("@META@", meta)
            .into_bytes()
    }

    /// The whole message: the raw text in its envelope, with this id (as text)
    /// where the message has one.
    pub fn message(&self, modern: bool, id: &str) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.text(modern)).into_owned();
        if self.whole {
            return text.replace("@ID@", id).into_bytes();
        }
        let method = &self.method;
        match self.direction {
            Direction::Request | Direction::ServerRequest => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{text}}}"#)
            }
            Direction::Notification | Direction::ServerNotification => {
                format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{text}}}"#)
            }
            Direction::Result | Direction::Answer => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{text}}}"#)
            }
            Direction::Error => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{text}}}"#),
        }
        .into_bytes()
    }
}

/// The folder of the corpus.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All cases, by name.
///
/// # Panics
/// When a file is not of the form that `corpus/README.md` describes.
pub fn cases() -> Vec<Case> {
    let entries = std::fs::read_dir(folder()).expect("the corpus folder can be read");
    let mut cases: Vec<Case> = entries
        .map(|entry| entry.expect("the corpus folder can be read").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "case")
        })
        .map(|path| {
            let text = std::fs::read(&path).expect("a case can be read");
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            parse(&name, &text).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()))
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn parse(name: &str, text: &[u8]) -> Result<Case, String> {
    let cut = text
        .windows(5)
        .position(|w| w == b"\n---\n")
        .ok_or("no line with ---")?;
    let head = std::str::from_utf8(&text[..cut]).map_err(|e| e.to_string())?;
    let raw = &text[cut + 5..];
    let raw = raw.strip_suffix(b"\n").ok_or("no newline at the end")?;
    let mut fields = BTreeMap::new();
    for line in head.lines() {
        let (key, value) = line
            .split_once(':')
            .ok_or_else(|| format!("no colon in {line:?}"))?;
        fields.insert(key.trim(), value.trim());
    }
    let need = |key: &str| {
        fields
            .get(key)
            .copied()
            .ok_or_else(|| format!("{key} is missing"))
    };
    let eras = need("eras")?;
    Ok(Case {
        name: name.to_owned(),
        direction: direction(need("direction")?)?,
        legacy: eras.contains("legacy"),
        modern: eras.contains("modern"),
        method: need("method")?.to_owned(),
        id: fields.get("id").map(|id| (*id).to_owned()),
        whole: fields.get("form") == Some(&"message"),
        exercises: need("exercises")?.to_owned(),
        raw: raw.to_vec(),
    })
}

fn direction(text: &str) -> Result<Direction, String> {
    Ok(match text {
        "request" => Direction::Request,
        "notification" => Direction::Notification,
        "result" => Direction::Result,
        "error" => Direction::Error,
        "server-notification" => Direction::ServerNotification,
        "server-request" => Direction::ServerRequest,
        "answer" => Direction::Answer,
        other => return Err(format!("no such direction: {other}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_is_large_and_legal() {
        let cases = cases();
        assert!(cases.len() >= 70, "only {} cases", cases.len());
        for case in &cases {
            assert!(case.legacy || case.modern, "{}: no era", case.name);
            std::str::from_utf8(&case.raw).unwrap();
            for modern in [false, true] {
                let text = case.message(modern, "1");
                let text = String::from_utf8(text).unwrap().replace("@TOKEN@", "1");
                assert!(
                    !text.contains("@META@") && !text.contains("@ID@"),
                    "{}",
                    case.name
                );
                let raw: Result<&serde_json::value::RawValue, _> = serde_json::from_str(&text);
                assert!(raw.is_ok(), "{}: {:?}", case.name, raw.err());
            }
            let id: Result<&serde_json::value::RawValue, _> =
                serde_json::from_str(case.id.as_deref().unwrap_or("1"));
            assert!(id.is_ok(), "{}: id", case.name);
            // The scanner of the recorder finds the id whatever its spelling.
            let text = case.message(false, "1.50");
            let read = crate::json::Message::read(&text).unwrap();
            assert_eq!(
                read.id.is_some(),
                text.windows(4).any(|w| w == b"1.50"),
                "{}",
                case.name
            );
        }
        for direction in [
            "request",
            "notification",
            "result",
            "error",
            "server-notification",
            "server-request",
            "answer",
        ] {
            let direction = super::direction(direction).unwrap();
            assert!(
                cases.iter().any(|case| case.direction == direction),
                "none: {direction:?}"
            );
        }
    }
}
