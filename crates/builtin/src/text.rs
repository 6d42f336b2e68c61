//! Text from files and programs, made harmless: what a terminal would obey, or
//! a reader could not see, is written out instead.

use switchboard_local::visible;
pub(crate) use switchboard_local::visible::{is_hostile, line};

/// Text that may have several lines. Line breaks and tabs stay, and so does a
/// carriage return before a line break.
pub(crate) fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let ends_line = c == '\r' && characters.peek() == Some(&'\n');
        if c == '\n' || c == '\t' || ends_line {
            out.push(c);
        } else {
            visible::push(&mut out, c);
        }
    }
    out
}

/// The start of a text, with a sign that there is more.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (text, expected) in [
            ("plain ü 漢字 🦀", "plain ü 漢字 🦀"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\u{202e}b\u{9b}31m", "a\\u{202e}b\\u{9b}31m"),
            ("a\r\nb\rc\td", "a\r\nb\\rc\td"),
        ] {
            assert_eq!(lines(text), expected);
        }
        assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(cut("abcd", 3), "abc…");
        assert_eq!(cut("äbc", 3), "äbc");
    }
}
