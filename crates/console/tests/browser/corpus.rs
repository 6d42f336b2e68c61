//! Schemas of public servers' tools, without a word of theirs: a value that fits each is the
//! same in both views of the form, and hardly any of it is drawn as mere JSON.

use crate::{World, data, full};
use serde_json::{Map, Value, json};

/// One schema a line. Titles, descriptions and examples are left out.
const SCHEMAS: &str = include_str!("schemas.jsonl");

fn schemas() -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("JSON");
    SCHEMAS.lines().map(parse).collect()
}

/// A value that has every key that a schema names, as far as it goes.
fn sample(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > 6 {
        return Value::Null;
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let target = reference
            .strip_prefix('#')
            .and_then(|path| root.pointer(path));
        return target.map_or(Value::Null, |target| sample(target, root, depth + 1));
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = schema["enum"].as_array().and_then(|all| all.last()) {
        return value.clone();
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        if let Some(way) = schema[word].as_array().and_then(|all| all.first()) {
            return sample(way, root, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => json!("a “text”\nof two lines"),
        Some("integer") => json!(9_007_199_254_740_993_u64),
        Some("number") => json!(0.5),
        Some("boolean") => json!(false),
        Some("array") => json!([sample(&schema["items"], root, depth + 1)]),
        Some("object") => {
            let empty = Map::new();
            let members = schema["properties"].as_object().unwrap_or(&empty);
            let each = members
                .iter()
                .map(|(key, schema)| (key.clone(), sample(schema, root, depth + 1)));
            Value::Object(each.collect())
        }
        _ => Value::Null,
    }
}

#[tokio::test]
async fn schemas_of_public_servers_are_drawn_without_losses() {
    let schemas = schemas();
    assert!(schemas.len() >= 200, "only {} schemas", schemas.len());
    let mut state = full();
    let tools = schemas.iter().enumerate();
    state.tools = tools
        .map(|(at, schema)| data::tool("one", &format!("t{at}"), schema.clone()))
        .collect();
    let world = World::with(state).await;
    let page = &world.browser;
    let (mut fields, mut plain) = (0, 0);
    for (at, schema) in schemas.iter().enumerate() {
        let value = sample(schema, schema, 0);
        world.go(&format!("#/servers/one/tools/t{at}")).await;
        page.says("main h1", &format!("t{at}")).await;
        let text = serde_json::to_string(&value.to_string()).expect("JSON");
        let script = format!(
            "const button = (at) => document.querySelector(`[data-testid=form] .segments button:nth-child(${{at}})`);
             const settled = () => new Promise((done) => setTimeout(done, 0));
             button(2).click(); await settled();
             const area = document.querySelector('[data-testid=json]');
             area.value = {text}; area.dispatchEvent(new Event('input', {{ bubbles: true }})); await settled();
             button(1).click(); await settled();
             const drawn = [...document.querySelectorAll('[data-testid=form] [data-path]')].map((field) => field.dataset.kind);
             button(2).click(); await settled();
             return [document.querySelector('[data-testid=json]')?.value ?? '', drawn.length, drawn.filter((kind) => kind === 'json').length]"
        );
        let found = page.run(&script).await;
        let shown: Value = serde_json::from_str(found[0].as_str().expect("text"))
            .unwrap_or_else(|error| panic!("t{at}: {error}: {found}"));
        assert_eq!(shown, value, "t{at}: {schema}");
        fields += found[1].as_u64().unwrap_or_default();
        plain += found[2].as_u64().unwrap_or_default();
    }
    assert!(
        fields > 1000 && plain * 20 < fields,
        "{plain} of {fields} fields are drawn as JSON"
    );
    world.is_quiet().await;
}
