use super::*;
use crate::json::tests::{gap, object, string_inner, value};
use crate::meta;
use proptest::{collection::vec, prelude::*};

/// A call with these params, or with none.
fn request(params: &str) -> Message {
    of_method("tools/call", params)
}

fn of_method(method: &str, params: &str) -> Message {
    let params = if params.is_empty() {
        String::new()
    } else {
        format!(",\"params\":{params}")
    };
    Message::parse(
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"{params}}}").into(),
    )
    .unwrap()
}

/// What `params` are after the progress token was set to 7.
fn with_token(params: &str) -> String {
    let message = request(params);
    let view = Params::of(&message).unwrap();
    let mut edits = Edits::new();
    view.set_meta(
        &message,
        &mut edits,
        view.progress_token,
        meta::PROGRESS_TOKEN,
        "7",
    );
    let sent = Message::parse(message.edited(&edits).into_bytes()).unwrap();
    String::from_utf8(sent.body().to_vec()).unwrap()
}

#[test]
fn the_token_is_set_in_every_shape_of_params() {
    for (before, after) in [
        ("", r#"{"_meta":{"progressToken":7}}"#),
        ("{}", r#"{"_meta":{"progressToken":7}}"#),
        ("{ \r\n\t}", "{\"_meta\":{\"progressToken\":7} \r\n\t}"),
        (r#"{"a":1}"#, r#"{"_meta":{"progressToken":7},"a":1}"#),
        (
            r#"{ "a" : 1 }"#,
            r#"{"_meta":{"progressToken":7}, "a" : 1 }"#,
        ),
        (r#"{"_meta":{}}"#, r#"{"_meta":{"progressToken":7}}"#),
        (
            r#"{"_meta":{ } ,"a":1}"#,
            r#"{"_meta":{"progressToken":7 } ,"a":1}"#,
        ),
        (
            r#"{"a":1,"_meta":{"x":{}}}"#,
            r#"{"a":1,"_meta":{"progressToken":7,"x":{}}}"#,
        ),
        (
            r#"{"_meta":{"progressToken":"t","x":1}}"#,
            r#"{"_meta":{"progressToken":7,"x":1}}"#,
        ),
        (
            r#"{"_meta":{"x":1, "progressToken" : null }}"#,
            r#"{"_meta":{"x":1, "progressToken" : 7 }}"#,
        ),
        (
            r#"{"_m\u0065ta":{"progressT\u006fken":1}}"#,
            r#"{"_m\u0065ta":{"progressT\u006fken":7}}"#,
        ),
        (
            r#"{"arguments":{"_meta":{"progressToken":1}}}"#,
            r#"{"_meta":{"progressToken":7},"arguments":{"_meta":{"progressToken":1}}}"#,
        ),
    ] {
        assert_eq!(with_token(before), after, "{before}");
    }
}

#[test]
fn where_there_is_no_place_for_it_nothing_changes() {
    for params in [
        r#"{"_meta":null}"#,
        r#"{"_meta":[]}"#,
        r#"{"_meta":"x","a":1}"#,
    ] {
        assert_eq!(with_token(params), params);
    }
}

#[test]
fn several_keys_can_be_set_in_one_go_in_every_shape() {
    for params in [
        "",
        "{}",
        "{ }",
        r#"{"a":1}"#,
        r#"{"_meta":{}}"#,
        r#"{"_meta":{ }}"#,
        r#"{"_meta":{"x":1}}"#,
        r#"{"_meta":{"progressToken":0}}"#,
    ] {
        let message = request(params);
        let view = Params::of(&message).unwrap();
        let mut edits = message.with_id(&crate::Id::number(9));
        view.set_meta(
            &message,
            &mut edits,
            view.progress_token,
            meta::PROGRESS_TOKEN,
            "7",
        );
        view.set_meta(
            &message,
            &mut edits,
            view.protocol_version,
            meta::PROTOCOL_VERSION,
            "\"v\"",
        );
        view.set_meta(
            &message,
            &mut edits,
            view.client_info,
            meta::CLIENT_INFO,
            "{\"n\":1}",
        );
        let sent = Message::parse(message.edited(&edits).into_bytes()).unwrap();
        let read = Params::of(&sent).unwrap();
        assert_eq!(sent.own_id(), Some(9));
        let values = [read.progress_token, read.protocol_version, read.client_info]
            .map(|span| Params::bytes(&sent, span).unwrap());
        assert_eq!(
            values,
            [&b"7"[..], b"\"v\"", b"{\"n\":1}"],
            "{params} became {:?}",
            sent.raw()
        );
    }
}

#[test]
fn members_can_be_added_together_with_meta_in_either_order() {
    for params in ["{}", "{ }", r#"{"a":1}"#] {
        for meta_first in [true, false] {
            let message = request(params);
            let view = Params::of(&message).unwrap();
            let body = message.body_span().unwrap();
            let mut edits = Edits::new();
            let set = |edits: &mut Edits| {
                view.set_meta(&message, edits, None, meta::PROGRESS_TOKEN, "7");
                view.set_meta(&message, edits, None, meta::LOG_LEVEL, "\"info\"");
            };
            if meta_first {
                set(&mut edits);
            }
            insert_member(&mut edits, &message, body, "\"x\":1");
            insert_member(&mut edits, &message, body, "\"name\":\"y\"");
            if !meta_first {
                set(&mut edits);
            }
            let sent = Message::parse(message.edited(&edits).into_bytes()).unwrap();
            let read = Params::of(&sent).unwrap();
            assert_eq!(Params::bytes(&sent, read.progress_token).unwrap(), "7");
            assert_eq!(Params::bytes(&sent, read.log_level).unwrap(), "\"info\"");
            assert_eq!(Params::bytes(&sent, read.name).unwrap(), "\"y\"");
        }
    }
}

#[test]
fn a_meta_inserted_as_a_member_can_still_be_added_to() {
    for inserted in ["\"_meta\":{}", "\"_meta\":{ \"x\":1}"] {
        let message = request("{\"a\":1}");
        let view = Params::of(&message).unwrap();
        let mut edits = Edits::new();
        insert_member(&mut edits, &message, message.body_span().unwrap(), inserted);
        view.set_meta(&message, &mut edits, None, meta::PROGRESS_TOKEN, "7");
        let sent = Message::parse(message.edited(&edits).into_bytes()).unwrap();
        let token = Params::of(&sent).unwrap().progress_token;
        assert_eq!(Params::bytes(&sent, token).unwrap(), "7", "{inserted}");
    }
}

#[test]
fn a_member_goes_first_whatever_the_object_holds() {
    for (object, after) in [
        ("{}", "{\"m\":1}"),
        ("{ \n}", "{\"m\":1 \n}"),
        ("{\"a\":{}}", "{\"m\":1,\"a\":{}}"),
        ("{ \"}\":1}", "{\"m\":1, \"}\":1}"),
    ] {
        let message = request(object);
        let mut edits = Edits::new();
        insert_member(
            &mut edits,
            &message,
            message.body_span().unwrap(),
            "\"m\":1",
        );
        let sent = Message::parse(message.edited(&edits).into_bytes()).unwrap();
        assert_eq!(sent.body(), after.as_bytes(), "{object}");
    }
}

#[test]
fn every_parameter_we_read_is_found_where_it_is() {
    let message = request(
        r#"{"name":"n","uri":"u","arguments":{},"task":{},"requestState":"s","inputResponses":{"r":1},"_meta":{
        "progressToken":1,"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{"c":1},
        "io.modelcontextprotocol\/clientInfo":{"i":1},"io.modelcontextprotocol/logLevel":"l","io.modelcontextprotocol/subscriptionId":2}}"#,
    );
    let params = Params::of(&message).unwrap();
    for (span, expected) in [
        (params.name, "\"n\""),
        (params.arguments, "{}"),
        (params.task, "{}"),
        (params.request_state, "\"s\""),
        (params.input_responses, "{\"r\":1}"),
        (params.progress_token, "1"),
        (params.protocol_version, "\"v\""),
        (params.client_capabilities, "{\"c\":1}"),
        (params.client_info, "{\"i\":1}"),
        (params.log_level, "\"l\""),
        (params.subscription_id, "2"),
    ] {
        assert_eq!(Params::bytes(&message, span).unwrap(), expected);
    }
    assert!(params.uri.is_none(), "a call has no use for it");
    for (method, body, place, expected) in [
        (
            "resources/read",
            r#"{"uri":"u"}"#,
            (|p| p.uri) as fn(&Params) -> Option<Span>,
            "\"u\"",
        ),
        ("tools/list", r#"{"cursor":"c"}"#, |p| p.cursor, "\"c\""),
        ("tasks/get", r#"{"taskId":"t"}"#, |p| p.task_id, "\"t\""),
        ("logging/setLevel", r#"{"level":"l"}"#, |p| p.level, "\"l\""),
        (
            "completion/complete",
            r#"{"ref":{}}"#,
            |p| p.reference,
            "{}",
        ),
    ] {
        let message = of_method(method, body);
        let params = Params::of(&message).unwrap();
        let bytes = Params::bytes(&message, place(&params));
        assert_eq!(bytes.unwrap(), expected, "{method}");
    }
}

#[test]
fn positional_params_are_refused_where_we_know_the_method() {
    for params in ["[]", r#"["delete_all",{"x":1}]"#] {
        for method in Method::ALL
            .iter()
            .filter(|method| !method.is_notification())
        {
            let fault = Params::of(&of_method(method.as_str(), params)).unwrap_err();
            assert_eq!(fault.code, code::INVALID_PARAMS, "{method:?}");
        }
        assert!(Params::of(&of_method("com.example/x", params)).is_ok());
    }
}

#[test]
fn a_method_that_must_name_something_and_does_not_is_refused() {
    for (method, bodies) in [
        (
            "tools/call",
            vec![
                "",
                "{}",
                r#"{"uri":"x"}"#,
                r#"{"name":null}"#,
                r#"{"name":1}"#,
            ],
        ),
        ("prompts/get", vec!["", "{}", r#"{"arguments":{}}"#]),
        ("resources/read", vec!["", "{}", r#"{"name":"x"}"#]),
        ("resources/subscribe", vec!["", r#"{"uri":[]}"#]),
        ("resources/unsubscribe", vec!["", "{}"]),
        ("tasks/get", vec!["", r#"{"task":"t"}"#]),
        ("tasks/result", vec!["{}"]),
        ("tasks/cancel", vec!["{}"]),
        ("tasks/update", vec!["{}"]),
        (
            "completion/complete",
            vec![
                "",
                "{}",
                r#"{"ref":null}"#,
                r#"{"ref":{"name":"x"}}"#,
                r#"{"ref":{"type":"ref/prompt"}}"#,
                r#"{"ref":{"type":"ref/prompt","uri":"x"}}"#,
                r#"{"ref":{"type":"ref/resource","name":"x"}}"#,
                r#"{"ref":{"type":"ref/resource","name":"x","uri":"y"}}"#,
                r#"{"ref":{"type":"ref/else","name":"x"}}"#,
            ],
        ),
    ] {
        for body in bodies {
            let message = of_method(method, body);
            let fault = Params::of(&message).unwrap().named(&message).unwrap_err();
            assert_eq!(fault.code, code::INVALID_PARAMS, "{method} {body}");
        }
    }
}

#[test]
fn a_request_without_an_id_and_a_notification_with_one_are_refused() {
    for method in Method::ALL {
        let name = method.as_str();
        let with_id = Params::of(&of_method(name, "{}"));
        let without = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{name}\",\"params\":{{}}}}");
        let without = Params::of(&Message::parse(without.into()).unwrap());
        let (good, bad) = match method.is_notification() {
            true => (without, with_id),
            false => (with_id, without),
        };
        assert!(good.is_ok(), "{name}");
        assert_eq!(bad.unwrap_err().code, code::INVALID_REQUEST, "{name}");
    }
}

#[test]
fn nothing_is_read_from_params_that_are_absent_or_empty() {
    for params in ["", "{}"] {
        let read = Params::of(&request(params)).unwrap();
        assert!(
            read.name.is_none() && read.meta.is_none() && read.progress_token.is_none(),
            "{params}"
        );
    }
}

#[test]
fn a_parameter_of_ours_that_comes_twice_is_refused_in_any_spelling() {
    for params in [
        r#"{"name":"a","name":"b"}"#,
        r#"{"name":"a","n\u0061me":"b"}"#,
        r#"{"arguments":{},"arguments":{}}"#,
        r#"{"task":1,"tas\u006b":1}"#,
        r#"{"requestState":1,"requestState":1}"#,
        r#"{"inputResponses":1,"inputResponses":1}"#,
        r#"{"_meta":{},"_meta":{}}"#,
        r#"{"_meta":{},"\u005fmeta":null}"#,
        r#"{"_meta":{"progressToken":1,"progress\u0054oken":2}}"#,
        r#"{"_meta":{"io.modelcontextprotocol/clientInfo":1,"io.modelcontextprotocol\/clientInfo":1}}"#,
        r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1,"io.modelcontextprotocol/subscriptionId":1}}"#,
    ] {
        let fault = Params::of(&request(params)).unwrap_err();
        assert_eq!(fault.code, code::INVALID_PARAMS, "{params}");
        assert!(fault.message.contains("duplicate key"), "{}", fault.message);
    }
}

#[test]
fn duplicates_of_what_we_do_not_read_cross() {
    let params = r#"{"x":1,"x":2,"arguments":{"name":1,"name":2},"_meta":{"y":1,"y":2}}"#;
    assert!(Params::of(&request(params)).is_ok());
}

#[test]
fn a_text_parameter_must_be_a_string_that_stands_for_text() {
    for (params, expected) in [
        (r#"{"name":"a\u0062"}"#, Some("ab")),
        ("{}", None),
        (r#"{"name":""}"#, Some("")),
    ] {
        let message = request(params);
        let name = Params::of(&message).unwrap().name;
        assert_eq!(
            Params::text(&message, name, "name").unwrap().as_deref(),
            expected
        );
    }
    for params in [
        r#"{"name":1}"#,
        r#"{"name":null}"#,
        r#"{"name":{}}"#,
        r#"{"name":"\ud800"}"#,
    ] {
        let message = request(params);
        let name = Params::of(&message).unwrap().name;
        let fault = Params::text(&message, name, "name").unwrap_err();
        assert_eq!(
            (fault.code, fault.message.contains("\"name\"")),
            (code::INVALID_PARAMS, true),
            "{params}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Taking the inserted text out again gives back what came.
    #[test]
    fn setting_a_token_that_was_not_there_only_adds_bytes(
        members in vec((string_inner(), value()), 0..4), meta in proptest::option::of(vec((string_inner(), value()), 0..3)), gaps in vec(gap(), 21),
    ) {
        let unknown = |list: Vec<(String, String)>| -> Vec<_> {
            list.into_iter().map(|(key, value)| (format!("\"x{key}\""), value)).collect()
        };
        let mut members = unknown(members);
        if let Some(meta) = meta {
            members.push(("\"_meta\"".into(), object(&unknown(meta), &gaps)));
        }
        let message = request(&object(&members, &gaps));
        let view = Params::of(&message).unwrap();
        let mut edits = Edits::new();
        view.set_meta(&message, &mut edits, None, meta::PROGRESS_TOKEN, "7");
        let sent = message.edited(&edits).into_bytes();
        let raw = message.raw();
        let same = raw.iter().zip(&sent).take_while(|(a, b)| a == b).count();
        let added = sent.len() - raw.len();
        prop_assert!((0..=same).any(|at| raw[..at] == sent[..at] && raw[at..] == sent[at + added..]));
        let again = Message::parse(sent).unwrap();
        let token = Params::of(&again).unwrap().progress_token;
        prop_assert_eq!(Params::bytes(&again, token).unwrap(), "7");
    }
}
