//! 5,000 tools over 40 servers: what a list, a search and all of them in
//! memory cost. The figures are printed; what is asserted leaves room for a
//! build without optimisation on a busy machine.

use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_agent::Agent;
use switchboard_host::{
    Client, Host, NoSink, ServerSpec, Target,
    catalog::List,
    permission::{Effect, Mode, Origin, Rules},
};
use switchboard_transport::{Budget, in_process::End};
use switchboard_wire::{Revision, name::Style};

const SERVERS: usize = 40;
const TOOLS: usize = 125;
/// How much longer things may take without optimisation, beside other work.
const SLACK: u32 = if cfg!(debug_assertions) { 40 } else { 4 };

fn server_name(n: usize) -> String {
    // Some look alike once they are made safe.
    match n % 4 {
        0 => format!("server.{}", n / 2),
        1 => format!("server_{}", n / 2),
        _ => format!("a server for {n} things"),
    }
}

fn tools(server: usize) -> Value {
    let each = (0..TOOLS).map(|n| {
        let name = match n % 5 {
            0 => format!("get.item {}", n / 2),
            1 => format!("get_item_{}", n / 2),
            _ => format!("tool_{n}_with_a_rather_long_name_that_says_what_it_does_in_{server}"),
        };
        json!({
            "name": name,
            "description": format!("Does thing {n} of {server}: finds, changes or removes what its arguments name, and says what it did. {}", "More words that describe it. ".repeat(6)),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                    "query": {"type": "string", "description": "What to look for"},
                },
                "required": ["path"],
            },
            "annotations": {"readOnlyHint": n % 2 == 0},
        })
    });
    json!({ "tools": each.collect::<Vec<Value>>() })
}

fn serve(end: End, server: usize) {
    let End {
        sender,
        mut receiver,
    } = end;
    tokio::spawn(async move {
        while let Some(bytes) = receiver.next().await {
            let message: Value = serde_json::from_slice(&bytes).expect("JSON");
            let Some(id) = message.get("id") else {
                continue;
            };
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "many", "version": "1"},
                }),
                _ => tools(server),
            };
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let _ = sender.send(Bytes::from(answer.to_string()).into());
        }
    });
}

fn specs() -> Vec<ServerSpec> {
    let spec = |n: usize| {
        let target = Target::Linked(Arc::new(move |end| {
            serve(end, n);
            Ok(())
        }));
        ServerSpec::new(server_name(n), target)
    };
    (0..SERVERS).map(spec).collect()
}

/// KiB of memory that are in use now; nothing where the system does not say.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().split(' ').next()?.parse().ok()
}

#[tokio::test]
async fn five_thousand_tools() {
    let before = resident();
    let host = Host::new(
        specs(),
        Rules::everything_allowed(),
        Style::Short,
        Budget::default(),
    );
    let client = Client::new(
        "me".into(),
        Revision::NEWEST_LEGACY,
        Bytes::from_static(b"{}"),
        Arc::new(NoSink),
    );
    let client = Arc::new(client);
    let until = Instant::now() + Duration::from_secs(60);
    while host.merged(&client, List::Tools).await.len() < SERVERS * TOOLS {
        assert!(Instant::now() < until, "all servers answer");
    }

    let started = Instant::now();
    let merged = host.merged(&client, List::Tools).await;
    let bytes: usize = merged.iter().map(|item| item.text().len()).sum();
    let listing = started.elapsed();
    let names: HashSet<&str> = merged.iter().map(|item| item.outward.as_str()).collect();
    assert_eq!(names.len(), SERVERS * TOOLS, "names are injective");
    for item in merged.iter() {
        let found = merged.find(&item.outward).expect("it is found by its name");
        assert_eq!(
            (found.server.name(), &found.item.key),
            (item.server.name(), &item.item.key)
        );
        assert!(item.outward.len() <= 46);
    }
    let after = resident();

    // The same under a hundred rules, after they change.
    let servers: Vec<String> = (0..SERVERS).map(server_name).collect();
    let mut rules = Rules::builder(servers.iter().map(String::as_str), Mode::Client);
    for n in 0..100 {
        rules = rules.rule(
            Effect::Deny,
            &format!("mcp__server_{n}__get_item_*"),
            Origin::user("x"),
        );
    }
    host.guard().set_rules(rules.build().0);
    let started = Instant::now();
    let ruled = host.known(&client, List::Tools);
    let with_rules = started.elapsed();
    assert!(ruled.len() < SERVERS * TOOLS && !ruled.is_empty());
    host.close().await;

    let memory = before
        .zip(after)
        .map(|(before, after)| after.saturating_sub(before) / 1024);
    println!(
        "5,000 tools, {} KiB of definitions: listed from cache in {listing:?}, anew under 100 rules in {with_rules:?}; {} MiB more in memory",
        bytes / 1024,
        memory.map_or("?".to_owned(), |mib| mib.to_string()),
    );
    assert!(listing < Duration::from_millis(50) * SLACK, "{listing:?}");
    assert!(memory.is_none_or(|mib| mib < 64), "{memory:?} MiB");
}

#[tokio::test]
async fn searching_five_thousand_tools() {
    let builder = specs()
        .into_iter()
        .fold(Agent::builder(), |builder, spec| builder.server(spec));
    let agent = builder.mode(Mode::Bypass).build().expect("an agent");
    let until = Instant::now() + Duration::from_secs(60);
    let count = async || agent.tools().await.tools.len();
    while count().await <= SERVERS * TOOLS {
        assert!(
            Instant::now() < until,
            "all servers answer, and there is a search"
        );
    }
    let toolset = agent.tools().await;
    assert!(toolset.plan.needs_search(), "they would not fit");
    let shown: Vec<&str> = toolset.shown().map(|tool| tool.name.as_str()).collect();
    assert_eq!(shown, ["ToolSearch"]);
    let names: HashSet<&str> = toolset
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names.len(), toolset.tools.len(), "names are injective");
    assert!(names.iter().all(|name| name.len() <= 64));

    let query = json!({"type": "tool_use", "id": "1", "name": "ToolSearch", "input": {"query": "item 17 get path"}});
    agent.call(&query).await;
    let started = Instant::now();
    let found = agent.call(&query).await;
    let searched = started.elapsed();
    println!("searched 5,000 tools in {searched:?}");
    assert_eq!(found.get("is_error"), None, "{found}");
    assert!(
        found["content"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("get_item"))
    );
    assert!(searched < Duration::from_millis(5) * SLACK, "{searched:?}");
    agent.close().await;
}
