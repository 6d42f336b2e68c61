//! The scan against the one before it, on texts that were JSON until something happened to
//! them.

#![allow(missing_docs, reason = "tests")]

mod support;

use proptest::{collection::vec, prelude::*, sample::Index, sample::select};

/// What strings are made of: runs long enough for the blocks of the fast paths, in ASCII and
/// beyond it, and what ends such a run.
fn inner() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => (select(vec!["x", "é", "世", "😀", "a世", "plain text, "]), 0..600usize)
            .prop_map(|(text, times)| text.repeat(times).into_bytes()),
        2 => select(vec!["\\n", "\\\"", "\\\\", "\\u00e9", "\\ud800"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    inner().prop_map(|inner| [b"\"", &*inner, b"\""].concat())
}

/// A value, nested a little; every string may be long.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        4 => string(),
        1 => select(vec!["1e400", "-0.5", "true", "null", "{}", "[]"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    leaf.prop_recursive(3, 12, 3, |value| {
        let member =
            (string(), value.clone()).prop_map(|(key, value)| [&*key, b" : ", &*value].concat());
        prop_oneof![
            vec(value, 0..3).prop_map(|all| [b"[", &*all.join(&b","[..]), b" ]"].concat()),
            vec(member, 0..3).prop_map(|all| [b"{ ", &*all.join(&b",\n"[..]), b"}"].concat()),
        ]
    })
}

/// A reply around it, as servers send them.
fn reply() -> impl Strategy<Value = Vec<u8>> {
    value().prop_map(|value| {
        let head = br#"{"jsonrpc":"2.0","id":7,"result":{"content":"#;
        [&head[..], &value, b"}}"].concat()
    })
}

/// Bytes that mean something, or must not be there.
fn byte() -> impl Strategy<Value = u8> {
    let telling = b"\"\\{}[]:, \n\0\x1f\x20\x7f\x80\xbf\xc0\xc3\xe0\xed\xf0\xf4\xff";
    prop_oneof![select(telling.to_vec()), any::<u8>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_sound_is_read_as_before(text in prop_oneof![value(), reply()]) {
        support::scan_as_before(&text);
    }

    #[test]
    fn what_was_changed_is_judged_as_before(
        mut text in prop_oneof![value(), reply()],
        changes in vec((any::<Index>(), 0..4u8, byte()), 1..4),
    ) {
        for (at, what, byte) in changes {
            let at = at.index(text.len() + 1);
            match what {
                0 => text.truncate(at),
                1 => text.insert(at, byte),
                2 if at < text.len() => drop(text.remove(at)),
                _ if at < text.len() => text[at] = byte,
                _ => {}
            }
        }
        support::scan_as_before(&text);
    }

    /// One byte, at every distance from the beginning and the end of a long run.
    #[test]
    fn every_byte_is_judged_as_before_wherever_it_stands(
        before in prop_oneof![0..200usize, 4000..4300usize],
        byte in byte(),
        after in 0..200usize,
        plain in select(vec!["x", "é", "世"]),
    ) {
        let (before, after) = (plain.repeat(before), plain.repeat(after));
        let text = [b"\"", before.as_bytes(), &[byte], after.as_bytes(), b"\""].concat();
        support::scan_as_before(&text);
    }
}
