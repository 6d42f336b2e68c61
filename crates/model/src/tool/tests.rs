use super::*;
use serde_json::json;
use std::collections::HashSet;

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

fn tool(value: &Value) -> ModelTool {
    ModelTool::read("srv", &bytes(value)).unwrap()
}

#[test]
fn a_tool_in_each_api_s_form() {
    let definition = json!({
        "name": "create-issue", "title": "Create", "description": "Creates an issue",
        "inputSchema": { "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false, "destructiveHint": true },
        "_meta": { "anthropic/searchHint": "bugs tickets", "anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": 5 },
    });
    let (tools, left_out) = model_tools(["github"], &[("github", bytes(&definition))]);
    assert!(left_out.is_empty());
    let tool = &tools[0];
    let schema = json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] });
    let name = "mcp__github__create-issue";
    assert_eq!(
        tool.to_anthropic(false),
        json!({ "name": name, "description": "Creates an issue", "input_schema": schema })
    );
    assert_eq!(tool.to_anthropic(true)["defer_loading"], true);
    assert_eq!(
        tool.to_openai(),
        json!({ "type": "function", "function": { "name": name, "description": "Creates an issue", "parameters": schema } })
    );
    assert_eq!(tool.to_openai_responses()["name"], name);
    assert_eq!(
        (
            tool.server.as_str(),
            tool.tool.as_str(),
            tool.title.as_deref()
        ),
        ("github", "create-issue", Some("Create"))
    );
    assert_eq!(
        (
            tool.search_hint.as_deref(),
            tool.always_load,
            tool.max_result_chars
        ),
        (Some("bugs tickets"), true, Some(5))
    );
    assert_eq!(tool.annotations.words(), ["destructive"]);
    assert_eq!(
        tool.output_schema.as_deref(),
        Some(&b"{\"type\":\"object\"}"[..])
    );
    assert!(tool.changes.is_empty(), "{:?}", tool.changes);
    // The original is what arguments are checked against, byte for byte.
    assert_eq!(tool.input_schema, bytes(&definition["inputSchema"]));
    let length = tool.to_anthropic(false).to_string().len();
    assert_eq!(tool.tokens, length.div_ceil(4));
    assert_eq!(tool.argument_names().collect::<Vec<_>>(), ["title"]);
}

#[test]
fn the_seeds_names() {
    let definition =
        |name: &str| bytes(&json!({ "name": name, "inputSchema": { "type": "object" } }));
    let items = [
        ("github", definition("create_issue")),
        ("slack", definition("search_public")),
        // Not mcp__My_Server___do_thing: the hyphen stays.
        ("My Server!", definition("do-thing")),
    ];
    let (tools, _) = model_tools(["github", "slack", "My Server!"], &items);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "mcp__github__create_issue",
            "mcp__slack__search_public",
            "mcp__My_Server___do-thing"
        ]
    );
}

#[test]
fn descriptions_are_cut_on_a_character_and_say_so() {
    let exact = "é".repeat(2048);
    assert_eq!(cut(&exact, 2048), exact);
    let long = "é".repeat(50_000);
    let text = cut(&long, 2048);
    assert_eq!(text.chars().count(), 2048);
    assert!(text.ends_with("… [cut, 50000 characters in all]"), "{text}");
    let tool = tool(&json!({ "name": "t", "description": long, "inputSchema": {} }));
    assert_eq!(tool.description, text);
    assert_eq!(
        cut("ab", 0),
        "… [cut, 2 characters in all]",
        "a note is better than nothing at all"
    );
}

#[test]
fn one_bad_tool_in_a_hundred_is_left_out_and_named() {
    let mut items: Vec<(&str, Bytes)> = (0..99)
        .map(|n| {
            (
                "srv",
                bytes(&json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } })),
            )
        })
        .collect();
    items.insert(
        50,
        (
            "srv",
            Bytes::from_static(br#"{"name":"bad","description":"no schema"}"#),
        ),
    );
    let (tools, left_out) = model_tools(["srv"], &items);
    assert_eq!(tools.len(), 99);
    assert_eq!(
        left_out[0].to_string(),
        "tool \"bad\" of server \"srv\" is left out: it has no inputSchema"
    );
    for bad in [
        "{",
        "[]",
        "{\"inputSchema\":{}}",
        "{\"name\":1,\"inputSchema\":{}}",
        "{\"name\":\"a\",\"name\":\"b\",\"inputSchema\":{}}",
    ] {
        assert!(
            ModelTool::read("srv", &Bytes::from(bad.to_owned())).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn a_schema_too_large_for_a_model_does_not_cost_it_the_tool() {
    let words = "x".repeat(limits::MODEL_SCHEMA_BYTES);
    let tool =
        tool(&json!({ "name": "t", "inputSchema": { "type": "object", "description": words } }));
    assert_eq!(tool.schema, json!({ "type": "object", "properties": {} }));
    assert!(tool.tokens < 100);
    assert!(tool.input_schema.len() > limits::MODEL_SCHEMA_BYTES);
}

#[test]
fn annotations_are_read_with_care() {
    let read = |value: Value| Annotations::read(value.to_string().as_bytes());
    let plain = read(json!({}));
    assert!(
        !plain.says_read_only()
            && plain.may_destroy()
            && !plain.may_be_repeated()
            && !plain.may_run_in_parallel()
    );
    let read_only = read(json!({ "readOnlyHint": true }));
    assert!(read_only.says_read_only() && !read_only.may_destroy() && read_only.may_be_repeated());
    let contradictory = read(json!({ "readOnlyHint": true, "destructiveHint": true }));
    assert!(
        !contradictory.says_read_only()
            && contradictory.may_destroy()
            && !contradictory.may_run_in_parallel()
    );
    assert!(
        !read(json!({ "readOnlyHint": "true" })).says_read_only(),
        "only the boolean counts"
    );
    assert!(read(json!({ "idempotentHint": true })).may_be_repeated());
    assert_eq!(
        Annotations::read(b"{\"readOnlyHint\":true,\"readOnlyHint\":true}"),
        Annotations::default()
    );
    assert_eq!(Annotations::read(b"7"), Annotations::default());
}

#[test]
fn five_thousand_tools_have_names_of_their_own() {
    let servers: Vec<String> = (0..40).map(|n| format!("server {n}")).collect();
    let mut items = Vec::new();
    for (n, server) in servers.iter().cycle().take(5000).enumerate() {
        let name = match n % 4 {
            0 => format!("tool.{n}"),
            1 => format!("tool {n}"),
            2 => format!("{}{n}", "long".repeat(30)),
            _ => format!("tool_{}", n - 3),
        };
        items.push((
            server.as_str(),
            bytes(&json!({ "name": name, "inputSchema": { "type": "object" } })),
        ));
    }
    let (tools, left_out) = model_tools(servers.iter().map(String::as_str), &items);
    assert!(left_out.is_empty());
    let names: HashSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), 5000);
    assert!(names.iter().all(|name| {
        name.len() <= 64
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    }));
}
