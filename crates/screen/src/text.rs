//! Text in columns. Whatever is drawn goes through [`clean`], so that no server's text moves
//! the cursor, turns the reading direction, or is wider on the terminal than we count.

use crate::limits;
use std::{borrow::Cow, fmt};
use switchboard_local::visible;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// One line, of which every character is as wide on any terminal as [`columns`] says.
pub fn clean(text: &str) -> Cow<'_, str> {
    let plain = |c: char| (' '..='~').contains(&c) || matches!(c, '─'..='╿' | '…' | '·');
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let shown = visible::line(text);
    let mut out = String::with_capacity(shown.len());
    for cluster in shown.graphemes(true) {
        push(&mut out, cluster);
    }
    Cow::Owned(out)
}

/// Adds one character with its marks. A sequence that only some terminals join (a flag, a
/// face with a colour) becomes its first character: others would show it wider than we count.
fn push(out: &mut String, cluster: &str) {
    let mut characters = cluster.chars();
    let Some(first) = characters.next() else {
        return;
    };
    if let Some(letter) = flag_letter(first) {
        out.push(letter);
        out.extend(characters.filter_map(flag_letter));
        return;
    }
    let apart: usize = cluster.chars().filter_map(char::width).sum();
    match first.width() {
        // A mark that stands alone would go onto whatever is left of it.
        None | Some(0) => out.push('\u{fffd}'),
        Some(_) if cluster.width() != apart => out.push(first),
        Some(mut wide) => {
            out.push(first);
            let mut marks = 0;
            for mark in characters.filter(|c| !is_selector(*c)) {
                wide += mark.width().unwrap_or(0);
                // No cell has room for more than two columns.
                if wide > 2 {
                    out.push('\u{fffd}');
                    return;
                }
                marks += 1;
                if marks <= limits::MARKS {
                    out.push(mark);
                }
            }
        }
    }
}

/// A flag is written as two letters of its own.
fn flag_letter(c: char) -> Option<char> {
    let number = u32::from(c).checked_sub(0x1_f1e6)?;
    u8::try_from(number)
        .ok()
        .filter(|number| *number < 26)
        .map(|number| char::from(b'A' + number))
}

/// Says how the character before it is to look, and by that how wide it is.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// How many columns a clean text takes.
pub fn columns(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The start of a text in at most so many columns, with a sign that there was more.
pub fn cut(text: &str, room: usize) -> String {
    let text = clean(text);
    if columns(&text) <= room {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut left = room.saturating_sub(1);
    for cluster in text.graphemes(true) {
        let width = cluster.width();
        if width > left {
            break;
        }
        left -= width;
        out.push_str(cluster);
    }
    if room > 0 {
        out.push('…');
    }
    out
}

/// The same, filled up with spaces.
pub fn padded(text: &str, room: usize) -> String {
    let mut text = cut(text, room);
    let missing = room.saturating_sub(columns(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// A text that may have several lines, as lines that fit.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = line.trim_end_matches('\r').replace('\t', "    ");
        wrap_line(&clean(&line), room.max(1), &mut lines);
        if lines.len() >= limits::TEXT_LINES {
            break;
        }
    }
    lines.truncate(limits::TEXT_LINES);
    lines
}

fn wrap_line(line: &str, room: usize, lines: &mut Vec<String>) {
    let mut now = String::new();
    let mut width = 0;
    for word in line.split_inclusive(' ') {
        let wide = columns(word.trim_end());
        if width > 0 && width + wide > room {
            lines.push(std::mem::take(&mut now).trim_end().to_owned());
            width = 0;
        }
        for cluster in word.graphemes(true) {
            let wide = cluster.width();
            if width + wide > room {
                if cluster == " " {
                    continue;
                }
                lines.push(std::mem::take(&mut now));
                width = 0;
            }
            now.push_str(cluster);
            width += wide;
        }
    }
    lines.push(now.trim_end().to_owned());
}

/// Bytes as a person reads them.
pub fn bytes(count: u64) -> impl fmt::Display {
    const UNITS: [char; 4] = ['K', 'M', 'G', 'T'];
    fmt::from_fn(move |f| {
        if count < 1024 {
            return write!(f, "{count}");
        }
        let (mut value, mut unit) = (count / 1024, 0);
        while value >= 1024 && unit + 1 < UNITS.len() {
            value /= 1024;
            unit += 1;
        }
        write!(f, "{value}{}", UNITS[unit])
    })
}

/// So many of something.
pub fn many<'a>(count: usize, one: &'a str, several: &'a str) -> impl fmt::Display + use<'a> {
    let what = if count == 1 { one } else { several };
    fmt::from_fn(move |f| write!(f, "{count} {what}"))
}

/// A count in at most five characters.
pub fn count(value: u64) -> impl fmt::Display {
    fmt::from_fn(move |f| match value {
        0..10_000 => write!(f, "{value}"),
        10_000..1_000_000 => write!(f, "{}k", value / 1_000),
        _ => write!(f, "{}m", value / 1_000_000),
    })
}

/// Microseconds as a person reads them.
pub fn took(micros: u64) -> impl fmt::Display {
    fmt::from_fn(move |f| match micros {
        0..1_000 => write!(f, "{micros}µs"),
        1_000..10_000 => write!(f, "{}.{}ms", micros / 1_000, micros % 1_000 / 100),
        10_000..1_000_000 => write!(f, "{}ms", micros / 1_000),
        1_000_000..60_000_000 => {
            let tenths = micros % 1_000_000 / 100_000;
            write!(f, "{}.{tenths}s", micros / 1_000_000)
        }
        _ => write!(f, "{}min", micros / 60_000_000),
    })
}

/// Something, or a word where there is nothing.
pub fn or(value: Option<impl fmt::Display>, nothing: &'static str) -> impl fmt::Display {
    fmt::from_fn(move |f| match &value {
        Some(value) => value.fmt(f),
        None => f.write_str(nothing),
    })
}

/// Something with what belongs around it, or nothing at all.
pub fn around(
    before: &'static str,
    value: Option<impl fmt::Display>,
    after: &'static str,
) -> impl fmt::Display {
    fmt::from_fn(move |f| match &value {
        Some(value) => write!(f, "{before}{value}{after}"),
        None => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_as_wide_as_we_count() {
        for (text, expected) in [
            ("plain", "plain"),
            ("漢字", "漢字"),
            ("e\u{301}", "e\u{301}"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb", "a\\nb"),
            ("\u{301}x", "\u{fffd}x"),
            ("🇩🇪", "DE"),
            ("👍🏽", "👍"),
            ("❤\u{fe0f}!", "❤!"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("漢\u{e47}\u{e33}", "漢\u{e47}\u{fffd}"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
        let tower = format!("z{}", "\u{301}".repeat(1000));
        assert_eq!(clean(&tower).chars().count(), 1 + limits::MARKS);
    }

    #[test]
    fn texts_are_cut_and_wrapped_by_columns() {
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("漢字漢", 5), "漢字…");
        assert_eq!(cut("漢字漢", 4), "漢…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(padded("漢", 4), "漢  ");
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("a\n\nb", 3), ["a", "", "b"]);
        assert_eq!(wrapped("漢字漢", 4), ["漢字", "漢"]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(bytes(900).to_string(), "900");
        assert_eq!(bytes(25 * 1024 * 1024).to_string(), "25M");
        assert_eq!(count(12_345).to_string(), "12k");
        assert_eq!(took(950).to_string(), "950µs");
        assert_eq!(took(1_234).to_string(), "1.2ms");
        assert_eq!(took(2_500_000).to_string(), "2.5s");
        assert_eq!(many(1, "copy", "copies").to_string(), "1 copy");
        assert_eq!(many(0, "copy", "copies").to_string(), "0 copies");
        assert_eq!(or(Some(3), "–").to_string(), "3");
        assert_eq!(or(None::<u64>, "–").to_string(), "–");
        assert_eq!(around(" (", Some(3), ")").to_string(), " (3)");
        assert_eq!(around(" (", None::<u64>, ")").to_string(), "");
    }
}
