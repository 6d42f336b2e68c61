use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn put(text: &str, carried: &Carried) -> String {
    let message = Message::parse(text.to_owned().into_bytes().into()).unwrap();
    let params = Params::of(&message).unwrap();
    let mut edits = Edits::new();
    carried.put_in_meta(&message, &params, &mut edits);
    String::from_utf8(message.edited(&edits).into_bytes().to_vec()).unwrap()
}

fn carried(state: Option<&str>, baggage: Option<&str>) -> Carried {
    Carried::read(Some(PARENT), state, baggage)
}

#[test]
fn what_is_read_is_written_again() {
    let context = TraceContext::parse(PARENT, Some("a=1,b@c=x y")).unwrap();
    assert_eq!(context.parent(), PARENT);
    assert_eq!(context.state.as_deref(), Some("a=1,b@c=x y"));
    assert!(context.is_recorded());
    assert!(!context.clone().recorded(false).is_recorded());
    assert_eq!(context.clone().recorded(false).recorded(true), context);
}

#[test]
fn what_is_no_place_in_a_trace_is_none() {
    for bad in [
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
        "00-0af7651916cd43dd8448eb211c80319ü-b7ad6b7169203331-01",
    ] {
        assert_eq!(TraceContext::parse(bad, None), None, "{bad:?}");
    }
    let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes";
    assert_eq!(TraceContext::parse(later, None).unwrap().parent(), PARENT);
    let flags = PARENT.replace("-01", "-ff");
    let known = TraceContext::parse(&flags, None).unwrap();
    assert_eq!(known.parent(), PARENT.replace("-01", "-03"));
}

#[test]
fn a_state_that_cannot_be_read_is_left_out() {
    let long = format!("a={}", "x".repeat(limits::TRACESTATE_BYTES));
    let many = vec!["a=1"; limits::TRACESTATE_MEMBERS + 1].join(",");
    for bad in ["", "a", "A=1", "a=", "a=1=2", "a=ü", &long, &many] {
        let context = TraceContext::parse(PARENT, Some(bad)).unwrap();
        assert_eq!(context.state, None, "{bad:?}");
    }
}

#[test]
fn baggage_is_what_a_header_can_say() {
    let long = "a=".repeat(limits::BAGGAGE_BYTES);
    for bad in ["", " ", "a=\n", "a=ü", &long] {
        assert_eq!(Carried::read(None, None, Some(bad)), Carried::default());
    }
    let good = Carried::read(None, None, Some("user=5;p=1,a=%20"));
    assert_eq!(good.baggage.as_deref(), Some("user=5;p=1,a=%20"));
}

#[test]
fn it_is_put_where_it_was_and_nothing_else_changes() {
    let other = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name":"x","_meta":{"a":1, "traceparent" : "old","tracestate":"x=1","baggage":"b=1" } }}"#;
    let put = put(other, &carried(None, None));
    assert_eq!(
        put,
        other
            .replace("\"old\"", &format!("\"{PARENT}\""))
            .replace("\"x=1\"", "\"\"")
    );
}

#[test]
fn it_is_put_where_nothing_was() {
    let all = carried(Some("a=1"), Some("b=2"));
    for (before, after) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, vec![]),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#,
            vec![],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{}}}"#,
            vec![],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"y"}}}"#,
            vec![("x", "y")],
        ),
    ] {
        let put = put(before, &all);
        let message = Message::parse(put.clone().into_bytes().into()).unwrap();
        let params = Params::of(&message).unwrap();
        assert_eq!(Carried::in_meta(&message, &params), all, "{put}");
        for (key, value) in after {
            assert!(put.contains(&format!("{key:?}:{value:?}")), "{put}");
        }
    }
}

#[test]
fn one_that_stands_there_twice_says_nothing_and_is_ours_twice() {
    let twice = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"traceparent":"{PARENT}","traceparent":"x"}}}}}}"#
    );
    let message = Message::parse(twice.clone().into_bytes().into()).unwrap();
    let params = Params::of(&message).unwrap();
    assert!(Carried::in_meta(&message, &params).is_empty());
    let put = put(&twice, &carried(None, None));
    assert_eq!(put.matches(PARENT).count(), 2);
}
