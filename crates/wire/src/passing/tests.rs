use super::*;
use crate::Message;
use bytes::Bytes;
use proptest::{collection::vec, prelude::*, sample::Index, sample::select};

/// The members of the outermost object, as the scan of a whole text finds them.
#[derive(Default)]
struct Found {
    key: Option<Vec<u8>>,
    members: Vec<(Vec<u8>, Span)>,
    whole: Option<Span>,
}

impl Notes for Found {
    fn key(&mut self, depth: usize, token: Option<&[u8]>) {
        if depth == 1 {
            self.key = token.map(<[u8]>::to_vec);
        }
    }

    fn value(&mut self, depth: usize, _: u8, span: Span) {
        match depth {
            0 => self.whole = Some(span),
            1 => self.members.extend(self.key.take().map(|key| (key, span))),
            _ => {}
        }
    }
}

/// The verdict of the scan in pieces that end at these places.
fn in_pieces(text: &[u8], cuts: &[usize]) -> Result<Found, TextError> {
    let (mut scan, mut found) = (Pieces::new(), Found::default());
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(text.len())).collect();
    cuts.push(text.len());
    cuts.sort_unstable();
    let mut start = 0;
    for cut in cuts {
        scan.feed(&text[start..cut], &mut found)?;
        start = cut;
    }
    scan.finish(&mut found)?;
    Ok(found)
}

/// Holds it to the scan of the whole text: the same verdict, the same spans.
fn as_whole(text: &[u8], cuts: &[usize]) {
    let shown = || format!("{cuts:?} {}", String::from_utf8_lossy(text));
    let whole = json::check(text).ok();
    let whole = whole.filter(|_| std::str::from_utf8(text).is_ok());
    let pieces = in_pieces(text, cuts).ok();
    assert_eq!(
        whole.map(|(span, _)| span),
        pieces.as_ref().and_then(|found| found.whole),
        "{}",
        shown()
    );
    let (Some((span, json::ValueKind::Object)), Some(found)) = (whole, pieces) else {
        return;
    };
    let members = json::members(span.of(text)).map(|member| {
        let key = member.key.of(span.of(text));
        (key.to_vec(), member.value.shifted(span.start))
    });
    assert!(members.eq(found.members), "{}", shown());
}

/// In pieces of each size.
fn in_every_size(text: &[u8]) {
    for size in (1..=9).chain([13, 64, 65, 200]) {
        let cuts: Vec<usize> = (0..text.len()).step_by(size).collect();
        as_whole(text, &cuts);
    }
}

const TEXTS: &[&str] = &[
    "{}",
    "[]",
    "0",
    "-0",
    "-",
    "01",
    "1.",
    "1.5e",
    "1e+7",
    "-12.50E-3",
    "true",
    "tru",
    "truth",
    "null",
    "false ",
    "\"\"",
    "\"a\\u00e9\\n\"",
    "\"\\u12\"",
    "\"\\x\"",
    "\"\u{e9}\u{4e16}\u{1f600}\"",
    "",
    " ",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{,}",
    "[,]",
    "[1,]",
    "[1 2]",
    "[1,2]x",
    "{\"a\":[{}]}",
    "{\"a\":{\"b\":[1,true,null]},\"a\":\"x\"}",
    "[}",
    "{]",
    "\"\u{1}\"",
    "[[[]]]",
    "{\"a\":1}}",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"isError\":true}}",
];

#[test]
fn every_place_to_cut_gives_the_same() {
    for text in TEXTS {
        in_every_size(text.as_bytes());
        for cut in 0..=text.len() {
            for other in cut..=text.len() {
                as_whole(text.as_bytes(), &[cut, other]);
            }
        }
    }
    let deep = |depth| ["[".repeat(depth), "]".repeat(depth)].concat();
    for depth in [1, 63, 64, 65, 1023, 1024, 1025] {
        in_every_size(deep(depth).as_bytes());
    }
    // A character that is none, and one that never ends.
    for bytes in [
        &b"\"\xc3\x28\""[..],
        b"\"\xf0\x9f\x98",
        b"\"\xe4\xb8\"",
        b"\"\xff\"",
    ] {
        in_every_size(bytes);
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let inner = prop_oneof![
        3 => (select(vec!["x", "\u{e9}", "\u{4e16}", "\u{1f600}", "plain text, "]), 0..90usize)
            .prop_map(|(text, times)| text.repeat(times)),
        1 => select(vec!["\\n", "\\\"", "\\\\", "\\u00e9", "\\ud800"]).prop_map(str::to_owned),
    ];
    let string = vec(inner, 0..5).prop_map(|all| format!("\"{}\"", all.concat()));
    let leaf = prop_oneof![
        3 => string.clone(),
        1 => select(vec!["1e400", "-0.5", "true", "null", "{}", "[ ]"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 14, 3, move |value| {
        let member = (string.clone(), value.clone()).prop_map(|(k, v)| format!("{k} : {v}"));
        prop_oneof![
            vec(value, 0..3).prop_map(|all| format!("[{} ]", all.join(","))),
            vec(member, 0..3).prop_map(|all| format!("{{ {}}}", all.join(",\n"))),
        ]
    })
    .prop_map(String::into_bytes)
}

/// Bytes that mean something, or must not be there.
const TELLING: &[u8] = b"\"\\{}[]:, \n\0\x7f\x80\xc3\xe0\xf0\xff019-+.eEtfnu";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_sound_is_read_in_pieces(text in text(), cuts in vec(any::<Index>(), 0..12)) {
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        as_whole(&text, &cuts);
        in_every_size(&text);
    }

    #[test]
    fn what_was_changed_is_judged_in_pieces(
        mut text in text(),
        changes in vec((any::<Index>(), 0..4u8, any::<u8>()), 1..4),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        for (at, what, byte) in changes {
            let at = at.index(text.len() + 1);
            let byte = TELLING[usize::from(byte) % TELLING.len()];
            match what {
                0 => text.truncate(at),
                1 => text.insert(at, byte),
                2 if at < text.len() => drop(text.remove(at)),
                _ if at < text.len() => text[at] = byte,
                _ => {}
            }
        }
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        as_whole(&text, &cuts);
        in_every_size(&text);
    }
}

const HEAD: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"abc"#;

fn passed(rest: &str, size: usize) -> Result<bool, ParseError> {
    let mut passing = Passing::begin(HEAD.as_bytes(), 7).expect("its beginning");
    for piece in rest.as_bytes().chunks(size) {
        passing.feed(piece)?;
    }
    passing.end()
}

/// What follows is judged as the whole would be, wherever it is cut.
#[test]
fn a_reply_is_judged_as_if_it_had_come_whole() {
    for (rest, is_error) in [
        (r#""}]}}"#, Some(false)),
        (r#""}],"isError":true}}"#, Some(true)),
        (r#""}],"isError":false}}"#, Some(false)),
        (r#""}],"isErr\u006fr" : true } } "#, Some(true)),
        (r#""}],"isError":true,"isError":true}}"#, Some(false)),
        (r#"","isError":true}]}}"#, Some(false)),
        (r#""}]},"more":{"isError":true}}"#, Some(false)),
        (r#""}]},"params":5}"#, Some(false)),
        (r#""}]},"id":7}"#, None),
        (r#""}]},"\u0069d":7}"#, None),
        (r#""}]},"ID":7}"#, None),
        (r#""}]},"result":{}}"#, None),
        (r#""}]},"jsonrpc":"2.0"}"#, None),
        (r#""}]},"error":{"code":1,"message":"m"}}"#, None),
        (r#""}]},"method":"ping"}"#, None),
        (r#""}]},}"#, None),
        (r#""}]}"#, None),
        (r#""}]}}x"#, None),
        ("\n\"}]}}", None),
        ("", None),
    ] {
        let whole = Message::parse(Bytes::from([HEAD, rest].concat()));
        assert_eq!(whole.is_ok(), is_error.is_some(), "{rest}");
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(passed(rest, size).ok(), is_error, "{rest} by {size}");
        }
    }
    let long = format!("\"}}]}},\"{}\":1}}", "k".repeat(5000));
    assert!(passed(&long, 100).is_err(), "a key that is not kept whole");
    let long = format!("\"}}],\"{}\":1}}}}", "k".repeat(5000));
    assert_eq!(
        passed(&long, 100).ok(),
        Some(false),
        "one of the result is none of ours"
    );
}

#[test]
fn only_what_is_surely_our_reply_begins() {
    assert_eq!(
        Passing::begin(HEAD.as_bytes(), 7).unwrap().id_span(),
        Span::new(22, 23)
    );
    for other in [
        r#"{"id":7,"result":{"a":""#,
        r#"{"jsonrpc":"2.0","result":{"a":""#,
        r#"{"jsonrpc":"2.0","result":{},"id":7,"a":{"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{"a":""#,
        r#"{"jsonrpc":"2.0","id":"7","result":{"a":""#,
        r#"{"jsonrpc":"1.0","id":7,"result":{"a":""#,
        r#"{"jsonrpc":"2.0","id":7,"more":1,"result":{"a":""#,
        r#"{"jsonrpc":"2.0","id":7,"result":["#,
        r#"{"jsonrpc":"2.0","id":7,"result":"text"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{},"a":{"#,
        r#"{"jsonrpc":"2.0","id":7,"id":7,"result":{"a":""#,
        r#"[{"jsonrpc":"2.0","id":7,"result":{"a":""#,
        r#"{"jsonrpc":"2.0","id":7,"resu"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":x"#,
        "",
    ] {
        assert!(Passing::begin(other.as_bytes(), 7).is_none(), "{other}");
    }
}

/// Whether a result says that it is an error is found while it is scanned, as if it were read
/// for that alone.
#[test]
fn a_result_that_says_it_is_an_error_is_known_as_one() {
    for body in [
        r#"{"content":[]}"#,
        r#"{"content":[],"isError":true}"#,
        r#"{"content":[],"isError":false}"#,
        r#"{"content":[], "isError" : true }"#,
        r#"{"isError":true,"content":[]}"#,
        r#"{"isError":false,"content":[{"isError":true}]}"#,
        r#"{"content":[{"isError":true}]}"#,
        r#"{"content":[{"isError":true}],"isError":false}"#,
        r#"{"content":[{"isError":false}],"isError":true}"#,
        r#"{"content":[{"text":"\"isError\":true}"}]}"#,
        r#"{"content":[],"isErr\u006fr":true}"#,
        r#"{"isErr\u006fr":true,"isError":false}"#,
        r#"{"isErr\u006fr":false,"isError":true}"#,
        r#"{"isError":true,"isError":true}"#,
        r#"{"isError":"true"}"#,
        r#"{"iserror":true}"#,
        r#"{"a":{"isError":true}}"#,
        r#"[{"isError":true}]"#,
        r#""isError""#,
    ] {
        let said = json::field(body.as_bytes(), "isError").ok().flatten();
        let is_error = said.is_some_and(|span| span.of(body.as_bytes()) == b"true");
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#),
            format!(r#" {{"result":{body},"id":1,"more":{{"isError":true}},"jsonrpc":"2.0"}} "#),
            format!(r#"{{"more":{{"isError":true}},"result":{body},"id":1,"jsonrpc":"2.0"}}"#),
            format!(r#"{{"isError":true,"result":{body},"id":1,"jsonrpc":"2.0"}}"#),
        ] {
            let message = Message::parse(Bytes::from(text.clone())).unwrap();
            assert_eq!(message.is_failure(), is_error, "{text}");
        }
    }
    for (text, is_error) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"isError":true}}"#,
            false,
        ),
    ] {
        assert_eq!(Message::parse(text.into()).unwrap().is_failure(), is_error);
    }
}
