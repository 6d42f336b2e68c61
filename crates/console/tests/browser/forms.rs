//! The form: every value can be entered, nothing typed is dropped, and what is sent is
//! what is shown.

use crate::{World, data, full};
use serde_json::{Value, json};
use switchboard_api::tools::Fault;

/// Schemas that forms of other pages fail on, each with a value that fits it.
fn corpus() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "nested objects",
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "integer"}}}}}}}),
            r#"{"a":{"b":{"c":1}}}"#,
        ),
        (
            "references",
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": {"type": "object", "properties": {"x": {"type": "number"}}}}}),
            r#"{"p":{"x":1.50}}"#,
        ),
        (
            "a reference in a circle",
            json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "object", "properties": {"left": {"$ref": "#/$defs/T"}, "v": {"type": "string"}}}}}),
            r#"{"tree":{"left":{"left":{"v":"deep"}}}}"#,
        ),
        (
            "a reference to nothing",
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/absent"}}}),
            r#"{"p":{"any":[1]}}"#,
        ),
        (
            "anyOf with null",
            json!({"type": "object", "properties": {"w": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}),
            r#"{"w":null}"#,
        ),
        (
            "a list of types",
            json!({"type": "object", "properties": {"w": {"type": ["string", "integer", "null"]}}}),
            r#"{"w":5}"#,
        ),
        (
            "oneOf of objects",
            json!({"type": "object", "properties": {"t": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]}]}}}),
            r#"{"t":{"kind":"b","y":"z"}}"#,
        ),
        (
            "allOf",
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "boolean"}}, "required": ["b"]}]}),
            r#"{"a":"x","b":false}"#,
        ),
        (
            "arrays of objects",
            json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "string"}}}}}}),
            r#"{"l":[{"n":"a"},{"n":"b","extra":true}]}"#,
        ),
        (
            "tuples",
            json!({"type": "object", "properties": {"l": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}}}),
            r#"{"l":["a",2,null]}"#,
        ),
        (
            "maps",
            json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}}}),
            r#"{"m":{"one":1,"__proto__":2}}"#,
        ),
        (
            "large and exact numbers",
            json!({"type": "object", "properties": {"n": {"type": "integer"}, "f": {"type": "number"}}}),
            r#"{"n":12345678901234567890,"f":1.10}"#,
        ),
        (
            "no schema at all",
            json!({}),
            r#"{"what":["ever",{"it":null}]}"#,
        ),
        (
            "a value that does not fit",
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            r#"{"n":"not a number","more":{}}"#,
        ),
        (
            "enums of all kinds",
            json!({"type": "object", "properties": {"e": {"enum": ["a", 1, null, true, {"x": 1}]}}}),
            r#"{"e":{"x":1}}"#,
        ),
        (
            "not in the enum",
            json!({"type": "object", "properties": {"e": {"enum": ["a"]}}}),
            r#"{"e":"b"}"#,
        ),
        (
            "line ends and signs",
            json!({"type": "object", "properties": {"s": {"type": "string", "format": "email"}}}),
            "{\"s\":\"a\\nb\\u0000\\\"\"}",
        ),
        (
            "ways that only require",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            r#"{"b":"x"}"#,
        ),
        (
            "an empty everything",
            json!({"type": "object", "properties": {"s": {"type": "string"}, "l": {"type": "array"}, "o": {"type": "object"}}}),
            r#"{"s":"","l":[],"o":{}}"#,
        ),
    ]
}

#[tokio::test]
async fn a_value_is_the_same_in_both_views() {
    for (name, schema, value) in corpus() {
        let mut state = full();
        state.tools = vec![data::tool("one", "echo", schema)];
        let world = World::with(state).await;
        let page = &world.browser;
        world.go("#/servers/one/tools/echo").await;
        page.click("[data-testid=form] .segments button:nth-child(2)")
            .await;
        page.fill("[data-testid=json]", value).await;
        page.click("[data-testid=form] .segments button:nth-child(1)")
            .await;
        page.until("return !document.querySelector('[data-testid=json]')")
            .await;
        page.click("[data-testid=form] .segments button:nth-child(2)")
            .await;
        let shown = page
            .until("return document.querySelector('[data-testid=json]')?.value")
            .await;
        let shown = shown.as_str().expect("text").to_owned();
        assert_eq!(squeezed(&shown), value, "{name}");
        page.click("[data-testid=run]").await;
        page.wait("[data-testid=result]").await;
        let sent = world.gateway.last_to("calls").expect("a call");
        assert!(
            sent.ends_with(&format!("\"arguments\":{shown}}}")),
            "{name}: {sent}"
        );
        world.is_quiet().await;
    }
}

/// JSON without white space between its tokens.
fn squeezed(text: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let keep = |sign: &char| {
        let was_inside = inside;
        match (*sign, escaped) {
            (_, true) => escaped = false,
            ('\\', false) => escaped = inside,
            ('"', false) => inside = !inside,
            _ => {}
        }
        was_inside || !sign.is_whitespace()
    };
    text.chars().filter(keep).collect()
}

#[tokio::test]
async fn what_is_typed_into_fields_is_what_is_sent() {
    let schema = json!({"type": "object", "required": ["title"], "properties": {
        "title": {"type": "string"}, "count": {"type": "integer"}, "open": {"type": "boolean"}, "state": {"enum": ["new", "old"]},
        "labels": {"type": "array", "items": {"type": "string"}}, "who": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "where": {"oneOf": [{"title": "by number", "type": "integer"}, {"title": "by name", "type": "string"}]}}});
    let mut state = full();
    state.tools = vec![data::tool("one", "echo", schema)];
    let world = World::with(state).await;
    let page = &world.browser;
    world.go("#/servers/one/tools/echo").await;
    page.type_into("[data-path='/title'] textarea", "Größe \"x\"")
        .await;
    page.type_into("[data-path='/count'] input", "12345678901234567890")
        .await;
    page.click("[data-path='/open'] .segments button:nth-child(3)")
        .await;
    page.click("[data-path='/state'] select option:nth-child(3)")
        .await;
    page.click("[data-path='/labels'] button").await;
    page.type_into("[data-path='/labels/0'] textarea", "red")
        .await;
    page.click("[data-path='/who'] input[type=checkbox]").await;
    // A way that was left is found again as it was.
    page.type_into("[data-path='/where'] [data-path='/where'] input", "7")
        .await;
    page.click("[data-path='/where'] select option:nth-child(2)")
        .await;
    page.type_into(
        "[data-path='/where'] [data-path='/where'] textarea",
        "there",
    )
    .await;
    page.click("[data-path='/where'] select option:nth-child(1)")
        .await;
    page.says("[data-path='/where'] [data-path='/where'] input", "7")
        .await;
    page.click("[data-testid=run]").await;
    page.wait("[data-testid=result]").await;
    let sent = world.gateway.last_to("calls").expect("a call");
    let (_, arguments) = sent.split_once("\"arguments\":").expect("arguments");
    let expected = r#"{"title":"Größe \"x\"","count":12345678901234567890,"open":false,"state":"old","labels":["red"],"who":null,"where":7}}"#;
    assert_eq!(squeezed(arguments), expected);
    world.is_quiet().await;
}

#[tokio::test]
async fn what_is_half_typed_stays_and_is_not_sent() {
    let schema = json!({"type": "object", "properties": {"count": {"type": "integer"}}});
    let mut state = full();
    state.tools = vec![data::tool("one", "echo", schema)];
    let world = World::with(state).await;
    let page = &world.browser;
    world.go("#/servers/one/tools/echo").await;
    page.type_into("[data-path='/count'] input", "-").await;
    page.says("main", "not a number yet").await;
    page.until("return document.querySelector('[data-testid=run]').disabled")
        .await;
    page.click("[data-testid=form] .segments button:nth-child(2)")
        .await;
    page.says("[data-testid=json]", "\"count\": -").await;
    page.fill("[data-testid=json]", "{\"count\": 3, ").await;
    page.says("main", "line 1").await;
    // Not JSON: it cannot be drawn, so that it stays where it is.
    page.click("[data-testid=form] .segments button:nth-child(1)")
        .await;
    page.says("[data-testid=json]", "{\"count\": 3, ").await;
    assert!(world.gateway.last_to("calls").is_none());
}

#[tokio::test]
async fn what_the_gateway_says_is_wrong_stands_at_its_place() {
    let mut state = full();
    state.faults = vec![
        Fault {
            path: "/limit".into(),
            error: "3 is more than 2".into(),
        },
        Fault {
            path: String::new(),
            error: "\"path\" is missing; it takes a string".into(),
        },
    ];
    let world = World::with(state).await;
    let page = &world.browser;
    world.go("#/servers/one/tools/echo").await;
    page.says("[data-path='/limit'] .wrong", "3 is more than 2")
        .await;
    page.says(
        "[data-path='/path'] .wrong",
        "is missing; it takes a string",
    )
    .await;
}

#[tokio::test]
async fn a_rule_that_asks_is_asked_about() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/servers/one/tools/asks").await;
    page.click("[data-testid=run]").await;
    page.click("[data-testid=confirm]").await;
    page.wait("[data-testid=result]").await;
    let sent: Value =
        serde_json::from_str(&world.gateway.last_to("calls").expect("a call")).expect("JSON");
    assert_eq!(sent["confirmed"], true);
}
