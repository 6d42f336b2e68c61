//! Entries of a configuration that lead to the testkit's servers.

use crate::{Program, bin};
use serde_json::{Map, Value, json};
use std::ffi::OsStr;

/// The text of a configuration with these servers.
pub fn config(servers: &Value) -> String {
    json!({ "mcpServers": servers }).to_string()
}

/// Named entries together.
pub fn servers<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(name, entry)| (name.to_owned(), entry));
    Value::Object(Map::from_iter(entries))
}

/// An entry that starts a program of the testkit.
pub fn command(name: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Value {
    let args: Vec<String> = args
        .into_iter()
        .map(|arg| arg.as_ref().to_string_lossy().into_owned())
        .collect();
    json!({ "command": bin(name), "args": args })
}

/// An entry for an HTTP server that runs already.
pub async fn address(server: &Program) -> Value {
    json!({ "type": "http", "url": server.url().await })
}

/// An echo server over HTTP.
pub fn echo_http(args: &[&str]) -> Program {
    Program::new(bin("echo-server"))
        .args(["--http", "0"])
        .args(args)
        .spawn()
}

/// An echo server over stdio, as an entry.
pub fn echo(args: &[&str]) -> Value {
    command("echo-server", ["--stdio"].iter().chain(args))
}
