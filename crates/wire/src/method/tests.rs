use super::*;

#[test]
fn a_name_reads_back_in_any_spelling() {
    for name in [
        "tools/call",
        "initialize",
        "server/discover",
        "notifications/tools/list_changed",
        "$/progress",
    ] {
        let method = Method::parse(name);
        assert_ne!(method, Method::Other, "{name}");
        assert_eq!(method.as_str(), name);
    }
    for token in [
        r#""tools/call""#,
        r#""tools\/call""#,
        r#""\u0074ools/call""#,
    ] {
        assert_eq!(
            Method::from_token(token.as_bytes()),
            Some(Method::ToolsCall),
            "{token}"
        );
    }
}

#[test]
fn what_only_resembles_a_name_is_another_method() {
    for other in [
        "Tools/call",
        "tools/call ",
        "tools/call\0",
        "tools//call",
        "",
        "tools",
    ] {
        assert_eq!(Method::parse(other), Method::Other, "{other:?}");
    }
    assert_eq!(Method::Other.as_str(), "");
    assert_eq!(Method::from_token(b"1"), None);
    assert_eq!(Method::from_token(br#""\ud800""#), None);
}

/// The specification's table of standard headers, and the tasks extension's.
#[test]
fn the_name_header_mirrors_what_the_specification_says() {
    let table = [
        (Method::ToolsCall, Some("name")),
        (Method::PromptsGet, Some("name")),
        (Method::ResourcesRead, Some("uri")),
        (Method::TasksGet, Some("taskId")),
        (Method::TasksUpdate, Some("taskId")),
        (Method::TasksCancel, Some("taskId")),
        (Method::ToolsList, None),
        (Method::Discover, None),
        (Method::Other, None),
    ];
    for (method, field) in table {
        assert_eq!(method.name_header_field(), field, "{method:?}");
    }
}

#[test]
fn every_list_names_its_items_and_its_capability() {
    for (method, items, capability) in [
        (Method::ToolsList, "tools", "tools"),
        (Method::ResourcesList, "resources", "resources"),
        (
            Method::ResourceTemplatesList,
            "resourceTemplates",
            "resources",
        ),
        (Method::PromptsList, "prompts", "prompts"),
    ] {
        assert_eq!(method.list_field(), Some(items));
        assert_eq!(method.needs_capability(), Some(capability));
    }
    assert_eq!(Method::ToolsCall.list_field(), None);
    assert_eq!(Method::Ping.needs_capability(), None);
}
