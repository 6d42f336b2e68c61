//! Nothing is asked of a server that it did not declare.

use crate::support::scripted::{Scripted, able_to, tools};
use serde_json::{Value, json};
use switchboard_testkit::world::{Client, Gateway, World, config, run, servers};

/// What a server that declared this may be sent.
const HARMLESS: [&str; 6] = [
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "server/discover",
    "ping",
    "tools/list",
];

fn scripted(era: &'static str, capabilities: &Value) -> Scripted {
    let mut lines = able_to(capabilities).to_vec();
    lines.push(tools(&["t"]));
    let list = |field: &str, item: Value| json!({field: [item], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    let resource = list("resources", json!({"uri": "x://1", "name": "one"}));
    lines.push(json!({"method": "resources/list", "reply": resource.to_string()}));
    let prompt = list("prompts", json!({"name": "p"}));
    lines.push(json!({"method": "prompts/list", "reply": prompt.to_string()}));
    Scripted::new(era, &lines)
}

fn assert_harmless(server: &Scripted, more: &[&str], what: &str) {
    let asked = server.asked();
    assert!(!asked.is_empty(), "{what}: it was never started");
    let harmless =
        |method: &&String| !HARMLESS.contains(&&***method) && !more.contains(&&***method);
    let odd: Vec<&String> = asked.iter().filter(harmless).collect();
    assert!(odd.is_empty(), "{what}: asked {odd:?}");
}

/// A modern server whose lists do not change is not listened to, and nothing is
/// said of that.
#[tokio::test]
async fn a_server_without_news_is_not_listened_to() {
    let stage = World::with(&json!({}));
    for args in [
        &["list"][..],
        &["tools"],
        &["call", "t"],
        &["read", "x://1"],
    ] {
        let quiet = scripted("modern", &json!({"tools": {}}));
        let config = config(&servers([("quiet", quiet.stdio())]));
        let launch = stage.launch(&["--strict-mcp-config", "--mcp-config", &config]);
        let ran = run(launch.args(args)).await;
        assert!(
            !ran.err.contains("WARN") && !ran.err.contains("listen"),
            "{args:?}: {ran:?}"
        );
        assert_harmless(&quiet, &["tools/call"], &args.join(" "));
    }
    // One that has news is listened to, for just those.
    let talks = scripted("modern", &json!({"tools": {"listChanged": true}}));
    let gateway = Gateway::start(&servers([("talks", talks.stdio())])).await;
    let mut client = Client::new(&gateway, "/mcp/talks", true).await;
    let wanted = json!({"promptsListChanged": true, "toolsListChanged": true});
    let mut stream = client
        .stream("subscriptions/listen", json!({"notifications": wanted}))
        .await;
    let heard = stream.message().await.expect("an acknowledgement");
    assert_eq!(
        heard["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    assert!(talks.asked().contains(&"subscriptions/listen".to_owned()));
}
