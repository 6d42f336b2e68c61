use super::*;
use serde_json::json;

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object"},
        "maybe": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    }})
}

fn parse(whole: Option<&str>, pairs: &[String], schema: &Value) -> Result<Arguments, Failure> {
    let arguments = whole.map(super::whole).transpose()?.unwrap_or_default();
    with_pairs(arguments, pairs, schema)
}

fn text(whole: Option<&str>, pairs: &[&str]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
    parse(whole, &pairs, &schema()).unwrap().text()
}

#[test]
fn values_are_typed_by_the_schema() {
    for (pair, expected) in [
        ("text=7", r#"{"text":"7"}"#),
        ("text=a=b", r#"{"text":"a=b"}"#),
        ("text=@@home", r#"{"text":"@home"}"#),
        ("count=7", r#"{"count":7}"#),
        (
            "count=123456789012345678901234567890",
            r#"{"count":123456789012345678901234567890}"#,
        ),
        ("ratio=7", r#"{"ratio":7}"#),
        ("ratio=0.10", r#"{"ratio":0.10}"#),
        ("on=true", r#"{"on":true}"#),
        ("tags=x", r#"{"tags":["x"]}"#),
        (r#"tags=["x","y"]"#, r#"{"tags":["x","y"]}"#),
        (r#"where={"a":1}"#, r#"{"where":{"a":1}}"#),
        ("maybe=null", r#"{"maybe":null}"#),
        ("maybe=5", r#"{"maybe":"5"}"#),
        ("either=5", r#"{"either":5}"#),
        ("either=five", r#"{"either":"five"}"#),
        ("unknown=5", r#"{"unknown":5}"#),
        ("unknown=five", r#"{"unknown":"five"}"#),
    ] {
        assert_eq!(text(None, &[pair]), expected, "{pair}");
    }
    assert_eq!(
        text(None, &["tags=x", "tags=y", "count=1"]),
        r#"{"count":1,"tags":["x","y"]}"#
    );
    for pair in [
        "count=many",
        "count=1.5",
        "on=yes",
        "where=x",
        "=x",
        "novalue",
    ] {
        assert!(
            parse(None, &[pair.to_owned()], &schema()).is_err(),
            "{pair}"
        );
    }
}

#[test]
fn json_goes_as_it_was_written() {
    let odd = r#"{"a": 1e400, "a": 0.1000, "text":"\ud800"}"#;
    assert_eq!(text(Some(odd), &[]), odd);
    assert_eq!(text(Some("{\n\"a\": 1\n}"), &[]), "{ \"a\": 1 }");
    assert_eq!(
        text(Some(r#"{"a": 1e400, "count": 1}"#), &["count=2"]),
        r#"{"a":1e400,"count":2}"#
    );
    for bad in ["", "{", "[]", "7", "{a:1}"] {
        assert!(parse(Some(bad), &[], &schema()).is_err(), "{bad}");
    }
}

#[test]
fn files_are_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{\"count\": 3}").unwrap();
    let path = file.path().display();
    assert_eq!(text(Some(&format!("@{path}")), &[]), "{\"count\": 3}");
    assert_eq!(
        text(None, &[&format!("text=@{path}")]),
        r#"{"text":"{\"count\": 3}"}"#
    );
    assert_eq!(
        text(None, &[&format!("where=@{path}")]),
        r#"{"where":{"count": 3}}"#
    );
}
