use super::*;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn mcp_is_dropped_where_the_command_stands() {
    for (before, after) in [
        (
            &["switchboard", "mcp", "list"][..],
            &["switchboard", "list"][..],
        ),
        (
            &["switchboard", "--log", "info", "mcp", "list"],
            &["switchboard", "--log", "info", "list"],
        ),
        (
            &[
                "switchboard",
                "mcp",
                "add-from-claude-desktop",
                "-s",
                "user",
            ],
            &["switchboard", "import", "claude-desktop", "-s", "user"],
        ),
        (
            &["switchboard", "call", "mcp"],
            &["switchboard", "call", "mcp"],
        ),
        (
            &["switchboard", "--mcp-config", "mcp", "list"],
            &["switchboard", "--mcp-config", "mcp", "list"],
        ),
    ] {
        let mut args: Vec<OsString> = before.iter().map(OsString::from).collect();
        drop_mcp(&mut args);
        assert_eq!(args, after);
    }
}

#[test]
fn global_options_stand_on_both_sides() {
    let args = [
        "switchboard",
        "--mcp-config",
        "a",
        "--direct",
        "list",
        "--mcp-config",
        "b",
        "--log",
        "info",
    ];
    let mut cli = Cli::parse_from(args);
    let later = cli.command.take_global();
    let global = cli.global.and(later);
    assert_eq!(global.mcp_config, ["a", "b"]);
    assert!(global.direct);
    assert_eq!(global.log, Some(Level::Info.into()));
}
