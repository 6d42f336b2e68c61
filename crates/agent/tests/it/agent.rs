//! Servers as an agent uses them: tools for a model, calls in order and side
//! by side, results that fit, resources, prompts, instructions, agents of agents.

use crate::scripted::Scripted;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use switchboard_agent::{
    Agent, AgentEvent, BuildFault, Offers, Operator, Question, SubAgent, SubFault,
};
use switchboard_host::{Consent, ServerState, Verdict, permission::Mode};
use switchboard_model::search;
use switchboard_wire::ErrorObject;

fn tool_use(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn agent(servers: &[&Scripted]) -> Agent {
    let builder = servers.iter().fold(Agent::builder(), |builder, server| {
        builder.server(server.spec())
    });
    builder.mode(Mode::Bypass).build().expect("an agent")
}

#[tokio::test]
async fn a_tool_use_becomes_a_tool_result() {
    let server = Scripted::new("s");
    let agent = agent(&[&server]);
    let tools = agent.tools().await;
    let shown = tools.to_anthropic();
    let echo = shown
        .iter()
        .find(|tool| tool["name"] == "mcp__s__echo")
        .expect("echo");
    assert_eq!(echo["input_schema"]["required"], json!(["text"]));
    let openai = tools.to_openai();
    assert!(
        openai
            .iter()
            .any(|tool| tool["function"]["name"] == "mcp__s__echo")
    );
    assert!(tools.tokens()["s"] > 0);
    assert!(
        tools.find("mcp__s__page_only").is_none(),
        "it is for pages of apps, and not for models"
    );

    let result = agent
        .call(&tool_use("1", "mcp__s__echo", json!({"text": "hello"})))
        .await;
    assert_eq!(
        result,
        json!({"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "hello"}]})
    );
    // OpenAI's shape of the same.
    let call = json!({"id": "c", "type": "function", "function": {"name": "mcp__s__echo", "arguments": "{\"text\":\"x\"}"}});
    assert_eq!(
        agent.call_openai(&call).await,
        json!({"role": "tool", "tool_call_id": "c", "content": "x"})
    );
    // The caller's metadata is passed on.
    let meta = json!({"trace": 7});
    agent
        .call_with(
            &tool_use("1", "mcp__s__echo", json!({"text": "m"})),
            Some(&meta),
        )
        .await;
    let last = server.calls().pop().expect("a call");
    assert_eq!(last["_meta"]["trace"], 7);
    agent.close().await;
}

#[tokio::test]
async fn what_a_server_would_refuse_does_not_leave() {
    let server = Scripted::new("s");
    let agent = agent(&[&server]);
    for (input, words) in [
        (json!({"text": 7}), "text"),
        (json!({}), "text"),
        (json!([1]), "must be a JSON object"),
    ] {
        let result = agent.call(&tool_use("1", "mcp__s__echo", input)).await;
        assert_eq!(result["is_error"], true);
        assert!(text(&result).contains(words), "{result}");
    }
    let result = agent.call(&tool_use("1", "mcp__s__none", json!({}))).await;
    assert!(
        text(&result).contains("no tool named mcp__s__none"),
        "{result}"
    );
    assert!(server.calls().is_empty());
    // What comes back is checked too, and shown all the same.
    let result = agent.call(&tool_use("1", "mcp__s__liar", json!({}))).await;
    let told = result["content"].as_array().expect("blocks");
    assert!(
        told.iter().any(|block| block["text"]
            .as_str()
            .unwrap_or_default()
            .contains("outputSchema")),
        "{result}"
    );
    agent.close().await;
}

#[tokio::test]
async fn what_changes_something_goes_in_order_and_the_rest_side_by_side() {
    let server = Scripted::new("s");
    let agent = agent(&[&server]);
    agent.tools().await;
    // The first write waits until both reads have arrived: side by side, or never.
    let calls = [
        tool_use("r1", "mcp__s__meet", json!({})),
        tool_use("w1", "mcp__s__write", json!({"n": 1})),
        tool_use("w2", "mcp__s__write", json!({"n": 2})),
        tool_use("r2", "mcp__s__meet", json!({})),
        tool_use("w3", "mcp__s__write", json!({"n": 3})),
    ];
    let results = tokio::time::timeout(Duration::from_secs(20), agent.call_all(&calls))
        .await
        .expect("the two reads meet");
    let ids: Vec<&str> = results
        .iter()
        .filter_map(|r| r["tool_use_id"].as_str())
        .collect();
    assert_eq!(ids, ["r1", "w1", "w2", "r2", "w3"]);
    assert_eq!(server.most_writes_at_once(), 1);
    let written: Vec<Value> = server
        .calls()
        .iter()
        .filter(|call| call["name"] == "write")
        .map(|call| call["arguments"]["n"].clone())
        .collect();
    assert_eq!(written, [1, 2, 3]);
    agent.close().await;
}

#[tokio::test]
async fn tools_wait_to_be_searched_for() {
    let server = Scripted::new("s");
    let agent = Agent::builder()
        .server(server.spec())
        .mode(Mode::Bypass)
        .tool_search(search::Mode::On)
        .build()
        .expect("an agent");
    let tools = agent.tools().await;
    let names: Vec<&str> = tools.shown().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["mcp__s__always", "ToolSearch"]);
    assert!(
        agent
            .search_section()
            .is_some_and(|text| text.contains("mcp__s__echo"))
    );
    assert!(
        tools
            .to_anthropic_deferred()
            .iter()
            .any(|tool| tool["defer_loading"] == true)
    );

    let found = agent
        .call(&tool_use(
            "1",
            "ToolSearch",
            json!({"query": "select:mcp__s__echo"}),
        ))
        .await;
    assert!(text(&found).contains("\"mcp__s__echo\""), "{found}");
    let tools = agent.tools().await;
    assert!(tools.shown().any(|tool| tool.name == "mcp__s__echo"));
    // What was never found can be called all the same: it is there.
    let result = agent
        .call(&tool_use("2", "mcp__s__write", json!({"n": 1})))
        .await;
    assert_eq!(result.get("is_error"), None);
    agent.close().await;

    // Off: everything is shown, and there is nothing to search with.
    let agent = Agent::builder()
        .server(Scripted::new("s").spec())
        .mode(Mode::Bypass)
        .tool_search(search::Mode::Off)
        .build()
        .expect("an agent");
    let tools = agent.tools().await;
    assert!(tools.find("ToolSearch").is_none() && tools.waiting().next().is_none());
    agent.close().await;
}

#[tokio::test]
async fn a_large_result_is_kept_and_read_in_parts() {
    let dir = tempfile::tempdir().expect("a directory");
    let agent = Agent::builder()
        .server(Scripted::new("s").spec())
        .mode(Mode::Bypass)
        .keep_results_in(dir.path())
        .build()
        .expect("an agent");
    let result = agent
        .call(&tool_use("1", "mcp__s__large", json!({"chars": 200_000})))
        .await;
    let told = text(&result);
    assert!(told.len() < 5_000 && told.contains("200"), "{told}");
    assert!(told.contains("ReadResult"), "{told}");
    let kept: Vec<_> = std::fs::read_dir(dir.path())
        .expect("a directory")
        .flatten()
        .collect();
    assert!(
        kept.iter()
            .any(|file| file.metadata().is_ok_and(|meta| meta.len() >= 200_000))
    );
    let id = told.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        (word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| word.to_owned())
    });
    let id = id.or_else(|| {
        let name = kept
            .iter()
            .map(|file| file.file_name().to_string_lossy().into_owned());
        name.into_iter().find(|name| !name.starts_with('.'))
    });
    let id = id.expect("the text names it");
    let read = agent
        .call(&tool_use(
            "2",
            "ReadResult",
            json!({"id": id, "offset": 1, "lines": 2}),
        ))
        .await;
    assert_eq!(read.get("is_error"), None, "{read}");
    assert!(text(&read).contains("line"), "{read}");
    let found = agent
        .call(&tool_use(
            "3",
            "ReadResult",
            json!({"id": id, "pattern": "line 77\\b"}),
        ))
        .await;
    assert!(text(&found).contains("line 77"), "{found}");
    agent.close().await;
}

#[tokio::test]
async fn resources_and_prompts() {
    let (one, two) = (Scripted::new("one"), Scripted::new("two:b"));
    let agent = agent(&[&one, &two]);
    agent.connect().await;
    let tools = agent.tools().await;
    let ours: Vec<&str> = tools
        .tools
        .iter()
        .filter(|tool| tool.name.ends_with("ResourceTool") || tool.name.ends_with("ResourcesTool"))
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        ours,
        ["ListMcpResourcesTool", "ReadMcpResourceTool"],
        "once, for two servers"
    );
    let listed = agent
        .call(&tool_use(
            "1",
            "ListMcpResourcesTool",
            json!({"server": "one"}),
        ))
        .await;
    let listed: Value = serde_json::from_str(text(&listed)).expect("JSON");
    assert_eq!(listed[0]["uri"], "note://1");
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let read = agent
        .call(&tool_use(
            "2",
            "ReadMcpResourceTool",
            json!({"server": "one", "uri": "note://1"}),
        ))
        .await;
    assert!(text(&read).contains("a note of one"), "{read}");
    let mentioned = agent.mention("@two:b:note://1").await.expect("a resource");
    assert!(
        mentioned[0]["text"]
            .as_str()
            .unwrap_or_default()
            .contains("a note of two:b")
    );
    assert!(agent.mention("@none:note://1").await.is_err());

    let prompts = agent.prompts().await;
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["mcp__one__greet", "mcp__two_b__greet"]);
    for given in [&["Ada"][..], &["who=Ada"]] {
        let messages = agent
            .prompt("mcp__one__greet", given)
            .await
            .expect("a prompt");
        assert_eq!(messages[0]["content"][0]["text"], "Greet Ada");
    }
    assert!(agent.prompt("mcp__one__greet", &[]).await.is_err());
    assert!(agent.prompt("mcp__one__greet", &["a", "b"]).await.is_err());
    agent.close().await;
}

#[tokio::test]
async fn instructions_and_what_changed_in_them() {
    let (one, two) = (Scripted::new("one"), Scripted::new("two"));
    let agent = agent(&[&one, &two]);
    assert_eq!(agent.instructions(), None, "nobody is connected");
    agent.connect().await;
    let delta = agent.instructions_delta().expect("two came");
    assert!(
        delta.contains("## one\nUse one well.") && delta.contains("## two"),
        "{delta}"
    );
    assert_eq!(agent.instructions_delta(), None);
    assert!(
        agent
            .instructions()
            .is_some_and(|all| all.contains("## two"))
    );
    agent.close().await;
    let delta = agent.instructions_delta().expect("two went");
    assert!(delta.contains("no longer count: one, two"), "{delta}");
}

struct Careful;

impl Operator for Careful {
    fn offers(&self) -> Offers {
        Offers {
            sampling: true,
            ..Offers::default()
        }
    }

    fn sample<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        let asked = question.params["messages"][0]["content"]["text"].clone();
        let answer =
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": asked}});
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn permit<'a>(&'a self, consent: &'a Consent) -> BoxFuture<'a, Verdict> {
        let verdict = if consent.tool == "write" {
            Verdict::No
        } else {
            Verdict::Once
        };
        Box::pin(std::future::ready(verdict))
    }
}

#[tokio::test]
async fn the_operator_decides_and_samples() {
    let server = Scripted::new("s");
    let agent = Agent::builder()
        .server(server.spec())
        .operator(Arc::new(Careful))
        .deny("mcp__s__liar")
        .build()
        .expect("an agent");
    assert!(agent.tools().await.find("mcp__s__liar").is_none());
    let result = agent
        .call(&tool_use("1", "mcp__s__echo", json!({"text": "yes"})))
        .await;
    assert_eq!(text(&result), "yes");
    let result = agent
        .call(&tool_use("2", "mcp__s__write", json!({"n": 1})))
        .await;
    assert_eq!(result["is_error"], true, "{result}");
    assert!(server.calls().iter().all(|call| call["name"] != "write"));
    let result = agent
        .call(&tool_use("3", "mcp__s__sample", json!({})))
        .await;
    assert!(text(&result).contains("what now?"), "{result}");
    agent.close().await;

    // Without somebody who samples a server is told so, and goes on.
    let plain = Scripted::new("s");
    let agent = self::agent(&[&plain]);
    let result = agent
        .call(&tool_use("4", "mcp__s__sample", json!({})))
        .await;
    assert!(text(&result).contains("not declared"), "{result}");
    agent.close().await;
    assert!(matches!(
        Agent::builder().server(plain.spec()).build(),
        Err(BuildFault::NobodyDecides)
    ));
}

#[tokio::test]
async fn events_tell_what_happens() {
    let server = Scripted::new("s");
    let agent = agent(&[&server]);
    let mut events = agent.events();
    agent
        .call(&tool_use("1", "mcp__s__echo", json!({"text": "x"})))
        .await;
    let mut seen = Vec::new();
    let all = async {
        while !matches!(seen.last(), Some(AgentEvent::Ended { .. })) {
            seen.push(events.recv().await.expect("an event"));
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("the call ends");
    assert!(
        seen.iter().any(|event| matches!(
            event,
            AgentEvent::Server {
                state: ServerState::Connected,
                ..
            }
        )),
        "{seen:?}"
    );
    assert!(seen.contains(&AgentEvent::Started {
        tool: "mcp__s__echo".to_owned()
    }));
    assert!(matches!(
        seen.last(),
        Some(AgentEvent::Ended { failed: false, .. })
    ));
    agent.close().await;
}

#[tokio::test]
async fn agents_of_an_agent() {
    let (shared, hidden, own) = (
        Scripted::new("shared"),
        Scripted::new("hidden"),
        Scripted::new("own"),
    );
    let agent = agent(&[&shared, &hidden]);
    agent.connect().await;
    let wanted = SubAgent {
        shared: vec!["shared".to_owned()],
        inline: vec![own.spec()],
        required: vec!["shared".to_owned(), "own".to_owned()],
    };
    let sub = agent.sub(wanted).await.expect("an agent");
    let tools = sub.tools().await;
    let servers: std::collections::BTreeSet<&str> = tools
        .tools
        .iter()
        .map(|tool| tool.server.as_str())
        .collect();
    assert!(servers.contains("shared") && servers.contains("own") && !servers.contains("hidden"));
    let result = sub
        .call(&tool_use("1", "mcp__own__echo", json!({"text": "x"})))
        .await;
    assert_eq!(text(&result), "x");
    assert_eq!(
        (shared.started(), own.started()),
        (1, 1),
        "the shared copy is the same"
    );
    sub.close().await;
    own.ended().await;
    // The parent's servers go on.
    let result = agent
        .call(&tool_use("2", "mcp__shared__echo", json!({"text": "y"})))
        .await;
    assert_eq!((text(&result), shared.started()), ("y", 1));

    let none = SubAgent {
        shared: vec!["none".to_owned()],
        ..SubAgent::default()
    };
    assert!(matches!(agent.sub(none).await, Err(SubFault::NotThere(_))));
    let missing = SubAgent {
        required: vec!["hidden".to_owned()],
        ..SubAgent::default()
    };
    assert!(matches!(
        agent.sub(missing).await,
        Err(SubFault::NotIncluded(_))
    ));
    let broken = SubAgent {
        inline: vec![Scripted::broken("broken").spec()],
        required: vec!["broken".to_owned()],
        ..SubAgent::default()
    };
    assert!(matches!(
        agent.sub(broken).await,
        Err(SubFault::NotWorking { .. })
    ));
    agent.close().await;
}
