//! What all servers come to together, and which clients cannot take that.

use crate::{context::note, limits, show::term};

/// Clients that use only so many tools, by their makers' word.
const TAKEN: [(&str, usize); 2] = [("Cursor", 40), ("VS Code", 128)];

/// Says what it comes to: on a terminal where there are more than a few, elsewhere where
/// it is too much for somebody.
pub fn say(servers: usize, tools: usize, tokens: usize) {
    if let Some(text) = text(servers, tools, tokens, term::stdout().terminal) {
        note(&text);
    }
}

fn text(servers: usize, tools: usize, tokens: usize, terminal: bool) -> Option<String> {
    let full = TAKEN.iter().filter(|(_, most)| tools > *most);
    let full: Vec<String> = full
        .map(|(who, most)| format!("{who} uses {most} at most"))
        .collect();
    if servers < 2 || (full.is_empty() && (!terminal || servers <= limits::FEW_SERVERS)) {
        return None;
    }
    let mut text = format!(
        "{servers} servers, {}, about {tokens} tokens of definitions",
        counted(tools, "tool")
    );
    if !full.is_empty() {
        let full = full.join(", ");
        text = format!(
            "{text}; {full}: --tools search (of up and serve) shows two that find the others"
        );
    }
    Some(text)
}

/// So many of something.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_names_who_cannot_take_it() {
        assert_eq!(text(1, 500, 9, true), None);
        assert_eq!(text(2, 3, 9, false), None);
        assert_eq!(text(3, 3, 9, true), None);
        let few = text(4, 1, 9, true).unwrap();
        assert_eq!(few, "4 servers, 1 tool, about 9 tokens of definitions");
        let some = text(3, 41, 9, false).unwrap();
        assert!(
            some.contains("Cursor uses 40 at most") && !some.contains("VS Code"),
            "{some}"
        );
        let many = text(3, 129, 9, false).unwrap();
        assert!(many.contains("VS Code uses 128 at most"), "{many}");
    }
}
