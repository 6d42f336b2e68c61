use crate::{
    Refused, breakpoints, calls, insight, questions, servers, sessions, settings, state, tools,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// How deep a type that has itself in it is written down.
const DEPTH: usize = 12;

/// A value in which every field of a type is there, and is not what it would be anyway.
fn sample(schema: &Value, all: &Value, depth: usize) -> Value {
    let at = |schema: &Value| sample(schema, all, depth + 1);
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return at(&all["$defs"][name]);
    }
    let ways = [&schema["oneOf"], &schema["anyOf"]];
    if let Some(ways) = ways.into_iter().find_map(Value::as_array) {
        // The last that is something: of words another one than is assumed.
        let mut ways = ways.iter().filter(|way| way["type"] != "null");
        return at(ways.next_back().unwrap());
    }
    if let Some(word) = schema.get("const") {
        return word.clone();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.last().unwrap().clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => json!("a \"text\" of ümlauts"),
        Some("integer") => json!(7),
        Some("number") => json!(1.5),
        Some("boolean") => json!(true),
        Some("array") if depth > DEPTH => json!([]),
        Some("array") => match schema["prefixItems"].as_array() {
            Some(items) => items.iter().map(at).collect(),
            None => json!([at(&schema["items"]), at(&schema["items"])]),
        },
        Some("object") => {
            let members = schema["properties"].as_object().unwrap().iter();
            let members = members.filter(|(_, it)| depth <= DEPTH || it["anyOf"].is_null());
            let members: Map<_, _> = members.map(|(key, it)| (key.clone(), at(it))).collect();
            Value::Object(members)
        }
        _ => json!({"any": [1, null, "thing"]}),
    }
}

/// Every field of a type arrives where it belongs, what is missing stays out, and what is not
/// known is passed over.
fn holds<T: JsonSchema + Serialize + DeserializeOwned + Default>() {
    let name = std::any::type_name::<T>();
    let schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    let schema = schema.to_value();
    let sent = sample(&schema, &schema, 0);
    let read = |value: &Value| {
        let text = serde_json::to_vec(value).unwrap();
        let read: T =
            serde_json::from_slice(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        serde_json::to_value(read).unwrap()
    };
    let got = read(&sent);
    for (key, value) in sent.as_object().unwrap() {
        // What has itself in it ends somewhere.
        if value.to_string().len() < 20_000 {
            assert_eq!(&got[key], value, "{name}: {key}");
        }
    }
    let nothing = serde_json::to_value(T::default()).unwrap();
    assert_eq!(read(&json!({})), nothing, "{name}");
    let strange = json!({"newer": {"a": [1, {"b": null}]}, "NeWer": 1, "in_flight": "x"});
    assert_eq!(read(&strange), nothing, "{name}");
    for wrong in [json!(null), json!([]), json!("text"), json!(1)] {
        assert!(serde_json::from_value::<T>(wrong).is_err(), "{name}");
    }
}

#[test]
fn answers_are_read_whole() {
    holds::<Refused>();
    holds::<calls::Page>();
    holds::<calls::Detail>();
    holds::<calls::Made>();
    holds::<calls::Replayed>();
    holds::<servers::Serving>();
    holds::<servers::Detail>();
    holds::<servers::Stderr>();
    holds::<servers::Listed>();
    holds::<servers::Done>();
    holds::<servers::Explained>();
    holds::<state::Document>();
    holds::<insight::Metrics>();
    holds::<insight::Bill>();
    holds::<insight::Log>();
    holds::<questions::Questions>();
    holds::<questions::Taken>();
    holds::<breakpoints::Breakpoints>();
    holds::<settings::Written>();
    holds::<settings::Reloaded>();
    holds::<settings::Tokens>();
    holds::<settings::MadeToken>();
    holds::<tools::Tools>();
    holds::<tools::Validated>();
    holds::<tools::Fields>();
    holds::<sessions::Entered>();
    holds::<sessions::Code>();
}

#[test]
fn what_does_not_fit_is_refused_and_says_where() {
    let wrong = |text: &str| {
        serde_json::from_str::<calls::Call>(text)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        wrong(r#"{"id": "7"}"#),
        r#"invalid type: string "7", expected a whole number at line 1 column 10"#
    );
    assert_eq!(
        wrong(r#"{"id": -1}"#),
        "invalid value: integer `-1`, expected a number that fits at line 1 column 9"
    );
    assert!(wrong(r#"{"sent": 4294967296}"#).contains("4294967296"));
    assert!(wrong(r#"{"id": 1.5}"#).contains("floating point"));
    assert!(wrong(r#"{"principal": null}"#).contains("null"));
    assert!(wrong(r#"{"principal": ["a"]}"#).contains("sequence"));
    assert!(wrong(r#"{"kept": 1}"#).contains("a boolean"));
    assert!(wrong(r#"{"id": 1"#).contains("EOF"));

    let kind = r#"{"kind": "unheard-of"}"#;
    assert!(serde_json::from_str::<questions::Question>(kind).is_err());
    let spans = ["[1]", "[1, 2, 3]", "{}"];
    for span in spans {
        let edit = format!(r#"{{"span": {span}}}"#);
        assert!(
            serde_json::from_str::<calls::Edit>(&edit).is_err(),
            "{span}"
        );
    }
}

#[test]
fn nothing_is_nothing() {
    let call = r#"{"client": null, "code": -32602, "took": null}"#;
    let call: calls::Call = serde_json::from_str(call).unwrap();
    assert_eq!(
        (call.client, call.code, call.took),
        (None, Some(-32602), None)
    );
}

/// Who nests without end is stopped before the stack is.
#[test]
fn depth_is_bounded() {
    let deep = r#"{"root":"#.to_owned() + &r#"{"item":"#.repeat(100_000);
    assert!(serde_json::from_str::<tools::Fields>(&deep).is_err());
}
