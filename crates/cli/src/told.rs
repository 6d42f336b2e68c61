//! What has been warned about: the same thing is worth one warning, however
//! often the files that are to blame are read.

use crate::limits;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Each with the reading in which it was said last.
static TOLD: Mutex<Option<Told>> = Mutex::new(None);

#[derive(Default)]
struct Told {
    reading: u64,
    said: HashMap<String, u64>,
}

/// Everything is about to be read again: what is still wrong then was said
/// before; what was put right and goes wrong once more was not.
pub fn read_again() {
    TOLD.lock().get_or_insert_default().reading += 1;
}

/// Whether a warning was not said in this reading of the files or the one before.
pub fn is_news(text: &str) -> bool {
    let mut told = TOLD.lock();
    let Told { reading, said } = told.get_or_insert_default();
    if said.len() >= limits::WARNINGS_KEPT {
        said.retain(|_, last| *last == *reading);
    }
    let last =
        (said.len() < limits::WARNINGS_KEPT).then(|| said.insert(without_lines(text), *reading));
    last.flatten().is_none_or(|last| last + 1 < *reading)
}

/// The text without the numbers of lines: who writes a file moves what is in it.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(':');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push(':');
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}
