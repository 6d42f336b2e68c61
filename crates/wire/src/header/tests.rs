use super::*;
use crate::json::{quote, tests::value};
use proptest::prelude::*;

fn params(schema: &str) -> Result<Vec<(String, Vec<String>)>, MirrorError> {
    json::check(schema.as_bytes()).unwrap_or_else(|e| panic!("{schema}: {e}"));
    Ok(mirrored_params(schema.as_bytes())?
        .into_iter()
        .map(|param| (param.header, param.path))
        .collect())
}

/// One annotated property, `a`.
fn annotated(header: &str) -> String {
    format!(
        r#"{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":{header}}}}}}}"#
    )
}

fn value_at(arguments: &str, path: &[&str]) -> Option<String> {
    let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
    mirrored_value(arguments.as_bytes(), &path).expect("no argument is unclear")
}

// ---- Values.

/// The five examples of the specification.
#[test]
fn the_examples_of_the_specification_hold() {
    for (value, header) in [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ] {
        assert_eq!(encode(value), header);
        assert_eq!(decode(header.as_bytes()).as_deref(), Some(value));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_value_survives_as_a_header(
        value in prop_oneof![any::<String>(), "[ -~\t]{0,20}", "=\\?base64\\?[A-Za-z0-9+/= ]{0,8}\\?="],
    ) {
        let header = encode(&value).into_owned();
        prop_assert!(header.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)), "{header:?}");
        prop_assert_eq!(header.trim_matches([' ', '\t']), &header, "a proxy may trim it");
        prop_assert_eq!(decode(header.as_bytes()).map(Cow::into_owned), Some(value));
    }

    #[test]
    fn what_arrives_is_read_or_refused_but_never_guessed(header in any::<Vec<u8>>()) {
        if let Some(value) = decode(&header) {
            let plain = value.as_bytes() == header;
            prop_assert!(plain || encode(&value).as_bytes() == header || header.starts_with(b"=?base64?"));
        }
    }
}

#[test]
fn whatever_could_be_taken_for_the_encoded_form_is_encoded() {
    // The last one only looks like it: prefix and suffix share their `?`.
    for value in ["=?base64??=", "=?base64?x?=", "=?base64?="] {
        assert_eq!(
            encode(value),
            format!("=?base64?{}?=", STANDARD.encode(value))
        );
        assert_eq!(decode(encode(value).as_bytes()).as_deref(), Some(value));
    }
    for plain in [
        "=?base64?",
        "?=",
        "=?BASE64?eA==?=",
        "x=?base64?eA==?=",
        "=?base64?eA==?=x",
        "",
        "a b\tc",
    ] {
        assert_eq!(encode(plain), plain);
        assert_eq!(decode(plain.as_bytes()).as_deref(), Some(plain));
    }
}

#[test]
fn a_header_that_holds_forbidden_bytes_or_bad_base64_is_refused() {
    for bad in [
        &b"a\rb"[..],
        b"a\nb",
        b"\0",
        b"\x7f",
        "é".as_bytes(),
        b"\xff",
        b"=?base64?!!?=",
        b"=?base64?eA?=",
        b"=?base64?eA=?=",
        b"=?base64?eB==?=",
        b"=?base64? eA==?=",
        b"=?base64?/w==?=",
        b"=?base64?eA==eA==?=",
    ] {
        assert_eq!(decode(bad), None, "{}", String::from_utf8_lossy(bad));
    }
    assert_eq!(decode(b"=?base64??=").as_deref(), Some(""));
}

// ---- Schemas: each rule of the specification once.

#[test]
fn the_specifications_tool_is_read() {
    let schema = r#"{"type":"object","properties":{
        "region":{"type":"string","description":"The region","x-mcp-header":"Region"},
        "query":{"type":"string"}},"required":["region","query"]}"#;
    assert_eq!(
        params(schema),
        Ok(vec![("Region".into(), vec!["region".into()])])
    );
    assert_eq!(
        params(r#"{"type":"object","properties":{"query":{"type":"string"}}}"#),
        Ok(vec![])
    );
}

#[test]
fn the_name_must_be_a_token() {
    for good in ["A", "x-1", "!#$%&'*+-.^_`|~09Az"] {
        assert_eq!(
            params(&annotated(&quote(good))),
            Ok(vec![(good.into(), vec!["a".into()])])
        );
    }
    for bad in [
        "",
        " ",
        "a b",
        "a:b",
        "a/b",
        "(a)",
        "a\r",
        "a\nb",
        "a\r\nX-Evil: 1",
        "a\0",
        "é",
        "a\u{7f}",
        "a,b",
        "\"a\"",
        "a=b",
        "[a]",
        "{a}",
        "a@b",
        "a;b",
        "a?b",
        "a\\b",
        "<a>",
    ] {
        assert!(params(&annotated(&quote(bad))).is_err(), "{bad:?}");
    }
}

#[test]
fn the_name_must_be_a_string() {
    for bad in ["null", "1", "true", "[\"A\"]", "{}", r#""\ud800""#] {
        assert!(params(&annotated(bad)).is_err(), "{bad}");
    }
}

#[test]
fn names_are_unique_without_regard_to_case() {
    let two = |a: &str, b: &str| {
        params(&format!(
            r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":"{a}"}},"o":{{"properties":{{"b":{{"type":"string","x-mcp-header":"{b}"}}}}}}}}}}"#
        ))
    };
    assert_eq!(two("A", "B").unwrap().len(), 2);
    assert!(two("A", "A").is_err());
    assert!(two("Region", "rEGION").is_err());
}

#[test]
fn only_strings_integers_and_booleans_may_be_mirrored() {
    let typed = |kind: &str| {
        params(&format!(
            r#"{{"properties":{{"a":{{{kind}"x-mcp-header":"A"}}}}}}"#
        ))
    };
    for good in [
        r#""type":"string","#,
        r#""type":"integer","#,
        r#""type":"boolean","#,
        r#""typ\u0065":"string","#,
    ] {
        assert!(typed(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        r#""type":"number","#,
        r#""type":"object","#,
        r#""type":"array","#,
        r#""type":"null","#,
        r#""type":"String","#,
        r#""type":1,"#,
        r#""type":["string","null"],"#,
        r#""type":"string","type":"number","#,
        r##""$ref":"#/$defs/a","##,
    ] {
        assert!(typed(bad).is_err(), "{bad}");
    }
}

#[test]
fn nested_properties_are_reachable() {
    let schema = r#"{"properties":{"o":{"type":"object","properties":{"p":{"type":"object","properties":{
        "a":{"type":"integer","x-mcp-header":"A"}}}}},"properties":{"type":"boolean","x-mcp-header":"P"}}}"#;
    assert_eq!(
        params(schema),
        Ok(vec![
            ("A".into(), vec!["o".into(), "p".into(), "a".into()]),
            ("P".into(), vec!["properties".into()]),
        ])
    );
}

#[test]
fn an_annotation_that_properties_alone_do_not_reach_makes_the_tool_invalid() {
    let good = r#"{"type":"string","x-mcp-header":"A"}"#;
    for place in [
        format!(r#"{{"properties":{{"a":{{"type":"array","items":{good}}}}}}}"#),
        format!(
            r#"{{"properties":{{"a":{{"type":"array","items":{{"properties":{{"b":{good}}}}}}}}}}}"#
        ),
        format!(r#"{{"properties":{{"a":{{"prefixItems":[{good}]}}}}}}"#),
        format!(r#"{{"properties":{{"a":{{"contains":{good}}}}}}}"#),
        format!(r#"{{"oneOf":[{{"properties":{{"a":{good}}}}}]}}"#),
        format!(r#"{{"anyOf":[[{good}]]}}"#),
        format!(r#"{{"allOf":[{{"properties":{{"a":{good}}}}}]}}"#),
        format!(r#"{{"properties":{{"a":{{"oneOf":[{good}]}}}}}}"#),
        format!(r#"{{"not":{{"properties":{{"a":{good}}}}}}}"#),
        format!(r#"{{"if":{{"properties":{{"a":{good}}}}}}}"#),
        format!(r#"{{"then":{{"properties":{{"a":{good}}}}}}}"#),
        format!(r#"{{"else":{{"properties":{{"a":{good}}}}}}}"#),
        format!(r##"{{"properties":{{"a":{{"$ref":"#/$defs/d"}}}},"$defs":{{"d":{good}}}}}"##),
        format!(r#"{{"definitions":{{"d":{{"properties":{{"a":{good}}}}}}}}}"#),
        format!(r#"{{"additionalProperties":{good}}}"#),
        format!(r#"{{"patternProperties":{{"^a":{good}}}}}"#),
        format!(r#"{{"propertyNames":{good}}}"#),
        format!(r#"{{"dependentSchemas":{{"a":{good}}}}}"#),
        format!(r#"{{"$defs":{{"default":{good}}}}}"#),
        format!(r#"{{"$defs":{{"const":{good},"enum":{{}}}}}}"#),
        format!(r#"{{"$defs":{{"properties":{good}}}}}"#),
        format!(r#"{{"x-unknown":{good}}}"#),
        format!(r#"{{"properties":{{"\ud800":{good}}}}}"#),
        good.to_owned(),
    ] {
        assert!(params(&place).is_err(), "{place}");
    }
}

#[test]
fn an_escaped_spelling_of_the_annotation_is_one() {
    let escaped = annotated("\"A\"").replace("x-mcp-header", r"x\u002dmcp-header");
    assert_eq!(params(&escaped), params(&annotated("\"A\"")));
    let hidden = r#"{"items":{"\u0078-mcp-header":"A"}}"#;
    assert!(params(hidden).is_err());
    assert!(
        params(&annotated(r#""A","x-mcp-heade\u0072":"B""#)).is_err(),
        "twice on one property"
    );
}

#[test]
fn names_and_data_that_look_like_the_annotation_mean_nothing() {
    for schema in [
        r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"properties":{"x-mcp-header":{"type":"number"},"a":{"default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":1}]}}}"#,
        r#"{"properties":{"a":{"const":{"x-mcp-header":"A"},"examples":[{"x-mcp-header":"A"}]}}}"#,
        r#"{"description":"x-mcp-header","required":["x-mcp-header"]}"#,
        r#"{"$defs":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"patternProperties":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"dependentRequired":{"x-mcp-header":["a"]}}"#,
        r#"{"properties":{"\ud800":{"type":"string"},"x-mcp-header":true}}"#,
        "true",
        "{}",
        "[]",
    ] {
        assert_eq!(params(schema), Ok(vec![]), "{schema}");
    }
    let property = r#"{"properties":{"x-mcp-header":{"type":"string","x-mcp-header":"A"}}}"#;
    assert_eq!(
        params(property),
        Ok(vec![("A".into(), vec!["x-mcp-header".into()])])
    );
}

#[test]
fn a_schema_nested_too_deeply_is_refused_without_using_the_stack() {
    for (open, close) in [
        ("{\"items\":", "}"),
        ("{\"anyOf\":[", "]}"),
        ("{\"properties\":{\"a\":", "}}"),
        ("[", "]"),
    ] {
        let levels = 1000 / open.matches(['{', '[']).count();
        let schema = format!(
            "{{\"x\":{}{{\"x-mcp-header\":1}}{}}}",
            open.repeat(levels),
            close.repeat(levels)
        );
        let refused = std::thread::Builder::new()
            .stack_size(512 * 1024)
            .spawn(move || params(&schema))
            .unwrap()
            .join()
            .unwrap();
        assert!(refused.is_err(), "{open}");
    }
}

#[test]
fn a_deep_schema_without_annotations_is_not_looked_into() {
    let schema = format!(
        "{}{{\"pattern\":\"\\\\d\"}}{}",
        "{\"items\":".repeat(500),
        "}".repeat(500)
    );
    assert_eq!(params(&schema), Ok(vec![]));
}

#[test]
fn a_tool_may_have_64_annotations_and_no_more() {
    let annotated = |count: usize| {
        let list: Vec<String> = (0..count)
            .map(|i| format!(r#""p{i}":{{"type":"string","x-mcp-header":"H{i}"}}"#))
            .collect();
        params(&format!(r#"{{"properties":{{{}}}}}"#, list.join(",")))
    };
    assert_eq!(annotated(MIRRORED_PARAMS).unwrap().len(), 64);
    assert!(annotated(MIRRORED_PARAMS + 1).is_err());
}

/// Looking into each level anew would take a hundred times as long.
#[test]
fn a_large_schema_is_read_once_however_deep_it_is() {
    let large = "1,".repeat(512 * 1024);
    for (open, close) in [
        ("{\"items\":", "}"),
        ("{\"anyOf\":[", "]}"),
        ("{\"properties\":{\"a\":", "}}"),
    ] {
        let schema = format!(
            "{}{{\"enum\":[{large}1],\"\\u0061\":1}}{}",
            open.repeat(60),
            close.repeat(60)
        );
        let start = std::time::Instant::now();
        assert_eq!(mirrored_params(schema.as_bytes()), Ok(vec![]));
        assert!(
            start.elapsed().as_secs() < 5,
            "{open}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_text_that_is_no_json_ends_the_search() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"anyOf":[{},1]}},"$defs":{"c":true}}"#;
    for end in 0..schema.len() {
        for rest in ["", "]", "}", ",", ":", "[", "x", "]]", ",,", "[[", "{\"\"}"] {
            let _ = mirrored_params(format!("{}{rest}", &schema[..end]).as_bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn schemas_and_arguments_of_any_shape_are_survived(schema in value(), arguments in value(), step in any::<String>()) {
        let _ = mirrored_params(schema.replace("true", r#"{"x-mcp-header":"A"}"#).as_bytes());
        let _ = mirrored_value(arguments.as_bytes(), &[step]);
    }
}

// ---- Arguments.

#[test]
fn a_value_is_mirrored_as_its_text() {
    let arguments = r#"{"s":"a\u0062\n","e":"","i":42,"n":-7,"t":true,"f":false,"o":{"\u0070":{"q":"deep"}},"big":9007199254740993}"#;
    for (path, expected) in [
        (&["s"][..], "ab\n"),
        (&["e"], ""),
        (&["i"], "42"),
        (&["n"], "-7"),
        (&["t"], "true"),
        (&["f"], "false"),
        (&["o", "p", "q"], "deep"),
        (&["big"], "9007199254740993"),
    ] {
        assert_eq!(
            value_at(arguments, path).as_deref(),
            Some(expected),
            "{path:?}"
        );
    }
}

#[test]
fn what_is_absent_null_or_no_primitive_is_not_mirrored() {
    let arguments = r#"{"null":null,"o":{"a":null},"l":["x"],"s":"x","lone":"\ud800"}"#;
    for path in [
        &["absent"][..],
        &["null"],
        &["o"],
        &["o", "a"],
        &["o", "b"],
        &["l"],
        &["l", "0"],
        &["s", "x"],
        &["lone"],
    ] {
        assert_eq!(value_at(arguments, path), None, "{path:?}");
    }
    for arguments in ["null", "[]", "1", "\"a\"", ""] {
        assert_eq!(value_at(arguments, &["a"]), None, "{arguments}");
    }
}

/// Readers disagree about which of the two counts, so neither is vouched for.
#[test]
fn an_argument_that_two_readers_could_take_for_different_ones_is_refused() {
    for arguments in [
        r#"{"a":"1","a":"2"}"#,
        r#"{"a":"1","\u0061":"1"}"#,
        r#"{"o":{"a":"1"},"o":{"a":"2"}}"#,
        r#"{"o":{"a":"1","a":"1"}}"#,
        r#"{"a":"1","A":"1"}"#,
        r#"{"A":"1"}"#,
        r#"{"o":{"\u0041":"1","a":"1"}}"#,
        r#"{"o":{"a":"1"},"O":null}"#,
    ] {
        let path: &[&str] = if arguments.contains("\"o\"") {
            &["o", "a"]
        } else {
            &["a"]
        };
        let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
        assert!(
            mirrored_value(arguments.as_bytes(), &path).is_err(),
            "{arguments}"
        );
    }
    assert_eq!(
        value_at(r#"{"b":1,"b":2,"a":"1"}"#, &["a"]).as_deref(),
        Some("1")
    );
}

#[test]
fn numbers_agree_by_value_and_text_by_text() {
    for (header, body) in [
        ("42", "42"),
        ("42.0", "42"),
        ("42", "42.000"),
        ("4.2e1", "42"),
        ("420E-1", "42"),
        ("-0", "0"),
        ("0.0", "-0e5"),
        (" 42\t", "42"),
        ("1e400", "1e400"),
        ("10e399", "1e400"),
        ("9007199254740993", "9007199254740993.0"),
        ("100", "1e2"),
        ("-7", "-7.0"),
    ] {
        assert!(values_agree(header, body, true), "{header} {body}");
        assert_eq!(
            values_agree(header, body, false),
            header == body,
            "{header} {body}"
        );
    }
    for (header, body) in [
        ("42", "43"),
        ("-42", "42"),
        ("9007199254740993", "9007199254740992"),
        ("inf", "1e400"),
        ("1e500", "1e400"),
        ("0", "1e-400"),
        ("1", "1.00000000000000000001"),
        ("+42", "42"),
        ("042", "42"),
        ("42.", "42"),
        (".5", "0.5"),
        ("nan", "nAn"),
        ("0x2a", "42"),
        ("", "0"),
        ("42,42", "42"),
        ("4 2", "42"),
        ("infinity", "-1e999"),
        ("1e99999999999999999999", "1e99999999999999999998"),
    ] {
        assert!(!values_agree(header, body, true), "{header} {body}");
    }
}
