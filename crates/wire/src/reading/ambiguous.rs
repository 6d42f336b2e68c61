//! Payloads that somebody is shown: they must say the same to every reader.

use super::same_key;
use crate::{
    json::{Scanner, loose_text},
    limits,
};
use std::collections::HashSet;

/// A key that an object of this JSON text has twice, or twice in spellings that
/// some readers take for one another, at any depth; or one with U+0000 in it, where
/// it ends for some. One pass, no recursion. A text that is no JSON has the empty key twice: nobody is to be shown that either.
pub fn ambiguous_key(source: &[u8]) -> Option<String> {
    let mut scanner = Scanner::new(source);
    // What is open: an object with the keys it has so far, or an array.
    let mut open: Vec<Option<HashSet<String>>> = Vec::new();
    let mut at_key = false;
    loop {
        scanner.white_space();
        let byte = scanner.peek()?;
        match byte {
            b'"' => {
                let Ok(token) = scanner.string() else {
                    return Some(String::new());
                };
                if at_key && let Some(Some(keys)) = open.last_mut() {
                    let key = loose_text(token.of(source));
                    let mut same = same_key(&key).into_owned();
                    // Where readers have room for so much of a key and no more.
                    same.truncate(same.floor_char_boundary(limits::KEY_BYTES));
                    if key.contains('\0') || !keys.insert(same) {
                        return Some(key.into_owned());
                    }
                }
                at_key = false;
                continue;
            }
            b'{' => open.push(Some(HashSet::new())),
            b'[' => open.push(None),
            b'}' | b']' => drop(open.pop()),
            b',' | b':' => {}
            _ if scanner.value().is_ok() => continue,
            _ => return Some(String::new()),
        }
        at_key = byte == b'{' || byte == b',' && matches!(open.last(), Some(Some(_)));
        let _ = scanner.expect(byte, "");
    }
}
