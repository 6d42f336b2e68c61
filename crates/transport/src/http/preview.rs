//! The beginning of a body that is no message, made safe to show.

/// How much of a body is looked at.
pub(super) const LOOKED_AT: usize = 2048;
/// How many characters are shown.
const SHOWN: usize = 200;
/// Longer runs that mix letters and digits may be a token.
const TOKEN: usize = 16;

/// A short text that shows what came: one line, nothing a terminal would obey,
/// nothing that looks like a secret.
pub(crate) fn preview(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]);
    let mut shown = String::new();
    let mut after_scheme = false;
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        if after_scheme {
            shown.push_str("[redacted]");
        } else {
            push_redacted(&mut shown, word);
        }
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        after_scheme = ["bearer", "basic", "dpop"]
            .iter()
            .any(|scheme| bare.eq_ignore_ascii_case(scheme));
        if shown.chars().count() > SHOWN {
            break;
        }
    }
    if shown.chars().count() > SHOWN {
        shown = shown.chars().take(SHOWN).chain(['…']).collect();
    }
    shown
}

/// Adds a word, without those of its parts that look like tokens.
fn push_redacted(out: &mut String, word: &str) {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.~+/=%".contains(c);
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let length = if part(first) {
            rest.find(|c| !part(c)).unwrap_or(rest.len())
        } else {
            rest.find(part).unwrap_or(rest.len())
        };
        let (run, after) = rest.split_at(length);
        if is_like_a_token(run) {
            out.push_str("[redacted]");
        } else {
            out.extend(run.chars().flat_map(escape));
        }
        rest = after;
    }
}

/// What the value of a parameter is called where it had better not be shown.
const SECRETS: [&str; 7] = ["token", "secret", "passw", "key", "code", "auth", "session"];

fn is_like_a_token(run: &str) -> bool {
    if let Some((name, _)) = run.split_once('=') {
        let name = name.to_ascii_lowercase();
        if SECRETS.iter().any(|secret| name.contains(secret)) {
            return true;
        }
    }
    run.split(['=', '/']).any(|run| {
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        let letters = run.bytes().filter(u8::is_ascii_alphabetic).count();
        run.len() >= TOKEN && digits > 1 && letters > 1 || run.len() >= 3 * TOKEN
    })
}

fn escape(c: char) -> impl Iterator<Item = char> {
    // Controls, and the invisible characters that reorder or hide text.
    let hidden = c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let escaped = hidden.then(|| c.escape_unicode());
    escaped.into_iter().flatten().chain((!hidden).then_some(c))
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
