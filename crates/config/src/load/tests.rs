use super::*;
use std::fs;

fn standings(loaded: &Loaded) -> Vec<(String, String)> {
    let show = |standing: &Standing| match standing {
        Standing::Shadowed(_) => "shadowed".to_owned(),
        other => format!("{other:?}"),
    };
    loaded
        .servers
        .iter()
        .map(|server| (server.entry.name.clone(), show(&server.standing)))
        .collect()
}

#[test]
fn later_wins_and_project_servers_wait() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("one.json"),
        r#"{"mcpServers":{"a":{"command":"old"},"b":{"command":"b"}}}"#,
    )
    .unwrap();
    fs::write(
        dir.path().join(".mcp.json"),
        r#"{"mcpServers":{"b":{"command":"p"},"c":{"command":"c"}}}"#,
    )
    .unwrap();
    let mut request = Request {
        mcp_config: vec![
            "one.json".into(),
            r#" {"mcpServers":{"a":{"command":"new"},"me":{"command":"switchboard","args":["serve"]},"off":{"command":"x","disabled":true}}}"#.into(),
        ],
        directory: dir.path().into(),
        ..Request::default()
    };
    let loaded = load(&request);
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let expected = [
        ("a", "shadowed"),
        ("b", "Active"),
        ("a", "Active"),
        ("me", "Itself"),
        ("off", "Disabled"),
        ("b", "shadowed"),
        ("c", "PendingApproval"),
    ];
    assert_eq!(
        standings(&loaded),
        expected.map(|(name, state)| (name.to_owned(), state.to_owned()))
    );
    assert_eq!(
        loaded.find("a").unwrap().entry.command.as_deref(),
        Some("new")
    );
    assert_eq!(
        loaded.servers[0].standing,
        Standing::Shadowed("dynamic (--mcp-config (no. 2):1)".into())
    );

    request.strict = true;
    assert_eq!(load(&request).servers.len(), 5);
}

#[test]
fn unreadable_files_are_named_and_hide_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bad.json"), "{").unwrap();
    let loaded = load(&Request {
        mcp_config: vec![
            "none.json".into(),
            "bad.json".into(),
            r#"{"mcpServers":{"a":{"command":"x"}}}"#.into(),
        ],
        directory: dir.path().into(),
        ..Request::default()
    });
    assert_eq!(loaded.active().count(), 1);
    let faults: Vec<String> = loaded
        .faults
        .iter()
        .map(|(_, fault)| fault.to_string())
        .collect();
    let at = |file: &str| dir.path().join(file).display().to_string();
    assert_eq!(
        faults[0],
        format!(
            "{}: cannot be read: No such file or directory (os error 2); give the path of a file, or JSON that begins with {{",
            at("none.json")
        )
    );
    assert!(
        faults[1].starts_with(&format!("{}:1:1: not JSON: ", at("bad.json"))),
        "{}",
        faults[1]
    );
}
