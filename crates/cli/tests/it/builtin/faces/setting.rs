//! A gateway with every built-in server, and clients of every face of it.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};
use switchboard_testkit::world::{config, switchboard};
use switchboard_testkit::{Channel, LEGACY, Program};

const SERVERS: [&str; 5] = ["files", "shell", "system", "memory", "tools"];

/// What carries messages, in which era, and whether each server is used under
/// its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    carrier: Carrier,
    modern: bool,
    alone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    Stdio,
    Http,
    Sse,
    Ws,
}

const fn how(carrier: Carrier, modern: bool, alone: bool) -> How {
    How {
        carrier,
        modern,
        alone,
    }
}

/// Every face, in the eras that it has.
pub const ALL: [How; 10] = [
    how(Carrier::Stdio, false, false),
    how(Carrier::Stdio, true, false),
    how(Carrier::Http, false, false),
    how(Carrier::Http, true, false),
    how(Carrier::Http, false, true),
    how(Carrier::Http, true, true),
    how(Carrier::Sse, false, false),
    how(Carrier::Ws, false, false),
    how(Carrier::Ws, true, false),
    how(Carrier::Ws, false, true),
];

/// A folder with something to find and something to keep out of, and a gateway.
pub struct Setting {
    _folder: tempfile::TempDir,
    /// `base/allowed` is the root; `base/allowed_evil/secret` is not to be reached.
    pub base: PathBuf,
    config: String,
    base_url: String,
    _gateway: Program,
}

impl Setting {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["allowed", "allowed_evil", "manifests"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        fs::write(base.join("allowed/file"), "fine").unwrap();
        fs::write(base.join("allowed_evil/secret"), "SECRET").unwrap();
        let text = json!({"type": "string"});
        let say = json!({
            "name": "say", "description": "Says it.", "command": ["printf", "%s|", "{text}"],
            "inputSchema": {"type": "object", "properties": {"text": text}, "required": ["text"],
                            "additionalProperties": false},
        });
        let note = json!({
            "name": "note-file", "description": "Remembers what a file says.",
            "inputSchema": {"type": "object", "properties": {"path": text, "key": text},
                            "required": ["path", "key"], "additionalProperties": false},
            "steps": [
                {"id": "file", "server": "files", "tool": "read", "arguments": {"path": "${args.path}"}},
                {"id": "note", "server": "memory", "tool": "remember",
                 "arguments": {"text": "${steps.file.structuredContent.text}", "key": "${args.key}"}}],
            "result": {"remembered": "${steps.note.structuredContent.entry.id}"},
        });
        fs::write(base.join("manifests/say.tool.json"), say.to_string()).unwrap();
        fs::write(base.join("manifests/note.flow.json"), note.to_string()).unwrap();
        let root = base.join("allowed");
        let config = config(&json!({
            "files": {"type": "builtin", "root": root},
            "shell": {"type": "builtin", "roots": [root], "enabled": true},
            "system": {"type": "builtin"},
            "memory": {"type": "builtin", "data": base.join("data")},
            "tools": {"type": "builtin", "folder": "${FOLDER}"},
        }));
        let gateway = switchboard()
            .args(["--strict-mcp-config", "--mcp-config", &config])
            .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
            .env("FOLDER", base.join("manifests"))
            .spawn();
        let base_url = gateway.url().await;
        Self {
            _folder: folder,
            base,
            config,
            base_url,
            _gateway: gateway,
        }
    }
}

/// A client, with a channel for each address that it uses.
pub struct Face {
    how: How,
    channels: BTreeMap<String, Channel>,
}

impl Face {
    pub async fn open(world: &Setting, how: How) -> Self {
        let paths: Vec<String> = if how.alone {
            SERVERS.map(|server| format!("/{server}")).to_vec()
        } else {
            vec![String::new()]
        };
        let mut channels = BTreeMap::new();
        for path in paths {
            let at = |kind: &str| format!("{}/{kind}{path}", world.base_url);
            let mut channel = match how.carrier {
                Carrier::Stdio => Channel::stdio(
                    switchboard()
                        .args([
                            "--strict-mcp-config",
                            "--mcp-config",
                            &world.config,
                            "serve",
                        ])
                        .env("FOLDER", world.base.join("manifests"))
                        .spawn(),
                ),
                Carrier::Http => Channel::http(&at("mcp"), &[]),
                Carrier::Sse => Channel::sse(&at("sse"), &[]).await,
                Carrier::Ws => Channel::ws(&at("ws").replace("http://", "ws://"), &[]).await,
            };
            if !how.modern {
                channel.initialize(LEGACY).await;
            }
            channels.insert(path, channel);
        }
        Self { how, channels }
    }

    pub fn how(&self) -> String {
        format!("{:?}", self.how)
    }

    pub fn alone(&self) -> bool {
        self.how.alone
    }

    /// The whole answer to a call.
    pub async fn answer(&mut self, server: &str, tool: &str, arguments: Value) -> Value {
        let (path, name) = if self.how.alone {
            (format!("/{server}"), tool.to_owned())
        } else {
            (String::new(), format!("{server}__{tool}"))
        };
        let params = json!({"name": name, "arguments": arguments});
        self.request(&path, "tools/call", params).await
    }

    /// The result of a call.
    pub async fn call(&mut self, server: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.answer(server, tool, arguments).await;
        let result = answer.get("result").cloned();
        result.unwrap_or_else(|| panic!("{}: {server} {tool}: {answer}", self.how()))
    }

    /// All tools, as `server__tool`.
    pub async fn tools(&mut self) -> BTreeSet<String> {
        self.listed().await.into_keys().collect()
    }

    /// What tools say that their results look like.
    pub async fn promised(&mut self) -> BTreeMap<String, Value> {
        let all = self.listed().await.into_iter();
        all.filter_map(|(name, tool)| Some((name, tool.get("outputSchema")?.clone())))
            .collect()
    }

    async fn listed(&mut self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for path in self.channels.keys().cloned().collect::<Vec<_>>() {
            let answer = self.request(&path, "tools/list", json!({})).await;
            let tools = answer["result"]["tools"].as_array().cloned();
            for tool in tools.unwrap_or_else(|| panic!("{answer}")) {
                let name = tool["name"].as_str().unwrap_or_default();
                let name = match path.strip_prefix('/') {
                    Some(server) => format!("{server}__{name}"),
                    None => name.to_owned(),
                };
                all.insert(name, tool);
            }
        }
        all
    }

    async fn request(&mut self, path: &str, method: &str, params: Value) -> Value {
        let channel = self.channels.get_mut(path).unwrap();
        if self.how.modern {
            channel.modern(method, params).await
        } else {
            channel.request(method, params).await
        }
    }
}
