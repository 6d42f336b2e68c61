//! Progress of a call, on stderr.

use crate::show::{
    safe,
    term::{self, Paint},
};
use serde_json::Value;
use std::io::Write;

/// Shows how far a call is: on a terminal in one line that changes, otherwise
/// line by line if that is wanted.
#[derive(Debug)]
pub struct Progress {
    paint: Paint,
    lines: bool,
    shown: bool,
}

impl Progress {
    /// Nothing shown yet.
    pub fn new(lines: bool) -> Self {
        Self {
            paint: term::stderr(),
            lines,
            shown: false,
        }
    }

    /// Shows the parameters of a progress notification.
    pub fn show(&mut self, params: &[u8]) {
        let Some(text) = describe(params) else { return };
        let mut err = std::io::stderr().lock();
        if self.lines {
            let _ = writeln!(err, "progress: {text}");
        } else if self.paint.terminal {
            self.shown = true;
            let _ = write!(
                err,
                "\r\u{1b}[K{}",
                self.paint
                    .dim(&safe::cut(&text, term::width().saturating_sub(1)))
            );
            let _ = err.flush();
        }
    }

    /// Takes the changing line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\u{1b}[K");
            let _ = err.flush();
        }
    }
}

fn describe(params: &[u8]) -> Option<String> {
    let params: Value = serde_json::from_slice(params).ok()?;
    let progress = params["progress"].as_f64()?;
    let mut text = match params["total"].as_f64() {
        Some(total) if total > 0.0 => {
            format!("{progress}/{total} ({:.0} %)", 100.0 * progress / total)
        }
        _ => progress.to_string(),
    };
    if let Some(message) = params["message"].as_str() {
        text.push_str(&format!(" {}", safe::line(message)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_progress() {
        for (params, expected) in [
            (
                r#"{"progress":1,"total":4,"message":"one\u001b[2J"}"#,
                Some("1/4 (25 %) one\\u{1b}[2J"),
            ),
            (r#"{"progress":0.5}"#, Some("0.5")),
            (r#"{"progress":"x"}"#, None),
        ] {
            assert_eq!(describe(params.as_bytes()).as_deref(), expected);
        }
    }
}
