//! Results on stdout.

use super::{safe, term};
use crate::failure::{Code, Failure};
use std::io::{self, Write};

/// Writes a line of the result.
pub fn line(text: &str) -> Result<(), Failure> {
    bytes(format!("{text}\n").as_bytes())
}

/// Writes a word and what is said about it. On a terminal what is too long goes on below
/// itself, broken between words.
pub fn item(word: &str, text: &str) -> Result<(), Failure> {
    for (at, row) in rows(text).into_iter().enumerate() {
        let word = if at == 0 { word } else { "" };
        line(format!("  {word:<WORD$} {row}").trim_end())?;
    }
    Ok(())
}

/// The same for a command that is to be copied: it is never broken.
pub fn command(word: &str, text: &str) -> Result<(), Failure> {
    let too_long = WORD + 3 + safe::columns(text) > term::width();
    match term::stdout().terminal && too_long {
        true => {
            line(&format!("  {word}"))?;
            line(&format!("    {text}"))
        }
        false => line(&format!("  {word:<WORD$} {text}")),
    }
}

/// Columns of a word before what is said about it.
const WORD: usize = 16; // tidy: a width on a page

fn rows(text: &str) -> Vec<String> {
    match term::stdout().terminal {
        true => safe::rows(text, term::width().saturating_sub(WORD + 3).max(20)),
        false => vec![text.to_owned()],
    }
}

/// Writes bytes of the result as they are.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // Whoever reads has read enough (`switchboard list | head -1`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(
            Code::Answered,
            format!("the result cannot be written: {error}"),
        )),
    }
}

/// Writes a JSON document and a line break. What a program reads is as it came;
/// on a terminal, what that would obey is escaped.
pub fn json(document: &[u8]) -> Result<(), Failure> {
    if term::stdout().terminal {
        return line(&safe::json(&String::from_utf8_lossy(document)));
    }
    let mut whole = document.to_vec();
    whole.push(b'\n');
    bytes(&whole)
}

/// A list of JSON values, one on each line.
pub fn json_list(items: &[impl serde::Serialize]) -> Result<(), Failure> {
    let each: Result<Vec<String>, _> = items.iter().map(serde_json::to_string).collect();
    let each = each.map_err(|error| {
        Failure::new(
            Code::Answered,
            format!("the result cannot be written: {error}"),
        )
    })?;
    if each.is_empty() {
        json(b"[]")
    } else {
        json(format!("[\n{}\n]", each.join(",\n")).as_bytes())
    }
}
