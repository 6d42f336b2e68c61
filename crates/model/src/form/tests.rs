use super::*;

fn root(schema: Value) -> Field {
    fields(&schema)
}

fn one(schema: Value) -> Field {
    let whole = json!({ "type": "object", "properties": { "it": schema } });
    fields(&whole).fields.remove(0)
}

#[test]
fn plain_members_are_drawn_with_all_that_is_said_of_them() {
    let form = root(json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "title": "Name", "minLength": 1, "default": "x" },
            "a/b~c": { "type": ["integer", "null"], "minimum": 3 },
        }
    }));
    assert_eq!((form.kind.as_str(), form.open), ("object", false));
    let (name, odd) = (&form.fields[0], &form.fields[1]);
    assert_eq!((name.path.as_str(), name.label.as_str()), ("/name", "Name"));
    assert!(name.required && !odd.required);
    assert_eq!(name.bounds, Some(json!({ "minLength": 1 })));
    assert_eq!(odd.path, "/a~1b~0c");
    assert!(odd.nullable);
    assert_eq!(odd.kind, "integer");
}

#[test]
fn what_is_named_elsewhere_is_found_and_a_circle_ends() {
    let form = root(json!({
        "$defs": { "node": {
            "type": "object",
            "properties": { "value": { "type": "string" }, "next": { "$ref": "#/$defs/node" } }
        } },
        "$ref": "#/$defs/node"
    }));
    let mut depth = 0;
    let mut at = &form;
    while let Some(next) = at.fields.iter().find(|field| field.key == "next") {
        at = next;
        depth += 1;
    }
    assert!(depth > 1 && depth <= limits::FORM_DEPTH, "{depth}");
    assert_eq!(at.kind, "json");
    // A reference to itself, to nothing, and to elsewhere.
    for to in ["#/$defs/x", "#/nowhere", "https://example.com/schema"] {
        let form = root(json!({ "$defs": { "x": { "$ref": "#/$defs/x" } }, "$ref": to }));
        assert_eq!(form.kind, "json", "{to}");
    }
}

#[test]
fn many_fields_are_not_drawn_without_end() {
    let level = |inner: Value| {
        let members: Map<String, Value> =
            (0..20).map(|n| (format!("m{n}"), inner.clone())).collect();
        json!({ "type": "object", "properties": members })
    };
    let form = root(level(level(level(level(json!({ "type": "string" }))))));
    fn count(field: &Field) -> usize {
        1 + field.fields.iter().map(count).sum::<usize>()
    }
    // What is beyond it is still there, as text.
    assert!(count(&form) < limits::FORM_FIELDS * 21, "{}", count(&form));
}

#[test]
fn choices_of_every_spelling() {
    let plain = one(json!({ "enum": ["a", "b", null] }));
    assert_eq!(
        (plain.kind.as_str(), plain.values.len(), plain.nullable),
        ("enum", 2, true)
    );
    let titled = one(json!({ "oneOf": [{ "const": 1, "title": "one" }, { "const": 2 }] }));
    assert_eq!(
        (titled.kind.as_str(), titled.values),
        ("enum", vec![json!(1), json!(2)])
    );
    assert_eq!(one(json!({ "const": "v1" })).values, [json!("v1")]);
    let ways = one(json!({ "anyOf": [
        { "type": "string" },
        { "type": "object", "properties": { "x": { "type": "number" } } },
        { "type": "null" }
    ] }));
    assert_eq!(
        (ways.kind.as_str(), ways.options.len(), ways.nullable),
        ("choice", 2, true)
    );
    assert_eq!(ways.options[1].fields[0].path, "/it/x");
    // Rust and Python write what may be left out so.
    let optional =
        one(json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }], "title": "N" }));
    assert_eq!(
        (optional.kind.as_str(), optional.nullable),
        ("integer", true)
    );
    assert_eq!(optional.label, "N");
}

#[test]
fn lists_of_objects_and_what_cannot_be_drawn() {
    let list = one(json!({ "type": "array", "maxItems": 3, "items": {
        "type": "object", "properties": { "x": { "type": "boolean" } } } }));
    let item = list.item.expect("an item");
    assert_eq!(
        (item.path.as_str(), item.fields[0].path.as_str()),
        ("/it/-", "/it/-/x")
    );
    for odd in [
        json!(true),
        json!({}),
        json!({ "type": "array", "prefixItems": [{ "type": "string" }] }),
        json!({ "type": "object" }),
        json!({ "type": ["string", "object"] }),
        json!({ "type": "object", "properties": {}, "if": {} }),
        json!({ "allOf": [{ "$ref": "#/x" }, { "type": "string" }] }),
    ] {
        assert_eq!(one(odd.clone()).kind, "json", "{odd}");
    }
    let both = one(json!({ "allOf": [
        { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
        { "properties": { "b": { "type": "string" } } }
    ] }));
    assert_eq!((both.kind.as_str(), both.fields.len()), ("object", 2));
    assert!(both.fields[0].required);
}

#[test]
fn values_keep_their_names() {
    let field = one(json!({"enum": ["a", null, "b"], "enumNames": ["Ay", "none", "Be"]}));
    assert_eq!(field.values, [json!("a"), json!("b")]);
    assert_eq!(field.labels, ["Ay", "Be"]);
    assert!(field.nullable);
    let field = one(json!({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}));
    assert_eq!(field.values, [json!(1), json!(2)]);
    assert_eq!(field.labels, ["One", "2"]);
    let field = one(json!({"enum": ["a"]}));
    assert!(field.labels.is_empty());
    let several = one(json!({"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}}));
    assert_eq!(several.item.unwrap().labels, ["X"]);
}
