//! Text from servers, made harmless: what a terminal would obey, or a reader
//! could not see, is written out instead.

pub use switchboard::local::visible::{json, line, lines};

/// The start of a text, with a sign that there is more.
pub fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let start: String = text.chars().take(characters.saturating_sub(1)).collect();
    format!("{start}…")
}

/// Columns on a terminal: what may be wide counts as wide.
pub fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// The start of a text that takes at most so many columns.
pub fn cut_columns(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut taken = 1;
    let fits = |character: &char| {
        taken += width(*character);
        taken <= room
    };
    let start: String = text.chars().take_while(fits).collect();
    format!("{start}…")
}

/// The same, without a piece of a word at its end.
pub fn cut_words(text: &str, room: usize) -> String {
    let start = cut_columns(text, room);
    if start == text {
        return start;
    }
    let whole = start.trim_end_matches('…');
    let begun = text[whole.len()..].starts_with(' ');
    match whole.rfind(' ').filter(|_| !begun) {
        Some(at) if at > 0 => format!("{} …", whole[..at].trim_end_matches([' ', ',', ';'])),
        _ => start,
    }
}

/// Rows of at most so many columns, broken between words; a longer word has a row to itself.
pub fn rows(text: &str, room: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if columns(row) + 1 + columns(word) <= room => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// From here on there are scripts whose characters take two columns.
fn width(character: char) -> usize {
    if character < '\u{1100}' || ('\u{2000}'..'\u{2e80}').contains(&character) {
        1
    } else {
        2
    }
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
        assert_eq!(cut_columns("abc", 3), "abc");
        assert_eq!(cut_columns("abcd", 3), "ab…");
        assert_eq!(cut_columns("漢字", 4), "漢字");
        assert_eq!(cut_columns("漢字漢", 5), "漢字…");
        assert_eq!(cut_columns("漢字漢", 4), "漢…");
        assert_eq!(cut_words("14 tools; 8 MiB", 15), "14 tools; 8 MiB");
        assert_eq!(cut_words("14 tools; 8 MiB", 14), "14 tools; 8 …");
        assert_eq!(cut_words("14 tools; 8 MiB", 11), "14 tools …");
        assert_eq!(cut_words("unbreakable", 6), "unbre…");
        assert_eq!(rows("a bc def", 4), ["a bc", "def"]);
        assert_eq!(rows("unbreakable x", 4), ["unbreakable", "x"]);
    }
}
