//! The beginning of a body that is no message, made safe to show.

use crate::limits;
use switchboard_local::{secret, visible};

pub(super) use crate::limits::PREVIEW_BYTES as LOOKED_AT;

/// A short text that shows what came: one line, nothing a terminal would obey,
/// nothing that looks like a secret.
pub(crate) fn preview(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Before it is cut: the beginning of a secret looks like none.
    let shown = visible::line(&secret::text(&line));
    if shown.chars().count() > limits::PREVIEW_CHARS {
        return shown
            .chars()
            .take(limits::PREVIEW_CHARS)
            .chain(['…'])
            .collect();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::preview;

    #[test]
    fn one_short_line() {
        assert_eq!(
            preview(b"<html>\n <body>Bad   Gateway</body>"),
            "<html> <body>Bad Gateway</body>"
        );
        let long = preview("word ".repeat(500).as_bytes());
        assert_eq!(long.chars().count(), 201);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn nothing_a_terminal_obeys() {
        let shown = preview("\u{1b}[31mred \u{202e}evil\u{200b} \u{7}\0".as_bytes());
        assert!(
            shown.chars().all(|c| c.is_ascii_graphic() || c == ' '),
            "{shown}"
        );
        assert!(preview(b"\xff\xfe").chars().all(|c| !c.is_control()));
    }

    #[test]
    fn nothing_like_a_token() {
        for secret in [
            "sk-live-4f9a8b7c6d5e4f3a2b1c",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
            "hunter2",
        ] {
            let body = format!(
                "{{\"error\":\"bad\",\"token\":\"{secret}\"}} Authorization: Bearer {secret} x"
            );
            let shown = preview(body.replace("\"hunter2\"", "\"\"").as_bytes());
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(!preview(b"<p>token=hunter2</p>").contains("hunter2"));
        assert!(!preview(b"https://h/p?access_token=abc123abc123abc123").contains("abc123abc123"));
    }
}
