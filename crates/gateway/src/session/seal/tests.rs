use super::*;
use bytes::Bytes;

fn call(params: &str) -> Message {
    let text =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}");
    Message::parse(Bytes::from(text)).expect("a message")
}

fn binding(principal: &str, server: &str, params: &str) -> Binding {
    bound(principal, server, &call(params))
}

fn bound(principal: &str, server: &str, message: &Message) -> Binding {
    let params = Params::of(message).expect("parameters that can be read");
    Binding::of(principal, server, message, &params)
}

const PARAMS: &str = r#"{"name":"t","arguments":{"a":1,"b":[true,null]}}"#;

#[test]
fn what_was_closed_opens_for_the_same_request() {
    let seal = Seal::new();
    let text = seal.close(b"content", &binding("p", "s", PARAMS));
    assert_eq!(
        seal.open(&text, &binding("p", "s", PARAMS)).as_deref(),
        Some(&b"content"[..])
    );
    // The same arguments, written differently.
    let respelled =
        r#"{ "arguments" : {"b":[true, null], "\u0061":1}, "name":"t", "requestState":"x" }"#;
    assert!(seal.open(&text, &binding("p", "s", respelled)).is_some());
}

#[test]
fn every_flipped_bit_is_noticed() {
    let seal = Seal::new();
    let text = seal.close(b"content", &binding("p", "s", PARAMS));
    let bytes = URL_SAFE_NO_PAD.decode(&text).expect("base64");
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut altered = bytes.clone();
            altered[at] ^= 1 << bit;
            let altered = URL_SAFE_NO_PAD.encode(altered);
            assert!(
                seal.open(&altered, &binding("p", "s", PARAMS)).is_none(),
                "byte {at}, bit {bit}"
            );
        }
    }
    for cut in 0..text.len() {
        assert!(
            seal.open(&text[..cut], &binding("p", "s", PARAMS))
                .is_none(),
            "cut at {cut}"
        );
    }
}

#[test]
fn it_opens_for_nobody_else_and_nothing_else() {
    let seal = Seal::new();
    let text = seal.close(b"content", &binding("p", "s", PARAMS));
    for (principal, server, params) in [
        ("q", "s", PARAMS),
        ("p", "t", PARAMS),
        ("ps", "", PARAMS),
        (
            "p",
            "s",
            r#"{"name":"u","arguments":{"a":1,"b":[true,null]}}"#,
        ),
        (
            "p",
            "s",
            r#"{"name":"t","arguments":{"a":2,"b":[true,null]}}"#,
        ),
        (
            "p",
            "s",
            r#"{"name":"t","arguments":{"a":1,"b":[null,true]}}"#,
        ),
        ("p", "s", r#"{"name":"t"}"#),
    ] {
        assert!(
            seal.open(&text, &binding(principal, server, params))
                .is_none(),
            "{principal} {server} {params}"
        );
    }
    let read = Message::parse(Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"t","arguments":{"a":1,"b":[true,null]}}}"#));
    assert!(
        seal.open(&text, &bound("p", "s", &read.expect("a message")))
            .is_none(),
        "another method"
    );
}

#[test]
fn a_restart_makes_it_void() {
    let text = Seal::new().close(b"content", &binding("p", "s", PARAMS));
    assert!(
        Seal::new()
            .open(&text, &binding("p", "s", PARAMS))
            .is_none()
    );
}

/// What one reader takes for `{"path":"b"}` another takes for `{"path":"a"}`.
#[test]
fn arguments_with_a_key_twice_are_only_themselves() {
    let seal = Seal::new();
    let once = r#"{"name":"t","arguments":{"path":"b"}}"#;
    let text = seal.close(b"content", &binding("p", "s", once));
    for other in [
        r#"{"name":"t","arguments":{"path":"a","path":"b"}}"#,
        r#"{"name":"t","arguments":{"path":"b","Path":"b"}}"#,
    ] {
        assert!(seal.open(&text, &binding("p", "s", other)).is_none());
        let own = seal.close(b"content", &binding("p", "s", other));
        assert!(seal.open(&own, &binding("p", "s", other)).is_some());
        assert!(seal.open(&own, &binding("p", "s", once)).is_none());
    }
}
