use super::*;
use crate::tool::model_tools;
use bytes::Bytes;
use std::time::{Duration, Instant};

fn tool(name: &str, description: &str, hint: Option<&str>, arguments: &[&str]) -> Bytes {
    let properties: serde_json::Map<String, Value> = arguments
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    let mut tool = json!({
        "name": name, "description": description, "inputSchema": { "type": "object", "properties": properties },
    });
    if let Some(hint) = hint {
        tool["_meta"] = json!({ "anthropic/searchHint": hint });
    }
    Bytes::from(tool.to_string())
}

fn some_tools() -> Vec<ModelTool> {
    let items = [
        (
            "github",
            tool(
                "create_issue",
                "Create a new issue in a repository",
                None,
                &["owner", "repo", "title"],
            ),
        ),
        (
            "github",
            tool(
                "listPullRequests",
                "List what is to be merged",
                None,
                &["state"],
            ),
        ),
        (
            "slack",
            tool(
                "send-message",
                "Send a message to a channel",
                Some("chat post notify"),
                &["channel", "text"],
            ),
        ),
        ("slack", tool("search", "Search messages", None, &["query"])),
        (
            "files",
            tool(
                "read_file",
                "Reads a file. Issues of encoding are handled.",
                None,
                &["path"],
            ),
        ),
        ("db", tool("run", "Runs a statement", None, &["sqlQuery"])),
    ];
    model_tools(["github", "slack", "files", "db"], &items).0
}

fn names(tools: &[ModelTool], found: &Found) -> Vec<String> {
    found
        .tools
        .iter()
        .map(|at| tools[*at].name.clone())
        .collect()
}

#[test]
fn words_are_found_in_names_descriptions_hints_and_arguments() {
    let tools = some_tools();
    let index = Index::new(&tools);
    for (query, first) in [
        ("issue", "mcp__github__create_issue"),
        ("issues", "mcp__github__create_issue"),
        ("pull requests", "mcp__github__listPullRequests"),
        ("notify", "mcp__slack__send-message"),
        ("SQL", "mcp__db__run"),
        ("encoding", "mcp__files__read_file"),
        ("repo", "mcp__github__create_issue"),
        ("send slack message", "mcp__slack__send-message"),
        ("mess", "mcp__slack__send-message"),
    ] {
        let found = names(&tools, &index.search(query, 5));
        assert_eq!(
            found.first().map(String::as_str),
            Some(first),
            "{query}: {found:?}"
        );
    }
    assert_eq!(index.search("zebra", 5), Found::default());
    assert_eq!(index.search("", 5), Found::default());
    assert_eq!(index.search("   ", 5), Found::default());
}

#[test]
fn a_whole_word_counts_more_than_a_beginning() {
    let items = [
        ("s", tool("a_logger", "", None, &[])),
        ("s", tool("b_login", "", None, &[])),
        ("s", tool("c_log", "", None, &[])),
        ("s", tool("d_catalog", "", None, &[])),
    ];
    let (tools, _) = model_tools(["s"], &items);
    let found = names(&tools, &Index::new(&tools).search("log", 5));
    assert_eq!(
        found,
        ["mcp__s__c_log", "mcp__s__a_logger", "mcp__s__b_login"]
    );
}

#[test]
fn a_plus_needs_the_name() {
    let tools = some_tools();
    let index = Index::new(&tools);
    assert_eq!(
        names(&tools, &index.search("+slack search", 5)),
        ["mcp__slack__search", "mcp__slack__send-message"]
    );
    assert_eq!(
        names(&tools, &index.search("+send-message", 5)),
        ["mcp__slack__send-message"]
    );
    assert!(index.search("+slack +github", 5).tools.is_empty());
}

#[test]
fn tools_are_selected_by_name() {
    let tools = some_tools();
    let index = Index::new(&tools);
    let found = index.search(
        "select:mcp__slack__search, mcp__slack__send_message ,nothing,mcp__slack__search",
        1,
    );
    assert_eq!(
        names(&tools, &found),
        ["mcp__slack__search", "mcp__slack__send-message"]
    );
    assert_eq!(found.missing, ["nothing"]);
    let text = found.to_text(&tools);
    assert!(
        text.lines()
            .next()
            .unwrap()
            .starts_with("{\"name\":\"mcp__slack__search\""),
        "{text}"
    );
    assert!(text.ends_with("There is no tool named nothing."), "{text}");
    assert_eq!(
        found.to_claude(&tools)[1],
        json!({ "type": "tool_reference", "tool_name": "mcp__slack__send-message" })
    );
    assert_eq!(
        index.search("nothing at all", 5).to_claude(&tools)[0]["type"],
        "text"
    );
    // A spelling that two tools share tells neither.
    let items = [
        ("s", tool("a-b", "", None, &[])),
        ("s", tool("a_b", "", None, &[])),
    ];
    let (alike, _) = model_tools(["s"], &items);
    assert_eq!(
        Index::new(&alike).search("select:mcp__s__A-B", 5).missing,
        ["mcp__s__A-B"]
    );
}

#[test]
fn words_of_names() {
    let words: Vec<String> = words_of("getHTTPUser_by-id2 Öl queries class").collect();
    assert_eq!(
        words,
        [
            "get", "http", "user", "by", "id", "2", "öl", "query", "class"
        ]
    );
}

#[test]
fn the_tool_that_searches() {
    let tools = some_tools();
    let index = Index::new(&tools);
    assert_eq!(definition()["name"], "ToolSearch");
    assert_eq!(
        run(&index, br#"{"query":"message","max_results":1}"#)
            .unwrap()
            .tools
            .len(),
        1
    );
    assert!(run(&index, br#"{"query":"message","max_results":100000}"#).is_ok());
    assert!(
        run(&index, br#"{"q":"message"}"#)
            .unwrap_err()
            .to_string()
            .contains("ToolSearch")
    );
}

#[test]
fn five_thousand_tools_are_searched_in_five_milliseconds() {
    let nouns = [
        "issue", "message", "file", "user", "invoice", "calendar", "branch", "secret", "query",
        "image",
    ];
    let verbs = [
        "create", "list", "delete", "update", "search", "archive", "share", "export",
    ];
    let servers: Vec<String> = (0..40).map(|n| format!("server{n}")).collect();
    let items: Vec<(&str, Bytes)> = (0..5000)
        .map(|n| {
            let (verb, noun) = (verbs[n % 8], nouns[n / 8 % 10]);
            let description = format!(
                "{verb} a {noun} with the number {n} in the account of the user, and return it. {}",
                "More words. ".repeat(20)
            );
            (
                servers[n % 40].as_str(),
                tool(
                    &format!("{verb}_{noun}_{n}"),
                    &description,
                    None,
                    &["id", "options"],
                ),
            )
        })
        .collect();
    let (tools, _) = model_tools(servers.iter().map(String::as_str), &items);
    let index = Index::new(&tools);
    let mut times: Vec<Duration> = Vec::new();
    for query in [
        "archive the calendar",
        "delete secret 4711",
        "user account number",
        "+server7 export image",
    ]
    .repeat(10)
    {
        let start = Instant::now();
        let found = index.search(query, 5);
        times.push(start.elapsed());
        assert_eq!(found.tools.len(), 5, "{query}");
    }
    let best = index.search("delete file 2418", 5);
    assert_eq!(tools[best.tools[0]].tool, "delete_file_2418");
    times.sort();
    let median = times[times.len() / 2];
    // Without optimisation it takes some ten times longer.
    let limit = if cfg!(debug_assertions) {
        Duration::from_millis(50)
    } else {
        Duration::from_millis(5)
    };
    assert!(median < limit, "{median:?}");
}

#[test]
fn the_values_of_the_variable() {
    for (text, mode) in [
        ("true", Mode::On),
        ("false", Mode::Off),
        ("auto", Mode::Auto(10)),
        ("", Mode::Auto(10)),
        ("auto:25", Mode::Auto(25)),
        ("AUTO:0", Mode::Auto(0)),
        ("auto:100", Mode::Auto(100)),
    ] {
        assert_eq!(text.parse(), Ok(mode), "{text}");
    }
    for text in ["auto:101", "auto:", "auto:-1", "maybe", "auto:ten"] {
        assert!(text.parse::<Mode>().is_err(), "{text}");
    }
}

#[test]
fn what_waits() {
    let tool = |tokens, always_load, hinted| Deferral {
        tokens,
        always_load,
        hinted,
    };
    let tools = [
        tool(600, false, false),
        tool(300, true, true),
        tool(101, false, true),
        tool(0, true, false),
    ];
    let waits = |mode, window| plan(mode, window, &tools).deferred;
    assert_eq!(waits(Mode::On, 1_000_000), [true, false, true, false]);
    assert_eq!(waits(Mode::Off, 1), [false; 4]);
    // 1,001 tokens: more than a tenth of 10,000, not more than a tenth of 10,010.
    assert_eq!(waits(Mode::Auto(10), 10_000), [true, false, true, false]);
    assert_eq!(waits(Mode::Auto(10), 10_010), [false, false, true, false]);
    assert_eq!(waits(Mode::Auto(0), 1_000_000), [true, false, true, false]);
    assert_eq!(waits(Mode::Auto(100), 1001), [false, false, true, false]);
    let plan = plan(Mode::On, 1000, &tools);
    assert_eq!(
        (plan.all_tokens, plan.loaded_tokens, plan.needs_search()),
        (1001, 300, true)
    );
    assert!(!super::plan(Mode::Off, 1000, &tools).needs_search());
    assert!(!super::plan(Mode::On, 1000, &[]).needs_search());
}
