//! The same call elsewhere: on a command line, for curl, as a line of JSON-RPC. They are
//! made of what is shown, so that none holds a secret.

use serde_json::Value;
use switchboard_api::calls::{Call, Copies, Crossed};
use switchboard_local::shell;
use switchboard_wire::Method;

/// Where the gateway is, for whoever knows better.
pub const GATEWAY: &str = "http://127.0.0.1:3700";

/// How a call can be made again by hand.
pub(super) fn of(call: &Call, messages: &[Crossed]) -> Copies {
    let first = messages.first().and_then(|one| one.text.as_deref());
    let Some(text) = first else {
        return Copies::default();
    };
    let line = text.replace(['\n', '\r'], " ");
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    Copies {
        command: command(call, &value),
        curl: Some(curl(call, &line)),
        line: Some(line),
    }
}

fn command(call: &Call, request: &Value) -> Option<String> {
    if call.method != Method::ToolsCall.as_str() {
        return None;
    }
    let (server, tool) = (call.server.as_deref()?, call.name.as_deref()?);
    let arguments = request["params"].get("arguments");
    let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
    let words = [&format!("{server}__{tool}"), &arguments].map(|word| quoted(word));
    Some(format!("switchboard call {}", words.join(" ")))
}

/// To the address of all servers as one.
fn curl(call: &Call, line: &str) -> String {
    format!(
        "curl -sS {GATEWAY}/mcp -H 'Authorization: Bearer '\"$SWITCHBOARD_TOKEN\" \
         -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'{} \
         --data {}",
        match call.client_era.as_str() {
            "modern" => " -H 'MCP-Protocol-Version: 2026-07-28'",
            _ => " -H \"Mcp-Session-Id: $MCP_SESSION\"",
        },
        quoted(line)
    )
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    shell::quoted(word, "-_./:@%+,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_on_a_command_line() {
        let call = Call {
            method: "tools/call".to_owned(),
            server: Some("files".to_owned()),
            name: Some("read".to_owned()),
            client_era: "legacy".to_owned(),
            ..Call::default()
        };
        let text = r#"{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"it's"}}}"#;
        let crossed = [Crossed {
            text: Some(text.to_owned()),
            ..Crossed::default()
        }];
        let copies = of(&call, &crossed);
        let command = r#"switchboard call files__read '{"path":"it'\''s"}'"#;
        assert_eq!(copies.command.as_deref(), Some(command));
        assert_eq!(copies.line.as_deref(), Some(text));
        assert_eq!(of(&call, &[]).line, None);
    }
}
