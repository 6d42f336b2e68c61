//! What `explain` says of servers and tools that are there, missing, renamed,
//! shadowed, denied or not approved: whole texts, with file and line.

use crate::support::snapshots::Snapshots;
use serde_json::json;
use switchboard_testkit::bin;
use switchboard_testkit::world::{self, Ran, World};

/// The user's servers, Claude Code's, a project's, and an administrator's word.
fn home() -> World {
    let home = World::repository();
    let tools = json!({"tools": [
        {"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}},
        {"name": "send", "description": "Sends.", "inputSchema": {"type": "object"}},
        {"name": "drop.all v2", "description": "Drops.", "inputSchema": {"type": "object"}},
    ]});
    home.write(
        "script",
        json!({"method": "tools/list", "reply": tools.to_string()}).to_string() + "\n",
    );
    let recorder = r#"{"command": "recorder", "args": ["--stdio", "--era", "legacy", "--record", "ROOT/record", "--script", "ROOT/script"]}"#;
    home.write(
        "home/.config/switchboard/settings.json",
        format!(
            "{{\n  \"mcpServers\": {{\n    \"mail\": {recorder},\n    \"web.search (v2)\": {recorder},\n    \"lab\": {{\"command\": \"lab-mcp\"}},\n    \"old\": {{\"command\": \"old-mcp\"}}\n  }},\n  \"permissions\": {{\n    \"deny\": [\"mcp__mail__send\"]\n  }},\n  \"disabledMcpServers\": [\"old\"]\n}}\n"
        ),
    );
    home.write(
        "home/.claude.json",
        "{\"mcpServers\": {\n  \"mail\": {\"command\": \"claude-mail\"}\n}}\n",
    );
    home.write(
        "home/repo/.mcp.json",
        format!("{{\n  \"mcpServers\": {{\n    \"team\": {recorder}\n  }}\n}}\n"),
    );
    home.write(
        "etc/managed-settings.json",
        "{\n  \"deniedMcpServers\": [\n    {\"serverCommand\": [\"lab-mcp\", \"**\"]}\n  ]\n}\n",
    );
    home
}

/// The program, for which `recorder` is on the search path.
fn run(home: &World, args: &[&str]) -> Ran {
    let programs = bin("recorder");
    let programs = programs.parent().unwrap().display();
    let mut command = home.command(args);
    command.env("PATH", format!("{programs}:/usr/bin:/bin"));
    Ran::of(command.output().unwrap()).without(&home.root)
}

/// What a person sees.
fn told(home: &World, name: &str) -> String {
    let ran = run(home, &["explain", name]);
    let exit = match ran.code {
        Some(0) => String::new(),
        code => format!("[exit {}]\n", code.unwrap()),
    };
    let typed = if name.contains(' ') {
        format!("'{name}'")
    } else {
        name.to_owned()
    };
    format!(
        "$ switchboard explain {typed}\n{}{}{exit}",
        ran.out, ran.err
    )
}

#[test]
fn every_way_to_be_there_or_not() {
    let home = home();
    let mut texts = Snapshots::of("explain");
    for (case, server, tool) in [
        ("shadowed", "mail", "mcp__mail__read"),
        ("denied", "lab", "mcp__lab__run"),
        ("unapproved", "team", "mcp__team__read"),
        (
            "renamed",
            "web.search (v2)",
            "mcp__web_search__v2___drop_all_v2",
        ),
        ("missing", "mial", "mcp__mail__raed"),
        ("switched-off", "old", "mcp__old__x"),
    ] {
        texts.check(&format!("{case}-server"), &told(&home, server));
        texts.check(&format!("{case}-tool"), &told(&home, tool));
    }
    // A tool that a rule denies, on a server that is used.
    texts.check("denied-tool-by-rule", &told(&home, "mcp__mail__send"));
    texts.check("missing-server-of-a-tool", &told(&home, "mcp__nothing__x"));
    // An approved entry that is another now.
    world::approve_by(|args| run(&home, args), "team");
    let entry = home.read("home/repo/.mcp.json").replace("legacy", "modern");
    home.write("home/repo/.mcp.json", entry);
    texts.check("changed-server", &told(&home, "team"));
    texts.finish();
}
