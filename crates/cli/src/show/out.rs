//! Results on stdout.

use crate::failure::{Code, Failure};
use std::io::{self, Write};

/// Writes a line of the result.
pub fn line(text: &str) -> Result<(), Failure> {
    bytes(format!("{text}\n").as_bytes())
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
        line("[]")
    } else {
        line(&format!("[\n{}\n]", each.join(",\n")))
    }
}
