//! White space between the tokens of a JSON text. The tokens themselves, numbers of any size
//! included, stay as they were written; a parse and print would change some.

/// Without any white space between tokens.
pub(super) fn compact(raw: &[u8]) -> String {
    lay_out(raw, None)
}

/// One member or element a line, indented by two spaces.
pub(super) fn indented(raw: &[u8]) -> String {
    lay_out(raw, Some(2))
}

fn lay_out(raw: &[u8], indent: Option<usize>) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut depth: usize = 0;
    let mut rest = raw;
    let break_line = |out: &mut Vec<u8>, depth: usize| {
        if let Some(indent) = indent {
            out.push(b'\n');
            out.resize(out.len() + depth * indent, b' ');
        }
    };
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            // Copied whole, so that only white space between tokens is dropped.
            b'"' => {
                let end = string_end(rest);
                out.push(b'"');
                out.extend_from_slice(&rest[..end]);
                rest = &rest[end..];
            }
            b'{' | b'[' => {
                out.push(byte);
                let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
                depth += 1;
                if !matches!(next, Some(b'}' | b']')) {
                    break_line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !matches!(out.last(), Some(b'{' | b'[')) {
                    break_line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                break_line(&mut out, depth);
            }
            b':' if indent.is_some() => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
    String::from_utf8(out)
        .unwrap_or_else(|fault| String::from_utf8_lossy(fault.as_bytes()).into_owned())
}

/// The length of a string token after its opening quote, the closing one included.
fn string_end(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests;
