//! What somebody has to see to its end before they answer: a page at a time.

use super::{safe, term};
use crate::limits;
use std::io::{BufRead, Write};

/// Shows these rows, each of which fits on a line. Whether the person saw them
/// to their end; `what` says of what there is more.
pub fn show(rows: &[String], what: &str, input: &mut dyn BufRead, out: &mut dyn Write) -> bool {
    let page = term::height().saturating_sub(limits::PAGE_AROUND).max(5);
    for (i, row) in rows.iter().enumerate() {
        if i > 0 && i % page == 0 {
            let left = rows.len() - i;
            let _ = write!(
                out,
                "  -- {left} more lines{what}: Enter goes on, q says no -- "
            );
            let _ = out.flush();
            let mut answer = String::new();
            let read = input.read_line(&mut answer);
            if !matches!(read, Ok(1..)) || answer.trim().eq_ignore_ascii_case("q") {
                return false;
            }
        }
        let _ = writeln!(out, "{row}");
    }
    let _ = out.flush();
    true
}

/// A text, which is escaped already, in rows of at most so many columns.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut taken = 0;
    for c in text.chars() {
        let columns = safe::columns(c.encode_utf8(&mut [0; 4]));
        if taken + columns > width {
            rows.push(String::new());
            taken = 0;
        }
        if let Some(row) = rows.last_mut() {
            row.push(c);
        }
        taken += columns;
    }
    rows
}
