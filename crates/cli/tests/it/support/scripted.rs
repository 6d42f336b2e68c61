//! A server that answers with just the bytes that a test says.

use super::serving::{address, command};
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::{Program, bin};

/// A recorder's script, with the folder that it lies in.
pub struct Scripted {
    folder: tempfile::TempDir,
    era: &'static str,
}

impl Scripted {
    pub fn new(era: &'static str, lines: &[Value]) -> Self {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("script"), text.join("\n")).unwrap();
        Self { folder, era }
    }

    /// Its arguments after these.
    pub fn args(&self, first: &[&str]) -> Vec<String> {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let first = first.iter().map(|word| (*word).to_owned());
        let own = ["--era", self.era, "--script", &at("script"), "--record"].map(str::to_owned);
        first.chain(own).chain([at("record")]).collect()
    }

    /// As an entry over stdio.
    pub fn stdio(&self) -> Value {
        command("recorder", self.args(&["--stdio"]))
    }

    /// Running over HTTP, and its entry.
    pub async fn http(&self) -> (Program, Value) {
        let program = Program::new(bin("recorder"))
            .args(self.args(&["--http", "0"]))
            .spawn();
        let entry = address(&program).await;
        (program, entry)
    }
}

/// The list of these tools, as a line of a script.
pub fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = names.iter().map(tool).collect();
    let list =
        json!({"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    json!({"method": "tools/list", "reply": list.to_string()})
}

/// The answer to calls of a tool, as a line of a script: its name, as text.
pub fn call(tool: &str) -> Value {
    let text = json!({"content": [{"type": "text", "text": tool}], "resultType": "complete"});
    json!({"method": "tools/call", "match": format!("\"{tool}\""), "reply": text.to_string()})
}

/// The same with a whole message instead of a result.
pub fn call_with(tool: &str, message: &str) -> Value {
    json!({"method": "tools/call", "match": format!("\"{tool}\""), "message": message})
}
