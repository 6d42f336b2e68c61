//! The arguments of a call that somebody is asked about: all of them, escaped,
//! and a page at a time where they are long.

use crate::show::{
    pages::{self, wrapped},
    safe, term,
};
use std::io::{BufRead, Write};

/// Shows all of it. Whether the person saw it to its end.
pub fn show(text: &str, input: &mut dyn BufRead, out: &mut dyn Write) -> bool {
    let width = term::width().saturating_sub(14).max(20);
    let labelled = |(i, line): (usize, &String)| {
        let label = if i == 0 { "arguments" } else { "" };
        format!("  {label:<9} {line}")
    };
    let rows: Vec<String> = lines(text, width)
        .iter()
        .enumerate()
        .map(labelled)
        .collect();
    pages::show(&rows, " of arguments", input, out)
}

/// The JSON in lines of at most so many columns, escaped. Nothing but the space
/// between its tokens is changed.
fn lines(text: &str, width: usize) -> Vec<String> {
    if safe::columns(text) <= width && !text.contains(['\n', '\r']) {
        return wrapped(&safe::line(text), width);
    }
    indented(text)
        .iter()
        .flat_map(|line| wrapped(&safe::line(line), width))
        .collect()
}

fn indented(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    let begin = |lines: &mut Vec<String>, depth: usize| {
        // Depth is nothing that a page has room for.
        lines.push("  ".repeat(depth.min(20)));
    };
    for c in text.chars() {
        let is_end = matches!(c, '}' | ']') && !in_string;
        if is_end {
            depth = depth.saturating_sub(1);
            begin(&mut lines, depth);
        }
        let is_space = !in_string && matches!(c, ' ' | '\t' | '\n' | '\r');
        if let (Some(line), false) = (lines.last_mut(), is_space) {
            line.push(c);
            if c == ':' && !in_string {
                line.push(' ');
            }
        }
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c == '"' {
            in_string = true;
        } else if matches!(c, '{' | '[') {
            depth += 1;
            begin(&mut lines, depth);
        } else if c == ',' {
            begin(&mut lines, depth);
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_nothing_obeyed() {
        let text = r#"{"a": [1, {"b": "x, {y}: \"q\" \\"}], "c": {}, "c": "twice"}"#;
        let all = lines(text, 20);
        let without_space = |text: &str| text.replace(' ', "");
        assert_eq!(without_space(&all.concat()), without_space(text));
        assert!(all.iter().all(|line| safe::columns(line) <= 20), "{all:?}");
        assert_eq!(
            lines("{\"a\": \"\u{202e}\"}", 40),
            ["{\"a\": \"\\u{202e}\"}"]
        );
    }

    #[test]
    fn a_person_who_does_not_see_the_end_has_not_said_yes() {
        let long = format!("[{}]", vec!["1"; 500].join(","));
        let mut out = Vec::new();
        assert!(!show(&long, &mut &b""[..], &mut out));
        assert!(!show(&long, &mut &b"q\n"[..], &mut out));
        let mut out = Vec::new();
        assert!(show(&long, &mut "\n".repeat(500).as_bytes(), &mut out));
        let ones = String::from_utf8(out).unwrap().matches('1').count();
        assert!(ones >= 500, "{ones}");
        assert!(show("{}", &mut &b""[..], &mut Vec::new()));
    }
}
