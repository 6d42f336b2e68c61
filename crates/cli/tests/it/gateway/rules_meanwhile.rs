//! A rule that comes while something is open counts for that too.

use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::StdioClient;
use switchboard_testkit::world::{World, shell_server};

/// It tells something again and again, and counts it in `ticks`. That its tool is
/// another it tells when there is a file `changed`.
const TALKS: &str = r#"
(n=0; while sleep 0.1; do
  n=$((n+1))
  printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"tick"}}\n' || exit
  echo $n > ticks
  [ -f changed ] && rm changed && printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
done) &
"#;

fn settings(home: &World, list: &str, rules: &[&str]) {
    let entry = shell_server(TALKS, "kill $!", &home.path("home"));
    let settings = json!({"mcpServers": {"t": entry}, "permissions": {list: rules}});
    let text = settings.to_string();
    home.write("home/says", "harmless");
    home.write("home/.config/switchboard/settings.json", text);
}

/// Sends a request and gives its answer, and whether something was told before it.
async fn ask(client: &mut StdioClient, id: &str, method: &str, params: Value) -> (Value, bool) {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    client.send_raw(request.to_string()).await;
    let mut told = false;
    loop {
        let message: Value = serde_json::from_slice(&client.next_raw().await).unwrap();
        if message["id"] == id {
            return (message, told);
        }
        told |= message["params"]["data"] == "tick";
    }
}

fn ticks(home: &World) -> u64 {
    let text = fs::read_to_string(home.path("home/ticks")).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}

async fn denied_meanwhile(args: &[&str], tool: &str) {
    let home = World::repository();
    settings(&home, "deny", &[]);
    let mut client = home.beside_a_second(args).await;
    let call = json!({"name": tool, "arguments": {}});
    let (answer, _) = ask(&mut client, "first", "tools/call", call.clone()).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let level = json!({"level": "error"});
    let (answer, _) = ask(&mut client, "level", "logging/setLevel", level).await;
    assert!(answer.get("result").is_some(), "{answer}");
    // It is told what the server tells.
    while !ask(&mut client, "ping", "ping", json!({})).await.1 {}

    settings(&home, "deny", &["mcp__t"]);
    while ask(&mut client, "call", "tools/call", call.clone())
        .await
        .0
        .get("result")
        .is_some()
    {}
    // What was on its way has come.
    ask(&mut client, "ping", "ping", json!({})).await;
    let from = ticks(&home);
    let mut told = false;
    while ticks(&home) < from + 5 {
        told |= ask(&mut client, "ping", "ping", json!({})).await.1;
    }
    assert!(!told, "what is denied still tells its client something");
    let level = json!({"level": "debug"});
    let (answer, _) = ask(&mut client, "level", "logging/setLevel", level).await;
    let is_one = args.contains(&"--only");
    assert_eq!(answer.get("error").is_some(), is_one, "{answer}");
    let got = home.read("home/got");
    assert!(got.contains("\"error\""), "the first level: {got}");
    assert!(!got.contains("\"debug\""), "the second level: {got}");
}

#[tokio::test]
async fn what_is_denied_tells_an_open_session_nothing() {
    denied_meanwhile(&["--only", "t"], "ok").await;
}

#[tokio::test]
async fn nor_one_of_all_servers() {
    denied_meanwhile(&[], "t__ok").await;
}

/// The next message that is the one looked for.
async fn message(client: &mut StdioClient, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message: Value = serde_json::from_slice(&client.next_raw().await).unwrap();
        if is_it(&message) {
            return message;
        }
    }
}

/// Somebody said yes to what the tool was then.
#[tokio::test]
async fn a_tool_that_changes_while_somebody_is_asked_is_not_called() {
    let home = World::repository();
    settings(&home, "ask", &["mcp__t"]);
    let mut client = home.beside_a_second(&["--only", "t"]).await;
    ask(&mut client, "list", "tools/list", json!({})).await;
    let call = json!({"jsonrpc": "2.0", "id": "held", "method": "tools/call", "params": {"name": "ok", "arguments": {}}});
    client.send_raw(call.to_string()).await;
    let question = message(&mut client, |it| it["method"] == "elicitation/create").await;
    home.write("home/says", "dangerous");
    home.write("home/changed", "");
    message(&mut client, |it| {
        it["method"] == "notifications/tools/list_changed"
    })
    .await;
    let yes = json!({"action": "accept", "content": {"answer": "yes, this time"}});
    let yes = json!({"jsonrpc": "2.0", "id": question["id"], "result": yes});
    client.send_raw(yes.to_string()).await;
    let outcome = message(&mut client, |it| it["id"] == "held").await;
    let text = outcome["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("definition has changed"), "{outcome}");
    assert!(!home.read("home/got").contains("\"tools/call\""));
}
