use super::*;
use serde_json::json;

fn filled(schema: Value, typed: &str) -> (Filled, String) {
    let params = json!({"message": "tell\u{1b}[2J", "requestedSchema": schema});
    let mut out = Vec::new();
    let filled = fill("s", &params, &mut typed.as_bytes(), &mut out);
    (filled, String::from_utf8(out).unwrap())
}

fn one(schema: Value, typed: &str) -> Filled {
    filled(
        json!({"properties": {"x": schema}, "required": ["x"]}),
        typed,
    )
    .0
}

fn accepted(value: Value) -> Filled {
    Filled::Accepted(json!({ "x": value }).as_object().unwrap().clone())
}

#[test]
fn every_type_is_read_and_checked() {
    for (schema, typed, expected) in [
        (json!({"type": "string"}), "a b\n", json!("a b")),
        (
            json!({"type": "string", "minLength": 2}),
            "a\nab\n",
            json!("ab"),
        ),
        (
            json!({"type": "string", "format": "email"}),
            "no\na@b\n",
            json!("a@b"),
        ),
        (
            json!({"type": "string", "format": "uri"}),
            "no\nx:y\n",
            json!("x:y"),
        ),
        (
            json!({"type": "string", "format": "date"}),
            "x\n2026-07-28\n",
            json!("2026-07-28"),
        ),
        (
            json!({"type": "integer", "maximum": 9}),
            "1.5\n10\n9\n",
            json!(9),
        ),
        (
            json!({"type": "number", "minimum": 0}),
            "x\n-1\n0.5\n",
            json!(0.5),
        ),
        (json!({"type": "boolean"}), "maybe\nyes\n", json!(true)),
        (
            json!({"type": "boolean", "default": false}),
            "\n",
            json!(false),
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            "3\n2\n",
            json!("b"),
        ),
        (
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A!", "B!"]}),
            "B!\n",
            json!("b"),
        ),
        (
            json!({"type": "string", "oneOf": [{"const": "a", "title": "Ay"}]}),
            "Ay\n",
            json!("a"),
        ),
        (
            json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2}),
            "1,2,3\n1, c\n",
            json!(["a", "c"]),
        ),
        (json!({"type": "string", "default": "d"}), "\n", json!("d")),
    ] {
        assert_eq!(
            one(schema.clone(), typed),
            accepted(expected),
            "{schema} {typed:?}"
        );
    }
}

/// What the screen draws is asked for here, too.
#[test]
fn fields_beyond_plain_ones_are_asked_for() {
    for (schema, typed, expected) in [
        (
            json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
            "x\n{\"a\": 1}\n",
            json!({"a": 1}),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            "1, x\n1, 2\n",
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "items": {"type": "object", "properties": {}}}),
            "[{}]\n",
            json!([{}]),
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}),
            "maybe\nyes\n",
            json!(true),
        ),
        (json!({"type": ["integer", "null"]}), "null\n", json!(null)),
        (
            json!({"description": "anything"}),
            "some text\n",
            json!("some text"),
        ),
        (json!({"$ref": "#/$defs/it"}), "b\n2\n", json!(2)),
    ] {
        let whole = json!({
            "$defs": {"it": {"type": "integer"}},
            "properties": {"x": schema},
            "required": ["x"],
        });
        let (filled, out) = filled(whole, typed);
        assert_eq!(filled, accepted(expected), "{schema} {typed:?}: {out}");
    }
}

#[test]
fn what_is_needed_is_asked_for_again_and_the_rest_left_out() {
    assert_eq!(
        one(json!({"type": "string"}), "\n\n\n\n\n"),
        Filled::Cancelled
    );
    let optional = json!({"properties": {"x": {"type": "string"}}});
    assert_eq!(filled(optional, "\n").0, Filled::Accepted(Map::new()));
}

#[test]
fn a_person_can_decline_and_go() {
    assert_eq!(one(json!({"type": "string"}), "!\n"), Filled::Declined);
    assert_eq!(one(json!({"type": "string"}), ""), Filled::Cancelled);
}

#[test]
fn a_server_cannot_disturb_the_terminal() {
    let (_, out) = filled(
        json!({"properties": {"x": {"description": "\u{1b}]0;t\u{7}"}}}),
        "\n",
    );
    assert!(!out.contains('\u{1b}') && !out.contains('\u{7}'), "{out:?}");
}

#[test]
fn an_address_is_shown_and_never_opened() {
    let params = json!({"mode": "url", "message": "sign in", "url": "https://example.com/a?b=c"});
    for (typed, expected) in [
        ("y\n", Filled::Visited),
        ("\n", Filled::Cancelled),
        ("!\n", Filled::Declined),
        ("", Filled::Cancelled),
    ] {
        let mut out = Vec::new();
        assert_eq!(
            visit("s", &params, &mut typed.as_bytes(), &mut out),
            expected
        );
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("https://example.com/a?b=c"), "{out}");
    }
}

#[test]
fn only_a_clear_yes_is_one() {
    let question = |may_remember| Consent {
        server: "s".to_owned(),
        kind: "tool",
        tool: "t".to_owned(),
        canonical: "mcp__s__t".to_owned(),
        reason: "mode default".to_owned(),
        hints: Vec::new(),
        arguments: Some("{}".to_owned()),
        may_remember,
    };
    for (typed, remember, expected) in [
        ("y\n", true, Verdict::Once),
        ("a\n", true, Verdict::Always),
        ("never\n", true, Verdict::Never),
        ("a\n", false, Verdict::No),
        ("\n", true, Verdict::No),
        ("", true, Verdict::No),
        ("sure\n", true, Verdict::No),
    ] {
        let mut out = Vec::new();
        let said = consent(&question(remember), &mut typed.as_bytes(), &mut out);
        assert_eq!(said, expected, "{typed:?}");
    }
}

/// What a gateway asks because of its rules is no question of the server's, and is answered
/// in one word.
#[test]
fn a_rule_of_the_gateway_asks_itself() {
    let asks = |words: &[&str]| {
        json!({"message": "[switchboard] Allow the tool s__t of server \"s\"?",
            "requestedSchema": {"type": "object", "required": ["answer"],
                "properties": {"answer": {"type": "string", "enum": words}}}})
    };
    let once = ["yes, this time", "no"];
    let all = [
        "yes, this time",
        "yes, until Switchboard ends",
        "yes, from now on",
        "no",
        "no, never",
    ];
    for (words, typed, right) in [
        (&once[..], "y\n", "yes, this time"),
        (&once, "Yes\n", "yes, this time"),
        (&once, "n\n", "no"),
        (&once, "no\n", "no"),
        (&once, "always\n", "no"),
        (&all, "a\n", "yes, from now on"),
        (&all, "never\n", "no, never"),
        (&all, "", "no"),
    ] {
        let mut out = Vec::new();
        let filled = fill("system", &asks(words), &mut typed.as_bytes(), &mut out);
        let expected = json!({ "answer": right }).as_object().unwrap().clone();
        assert_eq!(filled, Filled::Accepted(expected), "{typed:?}");
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains("server system asks"), "{out}");
        assert!(out.contains("rule of the gateway asks"), "{out}");
    }
    // A server's own form stays the server's.
    let mut out = Vec::new();
    let theirs = asks(&["yes, this time", "as you like"]);
    fill("system", &theirs, &mut "".as_bytes(), &mut out);
    assert!(
        String::from_utf8(out)
            .unwrap()
            .contains("server system asks")
    );
}
