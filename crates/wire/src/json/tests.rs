//! Generators of JSON text that the tests of this crate share.

use super::Span;
use proptest::{collection::vec, prelude::*, sample::select};

/// White space that may stand between two tokens.
pub(crate) fn gap() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        2 => select(vec![" ", "\n", "\r\n", "\t", " \r \n\t "]),
    ]
}

/// A number as someone may write it, also beyond what any machine type holds.
pub(crate) fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,6})?([eE][+-]?[0-9]{1,4})?",
        select(vec![
            "1e400",
            "-0",
            "0.1000",
            "1.0",
            "9007199254740993",
            "1E+2",
            "-0.0e-0"
        ])
        .prop_map(str::to_owned),
    ]
}

/// What stands between the quotes of a string token.
pub(crate) fn string_inner() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ !#-\\[\\]-~]{0,12}",
        1 => "[é世😀\u{7f}\u{80}\u{2028}\u{feff}]{1,3}",
        2 => select(vec![
            "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u00e9",
            "\\u006E", "\\ud83d\\ude00", "\\uD800", "\\udfff",
        ])
        .prop_map(str::to_owned),
    ];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// A string token.
pub(crate) fn string() -> impl Strategy<Value = String> {
    string_inner().prop_map(|inner| format!("\"{inner}\""))
}

/// Any JSON value, with white space inside but not around it.
pub(crate) fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        number(),
        string(),
        select(vec!["true", "false", "null"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member = (string(), inner.clone());
        prop_oneof![
            (vec(inner, 0..4), vec(gap(), 9)).prop_map(|(items, gaps)| array(&items, &gaps)),
            (vec(member, 0..4), vec(gap(), 17)).prop_map(|(members, gaps)| object(&members, &gaps)),
        ]
    })
}

/// The text of an array; `gaps` are used in turn, wherever white space may stand.
pub(crate) fn array(items: &[String], gaps: &[&str]) -> String {
    let mut gaps = gaps.iter().copied().cycle();
    let mut gap = || gaps.next().unwrap_or_default();
    let mut out = format!("[{}", gap());
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out += ",";
        }
        out = out + gap() + item + gap();
    }
    out + "]"
}

/// The text of an object from (key token, value text) pairs.
pub(crate) fn object(members: &[(String, String)], gaps: &[&str]) -> String {
    placed_object(members, gaps).0
}

/// The same, and where each value stands in it.
pub(crate) fn placed_object(members: &[(String, String)], gaps: &[&str]) -> (String, Vec<Span>) {
    let mut gaps = gaps.iter().copied().cycle();
    let mut gap = || gaps.next().unwrap_or_default();
    let mut out = format!("{{{}", gap());
    let mut places = Vec::new();
    for (i, (key, value)) in members.iter().enumerate() {
        if i > 0 {
            out += ",";
        }
        out = out + gap() + key + gap() + ":" + gap();
        places.push(Span::new(out.len(), out.len() + value.len()));
        out = out + value + gap();
    }
    (out + "}", places)
}

/// A spelling of `key` as a token: plain, or with one character escaped.
pub(crate) fn spelling(key: &'static str) -> impl Strategy<Value = String> {
    (0..key.len() * 3).prop_map(move |at| {
        let mut out = String::from("\"");
        for (i, c) in key.chars().enumerate() {
            if i == at {
                out += &format!("\\u{:04X}", c as u32);
            } else {
                out.push(c);
            }
        }
        out + "\""
    })
}

/// Text that was JSON until some of its bytes were changed.
pub(crate) fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => select(br#"{}[]:,"\0123456789.eE+-ntfu "#.to_vec()),
        1 => select(vec![0u8, 0x0c, 0x1f, 0x7f, 0x80, 0xc3, 0xff, b'\n']),
    ];
    let change = (any::<proptest::sample::Index>(), 0..4u8, byte);
    (value(), vec(change, 0..4)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (at, what, byte) in changes {
            let at = at.index(bytes.len() + 1);
            match what {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
        }
        bytes
    })
}
