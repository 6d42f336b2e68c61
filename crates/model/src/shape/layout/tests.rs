use super::*;
use serde_json::{Value, json};

#[test]
fn only_the_white_space_between_tokens_changes() {
    let raw = br#" { "a" : [ 1 , 2.50 , { } , [ ] ] , "b c" : "x \" , : { y" , "d" : "\\" } "#;
    assert_eq!(
        compact(raw),
        r#"{"a":[1,2.50,{},[]],"b c":"x \" , : { y","d":"\\"}"#
    );
    let expected = "{\n  \"a\": [\n    1,\n    2.50,\n    {},\n    []\n  ],\n  \"b c\": \"x \\\" , : { y\",\n  \"d\": \"\\\\\"\n}";
    assert_eq!(indented(raw), expected);
    for text in ["3", "\"a b\"", "null", "[]", "{}"] {
        assert_eq!(compact(text.as_bytes()), text);
        assert_eq!(indented(text.as_bytes()), text);
    }
}

#[test]
fn both_layouts_hold_the_same_value() {
    let value =
        json!({ "a": [[], {}, [1, [2, { "x": null }]]], "é": "\u{1f980} \\ \" \n", "t": true });
    let raw = value.to_string();
    for layout in [compact(raw.as_bytes()), indented(raw.as_bytes())] {
        assert_eq!(serde_json::from_str::<Value>(&layout).unwrap(), value);
    }
    assert_eq!(
        indented(raw.as_bytes()),
        serde_json::to_string_pretty(&value).unwrap()
    );
}
