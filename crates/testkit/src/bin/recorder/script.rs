//! The script: which raw bytes answer which request.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use serde_json::Value;
use switchboard_testkit::json::{self, Message};

/// The entries in the order of the file.
#[derive(Default)]
pub struct Script(Vec<Entry>);

/// One line of the script.
pub struct Entry {
    method: String,
    contains: Option<String>,
    /// A whole message with `@ID@` in it.
    message: String,
    before: Vec<String>,
    status: u16,
    hold: bool,
    left: AtomicU64,
}

/// What goes back for a request.
pub struct Answer {
    /// Messages that go first.
    pub before: Vec<Vec<u8>>,
    /// The reply.
    pub reply: Vec<u8>,
    /// Keep the stream open and never reply (`subscriptions/listen`).
    pub hold: bool,
    /// The HTTP status of the reply.
    pub status: u16,
}

impl Script {
    /// Reads JSON lines; empty lines and lines that start with `#` are skipped.
    pub fn read(text: &[u8]) -> anyhow::Result<Self> {
        let mut entries = Vec::new();
        for (n, line) in text.split(|b| *b == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let entry = serde_json::from_slice(line)
                .map_err(Into::into)
                .and_then(|v| Entry::read(&v));
            entries.push(entry.with_context(|| format!("script line {}", n + 1))?);
        }
        Ok(Self(entries))
    }

    /// The first entry that fits and is not used up.
    pub fn find(&self, method: &str, raw: &[u8]) -> Option<&Entry> {
        self.0.iter().find(|entry| {
            entry.method == method
                && entry
                    .contains
                    .as_ref()
                    .is_none_or(|text| contains(raw, text.as_bytes()))
                && entry
                    .left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                        left.checked_sub(1)
                    })
                    .is_ok()
        })
    }
}

impl Entry {
    fn read(value: &Value) -> anyhow::Result<Self> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let kind = value["kind"].as_str().unwrap_or("result");
        anyhow::ensure!(matches!(kind, "result" | "error"), "kind is {kind:?}");
        let message = match (text("message"), text("reply")) {
            (Some(message), _) => message,
            (None, Some(reply)) => format!(r#"{{"jsonrpc":"2.0","id":@ID@,"{kind}":{reply}}}"#),
            (None, None) => anyhow::bail!("neither reply nor message"),
        };
        let before = value["before"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        Ok(Self {
            method: text("method").context("method is missing")?,
            contains: text("match"),
            message,
            before: before
                .iter()
                .filter_map(|b| b.as_str().map(str::to_owned))
                .collect(),
            status: value["status"]
                .as_u64()
                .and_then(|status| u16::try_from(status).ok())
                .unwrap_or(200),
            hold: value["hold"] == true,
            left: AtomicU64::new(value["times"].as_u64().unwrap_or(u64::MAX)),
        })
    }

    /// The bytes for this request.
    pub fn answer(&self, request: &Message<'_>) -> Answer {
        let id = request.id.unwrap_or(b"null");
        let token = request
            .params
            .and_then(|p| json::path(p, &["_meta", "progressToken"]));
        let fill = |text: &String| {
            let text = replace(text.as_bytes(), b"@ID@", id);
            replace(&text, b"@TOKEN@", token.unwrap_or(b"null"))
        };
        Answer {
            before: self.before.iter().map(fill).collect(),
            reply: replace(self.message.as_bytes(), b"@ID@", id),
            hold: self.hold,
            status: self.status,
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + to.len());
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}
