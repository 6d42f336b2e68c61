//! Servers that somebody has signed for many machines.

use super::super::world::{World, lines, one};
use super::super::*;
use crate::expand;
use serde_json::{Value, json};

fn request(world: &World, servers: &[(&str, Value)], variables: &[&str]) -> Request {
    let servers = servers.iter().map(|(name, runs)| HiredServer {
        name: (*name).to_owned(),
        runs: runs.clone(),
    });
    let hired = Hired {
        servers: servers.collect(),
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
    };
    Request {
        applied: Applied {
            hired,
            ..Applied::default()
        },
        ..world.request(&[])
    }
}

#[test]
fn they_give_way_to_all_that_is_this_machine_s() {
    let world = World::new();
    world.write("home/.config/switchboard/settings.json", &one("a", "mine"));
    let runs = |command: &str| json!({ "command": command });
    let all = [("a", runs("theirs")), ("b", runs("mine")), ("c", runs("x"))];
    let loaded = load(&request(&world, &all, &[]));
    assert_eq!(
        lines(&loaded),
        [
            "a user mine Active",
            "a fleet theirs Shadowed",
            // The same command under another name is another server.
            "b fleet mine Active",
            "c fleet x Active",
        ]
    );
    world.write(
        "etc/managed-settings.json",
        &json!({"deniedMcpServers": [{"serverCommand": ["x"]}]}),
    );
    let denied = load(&request(&world, &all, &[]));
    let found = denied.find("c").map(|found| &found.standing);
    assert!(matches!(found, Some(Standing::Denied(_))), "{found:?}");
    world.write("etc/managed-mcp.json", &one("only", "managed"));
    let shut = load(&request(&world, &all, &[]));
    assert_eq!(shut.active().count(), 1);
}

#[test]
fn they_hold_no_variable_and_no_file_that_was_not_lent() {
    let world = World::new();
    let env = json!({"HAS": "${LENT}", "IS": "${KEPT:-default}", "HOME": "${userHome}"});
    let all = [
        ("lent", json!({"command": "x", "args": ["${LENT}"]})),
        ("kept", json!({"command": "x", "args": ["${KEPT}"]})),
        (
            "file",
            json!({"command": "x", "args": ["${file:/etc/hostname}"]}),
        ),
        ("env", json!({"command": "x", "env": env})),
    ];
    let loaded = load(&request(&world, &all, &["LENT"]));
    let lookup = |name: &str| Some(format!("value of {name}"));
    let expanded = |name: &str| {
        let entry = &loaded.find(name).unwrap().entry;
        assert!(entry.wary && entry.starts_elsewhere(), "{name}");
        expand::expand(entry, &lookup).map_err(|faults| faults[0].to_string())
    };
    assert_eq!(expanded("lent").unwrap().args, ["value of LENT"]);
    let fault = expanded("kept").unwrap_err();
    assert!(fault.contains("say --hire-env KEPT"), "{fault}");
    let fault = expanded("file").unwrap_err();
    assert!(fault.contains("files only"), "{fault}");
    let fault = expanded("env").unwrap_err();
    assert!(fault.contains("userHome"), "{fault}");
    // Nobody is asked to trust a folder because of them.
    assert!(loaded.elsewhere().is_empty() && !loaded.folder_is_open());
}

#[test]
fn what_is_for_workers_is_found_among_what_is_applied() {
    let document = |text: Value| Document {
        place: "cluster: fleet.json".into(),
        text: text.to_string(),
    };
    let runs = |command: &str| json!({"type": "worker", "runs": {"command": command}});
    let first = json!({"mcpServers": {
        "a": runs("old"), "b": {"command": "here"}, "c": {"type": "worker"},
        "d": {"type": "worker", "disabled": true, "runs": {"command": "x"}},
        "e": runs("off"), "f": runs("gone"),
    }});
    let second = json!({
        "mcpServers": {"a": runs("new"), "f": {"command": "here"}},
        "disabledMcpServers": ["e"],
    });
    let hires = hires_of(&[document(first), document(second)]);
    let names: Vec<&String> = hires.keys().collect();
    assert_eq!(names, ["a"]);
    assert_eq!(hires["a"].runs, Some(json!({"command": "new"})));
}
