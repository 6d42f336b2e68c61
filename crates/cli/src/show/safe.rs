//! Text from servers, made harmless: what a terminal would obey, or a reader
//! could not see, is written out instead.

/// Text that may have several lines. Line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    escape(text, |c| c == '\n' || c == '\t')
}

/// Text that must stay on one line.
pub fn line(text: &str) -> String {
    escape(text, |_| false)
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if keep(c) || !is_hostile(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Control characters, and characters that are invisible or turn the reading direction.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The start of a text, with a sign that there is more.
pub fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let start: String = text.chars().take(characters.saturating_sub(1)).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (text, expected) in [
            ("plain ü 漢字 🦀", "plain ü 漢字 🦀"),
            (
                "\u{1b}[31mred\u{1b}]0;title\u{7}",
                "\\u{1b}[31mred\\u{1b}]0;title\\u{7}",
            ),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\r\nb", "a\\r\nb"),
        ] {
            assert_eq!(lines(text), expected);
        }
        assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn cutting() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }
}
