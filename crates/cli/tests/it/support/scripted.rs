//! A server that answers with just the bytes that a test says.

use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::world::{address, command};
use switchboard_testkit::{Program, bin, record};

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

    /// What it was sent, in order.
    fn heard(&self) -> Vec<Value> {
        let messages = record::read(self.folder.path().join("record")).unwrap_or_default();
        let read = messages
            .iter()
            .map(|message| serde_json::from_slice(message));
        read.filter_map(Result::ok).collect()
    }

    /// The methods of that.
    pub fn asked(&self) -> Vec<String> {
        let heard = self.heard();
        let methods = heard
            .iter()
            .filter_map(|message| message["method"].as_str());
        methods.map(str::to_owned).collect()
    }

    /// The first message with this method.
    pub fn told(&self, method: &str) -> Value {
        let mut heard = self.heard().into_iter();
        let found = heard.find(|message| message["method"] == method);
        found.unwrap_or_else(|| panic!("it was not sent {method}"))
    }

    /// What it received, a line each.
    pub fn record(&self) -> String {
        fs::read_to_string(self.folder.path().join("record")).unwrap_or_default()
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

/// The handshake of a server with these capabilities, in either era, as lines of a script.
pub fn able_to(capabilities: &Value) -> [Value; 2] {
    let info = json!({"name": "scripted", "version": "1"});
    let old =
        json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info});
    let new = json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities,
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    [("initialize", old), ("server/discover", new)]
        .map(|(method, result)| json!({"method": method, "reply": result.to_string()}))
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

/// A question with a form, which a server puts.
pub fn form(id: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create",
        "params": {"message": id, "requestedSchema": schema}})
}

/// The answer to calls of a tool that asks before it answers.
pub fn asks(tool: &str) -> Value {
    let mut line = call(tool);
    line["before"] = json!([form(tool).to_string()]);
    line
}

/// The parameters of a call of a tool without arguments.
pub fn named(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}})
}

/// What answers calls of a tool, with a whole message instead of a result.
pub fn call_with(tool: &str, message: &str) -> Value {
    json!({"method": "tools/call", "match": format!("\"{tool}\""), "message": message})
}
