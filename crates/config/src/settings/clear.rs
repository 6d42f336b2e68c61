//! Settings that do not say clearly what they forbid: keys that could be read in two
//! ways or were meant to be others, and rules that no tool can match.

use super::permissions::{KEYS, LISTS, MANAGED_ONLY, Writer};
use crate::{fault::Fault, read::Doc};
use switchboard_wire::reading::same_key;

/// What `permissions` of Claude Code's files can have besides our lists.
const THEIRS: [&str; 7] = [
    "allow",
    "ask",
    "deny",
    "defaultMode",
    "additionalDirectories",
    "disableBypassPermissionsMode",
    "disableAutoMode",
];

/// Everything that our own file can have.
const OURS: [&str; 17] = [
    "$schema",
    "mcpServers",
    "projects",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "disabledMcpServers",
    "enableAllProjectMcpServers",
    "permissions",
    "tokenStore",
    "xaaIdp",
    "connectors",
    "env",
    "inheritEnv",
    "allowedMcpServers",
    "deniedMcpServers",
    "allowManagedMcpServersOnly",
    MANAGED_ONLY,
];

/// Keys that could be read in two ways, or were meant to be another.
pub(super) fn unclear(doc: &Doc<'_>, writer: Writer) -> Vec<Fault> {
    const HERE: &str = "permissions";
    let mut faults = doc.unclear(&[], &[HERE, MANAGED_ONLY]);
    if !writer.ours || writer.inside {
        // Other clients' files have keys of their own.
        faults.extend(doc.unclear(&[HERE], &LISTS));
        faults.extend(doc.near(&[HERE], &THEIRS, &LISTS));
        return faults;
    }
    faults.extend(doc.near(&[], &OURS, &OURS));
    for key in KEYS {
        if let Some((_, line)) = doc.value(&[key]) {
            let problem = format!("`{key}` means nothing here");
            let hint = format!("put it into `{HERE}`");
            faults.push(doc.fault_at(line, problem, Some(hint)));
        }
    }
    // One that is not known there is told of by whoever reads them.
    faults.extend(doc.doubled(&[HERE]));
    faults.extend(doc.doubled(&[HERE, "modes"]));
    faults
}

/// Why a restriction can be about no tool at all, whatever servers there are, and
/// what to write. A permission like that permits nothing, which does no harm.
pub(super) fn about_nothing(list: &str, rule: &str, ours: bool) -> Option<(String, String)> {
    if list == "allow" {
        return None;
    }
    let text = rule.trim();
    let text = text.strip_prefix("project:").unwrap_or(text).trim_start();
    let fault = |why: &str, hint: &str| {
        let problem = format!("the rule {rule:?} in `permissions.{list}` {why}");
        Some((problem, hint.to_owned()))
    };
    const WRITE: &str = "write it as \"mcp__server__tool\", or \"mcp__server__*\" for all tools";
    let Some(body) = text.strip_prefix("mcp__") else {
        let folded = same_key(text);
        // Rules for tools of another client's own are none of our business.
        return match folded.starts_with("mcp_") || ours && text.contains("__") {
            true => fault("is about nothing: rules begin with mcp__", WRITE),
            false => None,
        };
    };
    // What stands in parentheses is about arguments, and restricts the whole tool.
    let body = body.split('(').next().unwrap_or_default().trim_end();
    let odd = |c: &char| !(c.is_alphanumeric() || "_-*.:/@ ".contains(*c));
    if body.is_empty() || body.starts_with("__") {
        fault("names no server", WRITE)
    } else if body.ends_with("__") {
        fault("names no tool", WRITE)
    } else if let Some(c) = body.chars().find(odd) {
        fault(
            &format!("has {c:?} in it, which no name has"),
            "write a rule for each tool; only * stands for others",
        )
    } else {
        None
    }
}
