use super::*;
use crate::load::world::{World, one};
use serde_json::json;

/// The chain as text, with the temporary folder taken out.
fn told(world: &World, name: &str) -> String {
    let explained = server(&world.load(), name);
    let steps = explained.steps.iter().map(|step| {
        let mark = if step.counts { '>' } else { ' ' };
        format!("\n{mark} {} {} {}", step.scope, step.place, step.says)
    });
    let text = explained.summary.clone() + &steps.collect::<String>();
    text.replace(&world.path("").display().to_string(), "/")
}

#[test]
fn every_way_not_to_count() {
    let world = World::new();
    world.write(
        "home/.claude.json",
        &json!({"mcpServers": {"a": {"command": "x"}, "d": {"command": "x"}, "f": {"command": 1}}}),
    );
    world.write("home/.config/switchboard/settings.json", &one("a", "y"));
    world.write(
        "home/.claude/settings.json",
        &json!({"deniedMcpServers": [{"serverName": "d"}]}),
    );
    world.write(
        "home/repo/.mcp.json",
        &json!({"mcpServers": {"a": {"command": "sh"}, "p": {"command": "sh", "args": ["x"]}}}),
    );
    assert_eq!(told(&world, "a"), "\
a is used, as /home/.config/switchboard/settings.json:1 has it
  project /home/repo/.mcp.json:1 sh: comes from inside the project and waits for your approval
  user /home/.claude.json:1 x: gives way to the entry of the same name in user (/home/.config/switchboard/settings.json:1)
> user /home/.config/switchboard/settings.json:1 y: counts");
    assert_eq!(
        told(&world, "d"),
        "\
d is not used: policy does not permit it: denied by /home/.claude/settings.json:1
  user /home/.claude.json:1 x: policy does not permit it: denied by /home/.claude/settings.json:1"
    );
    assert_eq!(
        told(&world, "p"),
        "\
p is not used: comes from inside the project and waits for your approval
  project /home/repo/.mcp.json:1 sh x: comes from inside the project and waits for your approval"
    );
    assert!(
        told(&world, "f").starts_with(
            "f is configured in /home/.claude.json:1 and cannot work: /home/.claude.json:1:"
        ),
        "{}",
        told(&world, "f")
    );
    let none = told(&world, "none");
    assert!(
        none.starts_with(
            "there is no server none\n  enterprise /etc/managed-mcp.json there is no such file\n"
        ),
        "{none}"
    );
    assert!(
        none.contains("\n  user /home/.claude.json does not have it\n"),
        "{none}"
    );
    world.approve();
    world.write(
        "home/repo/.mcp.json",
        &json!({"mcpServers": {"p": {"command": "sh", "args": ["y"]}}}),
    );
    assert!(
        told(&world, "p")
            .ends_with("waits for your approval (changed since you approved it: args[0])")
    );
}
