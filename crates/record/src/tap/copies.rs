//! The same call elsewhere: on a command line, for curl, as a line of JSON-RPC. They are
//! made of what is shown, so that none holds a secret.

use serde_json::{Value, json};
use switchboard_api::calls::{Call, Copies, Crossed};
use switchboard_local::{percent, shell};
use switchboard_wire::{Method, Revision};

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
        curl: Some(curl(call, &value, messages, &line)),
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

/// What is said before the first line.
const TOKEN: &str = "# SWITCHBOARD_TOKEN is what `switchboard token create NAME` prints";

/// As a request at the address of its server alone, under the names that the server itself
/// has, so that it does not matter which of the gateway's addresses its client uses. Where
/// its era has sessions, the line that opens one comes first.
fn curl(call: &Call, request: &Value, messages: &[Crossed], line: &str) -> String {
    let (address, line, name) = match &call.server {
        Some(server) => {
            let (line, name) = with_own_names(request, messages, line);
            (
                format!("{GATEWAY}/mcp/{}", percent::encoded(server, "")),
                line,
                name,
            )
        }
        None => (format!("{GATEWAY}/mcp"), line.to_owned(), None),
    };
    let to = quoted(&address);
    let send = format!(
        "curl -sS {to} -H \"Authorization: Bearer $SWITCHBOARD_TOKEN\" \
         -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'"
    );
    if call.client_era == "modern" {
        let version = Revision::NEWEST.as_str();
        let method = quoted(&call.method);
        let name = name.map(|name| format!(" -H {}", quoted(&format!("Mcp-Name: {name}"))));
        return format!(
            "{TOKEN}\n{send} -H 'MCP-Protocol-Version: {version}' -H 'Mcp-Method: '{method}{} --data {}",
            name.unwrap_or_default(),
            quoted(&line)
        );
    }
    let version = Revision::NEWEST_LEGACY.as_str();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": Method::Initialize.as_str(), "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "curl", "version": "1"}}});
    let hello = quoted(&hello.to_string());
    format!(
        "{TOKEN}\n# the session that it is in\n\
         MCP_SESSION=$({send} -D - -o /dev/null --data {hello} | tr -d '\\r' | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p')\n\
         {send} -H \"Mcp-Session-Id: $MCP_SESSION\" -H 'MCP-Protocol-Version: {version}' --data {}",
        quoted(&line)
    )
}

/// The request with the name that its server has for what is asked for, and that name.
fn with_own_names(request: &Value, messages: &[Crossed], line: &str) -> (String, Option<String>) {
    let sent = messages.iter().find(|one| one.edge == "to-server");
    let sent = sent.and_then(|one| serde_json::from_str::<Value>(one.text.as_deref()?).ok());
    let mut own = request.clone();
    let Some(params) = own.get_mut("params").and_then(Value::as_object_mut) else {
        return (line.to_owned(), None);
    };
    for key in ["name", "uri"] {
        let theirs = sent.as_ref().map(|sent| sent["params"][key].clone());
        let theirs = theirs.filter(Value::is_string);
        if let (Some(named), Some(theirs)) = (params.get_mut(key), theirs) {
            *named = theirs;
        }
    }
    let name = params.get("name").or_else(|| params.get("uri"));
    let name = name.and_then(Value::as_str).map(str::to_owned);
    match own == *request {
        true => (line.to_owned(), name),
        false => (own.to_string(), name),
    }
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
