//! Fault 75: rules that cannot be read, or not understood, permit nothing. What
//! they would have forbidden is not done meanwhile.

use crate::support::serving::{config, echo, servers};
use crate::support::stage::{Ran, Stage};

use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

/// A home whose settings deny a tool of a server that is configured elsewhere.
struct Ruled {
    stage: Stage,
    named: String,
}

impl Ruled {
    fn new(settings: &str) -> Self {
        let stage = Stage::new(&json!({}));
        stage.write(&stage.settings(), settings);
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
    ruled.stage.write(&theirs, &denying());
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
