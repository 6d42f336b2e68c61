//! A newcomer's walk: up, add a server, approve one, call a tool, deny it, see
//! why with `explain`, remove. Each step as it would be typed.

use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
    time::{Duration, Instant},
};
use switchboard_testkit::world::World;

#[test]
fn a_newcomers_walk() {
    let home = World::repository();
    let out = home.path("up.out");
    let mut up = home
        .command(&["up"])
        .stdout(fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&out).unwrap().contains("Ready.") {
        assert!(
            Instant::now() < until,
            "{}",
            fs::read_to_string(&out).unwrap()
        );
        std::thread::sleep(Duration::from_millis(20));
    }

    // What it brought along can be used at once, and only through it.
    let time = home.show(&["call", "system__time"]).ok();
    assert!(time.out.contains("utc"), "{time:?}");
    let tools = home.show(&["tools", "--server", "files"]).ok();
    assert!(tools.out.contains("grep"), "{tools:?}");
    let direct = home.show(&["--direct", "call", "system__time"]);
    assert_eq!(direct.code, Some(2), "{direct:?}");

    // Add a server of one's own, and use it.
    let program = env!("CARGO_BIN_EXE_switchboard");
    let added = home
        .show(&[
            "add", "notes", "--", program, "builtin", "memory", "--data", "notes",
        ])
        .ok();
    assert!(added.out.contains("notes"), "{added:?}");
    let listed = home.show(&["list", "--json"]).ok();
    let state = |name: &str, listed: &serde_json::Value| {
        let all = listed.as_array().unwrap().iter();
        all.filter(|server| server["name"] == name)
            .map(|server| server["state"].as_str().unwrap().to_owned())
            .next()
            .unwrap_or_else(|| panic!("{name}: {listed}"))
    };
    assert_eq!(state("notes", &listed.json()), "connected");
    home.show(&[
        "call",
        "mcp__notes__remember",
        "-a",
        "text=The moon is far.",
        "-a",
        "key=moon",
    ])
    .ok();
    let recalled = home
        .show(&["call", "mcp__notes__recall", "-a", "query=moon"])
        .ok();
    assert!(recalled.out.contains("The moon is far."), "{recalled:?}");

    // A colleague's server waits until it has been looked at.
    let theirs =
        json!({"mcpServers": {"team": {"command": program, "args": ["builtin", "system"]}}});
    home.write("home/repo/.mcp.json", theirs.to_string());
    let refused = home.show(&["call", "mcp__team__time"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    let shown = home.approve("team");
    assert!(
        shown.out.contains("\"builtin\""),
        "what would run is shown: {shown:?}"
    );
    home.show(&["call", "mcp__team__time"]).ok();

    // Deny a tool, and see why it is gone.
    let file = "home/.config/switchboard/settings.json";
    let mut settings: serde_json::Value = serde_json::from_str(&home.read(file)).unwrap();
    settings["permissions"] = json!({"deny": ["mcp__notes__forget"]});
    home.write(file, settings.to_string());
    let denied = home.show(&["call", "mcp__notes__forget", "-a", "key=moon"]);
    assert!(matches!(denied.code, Some(2 | 5)), "{denied:?}");
    let tools = home.show(&["tools", "--server", "notes"]).ok();
    assert!(
        tools.out.contains("recall") && !tools.out.contains("forget"),
        "{tools:?}"
    );
    let why = home.show(&["explain", "mcp__notes__forget"]).ok();
    assert!(
        why.out.contains("deny rule \"mcp__notes__forget\"") && why.out.contains("settings.json:"),
        "{why:?}"
    );
    home.show(&["call", "mcp__notes__recall", "-a", "query=moon"])
        .ok();

    // And out again.
    home.show(&["remove", "notes"]).ok();
    let gone = home.show(&["call", "mcp__notes__recall", "-a", "query=moon"]);
    assert_eq!(gone.code, Some(2), "{gone:?}");

    rustix::process::kill_process(rustix::process::Pid::from_child(&up), Signal::INT).unwrap();
    assert_eq!(up.wait().unwrap().code(), Some(0));
}
