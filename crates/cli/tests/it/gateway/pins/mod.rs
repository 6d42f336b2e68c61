//! Definitions held to what they were, on the real program: what is pinned, what
//! is told, what waits, and what one yes frees.

mod approving;
mod holding;
mod kept;
mod principals;
mod running;
mod signing;
mod spellings;
mod telling;

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use switchboard_testkit::world::{Ran, World, run};
use switchboard_testkit::{Launch, StdioClient, bin};

/// A home, a project in it, and servers whose script can be written anew.
struct Scene {
    stage: World,
}

/// What a server has.
#[derive(Clone, Default)]
struct Play {
    tools: Vec<Value>,
    /// Its tools once it was asked for them so often: each list, and each call of
    /// the first tool announces the next.
    later: Vec<Vec<Value>>,
    prompts: Vec<Value>,
    instructions: Option<String>,
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn prompt(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description})
}

impl Play {
    fn of(tools: impl Into<Vec<Value>>) -> Self {
        Self {
            tools: tools.into(),
            ..Self::default()
        }
    }

    fn script(&self) -> String {
        let mut lines = Vec::new();
        let mut hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "prompts": {"listChanged": true}},
            "serverInfo": {"name": "play", "version": "1"},
        });
        if let Some(text) = &self.instructions {
            hello["instructions"] = json!(text);
        }
        lines.push(json!({"method": "initialize", "reply": hello.to_string()}));
        let lists: Vec<&Vec<Value>> = std::iter::once(&self.tools).chain(&self.later).collect();
        for (i, tools) in lists.iter().enumerate() {
            let reply = json!({"tools": tools}).to_string();
            let mut line = json!({"method": "tools/list", "reply": reply});
            if i + 1 < lists.len() {
                line["times"] = json!(1);
            }
            lines.push(line);
        }
        let prompts = json!({"prompts": self.prompts}).to_string();
        lines.push(json!({"method": "prompts/list", "reply": prompts}));
        let got =
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "said"}}]});
        lines.push(json!({"method": "prompts/get", "reply": got.to_string()}));
        let result = json!({"content": [{"type": "text", "text": "done"}]}).to_string();
        let news = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let mut call = json!({"method": "tools/call", "reply": result});
        if !self.later.is_empty() {
            call["before"] = json!([news.to_string()]);
        }
        lines.push(call);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Scene {
    fn new() -> Self {
        let stage = World::with(&json!({}));
        fs::create_dir_all(stage.home().join("repo/.git")).unwrap();
        Self { stage }
    }

    /// A server of the user's.
    fn of_user(play: &Play) -> Self {
        let scene = Self::new();
        scene.stage.configure(&json!({"r": scene.entry("r")}));
        scene.play("r", play);
        scene
    }

    /// A server of a project's, which is approved.
    async fn of_project(play: &Play) -> Self {
        let scene = Self::new();
        let servers = json!({"mcpServers": {"r": scene.entry("r")}});
        scene
            .stage
            .write(scene.repo().join(".mcp.json"), servers.to_string());
        scene.play("r", play);
        let ran = scene.approve("r").await;
        assert!(ran.out.contains("Approved r"), "{ran:?}");
        scene
    }

    fn repo(&self) -> PathBuf {
        self.stage.home().join("repo")
    }

    fn entry(&self, name: &str) -> Value {
        let at = |end: &str| self.stage.home().join(format!("{name}.{end}"));
        json!({"command": bin("recorder"), "args": [
            "--stdio", "--era", "legacy", "--record", at("record"), "--script", at("script"),
        ]})
    }

    /// What a server has from its next start on.
    fn play(&self, name: &str, play: &Play) {
        let file = self.stage.home().join(format!("{name}.script"));
        self.stage.write(&file, play.script());
    }

    fn launch(&self, args: &[&str]) -> Launch {
        self.stage.launch(args).cwd(self.repo())
    }

    async fn run(&self, args: &[&str]) -> Ran {
        run(self.launch(args)).await
    }

    /// Approves what `approve --show` shows, by its digest.
    async fn approve(&self, name: &str) -> Ran {
        let shown = self.run(&["approve", name, "--show"]).await.ok();
        let mut digests = shown
            .out
            .lines()
            .filter_map(|line| line.strip_prefix("  digest    "));
        let digest = digests
            .next()
            .unwrap_or_else(|| panic!("nothing waits: {shown:?}"));
        assert_eq!(digests.next(), None, "all of it is one question: {shown:?}");
        let ran = self.run(&["approve", name, "--digest", digest]).await.ok();
        Ran {
            out: shown.out.clone() + &ran.out,
            ..ran
        }
    }

    /// The names of the tools that a command sees.
    async fn tools(&self) -> Vec<String> {
        let ran = self.run(&["tools", "--json"]).await.ok();
        let tools = ran.json();
        let names = tools.as_array().unwrap().iter();
        names
            .map(|tool| tool["tool"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A stdio client of a gateway of its own.
    async fn client(&self) -> (StdioClient, String) {
        let mut client = StdioClient::new(self.launch(&["serve"]).spawn());
        let hello = client.initialize(switchboard_testkit::LEGACY).await;
        let said = hello["instructions"].as_str().unwrap_or_default();
        (client, said.to_owned())
    }

    fn pins(&self) -> PathBuf {
        self.stage.home().join(".local/share/switchboard/pins")
    }

    /// The only file in which pins are kept.
    fn file(&self) -> PathBuf {
        let mut files = json_files(&self.pins());
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}
