use super::*;
use proptest::prelude::*;

fn acceptable(schema: &Value) -> Acceptable {
    acceptable_schema(schema.to_string().as_bytes())
}

/// What the APIs say about the root, and about every tool of a request.
fn assert_taken(schema: &Value) {
    let root = schema.as_object().unwrap();
    assert_eq!(root["type"], "object");
    assert!(root["properties"].is_object());
    for key in [
        "anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "$ref",
    ] {
        assert!(!root.contains_key(key), "{key} in {schema}");
    }
    jsonschema::draft202012::meta::validate(schema).unwrap();
    for name in root["properties"].as_object().unwrap().keys() {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        assert!(
            (1..=64).contains(&name.len()) && name.bytes().all(good),
            "{name:?}"
        );
    }
}

#[test]
fn what_is_fine_is_left_alone() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "anyOf": [{ "type": "string" }, { "type": "null" }] }, "b": { "$ref": "#/$defs/B" } },
        "required": ["a"], "additionalProperties": false, "$defs": { "B": { "type": "integer" } },
    });
    let accepted = acceptable(&schema);
    assert_eq!(accepted.schema, schema);
    assert!(accepted.changes.is_empty() && accepted.renames.is_empty());
}

#[test]
fn roots_that_are_no_objects() {
    for schema in [
        json!(true),
        json!([]),
        json!("x"),
        json!(null),
        json!({}),
        json!({ "type": ["object", "null"] }),
        json!({ "type": "string" }),
    ] {
        let accepted = acceptable(&schema);
        assert_taken(&accepted.schema);
        assert!(!accepted.changes.is_empty(), "{schema}");
    }
    let accepted = acceptable_schema(b"{ not json");
    assert_taken(&accepted.schema);
}

#[test]
fn a_reference_at_the_root_is_put_in_place() {
    let accepted = acceptable(&json!({
        "$ref": "#/$defs/Args", "$defs": { "Args": {
            "type": "object", "properties": { "x": { "type": "integer" }, "next": { "$ref": "#/$defs/Args" } },
            "required": ["x"], "additionalProperties": false,
        } },
    }));
    assert_taken(&accepted.schema);
    assert_eq!(
        accepted.schema["properties"]["x"],
        json!({ "type": "integer" })
    );
    assert_eq!(accepted.schema["required"], json!(["x"]));
    assert_eq!(accepted.schema["additionalProperties"], false);
    assert_eq!(
        accepted.schema["properties"]["next"]["$ref"],
        "#/$defs/Args"
    );
    // In a circle, to nowhere, and to elsewhere.
    for reference in [
        "#",
        "#/$defs/none",
        "http://evil.example/schema",
        "file:///etc/passwd",
        "#/%zz",
    ] {
        assert_taken(&acceptable(&json!({ "$ref": reference })).schema);
    }
}

#[test]
fn all_of_is_merged() {
    let accepted = acceptable(&json!({
        "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false,
        "allOf": [
            { "properties": { "b": { "type": "integer" } }, "required": ["b", "a"] },
            { "$ref": "#/$defs/C" },
            { "properties": { "a": { "minLength": 1 } } },
        ],
        "$defs": { "C": { "properties": { "c": { "type": "null" } }, "required": ["c"] } },
    }));
    assert_taken(&accepted.schema);
    assert_eq!(accepted.schema["required"], json!(["a", "b", "c"]));
    assert_eq!(
        accepted.schema["properties"]["a"],
        json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] })
    );
    assert_eq!(
        accepted.schema["properties"]["c"],
        json!({ "type": "null" })
    );
    assert!(
        accepted.schema.get("additionalProperties").is_none(),
        "it would refuse b"
    );
}

#[test]
fn a_choice_at_the_root_becomes_one_object_that_says_so() {
    for key in ["anyOf", "oneOf"] {
        let accepted = acceptable(&json!({
            "type": "object", "description": "Sends.", "additionalProperties": false,
            "properties": { "common": { "type": "string" } }, "required": ["common"],
            key: [
                { "title": "by id", "properties": { "id": { "type": "integer" }, "kind": { "const": "id" } }, "required": ["id", "kind"] },
                { "properties": { "name": { "type": "string" }, "kind": { "const": "name" }, "fuzzy": {} }, "required": ["name", "kind"] },
                { "type": "string" },
            ],
        }));
        assert_taken(&accepted.schema);
        assert_eq!(accepted.schema["required"], json!(["common", "kind"]));
        assert_eq!(
            accepted.schema["properties"]["kind"],
            json!({ "anyOf": [{ "const": "id" }, { "const": "name" }] })
        );
        let words =
            "Sends.\nGive the arguments of one of these: by id {id, kind}; {name, kind, fuzzy?}.";
        assert_eq!(accepted.schema["description"], words);
        assert!(accepted.schema.get("additionalProperties").is_none());
    }
    // A branch that says nothing leaves everything open.
    let open = acceptable(&json!({ "anyOf": [{ "required": ["a"] }, true] }));
    assert_eq!(open.schema["required"], json!([]));
}

#[test]
fn keywords_refused_at_the_root_are_left_out_there_only() {
    let accepted = acceptable(&json!({
        "type": "object", "not": { "required": ["a"] }, "if": {}, "then": {}, "else": {}, "enum": [{}], "const": {},
        "properties": { "a": { "not": { "type": "string" }, "enum": [1] } },
    }));
    assert_taken(&accepted.schema);
    assert_eq!(
        accepted.schema["properties"]["a"],
        json!({ "not": { "type": "string" }, "enum": [1] })
    );
}

#[test]
fn older_dialects_and_mistakes_are_mended() {
    let accepted = acceptable(&json!({
        "$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x/y",
        "type": "object",
        "properties": {
            "tuple": { "type": "array", "items": [{ "type": "string" }, { "type": "integer" }], "additionalItems": false },
            "n": { "type": "number", "minimum": 0, "exclusiveMinimum": true, "exclusiveMaximum": false },
            "any": { "type": "any", "description": "kept" },
            "req": { "type": "string", "required": true },
            "words": "string",
            "remote": { "$ref": "https://evil.example/x", "description": "kept" },
            "list": { "type": "array", "items": { "type": "bogus" } },
        },
        "required": "n",
    }));
    assert_taken(&accepted.schema);
    let properties = &accepted.schema["properties"];
    assert_eq!(
        properties["tuple"]["prefixItems"],
        json!([{ "type": "string" }, { "type": "integer" }])
    );
    assert_eq!(properties["tuple"]["items"], false);
    assert_eq!(
        properties["n"],
        json!({ "type": "number", "exclusiveMinimum": 0 })
    );
    assert_eq!(properties["any"], json!({ "description": "kept" }));
    assert_eq!(properties["req"], json!({ "type": "string" }));
    assert_eq!(properties["remote"], json!({ "description": "kept" }));
    assert_eq!(properties["list"]["items"], json!({}));
    assert!(properties.get("words").is_none());
    assert!(accepted.schema.get("required").is_none());
    assert!(!accepted.schema.to_string().contains("evil.example"));
}

#[test]
fn names_that_apis_refuse_are_made_safe_and_given_back() {
    let long = "n".repeat(80);
    let accepted = acceptable(&json!({
        "type": "object",
        "properties": {
            "$filter": { "type": "string" }, "filter": {}, "_filter": {}, "a b": {}, "a/b": {}, "": {}, (long.clone()): {}, "größe": {},
            "inner": { "type": "object", "properties": { "x y": {} }, "required": ["x y"] },
            "list": { "type": "array", "items": { "type": "object", "properties": { "p q": {} } } },
        },
        "required": ["$filter", "filter"],
    }));
    assert_taken(&accepted.schema);
    let names: Vec<&String> = accepted.schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names.len(), 10);
    assert_eq!(accepted.schema["required"], json!(["_filter_2", "filter"]));
    assert_eq!(
        accepted.schema["properties"]["inner"]["required"],
        json!(["x_y"])
    );
    let mut arguments = json!({
        "_filter_2": 1, "filter": 2, "_filter": 3, "a_b": 4, "a_b_2": 5, "_": 6, ("n".repeat(58)): 7, "gr__e": 8,
        "inner": { "x_y": 9 }, "list": [{ "p_q": 10 }, 11], "other": 12,
    });
    accepted.renames.restore(&mut arguments);
    assert_eq!(
        arguments,
        json!({
            "$filter": 1, "filter": 2, "_filter": 3, "a b": 4, "a/b": 5, "": 6, (long): 7, "größe": 8,
            "inner": { "x y": 9 }, "list": [{ "p q": 10 }, 11], "other": 12,
        })
    );
}

#[test]
fn what_is_too_deep_is_cut_off() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..40 {
        schema = json!({ "type": "object", "properties": { "a": schema } });
    }
    let accepted = acceptable(&schema);
    assert_taken(&accepted.schema);
    let depth = accepted.schema.to_string().matches("properties").count();
    assert_eq!(depth, limits::MODEL_SCHEMA_DEPTH + 1);
    // Too deep even to be read.
    let deep = format!(
        "{}{}",
        "{\"not\":".repeat(5000),
        "{}".to_owned() + &"}".repeat(5000)
    );
    assert_taken(&acceptable_schema(deep.as_bytes()).schema);
}

#[test]
fn combinators_inside_combinators_end() {
    let mut schema = json!({ "properties": { "x": {} } });
    for _ in 0..30 {
        schema = json!({ "anyOf": [schema, { "allOf": [{ "properties": { "y": {} } }] }] });
    }
    assert_taken(&acceptable(&schema).schema);
    let circular = json!({ "anyOf": [{ "$ref": "#/$defs/A" }], "$defs": { "A": { "anyOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#" }] } } });
    assert_taken(&acceptable(&circular).schema);
}

#[test]
fn a_choice_that_multiplies_ends_soon() {
    let branches = vec![json!({ "$ref": "#/$defs/A" }); 50];
    let bomb = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "anyOf": branches, "properties": { "x": {} } } } });
    let start = std::time::Instant::now();
    let accepted = acceptable(&bomb);
    assert_taken(&accepted.schema);
    assert!(
        start.elapsed() < std::time::Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    assert!(accepted.changes.len() < 10, "{:?}", accepted.changes);
}

/// Schemas of the kind that servers write, with combinators at the root.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "integer" })),
        Just(json!({ "enum": ["a", 1] })),
        Just(json!({})),
    ];
    let object = (
        proptest::collection::btree_map("[a-d]", leaf, 0..4),
        proptest::collection::vec(any::<bool>(), 4),
        any::<bool>(),
    )
        .prop_map(|(properties, required, typed)| {
            let names = properties
                .keys()
                .zip(required)
                .filter(|(_, required)| *required)
                .map(|(name, _)| name);
            let mut schema =
                json!({ "properties": properties, "required": names.collect::<Vec<_>>() });
            // Closed, so that a branch speaks for all of its arguments.
            schema["additionalProperties"] = json!(false);
            if typed {
                schema["type"] = json!("object");
            }
            schema
        });
    object.prop_recursive(2, 8, 3, |inner| {
        let list = proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            list.clone()
                .prop_map(|branches| json!({ "anyOf": branches })),
            list.clone()
                .prop_map(|branches| json!({ "oneOf": branches })),
            list.prop_map(|branches| json!({ "allOf": branches })),
            inner.prop_map(|target| json!({ "$ref": "#/$defs/T", "$defs": { "T": target } })),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let value = prop_oneof![Just(json!("a")), Just(json!(1)), Just(json!(true))];
    proptest::collection::btree_map("[a-d]", value, 0..4).prop_map(|members| json!(members))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_model_is_never_kept_from_what_the_server_accepts(schema in schemas(), arguments in arguments()) {
        // References inside a nested schema would lead to the outer one's definitions.
        prop_assume!(schema.to_string().matches("$defs/T").count() <= 1 && (schema.get("$defs").is_some() || !schema.to_string().contains("$defs")));
        let accepted = acceptable(&schema);
        assert_taken(&accepted.schema);
        if jsonschema::is_valid(&schema, &arguments) {
            prop_assert!(jsonschema::is_valid(&accepted.schema, &arguments), "{schema} accepts {arguments}, {} does not", accepted.schema);
        }
    }
}
