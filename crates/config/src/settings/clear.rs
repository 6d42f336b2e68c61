//! Settings that do not say clearly what they forbid: keys that could be read in two
//! ways or were meant to be others, and rules that no tool can match.

use super::permissions::{KEYS, LISTS, MANAGED_ONLY, Writer};
use crate::{fault::Fault, read::Doc};
use switchboard_local::wildcard::matches;
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
const OURS: [&str; 20] = [
    "$schema",
    "mcpServers",
    "projects",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "disabledMcpServers",
    "enableAllProjectMcpServers",
    "permissions",
    "observe",
    "approvals",
    "tokenStore",
    "xaaIdp",
    "connectors",
    "env",
    "inheritEnv",
    "idleTimeout",
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

/// Tools of Claude Code's own, about which files that it reads too have rules.
const THEIR_TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Computer",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The tool, or the pattern, that a rule begins with. What stands in parentheses is
/// about arguments, and restricts the whole tool.
pub(super) fn tool_name(rule: &str) -> &str {
    let text = rule.trim();
    let text = text.strip_prefix("project:").unwrap_or(text).trim_start();
    text.split('(').next().unwrap_or_default().trim_end()
}

/// Whether a pattern can stand for a whole name `mcp__server__tool`.
fn could_be_mcp(name: &str) -> bool {
    let beginning = name.split_once('*').map(|(beginning, _)| beginning);
    beginning.is_some_and(|beginning| "mcp__".starts_with(beginning))
}

/// Why a restriction can be about no tool at all, whatever servers there are, and
/// what to write. A permission like that permits nothing, which does no harm.
pub(super) fn about_nothing(list: &str, rule: &str, ours: bool) -> Option<(String, String)> {
    if list == "allow" {
        return None;
    }
    let name = tool_name(rule);
    let fault = |why: &str, hint: &str| {
        let problem = format!("the rule {rule:?} in `permissions.{list}` {why}");
        Some((problem, hint.to_owned()))
    };
    const WRITE: &str = "write it as \"mcp__server__tool\", or \"mcp__server__*\" for all tools";
    let Some(body) = name.strip_prefix("mcp__") else {
        // Rules for tools of another client's own are none of our business; in our
        // own file those are known by name.
        let is_theirs = THEIR_TOOLS.iter().any(|tool| matches(name, tool));
        let is_nearly_ours = same_key(name).starts_with("mcp_");
        return match !could_be_mcp(name) && (is_nearly_ours || ours && !is_theirs) {
            true => fault("is about nothing: rules begin with mcp__", WRITE),
            false => None,
        };
    };
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
