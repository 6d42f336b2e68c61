//! Random legal messages cross into the other era and back: nothing that both
//! eras have is lost, and what each side gets is legal there.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock};
use switchboard_host::{
    Client, Hello, NoSink,
    bridge::{hello, reply, request, rounds},
};
use switchboard_wire::{Era, Id, Message, Method, Revision, meta};

const LEGACY: [Revision; 4] = [
    Revision::V2024_11_05,
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
];

/// The protocol's own schemas, as published.
fn schema(revision: Revision) -> &'static Value {
    static ALL: LazyLock<Vec<(Revision, Value)>> = LazyLock::new(|| {
        let texts = [
            include_str!("schema/2024-11-05.json"),
            include_str!("schema/2025-03-26.json"),
            include_str!("schema/2025-06-18.json"),
            include_str!("schema/2025-11-25.json"),
            include_str!("schema/2026-07-28.json"),
        ];
        Revision::ALL
            .into_iter()
            .zip(texts.map(|text| serde_json::from_str(text).expect("a schema")))
            .collect()
    });
    &ALL.iter()
        .find(|(known, _)| *known == revision)
        .expect("every revision has a schema")
        .1
}

/// Fails unless `value` is what the revision calls `definition`.
fn assert_legal(revision: Revision, definition: &str, value: &Value) {
    let schema = schema(revision);
    let key = if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    let mut whole = Map::new();
    whole.insert("$schema".into(), schema["$schema"].clone());
    whole.insert(key.into(), schema[key].clone());
    whole.insert("$ref".into(), json!(format!("#/{key}/{definition}")));
    let validator = jsonschema::options()
        .build(&Value::Object(whole))
        .expect("a usable schema");
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "not a legal {definition} of {revision}: {faults:?}\n{value}"
    );
}

fn parsed(message: &Message) -> Value {
    serde_json::from_slice(message.raw()).expect("JSON")
}

fn message(value: &Value) -> Message {
    Message::parse(Bytes::from(value.to_string())).expect("a message")
}

fn client(revision: Revision, capabilities: &Value) -> Client {
    Client::new(
        "p".into(),
        revision,
        Bytes::from(capabilities.to_string()),
        Arc::new(NoSink),
    )
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é\u{1F600}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner).prop_map(Value::Object),
        ]
    })
}

fn object(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("x-[a-zé]{1,6}", values, 0..4)
        .prop_map(|map| map.into_iter().collect())
}

/// `tools/call`, `prompts/get` and `resources/read` with arguments, unknown fields and metadata of all sorts.
fn requests() -> impl Strategy<Value = (Value, &'static str)> {
    let meta = (object(anything()), any::<bool>());
    (
        0..3usize,
        object(anything()),
        object(anything()),
        proptest::option::of(meta),
    )
        .prop_map(|(which, arguments, mut params, meta)| {
            let (method, definition) = [
                ("tools/call", "CallToolRequest"),
                ("resources/read", "ReadResourceRequest"),
                ("prompts/get", "GetPromptRequest"),
            ][which];
            match method {
                "resources/read" => drop(params.insert("uri".into(), json!("file:///a"))),
                _ => drop(params.insert("name".into(), json!("n"))),
            }
            if method == "tools/call" {
                params.insert("arguments".into(), Value::Object(arguments));
            }
            if let Some((mut meta, token)) = meta {
                if token {
                    meta.insert("progressToken".into(), json!("t"));
                }
                params.insert("_meta".into(), Value::Object(meta));
            }
            (
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                definition,
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_legacy_request_goes_to_a_modern_server_and_back(
        (value, definition) in requests(),
        revision in prop::sample::select(LEGACY.to_vec()),
        roots in any::<bool>(),
    ) {
        let mut capabilities = json!({"sampling": {}, "elicitation": {}, "experimental": {"x": {}}});
        if roots {
            capabilities["roots"] = json!({"listChanged": true});
        }
        let original = message(&value);
        let modern = request::to_modern(&original, &client(revision, &capabilities), &request::Retry::default());
        let shown = parsed(&modern);
        assert_legal(Revision::NEWEST, definition, &shown);
        let declared = &shown["params"]["_meta"][meta::CLIENT_CAPABILITIES];
        prop_assert_eq!(declared.get("elicitation").is_some(), revision >= Revision::V2025_06_18);

        let back = request::to_legacy(&modern);
        // An empty `_meta` says nothing, so it need not come back.
        let mut expected = value.clone();
        if expected["params"]["_meta"] == json!({}) {
            expected["params"].as_object_mut().expect("an object").remove("_meta");
        }
        prop_assert_eq!(parsed(&back), expected);
        assert_legal(revision, definition, &parsed(&back));
    }

    #[test]
    fn a_retry_carries_answers_and_state(answers in object(anything()), state in "[ -~]{0,20}") {
        let value = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "n"}});
        let retry = request::Retry {
            responses: Some(Value::Object(answers.clone()).to_string()),
            state: Some(Bytes::from(json!(state).to_string())),
            ..request::Retry::default()
        };
        let modern = request::to_modern(&message(&value), &client(Revision::V2025_11_25, &json!({})), &retry);
        let shown = parsed(&modern);
        prop_assert_eq!(&shown["params"]["inputResponses"], &Value::Object(answers));
        prop_assert_eq!(&shown["params"]["requestState"], &json!(state));
        // A legacy server sees neither.
        let back = parsed(&request::to_legacy(&modern));
        prop_assert!(back["params"].get("inputResponses").is_none() && back["params"].get("requestState").is_none());
    }

    #[test]
    fn a_legacy_result_is_a_legal_modern_one(extra in object(anything()), text in "[ -~]{0,20}", which in 0..3usize) {
        let (method, definition, mut result) = match which {
            0 => (Method::ToolsCall, "CallToolResult", json!({"content": [{"type": "text", "text": text}]})),
            1 => (Method::ResourcesRead, "ReadResourceResult", json!({"contents": [{"uri": "file:///a", "text": text}]})),
            _ => (Method::ToolsList, "ListToolsResult", json!({"tools": [{"name": "n", "inputSchema": {"type": "object"}}]})),
        };
        result.as_object_mut().expect("an object").extend(extra);
        let original = Message::response(&Id::number(7), &result.to_string());
        let modern = reply::translated(Era::Modern, method, None, original.clone());
        let shown = parsed(&modern)["result"].clone();
        assert_legal(Revision::NEWEST, definition, &shown);
        for (key, value) in result.as_object().expect("an object") {
            prop_assert_eq!(&shown[key], value);
        }
        // What was complete already is not touched: its bytes are the same.
        let again = reply::translated(Era::Modern, method, None, modern.clone());
        prop_assert_eq!(again.raw(), modern.raw());
        // Towards legacy results are left in place.
        let legacy = reply::translated(Era::Legacy, method, None, modern.clone());
        prop_assert_eq!(legacy.raw(), modern.raw());
    }

    #[test]
    fn introductions_keep_what_they_do_not_know(extra in object(anything()), info in object(anything())) {
        let mut server_info = json!({"name": "s", "version": "1"});
        server_info.as_object_mut().expect("an object").extend(info);
        let mut result = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": server_info, "instructions": "do",
        });
        result.as_object_mut().expect("an object").extend(extra.clone());
        let legacy = Hello { revision: Revision::V2025_11_25, result: Bytes::from(result.to_string()) };
        let discovered = hello::discover_result(&legacy, "[\"2026-07-28\"]");
        let shown: Value = serde_json::from_str(&discovered).expect("JSON");
        assert_legal(Revision::NEWEST, "DiscoverResult", &shown);
        let modern = Hello { revision: Revision::NEWEST, result: Bytes::from(discovered) };
        for revision in LEGACY {
            let back: Value = serde_json::from_str(&hello::initialize_result(&modern, revision)).expect("JSON");
            assert_legal(revision, "InitializeResult", &back);
            prop_assert_eq!(&back["serverInfo"], &result["serverInfo"]);
            prop_assert_eq!(&back["capabilities"], &result["capabilities"]);
            prop_assert_eq!(&back["instructions"], &result["instructions"]);
            for (key, value) in &extra {
                prop_assert_eq!(&back[key], value);
            }
        }
    }
}

#[test]
fn a_resource_that_is_not_there_has_each_eras_code() {
    let error = |code: i64, data: Option<Value>| {
        let mut error = json!({"code": code, "message": "no", "x": 1});
        if let Some(data) = data {
            error["data"] = data;
        }
        message(&json!({"jsonrpc": "2.0", "id": 1, "error": error}))
    };
    let modern = reply::translated(
        Era::Modern,
        Method::ResourcesRead,
        Some("file:///a"),
        error(-32002, None),
    );
    assert_eq!(parsed(&modern)["error"]["code"], -32602);
    assert_eq!(parsed(&modern)["error"]["data"]["uri"], "file:///a");
    assert_eq!(parsed(&modern)["error"]["x"], 1);
    let data = json!({"uri": "file:///a", "y": 2});
    let legacy = reply::translated(
        Era::Legacy,
        Method::ResourcesRead,
        None,
        error(-32602, Some(data.clone())),
    );
    assert_eq!(parsed(&legacy)["error"]["code"], -32002);
    assert_eq!(parsed(&legacy)["error"]["data"], data);
    // Other wrong parameters are just that.
    let other = error(-32602, None);
    let same = reply::translated(Era::Legacy, Method::ResourcesRead, None, other.clone());
    assert_eq!(same.raw(), other.raw());
}

#[tokio::test]
async fn questions_of_a_modern_server_become_legal_legacy_requests() {
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {
            "name": {"method": "elicitation/create", "params": {"mode": "form", "message": "?",
                "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}}},
            "page": {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://a.b/c"}},
            "roots": {"method": "roots/list"},
        },
        "requestState": "s\u{e9}",
    });
    let answer = Message::response(&Id::number(1), &result.to_string());
    assert!(rounds::asks_for_input(&answer));
    let over = tokio_util::sync::CancellationToken::new();
    let (round, inputs) = rounds::Round::open(
        &answer,
        &"server".into(),
        Revision::V2025_11_25,
        &over,
        None,
    );
    assert_eq!(inputs.len(), 3);
    for input in &inputs {
        let shown: Value =
            serde_json::from_slice(&input.payload(&Id::number(9)).into_bytes()).expect("JSON");
        let definition = if shown["method"] == "roots/list" {
            "ListRootsRequest"
        } else {
            "ElicitRequest"
        };
        assert_legal(Revision::V2025_11_25, definition, &shown);
    }
    for input in inputs {
        let id = input.message().id().expect("an id").as_text();
        match id.as_str() {
            "name" => input.answer(&Message::response(
                &Id::number(9),
                "{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}",
            )),
            "page" => input.answer(&message(
                &json!({"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"no"}}),
            )),
            _ => input.answer(&Message::response(&Id::number(9), "{\"roots\":[]}")),
        }
    }
    let retry = round.answered(1).await.expect("all are answered");
    let responses: Value =
        serde_json::from_str(&retry.responses.expect("responses")).expect("JSON");
    assert_eq!(responses["name"]["content"]["n"], "x");
    assert_eq!(responses["page"], json!({"action": "cancel"}));
    assert_eq!(responses["roots"], json!({"roots": []}));
    assert_eq!(retry.state.as_deref(), Some("\"s\u{e9}\"".as_bytes()));
}

#[tokio::test]
async fn a_refused_sampling_ends_the_call_with_the_clients_error() {
    let result = json!({"resultType": "input_required", "inputRequests": {
        "m": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}});
    let answer = Message::response(&Id::number(1), &result.to_string());
    let over = tokio_util::sync::CancellationToken::new();
    let (round, inputs) = rounds::Round::open(
        &answer,
        &"server".into(),
        Revision::V2025_11_25,
        &over,
        None,
    );
    for input in inputs {
        input.answer(&message(
            &json!({"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"the user said no"}}),
        ));
    }
    let error = round
        .answered(1)
        .await
        .expect_err("it was refused")
        .to_error();
    assert_eq!(
        (error.code, error.message.as_str()),
        (-1, "the user said no")
    );
}
