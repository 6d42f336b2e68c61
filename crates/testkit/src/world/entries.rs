//! Entries of a configuration that lead to the testkit's servers.

use crate::{Program, bin};
use serde_json::{Map, Value, json};
use std::{ffi::OsStr, path::Path};

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

/// An entry for a small server as a shell script, which works in this folder: it
/// writes down in `got` what it gets, and has one tool, `ok`, which says of itself
/// what is in the file `says`. It runs `first` before it reads anything, and `last`
/// when there is no more to read.
pub fn shell_server(first: &str, last: &str, folder: &Path) -> Value {
    let script = answering(r#"printf '%s\n' "$line" >> got"#, SHELL_SERVER);
    let script = format!("{first}\n{script}\n{last}");
    json!({"command": "sh", "args": ["-c", script], "cwd": folder})
}

/// A shell script that is a server: it runs `each` for every line that it gets, and answers
/// what its `cases` (of a shell's `case`) put into `$answer`; all else is an error.
pub fn answering(each: &str, cases: &str) -> String {
    SHELL_FRAME
        .replace("EACH", each)
        .replace("CASES", cases.trim_matches('\n'))
}

const SHELL_FRAME: &str = r#"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  EACH
  case "$line" in
CASES
    *) answer='"error":{"code":-32601,"message":"no"}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
"#;

const SHELL_SERVER: &str = r#"
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"ok","description":"'$(cat says 2>/dev/null)'","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) answer='"result":{"content":[]}' ;;
    *'"logging/setLevel"'*) answer='"result":{}' ;;
"#;
