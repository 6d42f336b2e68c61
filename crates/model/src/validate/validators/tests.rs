use super::*;
use serde_json::json;
use std::time::Duration;

/// Time enough on the busiest machine, where time is not what is tested.
const PATIENT: Duration = Duration::from_secs(60);

pub(super) async fn check(schema: &Value, value: &Value) -> Verdict {
    Validators::new(PATIENT)
        .check(schema.to_string().as_bytes(), value.to_string().as_bytes())
        .await
}

async fn issues(schema: Value, value: Value) -> Vec<String> {
    match check(&schema, &value).await {
        Verdict::Invalid(invalid) => invalid.issues.iter().map(ToString::to_string).collect(),
        other => panic!("{schema} and {value}: {other:?}"),
    }
}

#[tokio::test]
async fn a_fault_names_the_path_and_what_would_be_right() {
    let object =
        |name: &str, schema: Value| json!({ "type": "object", "properties": { name: schema } });
    let table = [
        (
            object("count", json!({ "type": "integer" })),
            json!({ "count": "five" }),
            "count: must be an integer, not the string \"five\"",
        ),
        (
            object("x", json!({ "type": ["string", "null"] })),
            json!({ "x": 1.5 }),
            "x: must be null or a string, not the number 1.5",
        ),
        (
            object("unit", json!({ "enum": ["c", "f"] })),
            json!({ "unit": "k" }),
            "unit: must be one of \"c\", \"f\", not \"k\"",
        ),
        (
            object("k", json!({ "const": 1 })),
            json!({ "k": 2 }),
            "k: must be 1, not 2",
        ),
        (
            object("n", json!({ "minimum": 1 })),
            json!({ "n": 0 }),
            "n: must be at least 1, not 0",
        ),
        (
            object("n", json!({ "exclusiveMaximum": 5 })),
            json!({ "n": 5 }),
            "n: must be less than 5, not 5",
        ),
        (
            object("s", json!({ "maxLength": 2 })),
            json!({ "s": "äöü" }),
            "s: must have at most 2 characters, not 3",
        ),
        (
            object("l", json!({ "items": { "type": "boolean" } })),
            json!({ "l": [true, 0] }),
            "l[1]: must be a boolean, not the number 0",
        ),
        (
            object("l", json!({ "minItems": 2 })),
            json!({ "l": [1] }),
            "l: must have at least 2 elements, not 1",
        ),
        (
            object("s", json!({ "pattern": "^a+$" })),
            json!({ "s": "b" }),
            "s: must match the pattern ^a+$, and \"b\" does not",
        ),
        (
            json!({ "type": "object", "properties": { "path": { "type": "string", "description": "Where" } }, "required": ["path"] }),
            json!({}),
            "\"path\" is missing; it takes a string (Where)",
        ),
        (
            json!({ "type": "object", "properties": { "path": {}, "mode": {} }, "additionalProperties": false }),
            json!({ "file": 1 }),
            "there is no \"file\"; it has \"path\", \"mode\"",
        ),
        (
            object(
                "a",
                object(
                    "b c",
                    json!({ "type": "array", "items": object("d", json!({ "type": "null" })) }),
                ),
            ),
            json!({ "a": { "b c": [{ "d": 1 }] } }),
            "a[\"b c\"][0].d: must be null, not the number 1",
        ),
        (
            object(
                "t",
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            ),
            json!({ "t": true }),
            "t: fits none of its 2 alternatives; for the nearest: t: must be a string, not the boolean true",
        ),
    ];
    for (schema, value, expected) in table {
        assert_eq!(issues(schema, value).await, [expected]);
    }
}

#[tokio::test]
async fn several_faults_are_told_but_not_a_thousand() {
    let schema = json!({ "type": "array", "items": { "type": "string" } });
    let value = json!(vec![1; 1000]);
    let Verdict::Invalid(invalid) = check(&schema, &value).await else {
        panic!()
    };
    assert_eq!(
        (invalid.issues.len(), invalid.more),
        (limits::ISSUES_TOLD, true)
    );
    assert!(invalid.to_string().ends_with("; and more"));
}

#[tokio::test]
async fn hostile_text_is_harmless_in_a_fault() {
    let text = issues(
        json!({ "properties": { "a": { "const": "\u{1b}[2J\u{202e}" } } }),
        json!({ "a": "\u{1b}]0;x\u{7}" }),
    )
    .await;
    assert!(
        !text[0].chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{text:?}"
    );
    let long = issues(json!({ "type": "integer" }), json!("x".repeat(100_000))).await;
    assert!(long[0].len() < 300);
}

#[tokio::test]
async fn dialects() {
    // Tuples were written as `items` up to 2019-09; the newest is meant where nothing is said.
    let tuple = json!([{ "type": "string" }]);
    for (schema, valid) in [
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": tuple }),
            false,
        ),
        (
            json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": tuple }),
            false,
        ),
        (json!({ "prefixItems": tuple }), false),
        (
            json!({ "$schema": "https://example.com/unknown", "prefixItems": tuple }),
            false,
        ),
        (json!({ "prefixItems": [{ "type": "integer" }] }), true),
        (json!(true), true),
    ] {
        let verdict = check(&schema, &json!([1])).await;
        assert_eq!(verdict == Verdict::Valid, valid, "{schema}: {verdict:?}");
        assert!(
            !matches!(verdict, Verdict::Unchecked(_)),
            "{schema}: {verdict:?}"
        );
    }
}

#[tokio::test]
async fn references_inside_work_and_those_elsewhere_are_never_followed() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" }, "v": { "$ref": "#int" } } }, "i": { "$anchor": "int", "type": "integer" } },
    });
    assert_eq!(
        check(&tree, &json!({ "next": { "next": { "v": 1 } } })).await,
        Verdict::Valid
    );
    assert_eq!(
        issues(tree, json!({ "next": { "v": "x" } })).await,
        ["next.v: must be an integer, not the string \"x\""]
    );

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.json");
    std::fs::write(&file, "{\"type\":\"string\"}").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}/schema.json", listener.local_addr().unwrap());
    for reference in [
        address,
        format!("file://{}", file.display()),
        "other.json".to_owned(),
        "#/$defs/none".to_owned(),
        "#none".to_owned(),
    ] {
        for key in ["$ref", "$dynamicRef"] {
            let schema = json!({ "properties": { "a": { key: reference } } });
            let Verdict::Unchecked(reason) = check(&schema, &json!({ "a": 1 })).await else {
                panic!("{reference}")
            };
            assert!(reason.contains("it refers to"), "{reason}");
        }
    }
    assert!(listener.accept().is_err(), "somebody connected");
}

#[tokio::test]
async fn patterns_that_need_backtracking_do_not_cost_the_rest() {
    // As common generators write it for an e-mail address.
    let schema = json!({
        "type": "object",
        "properties": { "mail": { "type": "string", "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$", "minLength": 3 } },
        "patternProperties": { "^(?!x)": { "type": "string" }, "^n_": { "type": "integer" } },
        "additionalProperties": false,
    });
    assert_eq!(
        check(&schema, &json!({ "mail": "a@b" })).await,
        Verdict::Valid
    );
    // Which they are is told.
    let validators = Validators::new(PATIENT);
    let text = schema.to_string();
    validators.check(text.as_bytes(), b"{}").await;
    assert_eq!(
        validators.left_out(text.as_bytes()),
        ["^(?!x)", "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$"]
    );
    assert_eq!(validators.left_out(b"{}"), [] as [&str; 0]);
    assert_eq!(
        issues(schema.clone(), json!({ "mail": "a" })).await,
        ["mail: must have at least 3 characters, not 1"]
    );
    assert_eq!(
        issues(schema.clone(), json!({ "n_a": "x" })).await,
        ["n_a: must be an integer, not the string \"x\""]
    );
    assert_eq!(
        check(&schema, &json!({ "other": "x" })).await,
        Verdict::Valid
    );
}

#[tokio::test]
async fn what_is_too_large_is_not_even_read() {
    let schema = format!(
        "{{\"description\":\"{}\"}}",
        "x".repeat(limits::SCHEMA_BYTES)
    );
    let verdict = Validators::default().check(schema.as_bytes(), b"1").await;
    assert!(matches!(verdict, Verdict::Unchecked(reason) if reason.contains("the schema has")));
    let value = format!("\"{}\"", "x".repeat(limits::CHECKED_BYTES));
    let verdict = Validators::default().check(b"{}", value.as_bytes()).await;
    assert!(matches!(verdict, Verdict::Unchecked(reason) if reason.contains("the value has")));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(
        Validators::default().check(b"{}", deep.as_bytes()).await,
        Verdict::Unchecked(_)
    ));
    assert!(matches!(
        Validators::default().check(deep.as_bytes(), b"{}").await,
        Verdict::Unchecked(_)
    ));
}

#[tokio::test]
async fn compiled_schemas_are_kept_and_bounded() {
    let validators = Validators::new(PATIENT);
    for n in 0..limits::SCHEMAS_KEPT + 20 {
        let schema = format!("{{\"maximum\":{n}}}");
        assert_eq!(
            validators.check(schema.as_bytes(), b"0").await,
            Verdict::Valid
        );
        // The first is used all the time, so it stays.
        assert_eq!(
            validators.check(b"{\"maximum\":0}", b"0").await,
            Verdict::Valid
        );
    }
    assert_eq!(validators.kept(), limits::SCHEMAS_KEPT);
    let key: Key = Sha256::digest(b"{\"maximum\":0}").into();
    assert!(validators.kept.lock().get(&key).is_some());
    let key: Key = Sha256::digest(b"{\"maximum\":1}").into();
    assert!(validators.kept.lock().get(&key).is_none());
}
