//! Text from elsewhere, made harmless: what a terminal would obey, or a reader
//! could not see, is written out instead.

/// Text that may have several lines. Line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    escape(text, |c| c == '\n' || c == '\t')
}

/// Text that must stay on one line.
pub fn line(text: &str) -> String {
    escape(text, |_| false)
}

/// JSON that a terminal shows: the same document, with what is hostile written
/// as `\uXXXX`, and no line break but `\n`.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            // Between values it means nothing, and inside texts it cannot stand.
            '\r' => out.push(' '),
            c if is_hostile(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if keep(c) {
            out.push(c);
        } else {
            push(&mut out, c);
        }
    }
    out
}

/// Adds one character, written out where it is hostile.
pub fn push(out: &mut String, c: char) {
    match c {
        c if !is_hostile(c) => out.push(c),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => out.extend(c.escape_unicode()),
    }
}

/// The text in at most `chars` characters. One that was cut says so, and how long it was.
pub fn cut(text: &str, chars: usize) -> String {
    if text.len() <= chars || text.chars().count() <= chars {
        return text.to_owned();
    }
    let note = format!("… [cut, {} characters in all]", text.chars().count());
    let keep = chars.saturating_sub(note.chars().count());
    let start: String = text.chars().take(keep).collect();
    start + &note
}

/// Control characters, and characters that are invisible or turn the reading
/// direction: the one table of them. It has whatever Unicode says can be ignored
/// when it is shown, or is there for the format (but variation selectors, which
/// belong to what stands before them).
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}'
            | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
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
            (
                "a\u{3164}b\u{115f}\u{ffa0}",
                "a\\u{3164}b\\u{115f}\\u{ffa0}",
            ),
            ("a\r\nb", "a\\r\nb"),
        ] {
            assert_eq!(lines(text), expected);
        }
        assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(json("{\"a\":\r\n\"\u{202e}\"}"), "{\"a\": \n\"\\u202e\"}");
    }
}
