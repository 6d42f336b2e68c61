//! A server that somebody writes while a client is connected to it.

use rustix::process::Signal;
use serde_json::json;
use std::{path::PathBuf, time::Duration};
use switchboard_testkit::{
    DEADLINE, LEGACY, StdioClient, text_of,
    world::{World, alive, kill, tries, until, until_listed},
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
    if (params.arguments.pid) return answer({ content: [{ type: "text", text: String(process.pid) }] });
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
        Self::of(World::new(), &source(first)).await
    }

    async fn of(world: World, text: &str) -> Self {
        let world = world.working_in("home/written");
        let file = world.write("home/written/server.js", text);
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

/// What a start that is under way has read is not what is there: it starts once more.
#[tokio::test]
async fn a_source_that_changes_during_a_start_is_live_after_it() {
    let mut written = Written::new("first").await;
    written.says("first").await;
    let slow = format!(
        "{}\nrequire('fs').appendFileSync('starts.log', word);\n\
         Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);",
        source("second")
    );
    written.write(&slow);
    let starts = written.file.with_file_name("starts.log");
    let begun = until(DEADLINE, || {
        let text = std::fs::read_to_string(&starts).unwrap_or_default();
        text.contains("second").then_some(())
    });
    begun.await.expect("it is started");
    written.write(&source("third"));
    written.says("third").await;
}

/// Folders that are renamed, removed and made anew; files that editors put in the place of
/// others, and what they leave beside them meanwhile.
#[tokio::test]
async fn folders_come_and_go_and_editors_write_in_their_own_ways() {
    let text = source("WORD").replace(
        "word = \"WORD\"",
        "word = (() => { try { return require('./parts/word.js'); } catch { return 'none'; } })()",
    );
    let world = World::new();
    let part = world.write("home/written/parts/word.js", "module.exports = 'one';");
    let mut written = Written::of(world, &text).await;
    written.says("one").await;
    let folder = part.parent().unwrap().to_owned();
    let aside = folder.with_file_name("elsewhere");
    std::fs::rename(&folder, &aside).unwrap();
    written.says("none").await;
    std::fs::rename(&aside, &folder).unwrap();
    written.says("one").await;
    std::fs::remove_dir_all(&folder).unwrap();
    written.says("none").await;
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&part, "module.exports = 'two';").unwrap();
    written.says("two").await;
    // As vim does it: a file beside it, a try whether it may write, and the new one in its place.
    for left in [".word.js.swp", "4913", "word.js~", ".#word.js"] {
        std::fs::write(folder.join(left), "x").unwrap();
    }
    std::fs::remove_file(folder.join("4913")).unwrap();
    let new = folder.join(".word.js.new");
    std::fs::write(&new, "module.exports = 'three';").unwrap();
    std::fs::rename(&new, &part).unwrap();
    written.says("three").await;
    let told = written.client.program.stderr();
    for left in ["swp has", "4913 has", "~ has", ".#word.js has"] {
        assert!(!told.contains(left), "{told}");
    }
}

#[tokio::test]
async fn a_server_that_is_killed_is_there_again_and_nobody_outlives_dev() {
    let mut written = Written::new("first").await;
    written.says("first").await;
    let pid = async |written: &mut Written| -> i32 {
        for _ in 0..600 {
            let answer = written.client.call("say", json!({"pid": true})).await;
            if answer["result"].is_object() {
                return text_of(&answer).parse().unwrap();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it does not say: {}", written.client.program.stderr());
    };
    let first = pid(&mut written).await;
    kill(&first.to_string());
    written.says("first").await;
    let second = pid(&mut written).await;
    assert_ne!(first, second);
    // Killed without a word, whoever of us is first.
    written.client.program.signal(Signal::KILL);
    let gone = until(DEADLINE, || (!alive(second)).then_some(()));
    gone.await.expect("nobody outlives it");
}

/// A tree that is too large is watched as far as it goes, and that is said.
#[tokio::test]
async fn a_tree_of_many_files_is_said_and_what_is_near_is_live() {
    let world = World::new();
    let data = world.path("home/written/data");
    for folder in 0..tries(25, 100) {
        let folder = data.join(folder.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..1000 {
            std::fs::write(folder.join(file.to_string()), "").unwrap();
        }
    }
    let mut written = Written::of(world, &source("first")).await;
    let program = &written.client.program;
    program.wait_for_line("more files than are watched").await;
    written.says("first").await;
    written.write(&source("second"));
    written.says("second").await;
    let told = written.client.program.stderr();
    assert_eq!(
        told.matches("more files than are watched").count(),
        1,
        "{told}"
    );
}
