//! What a client has switched off somewhere else than in the entry stays off.

use super::{Became, Field, translate::Translated};
use crate::{
    clients::{Client, ClientFile, Switches},
    safe_read,
};
use serde_json::Value;

/// Gemini CLI keeps beside its settings which servers are off.
const ENABLEMENT: &str = "mcp-server-enablement.json";

/// Adds to an entry what is off elsewhere.
pub(super) fn apply(
    client: Client,
    whole: &Value,
    file: &ClientFile,
    name: &str,
    found: &mut Translated,
) {
    match client.switches() {
        Switches::None => {}
        Switches::Gemini => gemini(whole, file, name, found),
        Switches::OpenCode => opencode(whole, name, found),
        Switches::Amp => amp(whole, name, found),
    }
}

fn gemini(whole: &Value, file: &ClientFile, name: &str, found: &mut Translated) {
    let names = |value: &Value| {
        let items = value.as_array()?.iter();
        Some(
            items
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    };
    let mcp = &whole["mcp"];
    for (field, list) in [
        ("mcp.excluded", &mcp["excluded"]),
        ("excludeMCPServers", &whole["excludeMCPServers"]),
    ] {
        if names(list).is_some_and(|names| names.iter().any(|other| other == name)) {
            off(field, found);
        }
    }
    for (field, list) in [
        ("mcp.allowed", &mcp["allowed"]),
        ("allowMCPServers", &whole["allowMCPServers"]),
    ] {
        if names(list).is_some_and(|names| !names.iter().any(|other| other == name)) {
            off(field, found);
        }
    }
    let beside = Client::beside(&file.path, ENABLEMENT);
    let enablement = safe_read::read(&beside, None).ok();
    let enablement = enablement.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let key = name.trim().to_lowercase();
    if enablement.is_some_and(|all| all[&key]["enabled"] == false) {
        off(ENABLEMENT, found);
    }
}

/// `"tools": {"server_tool": false}`, with `*` for any text.
fn opencode(whole: &Value, name: &str, found: &mut Translated) {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let prefix: String = name.chars().map(keep).collect();
    for (pattern, value) in whole["tools"].as_object().into_iter().flatten() {
        if *value != Value::Bool(false) {
            continue;
        }
        let Some(rest) = pattern.strip_prefix(&prefix) else {
            continue;
        };
        match rest.strip_prefix('_').unwrap_or(rest) {
            "*" => off(&format!("tools.{pattern}"), found),
            tool if rest.starts_with('_') && !tool.is_empty() => {
                deny(&format!("tools.{pattern}"), tool, found);
            }
            _ => {}
        }
    }
}

/// `"amp.tools.disable": ["mcp__server__tool"]`.
fn amp(whole: &Value, name: &str, found: &mut Translated) {
    let disabled = whole["amp.tools.disable"].as_array();
    let disabled = disabled.or_else(|| whole["amp"]["tools.disable"].as_array());
    for pattern in disabled.into_iter().flatten().filter_map(Value::as_str) {
        let rest = pattern
            .strip_prefix("mcp__")
            .and_then(|rest| rest.strip_prefix(name));
        match rest.and_then(|rest| rest.strip_prefix("__")) {
            Some("*") => off("amp.tools.disable", found),
            Some(tool) => deny("amp.tools.disable", tool, found),
            None => {}
        }
    }
}

fn off(field: &str, found: &mut Translated) {
    found.entry.insert("disabled".to_owned(), true.into());
    found.fields.push(Field {
        name: field.to_owned(),
        became: Became::Translated("disabled".to_owned()),
    });
}

fn deny(field: &str, tool: &str, found: &mut Translated) {
    found.tools("deny", &[tool.to_owned()]);
    found.fields.push(Field {
        name: field.to_owned(),
        became: Became::Translated("tools.deny".to_owned()),
    });
}
