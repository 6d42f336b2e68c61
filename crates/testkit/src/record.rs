//! The record file: what a peer received, byte for byte.
//!
//! Each message is `LENGTH:` + its bytes + a newline. Most are one line each;
//! the length keeps those apart that have line ends between their tokens.

use std::io::Write;
use std::path::Path;

/// Appends one message.
///
/// # Errors
/// When the file cannot be written.
pub fn append(file: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    let mut entry = format!("{}:", bytes.len()).into_bytes();
    entry.extend_from_slice(bytes);
    entry.push(b'\n');
    file.write_all(&entry)
}

/// The messages of a record file; one that is still being written is left out.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: impl AsRef<Path>) -> std::io::Result<Vec<Vec<u8>>> {
    let bytes = std::fs::read(path)?;
    let mut rest = &bytes[..];
    let mut messages = Vec::new();
    while let Some((message, after)) = next(rest) {
        messages.push(message.to_vec());
        rest = after;
    }
    Ok(messages)
}

fn next(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = bytes.iter().position(|b| *b == b':')?;
    let length: usize = std::str::from_utf8(&bytes[..colon]).ok()?.parse().ok()?;
    let message = bytes.get(colon + 1..colon + 1 + length)?;
    let after = bytes.get(colon + 2 + length..)?;
    Some((message, after))
}

#[cfg(test)]
mod tests {
    #[test]
    fn keeps_line_ends() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut out = Vec::new();
        for message in [&b"{}"[..], b"{\r\n\"3:\":1}", b""] {
            super::append(&mut out, message).unwrap();
        }
        out.extend_from_slice(b"9:cut");
        std::fs::write(file.path(), out).unwrap();
        let read = super::read(file.path()).unwrap();
        assert_eq!(read, [&b"{}"[..], b"{\r\n\"3:\":1}", b""]);
    }
}
