//! Characters in a text that a person does not see, or that turn the direction
//! it is read in: what is shown is not what a model reads.

use crate::limits::SEEN_DEPTH;
use switchboard_local::visible::is_hostile;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// Whether a text holds any. Line breaks and tabs are none, nor is what real
/// writing needs: a joiner within an emoji, a non-joiner between letters that are
/// not ASCII, and one variation selector after what it is about.
pub(super) fn is_in(text: &str) -> bool {
    let mut before: Option<char> = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let hidden = match c {
            '\n' | '\t' => false,
            // Alone it leads back to the beginning of a line, over what stands there.
            '\r' => rest.peek() != Some(&'\n'),
            JOINER => {
                !(before.is_some_and(ends_emoji) && rest.peek().copied().is_some_and(is_emoji))
            }
            NON_JOINER => {
                !(before.is_some_and(is_letter) && rest.peek().copied().is_some_and(is_letter))
            }
            c if is_selector(c) => {
                before.is_none_or(|base| is_selector(base) || base.is_whitespace())
            }
            // A blank that is none to a program.
            '\u{2800}' => true,
            c => is_hostile(c),
        };
        if hidden {
            return true;
        }
        before = Some(c);
    }
    false
}

/// The same for JSON that cannot be taken apart: escapes count as what they stand
/// for. What is too deep for anybody to see counts as hidden.
pub(super) fn is_in_json(json: &str) -> bool {
    let mut plain = String::with_capacity(json.len());
    let (mut in_text, mut depth, mut half) = (false, 0usize, None);
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => in_text = !in_text,
            '[' | '{' if !in_text => depth += 1,
            ']' | '}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > SEEN_DEPTH {
            return true;
        }
        if !(in_text && c == '\\') {
            plain.push(c);
            continue;
        }
        let Some('u') = rest.next() else {
            continue;
        };
        let digits: String = rest.by_ref().take(4).collect();
        let unit = u16::from_str_radix(&digits, 16).unwrap_or(0xfffd);
        // A character outside the first plane is written in two halves.
        let units = half.take().into_iter().chain([unit]);
        let ends_in_half = (0xd800..0xdc00).contains(&unit);
        if ends_in_half {
            half = Some(unit);
        } else {
            let decoded = char::decode_utf16(units);
            plain.extend(decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
    }
    is_in(&plain)
}

const fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn is_letter(c: char) -> bool {
    !c.is_ascii() && c.is_alphabetic()
}

/// Whether a joiner can follow it: an emoji, the tone of its skin, or the selector
/// that makes it one.
fn ends_emoji(c: char) -> bool {
    is_emoji(c) || matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{20e3}')
}

/// Roughly what Unicode calls a pictograph: symbols, never letters.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn what_nobody_sees_is_found() {
        for text in [
            "a\u{200b}b",
            "a\u{200d}b",
            "a\u{200c}b",
            "é\u{200c}b",
            "\u{200c}é",
            "x\u{202e}y",
            "x\u{2066}y",
            "\u{200e}",
            "\u{feff}",
            "a\u{ad}b",
            "\u{e0041}\u{e0042}",
            "\u{e0100}",
            "a\u{fe0f}\u{fe0f}",
            "\u{fe0f}",
            " \u{fe01}",
            "\u{1b}[8m",
            "\u{8}",
            "\u{9b}",
            "👩\u{200d}",
            "\u{200d}👩",
            "👩\u{200d}\u{200d}👩",
            "👩\u{200d}a",
            "\u{2800}",
            "\u{3164}",
            "\u{2028}",
            "a\u{1bca0}b",
            "a\u{13430}b",
            "a\u{13437}b",
            "a\u{fff0}b",
            "a\u{110bd}b",
            "\u{601}",
            "harmless\rnot shown",
            "end\r",
        ] {
            assert!(is_in(text), "{}", text.escape_unicode());
        }
    }

    #[test]
    fn what_real_writing_needs_is_not() {
        for text in [
            "",
            "plain text\n\twith lines\r\n",
            "👩\u{200d}👩\u{200d}👧\u{200d}👦 a family",
            "👩🏽\u{200d}💻",
            "❤\u{fe0f}\u{200d}🔥",
            "🏳\u{fe0f}\u{200d}🌈",
            "⚠\u{fe0f} careful",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "שלום עולם",
            "日本語",
            "naïve café",
            "e\u{301}",
            "→ ✔ …",
        ] {
            assert!(!is_in(text), "{}", text.escape_unicode());
        }
    }
}
