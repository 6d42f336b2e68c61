//! Fault 75: rules that cannot be read, or not understood, permit nothing. What
//! they would have forbidden is not done meanwhile.

use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};
use switchboard_testkit::world::{Ran, World, config, echo, servers};

/// A home whose settings deny a tool of a server that is configured elsewhere.
struct Ruled {
    stage: World,
    named: String,
}

impl Ruled {
    fn new(settings: &str) -> Self {
        let stage = World::with(&json!({}));
        stage.write(stage.settings(), settings);
        let named = config(&servers([("a", echo(&[]))]));
        Self { stage, named }
    }

    async fn call(&self) -> Ran {
        let args = ["--mcp-config", &self.named, "call", "mcp__a__pid", "{}"];
        self.stage.run(&args).await
    }

    /// Nothing is called, and the file is named.
    async fn is_shut(&self, what: &str) {
        let file = self.stage.settings().display().to_string();
        let ran = self.call().await;
        assert_eq!(ran.code, Some(3), "{what}: {ran:?}");
        assert!(ran.out.is_empty(), "{what}: {ran:?}");
        assert!(ran.err.contains(&file), "{what}: {ran:?}");
        assert!(
            ran.err.contains("until then nothing is used"),
            "{what}: {ran:?}"
        );
        // Nor where nothing else is looked at, nor by a gateway that starts now.
        let strict = ["--strict-mcp-config", "--mcp-config", &self.named];
        let call = [&strict[..], &["call", "mcp__a__pid", "{}"]].concat();
        assert_eq!(self.stage.run(&call).await.code, Some(3), "{what}");
        let serve = [
            &strict[..],
            &["serve", "--http", "127.0.0.1:0", "--no-auth"],
        ]
        .concat();
        assert_eq!(self.stage.run(&serve).await.code, Some(3), "{what}");
        let serve = ["--mcp-config", &self.named, "serve"];
        assert_eq!(self.stage.run(&serve).await.code, Some(3), "{what}");
        // Who looks is told.
        let list = self.stage.run(&["list", "--no-connect"]).await;
        assert!(list.err.contains(&file), "{what}: {list:?}");
        assert_eq!(list.code, Some(3), "{what}: {list:?}");
        let doctor = self.stage.run(&["doctor", "--no-connect"]).await;
        assert!(doctor.out.contains(&file), "{what}: {doctor:?}");
        assert_eq!(doctor.code, Some(1), "{what}: {doctor:?}");
    }
}

fn denying() -> String {
    json!({"permissions": {"deny": ["mcp__a__pid"]}}).to_string()
}

#[tokio::test]
async fn settings_that_cannot_be_read_shut_everything() {
    let whole = denying();
    let ruled = Ruled::new(&whole);
    assert_eq!(
        ruled.call().await.code,
        Some(5),
        "it is denied to begin with"
    );
    let file = ruled.stage.settings();
    for (what, text) in [
        ("cut", &whole[..whole.len() - 6]),
        ("emptied", ""),
        ("no object", "[]"),
        ("no text", "\u{0}\u{1}"),
    ] {
        fs::write(&file, text).unwrap();
        ruled.is_shut(what).await;
    }
    fs::write(&file, [0xff, 0xfe, b'{']).unwrap();
    ruled.is_shut("no UTF-8").await;
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    ruled.is_shut("a folder").await;
    fs::remove_dir(&file).unwrap();
    fs::write(&file, &whole).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    ruled.is_shut("anybody could have written it").await;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(ruled.call().await.code, Some(5), "mended, it denies again");
    // Where there is none there are no rules.
    fs::remove_file(&file).unwrap();
    assert_eq!(ruled.call().await.code, Some(0));
}

#[tokio::test]
async fn permissions_of_a_wrong_shape_shut_everything() {
    let rule = json!(["mcp__a__pid"]);
    let shapes: [(&str, Value); 11] = [
        ("a list", rule.clone()),
        ("null", Value::Null),
        ("text", json!("mcp__a__pid")),
        ("deny is text", json!({"deny": "mcp__a__pid"})),
        ("deny is null", json!({"deny": null})),
        ("a rule is a number", json!({"deny": [5]})),
        ("a key that is not known", json!({"denied": rule})),
        ("a key in other letters", json!({"Deny": rule})),
        ("modes are a list", json!({"modes": []})),
        ("a mode is a number", json!({"modes": {"x": 1}})),
        ("trusted is text", json!({"trustedServers": "a"})),
    ];
    for (what, permissions) in shapes {
        let settings = json!({"mcpServers": {}, "permissions": permissions});
        let ruled = Ruled::new(&serde_json::to_string_pretty(&settings).unwrap());
        ruled.is_shut(what).await;
        let said = ruled.call().await.err;
        let line = format!("{}:", ruled.stage.settings().display());
        let at = said.find(&line).expect("the file is named") + line.len();
        assert!(
            said[at..].starts_with(|c: char| c.is_ascii_digit()),
            "{what}: no line in {said}"
        );
    }
}

/// The other client's file, whose rules count here too.
#[tokio::test]
async fn another_clients_broken_settings_shut_everything() {
    let ruled = Ruled::new("{}");
    let theirs = ruled.stage.home().join(".claude/settings.json");
    ruled.stage.write(&theirs, denying());
    assert_eq!(ruled.call().await.code, Some(5), "its rules count");
    ruled
        .stage
        .write(&theirs, "{\"permissions\": {\"deny\": [\"mcp__a__pid\"");
    let ran = ruled.call().await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains(".claude/settings.json"), "{ran:?}");
    // What it may have besides our rules is not ours to judge.
    ruled.stage.write(
        &theirs,
        "{\"permissions\": {\"additionalDirectories\": []}}",
    );
    assert_eq!(ruled.call().await.code, Some(0));
}

/// What each of these denies, in somebody's reading of it.
const UNCLEAR: &[(&str, &str)] = &[
    (
        "\"permissions\": {\"allow\": []},\n\"permissions\": {\"deny\": [\"mcp__a__pid\"]}",
        "written twice",
    ),
    (
        "\"permissions\": {\"deny\": [],\n\"deny\": [\"mcp__a__pid\"]}",
        "written twice",
    ),
    (
        "\"permissions\": {\"defaultMode\": \"client\",\n\"defaultMode\": \"read-only\"}",
        "written twice",
    ),
    (
        "\"permissions\": {\"modes\": {\"x\": \"client\",\n\"x\": \"read-only\"}}",
        "written twice",
    ),
    (
        "\"deniedMcpServers\": [],\n\"deniedMcpServers\": [{\"serverName\": \"a\"}]",
        "written twice",
    ),
    (
        "\"disabledMcpServers\": [],\n\"disabledMcpServers\": [\"a\"]",
        "written twice",
    ),
    ("\"x\": 1,\n\"disabledMcpServers\": \"a\"", "must be a list"),
    ("\"disabledMcpServers\": [\n[\"a\"]]", "must be text"),
    (
        "\"x\": 1,\n\"DeniedMcpServers\": [{\"serverName\": \"a\"}]",
        "write `deniedMcpServers`",
    ),
    (
        "\"x\": 1,\n\"Permissions\": {\"deny\": [\"mcp__a__pid\"]}",
        "write `permissions`",
    ),
    (
        "\"x\": 1,\n\"permission\": {\"deny\": [\"mcp__a__pid\"]}",
        "write `permissions`",
    ),
    (
        "\"x\": 1,\n\"premissions\": {\"deny\": [\"mcp__a__pid\"]}",
        "write `permissions`",
    ),
    (
        "\"x\": 1,\n\"disabledMcpServer\": [\"a\"]",
        "write `disabledMcpServers`",
    ),
    (
        "\"x\": 1,\n\"deny\": [\"mcp__a__pid\"]",
        "put it into `permissions`",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"mcp__a__\"]}",
        "names no tool",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"mcp__a__(pid|echo)\"]}",
        "names no tool",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"mcp__a__[pid]\"]}",
        "which no name has",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"mcp__\"]}",
        "names no server",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"Mcp__a__pid\"]}",
        "rules begin with mcp__",
    ),
    (
        "\"permissions\": {\"ask\": [\n\"a__pid\"]}",
        "rules begin with mcp__",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"pid\"]}",
        "mcp__server__tool",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"a/pid\"]}",
        "mcp__server__tool",
    ),
    (
        "\"permissions\": {\"ask\": [\n\"a.pid\"]}",
        "mcp__server__tool",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"mcp:a:pid\"]}",
        "mcp__server__tool",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"mcp\"]}",
        "mcp__server__tool",
    ),
    (
        "\"permissions\": {\"deny\": [\n\"Mcp*\"]}",
        "mcp__server__tool",
    ),
    (
        "\"deniedMcpServers\": [\n{\"serverUrl\": \"tcp://x/*\"}]",
        "addresses begin with",
    ),
    (
        "\"deniedMcpServers\": [\n{\"serverCommand\": [\"npx -y evil\"]}]",
        "write [\"npx\",\"-y\",\"evil\"]",
    ),
];

/// A rule that could mean any tool means it.
#[tokio::test]
async fn a_star_forbids_whatever_it_fits() {
    for rule in ["*", "**", "mcp*", "m*", "*pid", "*__pid", "mcp__*pid"] {
        let settings = json!({"permissions": {"deny": [rule]}}).to_string();
        let ran = Ruled::new(&settings).call().await;
        assert_eq!(ran.code, Some(5), "{rule}: {ran:?}");
        let ruled = Ruled::new("{}");
        let theirs = ruled.stage.home().join(".claude/settings.json");
        ruled.stage.write(&theirs, &settings);
        let ran = ruled.call().await;
        assert_eq!(ran.code, Some(5), "{rule} in another client's: {ran:?}");
    }
    // What another client's file calls by a name that nobody knows is told.
    let ruled = Ruled::new("{}");
    let theirs = ruled.stage.home().join(".claude/settings.json");
    let text = "{\"permissions\": {\"deny\": [\"a/pid\", \"Bash(rm *)\", \"NewTool\"]}}";
    ruled.stage.write(&theirs, text);
    let ran = ruled.call().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("\"a/pid\" is not about MCP tools"),
        "{ran:?}"
    );
    assert!(
        !ran.err.contains("NewTool") && !ran.err.contains("Bash"),
        "{ran:?}"
    );
}

/// A disk that is not mounted is no file that is not there.
#[tokio::test]
async fn settings_behind_a_link_that_leads_nowhere_shut_everything() {
    let ruled = Ruled::new("{}");
    let file = ruled.stage.settings();
    let folder = file.parent().unwrap().to_owned();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/not-mounted/settings.json", &file).unwrap();
    ruled.is_shut("a link").await;
    fs::remove_file(&file).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/not-mounted/switchboard", &folder).unwrap();
    ruled.is_shut("a folder behind a link").await;
    fs::remove_file(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    ruled.is_shut("a file in place of the folder").await;
}

/// Of two keys nobody can tell which counts, and one that is misspelt counts not at
/// all: all of these would permit what they were written to forbid.
#[tokio::test]
async fn what_could_be_read_in_two_ways_shuts_everything() {
    for (text, why) in UNCLEAR {
        let ruled = Ruled::new(&format!("{{{text}}}"));
        let ran = ruled.call().await;
        let place = format!("{}:2", ruled.stage.settings().display());
        assert_eq!(ran.code, Some(3), "{text}: {ran:?}");
        assert!(ran.err.contains(&place), "{text}: {ran:?}");
        assert!(ran.err.contains(why), "{text}: {ran:?}");
    }
    let twice = Ruled::new(&format!("{{{}}}", UNCLEAR[0].0));
    twice.is_shut("twice").await;
    // What has nothing to do with any of it is left alone.
    let other = "\"x\": 1, \"x\": 2, \"theme\": \"dark\", \"permissions\": {\"deny\": [\"Bash(rm:*)\", \"mcp__a__echo(x)\"]}";
    let ruled = Ruled::new(&format!("{{{other}}}"));
    assert_eq!(ruled.call().await.code, Some(0));
}

/// The same in the other client's file, which has keys of its own.
#[tokio::test]
async fn nor_in_another_clients_settings() {
    let ruled = Ruled::new("{}");
    let theirs = ruled.stage.home().join(".claude/settings.json");
    for text in [
        "{\"permissions\": {\"allow\": []},\n\"permissions\": {\"deny\": [\"mcp__a__pid\"]}}",
        "{\"permissions\": {\"deny\": [],\n\"deny\": [\"mcp__a__pid\"]}}",
        "{\"permissions\": {\n\"denny\": [\"mcp__a__pid\"]}}",
        "{\"permissions\": {\n\"Deny\": [\"mcp__a__pid\"]}}",
        "{\"x\": 1,\n\"Permissions\": {\"deny\": [\"mcp__a__pid\"]}}",
        "{\"deniedMcpServers\": [],\n\"deniedMcpServers\": [{\"serverName\": \"a\"}]}",
        "{\"permissions\": {\"deny\": [\n\"mcp__a__\"]}}",
    ] {
        ruled.stage.write(&theirs, text);
        let ran = ruled.call().await;
        assert_eq!(ran.code, Some(3), "{text}: {ran:?}");
        assert!(
            ran.err.contains(".claude/settings.json:2"),
            "{text}: {ran:?}"
        );
    }
    let fine = "{\"permission\": 1, \"deny\": [], \"env\": {}, \"env\": {}, \"permissions\": \
                {\"defaultMode\": \"plan\", \"disableBypassPermissionsMode\": \"disable\", \"new\": 1, \
                \"deny\": [\"Read(./.env)\", \"my__own\"]}}";
    ruled.stage.write(&theirs, fine);
    assert_eq!(ruled.call().await.code, Some(0));
}

/// What an entry says of its own tools.
#[tokio::test]
async fn an_entry_that_could_be_read_in_two_ways_is_not_used() {
    let entry = echo(&[]).to_string();
    let entry = entry.trim_end_matches('}');
    for (text, why) in [
        (
            "\"tools\": {\"deny\": [\"pid\"], \"deny\": []}",
            "written twice",
        ),
        (
            "\"tools\": {\"deny\": [\"pid\"]}, \"tools\": {}",
            "written twice",
        ),
        ("\"disabled\": true, \"disabled\": false", "written twice"),
        ("\"Tools\": {\"deny\": [\"pid\"]}", "write `tools`"),
        ("\"Disabled\": true", "write `disabled`"),
    ] {
        let stage = World::with(&json!({}));
        let settings = format!("{{\"mcpServers\": {{\"a\": {entry}, {text}}}}}}}");
        stage.write(stage.settings(), &settings);
        let ran = stage.run(&["call", "mcp__a__pid", "{}"]).await;
        assert_eq!(ran.code, Some(3), "{text}: {ran:?}");
        assert!(ran.err.contains(why), "{text}: {ran:?}");
    }
}

/// While nobody can tell what is forbidden, looking starts nothing either.
#[tokio::test]
async fn looking_starts_nothing_while_the_rules_cannot_be_read() {
    let stage = World::with(&json!({}));
    let mark = stage.home().join("started");
    let entry = json!({"command": "touch", "args": [mark], "cwd": stage.home()});
    let broken = "\"permissions\": {\"deny\": \"mcp__a\"}";
    let servers = json!({ "a": entry }).to_string();
    let settings = stage.settings();
    stage.write(
        &settings,
        format!("{{\"mcpServers\": {servers}, {broken}}}"),
    );
    for command in [
        &["list"][..],
        &["list", "--json"],
        &["explain", "a"],
        &["explain", "mcp__a__pid"],
        &["explain", "mcp__a__pid", "--json"],
        &["tools"],
    ] {
        let ran = stage.run(command).await;
        assert_eq!(ran.code, Some(3), "{command:?}: {ran:?}");
        let file = settings.display().to_string();
        assert!(ran.err.contains(&file), "{command:?}: {ran:?}");
        assert!(!mark.exists(), "{command:?} started it");
    }
    // The same entry is started where the rules can be read.
    stage.write(&settings, format!("{{\"mcpServers\": {servers}}}"));
    stage.run(&["list"]).await;
    assert!(mark.exists());
}

/// More rules than anybody writes, on one line: the file is read at once, and what they
/// would have forbidden is not guessed.
#[test]
fn rules_without_end_forbid_everything() {
    let home = World::repository();
    let many: Vec<String> = (0..60_000).map(|n| format!("mcp__x{n}__y")).collect();
    let rules = json!({"permissions": {"deny": many}}).to_string();
    home.write("home/repo/.claude/settings.json", &rules);
    let echo = echo(&[]);
    let own = json!({"mcpServers": {"own": echo}}).to_string();
    home.write("home/.config/switchboard/settings.json", &own);
    let said = "has more than 10000 rules, so that no tool is permitted";
    let shown = home.show(&["tools"]);
    assert!(
        shown.err.contains(said) && !shown.out.contains("mcp__own"),
        "{shown:?}"
    );
    // Of the user's own file nothing is guessed either.
    home.write("home/repo/.claude/settings.json", "{}");
    home.write("home/.config/switchboard/settings.json", &rules);
    let shown = home.show(&["tools"]);
    assert_eq!(shown.code, Some(3), "{shown:?}");
    assert!(shown.err.contains(said), "{shown:?}");
}
