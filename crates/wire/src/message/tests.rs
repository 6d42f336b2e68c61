use super::*;
use crate::{
    Params,
    json::tests::{damaged, gap, number, placed_object, spelling, string, string_inner, value},
};
use proptest::{collection::vec, prelude::*};

fn parse(text: impl Into<String>) -> Result<Message, ParseError> {
    Message::parse(Bytes::from(text.into()))
}

fn code_of(text: impl Into<String>) -> i64 {
    let fault = parse(text).unwrap_err();
    fault.to_error().code
}

// ---- Generated messages with unknown fields everywhere.

/// A member of ours (named), or one that nobody knows.
type Field = (&'static str, String, String);

/// A request, and where the things are that we may change.
#[derive(Clone, Debug)]
struct Sample {
    text: String,
    id: Span,
    params: Span,
    name: Span,
    meta: Span,
    token: Span,
}

/// One object's members: ours in any spelling, others with any key, in any order.
fn level(own: Vec<(&'static str, BoxedStrategy<String>)>) -> impl Strategy<Value = Vec<Field>> {
    let own: Vec<_> = own
        .into_iter()
        .map(|(key, value)| (Just(key), spelling(key), value).boxed())
        .collect();
    let other =
        (string_inner(), value()).prop_map(|(key, value)| ("", format!("\"x{key}\""), value));
    (own, vec(other, 0..3))
        .prop_map(|(own, others)| [own, others].concat())
        .prop_shuffle()
}

fn fixed(text: &'static str) -> BoxedStrategy<String> {
    Just(text.to_owned()).boxed()
}

/// Writes the object down; the place of `wanted`'s value comes back with it.
fn write(
    fields: Vec<Field>,
    wanted: &[(&str, Option<&str>)],
    gaps: &[&str],
) -> (String, Vec<Span>) {
    let filled: Vec<(String, String)> = fields
        .iter()
        .map(|(name, key, value)| {
            let given = wanted
                .iter()
                .find(|(want, _)| want == name)
                .and_then(|(_, value)| *value);
            (key.clone(), given.unwrap_or(value).to_owned())
        })
        .collect();
    let (text, places) = placed_object(&filled, gaps);
    let spans = wanted
        .iter()
        .map(|(want, _)| places[fields.iter().position(|(name, ..)| name == want).unwrap()])
        .collect();
    (text, spans)
}

fn token() -> BoxedStrategy<String> {
    prop_oneof![number(), string()].boxed()
}

fn sample() -> impl Strategy<Value = Sample> {
    let meta = level(vec![("progressToken", token())]);
    let params = level(vec![
        ("name", string().boxed()),
        ("arguments", value().boxed()),
        ("_meta", fixed("")),
    ]);
    let envelope = level(vec![
        ("jsonrpc", fixed("\"2.0\"")),
        ("id", token()),
        ("method", fixed("\"tools/call\"")),
        ("params", fixed("")),
    ]);
    (meta, params, envelope, vec(gap(), 41)).prop_map(|(meta, params, envelope, gaps)| {
        let (meta, places) = write(meta, &[("progressToken", None)], &gaps);
        let in_meta = places[0];
        let (params, places) = write(params, &[("name", None), ("_meta", Some(&meta))], &gaps);
        let [name, meta] = places[..] else {
            unreachable!()
        };
        let (text, places) = write(envelope, &[("id", None), ("params", Some(&params))], &gaps);
        let [id, params] = places[..] else {
            unreachable!()
        };
        let meta = meta.shifted(params.start);
        Sample {
            text,
            id,
            params,
            name: name.shifted(params.start),
            meta,
            token: in_meta.shifted(meta.start),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_parts_are_found_where_they_are(sample in sample()) {
        let message = parse(sample.text.clone()).unwrap();
        prop_assert_eq!(message.kind(), Kind::Request);
        prop_assert_eq!(message.method(), Method::ToolsCall);
        prop_assert_eq!(message.raw(), &sample.text);
        prop_assert_eq!(message.body_span(), Some(sample.params));
        prop_assert_eq!(message.id(), Some(Id::from_token(sample.text[sample.id.start..sample.id.end].to_owned().into())));
        let params = Params::of(&message).unwrap();
        prop_assert_eq!(params.name, Some(sample.name));
        prop_assert_eq!(params.meta, Some(sample.meta));
        prop_assert_eq!(params.progress_token, Some(sample.token));
    }

    #[test]
    fn changing_id_token_and_name_changes_those_bytes_and_no_other(
        sample in sample(), id in any::<u64>(), progress in token(), name in any::<String>(),
    ) {
        let message = parse(sample.text.clone()).unwrap();
        let params = Params::of(&message).unwrap();
        let name = json::quote(&name);
        let mut edits = message.with_id(&Id::number(id));
        params.set_meta(&message, &mut edits, params.progress_token, "progressToken", &progress);
        edits.replace(params.name.unwrap(), name.clone());
        let sent = message.edited(&edits).into_bytes();

        // What was generated, with the new values written in its place.
        let mut expected = sample.text.clone();
        let mut changes = [(sample.id, id.to_string()), (sample.token, progress.clone()), (sample.name, name.clone())];
        changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        for (span, with) in &changes {
            expected.replace_range(span.start..span.end, with);
        }
        prop_assert_eq!(std::str::from_utf8(&sent).unwrap(), &expected);

        let again = Message::parse(sent).unwrap();
        let read = Params::of(&again).unwrap();
        prop_assert_eq!(again.own_id(), Some(id));
        prop_assert_eq!(Params::bytes(&again, read.name).unwrap(), name);
        prop_assert_eq!(Params::bytes(&again, read.progress_token).unwrap(), progress);
    }

    #[test]
    fn a_reply_keeps_everything_but_its_id(
        fields in level(vec![("jsonrpc", fixed("\"2.0\"")), ("id", token()), ("result", value().boxed())]),
        gaps in vec(gap(), 41),
        id in token(),
    ) {
        let (text, places) = write(fields, &[("id", None), ("result", None)], &gaps);
        let message = parse(text.clone()).unwrap();
        prop_assert_eq!(message.kind(), Kind::Response);
        prop_assert_eq!(message.body_span(), Some(places[1]));
        prop_assert_eq!(&message.body_bytes()[..], message.body());
        let sent = message.edited(&message.with_id(&Id::from_token(id.clone().into()))).into_bytes();
        let mut expected = text;
        expected.replace_range(places[0].start..places[0].end, &id);
        prop_assert_eq!(sent, expected);
    }

    #[test]
    fn whatever_comes_is_read_or_answered_with_an_error_that_can_be_read(source in damaged()) {
        let Err(fault) = Received::parse(source.into()) else { return Ok(()) };
        let answer = Message::error(fault.id(), &fault.to_error());
        prop_assert_eq!(answer.kind(), Kind::Error);
        prop_assert!(matches!(answer.error_code(), Some(code::PARSE | code::INVALID_REQUEST)));
    }

    #[test]
    fn white_space_around_a_message_is_not_part_of_it(sample in sample(), before in gap(), after in gap()) {
        let message = parse(format!("{before}{}{after}", sample.text)).unwrap();
        prop_assert_eq!(message.raw(), &sample.text);
        prop_assert_eq!(message.payload().into_bytes(), sample.text);
    }
}

// ---- The text as such.

#[test]
fn what_is_not_json_is_a_parse_error_without_an_id() {
    for bad in [
        "",
        "   ",
        "hello",
        "{",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        "\u{feff}{}",
        "{}{}",
        "\0",
    ] {
        let fault = parse(bad).unwrap_err();
        assert!(matches!(fault, ParseError::NotJson(_)), "{bad:?}");
        assert_eq!(
            (fault.to_error().code, fault.id()),
            (-32700, None),
            "{bad:?}"
        );
    }
}

#[test]
fn a_byte_order_mark_before_a_good_message_is_refused() {
    assert_eq!(
        code_of("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
        -32700
    );
}

#[test]
fn invalid_utf8_is_refused_wherever_it_stands() {
    let overlong = b"\xc0\xaf".as_slice();
    let surrogate = b"\xed\xa0\x80".as_slice();
    for bytes in [
        b"\xff".as_slice(),
        b"\xc3",
        overlong,
        surrogate,
        b"\xf4\x90\x80\x80",
    ] {
        let inside = [
            b"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"x\":\"",
            bytes,
            b"\"}",
        ]
        .concat();
        let fault = Message::parse(inside.into()).unwrap_err();
        assert_eq!(fault, ParseError::NotUtf8(38), "{bytes:x?}");
        assert_eq!(fault.to_error().code, -32700);
    }
    assert_eq!(
        Message::parse(Bytes::from_static(b"{}\xff")).unwrap_err(),
        ParseError::NotUtf8(2)
    );
}

#[test]
fn depth_counts_from_the_envelope() {
    let nest = |levels: usize| {
        let params = "[".repeat(levels) + &"]".repeat(levels);
        parse(format!(
            r#"{{"jsonrpc":"2.0","method":"x","params":{params}}}"#
        ))
    };
    assert!(nest(limits::SCAN_DEPTH - 1).is_ok());
    assert!(matches!(
        nest(limits::SCAN_DEPTH),
        Err(ParseError::NotJson(_))
    ));
    assert!(matches!(nest(100_000), Err(ParseError::NotJson(_))));
}

#[test]
fn payload_oddities_are_not_ours_to_judge() {
    let text = r#"{"jsonrpc":"2.0","method":"x","params":{"a":1e400,"a":-0,"b":0.1000,"c":"\ud800","":{"":[]}},"x":1,"x":2}"#;
    assert_eq!(parse(text).unwrap().raw(), text);
}

// ---- What kind of message it is.

#[test]
fn the_kind_follows_from_what_is_there() {
    for (text, kind) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Kind::Request),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, Kind::Notification),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Kind::Response),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
            Kind::Error,
        ),
        (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, Kind::Error),
        (r#"{"jsonrpc":"2.0","error":{}}"#, Kind::Error),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"params":{}}"#,
            Kind::Response,
        ),
        (
            r#"{"\u006asonrpc":"\u0032.0","\u0069d":1,"m\u0065thod":"ping"}"#,
            Kind::Request,
        ),
    ] {
        let message = parse(text).unwrap();
        assert_eq!(message.kind(), kind, "{text}");
        assert_eq!(
            message.is_reply(),
            matches!(kind, Kind::Response | Kind::Error),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_message_is_an_invalid_request() {
    for text in [
        "1",
        "null",
        "\"a\"",
        "true",
        "[]",
        "[1]",
        "{}",
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0 ","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":["2.0"],"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
    ] {
        assert_eq!(code_of(text), -32600, "{text}");
    }
}

#[test]
fn a_bad_message_is_answered_under_its_id_where_that_is_clear() {
    for text in [
        r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
        r#"{"id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":1}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":1}"#,
        r#"{"jsonrpc":"2.0","id":"a"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"ping","method":"ping"}"#,
        r#"{"method":"x","method":"y","jsonrpc":"2.0","\u0069d":"a"}"#,
    ] {
        let fault = parse(text).unwrap_err();
        assert_eq!(fault.id(), Some(&Id::string("a")), "{text}");
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","id":"a","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"ping","method":"ping","id":"b"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping","method":"ping"}"#,
        r#"[{"id":"a"}]"#,
    ] {
        assert_eq!(parse(text).unwrap_err().id(), None, "{text}");
    }
}

#[test]
fn a_key_of_the_envelope_that_comes_twice_is_refused_in_any_spelling() {
    for (key, again) in [
        ("jsonrpc", r#""jsonrpc":"2.0""#),
        ("id", r#""id":1"#),
        ("method", r#""method":"tools/call""#),
        ("params", r#""params":{}"#),
        ("jsonrpc", r#""jsonr\u0070c":"2.0""#),
        ("id", r#""\u0069d":1"#),
        ("method", r#""me\u0074hod":"tools/call""#),
        ("params", r#""para\u006ds":{}"#),
    ] {
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{}},{again}}}"#),
            format!(r#"{{{again},"jsonrpc":"2.0","id":1,"method":"ping","params":{{}}}}"#),
        ] {
            let fault = parse(text.clone()).unwrap_err();
            assert_eq!(fault.to_error().code, -32600, "{text}");
            assert!(
                fault
                    .to_string()
                    .contains(&format!("duplicate key {key:?}")),
                "{fault}"
            );
        }
    }
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1,"r\u0065sult":2}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{},"err\u006fr":{}}"#,
    ] {
        assert_eq!(code_of(text), -32600, "{text}");
    }
}

// ---- Ids.

#[test]
fn ids_that_are_neither_strings_nor_numbers_are_an_invalid_request() {
    for id in ["null", "{}", "[]", "[1]", "true", "false", "{\"a\":1}"] {
        let fault = parse(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).unwrap_err();
        assert_eq!((fault.to_error().code, fault.id()), (-32600, None), "{id}");
        assert_eq!(
            code_of(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)),
            -32600,
            "{id}"
        );
    }
    for id in ["{}", "[]", "true"] {
        assert_eq!(
            code_of(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{}}}}"#)),
            -32600,
            "{id}"
        );
    }
}

#[test]
fn ids_are_kept_as_they_were_written_and_never_merge() {
    let tokens = [
        "1",
        "1.0",
        "\"1\"",
        "1e0",
        "\"\\u0031\"",
        "9007199254740993",
        "9007199254740992",
        "1e400",
        "-0",
        "0",
        "-1",
        "\"\"",
        "\"\\ud800\"",
        "18446744073709551616",
    ];
    let mut seen = std::collections::HashSet::new();
    for token in tokens {
        let message = parse(format!(
            r#"{{"jsonrpc":"2.0","id": {token} ,"method":"ping"}}"#
        ))
        .unwrap();
        let id = message.id().unwrap();
        assert_eq!(id.token(), token);
        assert_eq!(
            Message::response(&id, "{}").raw(),
            &format!(r#"{{"jsonrpc":"2.0","id":{token},"result":{{}}}}"#)
        );
        assert!(seen.insert(id), "{token}");
        assert_eq!(
            message.own_id().map(|own| own.to_string()),
            ["1", "0", "9007199254740993", "9007199254740992"]
                .contains(&token)
                .then(|| token.to_owned())
        );
    }
}

#[test]
fn an_id_may_be_long_but_not_endless() {
    let request = |id: &str| parse(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    let longest = format!("\"{}\"", "x".repeat(limits::ID_BYTES - 2));
    assert_eq!(request(&longest).unwrap().id().unwrap().token(), &longest);
    let digits = "9".repeat(limits::ID_BYTES);
    assert_eq!(request(&digits).unwrap().id().unwrap().token(), &digits);
    for id in [
        "9".repeat(limits::ID_BYTES + 1),
        format!("\"{}\"", "x".repeat(1024 * 1024)),
    ] {
        let fault = request(&id).unwrap_err();
        assert_eq!((fault.to_error().code, fault.id()), (-32600, None));
        assert!(fault.to_string().len() < 100, "the id is not repeated");
    }
}

#[test]
fn a_message_without_an_id_is_not_given_one() {
    for text in [
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
    ] {
        let message = parse(text).unwrap();
        assert!(message.with_id(&Id::number(1)).is_empty(), "{text}");
        assert_eq!(message.own_id(), None);
    }
}

// ---- Methods and errors.

#[test]
fn an_unknown_method_keeps_its_name() {
    for (token, name) in [
        ("\"x/y\"", "x/y"),
        (r#""x\/\u0079""#, "x/y"),
        ("\"\"", ""),
        ("\"tools/Call2\"", "tools/Call2"),
    ] {
        let message = parse(format!(r#"{{"jsonrpc":"2.0","method":{token}}}"#)).unwrap();
        assert_eq!(
            (message.method(), message.method_name()),
            (Method::Other, name.to_owned())
        );
    }
    let known = parse(r#"{"jsonrpc":"2.0","method":"tools\/call"}"#).unwrap();
    assert_eq!(
        (known.method(), known.method_name()),
        (Method::ToolsCall, "tools/call".to_owned())
    );
    let reply = parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
    assert_eq!(reply.method_name(), "");
}

#[test]
fn the_code_and_text_of_an_error_are_read_only_from_errors() {
    let error =
        parse(r#"{"jsonrpc":"2.0","id":1,"error":{"m\u0065ssage":"n\u006f","code":-32601}}"#)
            .unwrap();
    assert_eq!(
        (error.error_code(), error.error_text().as_deref()),
        (Some(-32601), Some("no"))
    );
    for body in [
        "1",
        "null",
        "{}",
        "[]",
        r#"{"code":"1","message":1}"#,
        r#"{"code":1.5}"#,
        r#"{"code":1e400}"#,
        r#"{"code":1,"code":2}"#,
    ] {
        let odd = parse(format!(r#"{{"jsonrpc":"2.0","id":1,"error":{body}}}"#)).unwrap();
        assert_eq!((odd.error_code(), odd.error_text()), (None, None), "{body}");
    }
    let result = parse(r#"{"jsonrpc":"2.0","id":1,"result":{"code":1,"message":"x"}}"#).unwrap();
    assert_eq!((result.error_code(), result.error_text()), (None, None));
}

#[test]
fn messages_of_our_own_read_back() {
    let id = Id::string("a\"b\n");
    let request = Message::request(&id, Method::ToolsCall, r#"{"name":"x"}"#);
    assert_eq!(
        (request.kind(), request.id(), request.body()),
        (Kind::Request, Some(id.clone()), &br#"{"name":"x"}"#[..])
    );
    assert_eq!(Message::response(&id, "{}").kind(), Kind::Response);
    let bare = Message::notification(Method::Initialized, "");
    assert_eq!(
        bare.raw(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    );
    assert_eq!((bare.body(), bare.body_span()), (&b"{}"[..], None));
    assert_eq!(
        Message::notification(Method::Progress, r#"{"a":1}"#).body(),
        br#"{"a":1}"#
    );
    assert_eq!(
        Message::error(None, &ErrorObject::new(1, "x")).kind(),
        Kind::Error
    );
}

// ---- Batches.

#[test]
fn a_batch_is_read_message_by_message() {
    let text = r#" [ {"jsonrpc":"2.0","id":1,"method":"ping"} ,
        1, [], {"jsonrpc":"2.0","id":2,"method":"x","method":"y"}, {"jsonrpc":"2.0","method":"ping"} ] "#;
    let Received::Batch(batch) = Received::parse(text.into()).unwrap() else {
        panic!("a batch")
    };
    assert_eq!(batch.len(), 5);
    assert_eq!(
        batch[0].as_ref().unwrap().raw(),
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
    );
    assert_eq!(batch[4].as_ref().unwrap().kind(), Kind::Notification);
    for bad in &batch[1..4] {
        assert_eq!(bad.as_ref().unwrap_err().to_error().code, -32600);
    }
    assert_eq!(batch[3].as_ref().unwrap_err().id(), Some(&Id::number(2)));
}

#[test]
fn a_batch_is_neither_empty_nor_endless() {
    assert_eq!(
        Received::parse("[ ]".into()).unwrap_err().to_error().code,
        -32600
    );
    let batch = |n: usize| {
        Received::parse(
            format!(
                "[{}]",
                vec![r#"{"jsonrpc":"2.0","method":"ping"}"#; n].join(",")
            )
            .into(),
        )
    };
    assert!(
        matches!(batch(limits::BATCH_MESSAGES), Ok(Received::Batch(all)) if all.len() == limits::BATCH_MESSAGES)
    );
    assert_eq!(
        batch(limits::BATCH_MESSAGES + 1)
            .unwrap_err()
            .to_error()
            .code,
        -32600
    );
    assert_eq!(
        Received::parse("[1,2".into()).unwrap_err().to_error().code,
        -32700
    );
}

#[test]
fn where_only_one_message_is_allowed_a_batch_is_an_invalid_request() {
    assert_eq!(
        code_of(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
        -32600
    );
    assert!(matches!(
        Received::parse(r#"{"jsonrpc":"2.0","method":"ping"}"#.into()),
        Ok(Received::One(_))
    ));
}

// ---- Replies that cannot be read.

#[test]
fn the_caller_of_an_unreadable_reply_is_found_if_the_id_comes_before_the_fault() {
    let deep = "[".repeat(2000);
    for raw in [
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":01}}"#,
        r#" {"id": 7 ,"result":tru"#,
        r#"{"\u0069d":7,"result":1,"result":2}"#,
        &format!(r#"{{"id":7,"result":{deep}"#),
    ] {
        assert!(parse(raw).is_err(), "{raw}");
        assert_eq!(salvage_id(raw.as_bytes()), Some(7), "{raw}");
    }
    assert_eq!(salvage_id(b"{\"id\":7,\"result\":\"\xff\"}"), Some(7));
}

#[test]
fn nobody_is_blamed_for_what_may_not_be_a_reply_to_him() {
    for raw in [
        r#"{"result":tru,"id":7}"#,
        r#"{"id":7,"method":"x","method":"y"}"#,
        r#"{"method":"x","id":7,"params":tru"#,
        r#"{"id":7,"id":8,"result":{}}"#,
        r#"{"id":7,"result":{},"\u0069d":7}"#,
        r#"{"id":"7","result":tru"#,
        r#"{"id":7.0,"result":tru"#,
        r#"{"result":{"id":7},x"#,
        r#"[{"id":7}"#,
        r#"{"id":7"#,
        "",
        "npm warn id 7",
    ] {
        let salvaged = salvage_id(raw.as_bytes());
        assert_eq!(salvaged, None, "{raw}");
    }
}
