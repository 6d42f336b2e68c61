//! A server that somebody writes while a client is connected to it.

use serde_json::json;
use std::{path::PathBuf, time::Duration};
use switchboard_testkit::{
    LEGACY, StdioClient, text_of,
    world::{World, tries, until_listed},
};

use super::recording::installed;

/// A server of one tool, whose name and answer stand in its source.
const SOURCE: &str = r#"
const tool = "say", word = "WORD";
const tools = [{ name: tool, inputSchema: { type: "object" } }];
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
  if (method === "initialize") answer({
    protocolVersion: "2025-11-25", capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "written", version: "1" },
  });
  else if (method === "tools/list") answer({ tools });
  else if (method === "tools/call") {
    if (params.arguments.wait) return;
    answer({ content: [{ type: "text", text: word }] });
  }
  else if (id !== undefined) answer({});
});
"#;

struct Written {
    world: World,
    file: PathBuf,
    client: StdioClient,
}

impl Written {
    async fn new(first: &str) -> Self {
        let world = World::new().working_in("home/written");
        let file = world.write("home/written/server.js", source(first));
        let node = installed("SWITCHBOARD_TEST_NODE");
        let args = ["dev", "--ignore", "*.log", "--", &node, "server.js"];
        let mut client = StdioClient::new(world.launch(&args).spawn());
        client.initialize(LEGACY).await;
        Self {
            world,
            file,
            client,
        }
    }

    fn write(&self, text: &str) {
        self.world.write(&self.file, text);
    }

    /// Calls it until it says this: the sources are looked at now and then.
    async fn says(&mut self, word: &str) {
        for _ in 0..600 {
            let answer = self.client.call("say", json!({})).await;
            if answer["result"].is_object() && text_of(&answer) == word {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!(
            "{word} was not said; stderr:\n{}",
            self.client.program.stderr()
        );
    }
}

fn source(word: &str) -> String {
    SOURCE.replace("WORD", word)
}

#[tokio::test]
async fn an_edit_is_live_and_the_session_survives_every_restart() {
    let mut written = Written::new("first").await;
    written.says("first").await;
    for round in 0..tries(50, 200) {
        let word = format!("word {round}");
        written.write(&source(&word));
        written.says(&word).await;
    }
    // The same session all along, which heard of each.
    let told = written.client.notifications.iter();
    let changes = told.filter(|one| one["method"] == "notifications/tools/list_changed");
    assert!(changes.count() >= 10);
}

#[tokio::test]
async fn a_new_tool_is_announced_and_listed() {
    let mut written = Written::new("first").await;
    written.says("first").await;
    written.client.notifications.clear();
    written.write(&source("first").replace("tool = \"say\"", "tool = \"tell\""));
    written
        .client
        .notification("notifications/tools/list_changed")
        .await;
    until_listed(&mut written.client, |names| names == ["tell"]).await;
}

#[tokio::test]
async fn one_that_does_not_start_shows_why_and_keeps_its_tools_until_it_does() {
    let mut written = Written::new("first").await;
    written.says("first").await;
    written.write("throw new Error('half a thought');");
    let program = &written.client.program;
    program.wait_for_line("half a thought").await;
    let answer = written.client.call("say", json!({})).await;
    let text = answer["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    assert!(text.contains("half a thought"), "{answer}");
    let listed = written.client.request("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "say", "{listed}");
    // What is no source changes nothing.
    written.world.write("home/written/out.log", "x");
    written.write(&source("second"));
    written.says("second").await;
}

#[tokio::test]
async fn a_call_under_way_is_told_that_its_server_starts_again() {
    let mut written = Written::new("first").await;
    written.says("first").await;
    let params = json!({"name": "say", "arguments": {"wait": true}});
    let waiting = written.client.start("tools/call", params).await;
    written.write(&source("second"));
    let answer = written.client.response(waiting).await;
    let text = answer["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    assert!(text.contains("reconnected"), "{answer}");
    written.says("second").await;
}
