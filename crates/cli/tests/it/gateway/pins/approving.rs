//! What one yes is for.

use super::{Play, Scene, tool};

use serde_json::json;

#[tokio::test]
async fn each_server_is_a_question_of_its_own() {
    let scene = Scene::new();
    let servers = json!({"mcpServers": {"a": scene.entry("a"), "b": scene.entry("b")}});
    scene
        .stage
        .write(scene.repo().join(".mcp.json"), servers.to_string());
    for name in ["a", "b"] {
        scene.play(name, &Play::of([tool("greet", "Greets.")]));
        scene.approve(name).await;
    }
    assert_eq!(scene.tools().await.len(), 2);
    for name in ["a", "b"] {
        scene.play(name, &Play::of([tool("greet", "Shouts.")]));
    }
    assert_eq!(scene.tools().await.len(), 0);
    // All of them are shown, each with its own digest, without starting any.
    let ran = scene.run(&["approve", "all", "--show"]).await.ok();
    assert_eq!(ran.out.matches("  digest    ").count(), 2, "{ran:?}");
    assert!(
        ran.out.contains("greet of a") && ran.out.contains("greet of b"),
        "{ran:?}"
    );
    scene.approve("b").await;
    let ran = scene.run(&["tools", "--json"]).await.ok();
    let tools = ran.json();
    assert_eq!(tools.as_array().unwrap().len(), 1, "{ran:?}");
    assert_eq!(tools[0]["server"], "b", "{ran:?}");
    scene.approve("a").await;
    assert_eq!(scene.tools().await.len(), 2);
    let ran = scene.run(&["approve", "all"]).await.ok();
    assert!(ran.out.contains("Nothing waits for approval."), "{ran:?}");
}

#[tokio::test]
async fn a_digest_is_for_what_was_shown() {
    let scene = Scene::of_project(&Play::of([tool("greet", "Greets.")])).await;
    scene.tools().await;
    scene.play("r", &Play::of([tool("greet", "Shouts.")]));
    let shown = scene.run(&["approve", "r", "--show"]).await.ok();
    let digest = shown
        .out
        .lines()
        .find_map(|line| line.strip_prefix("  digest    "))
        .unwrap();
    // Since then it has changed once more.
    scene.play("r", &Play::of([tool("greet", "Sends your keys.")]));
    let ran = scene.run(&["approve", "r", "--digest", digest]).await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert_eq!(scene.tools().await, [] as [&str; 0]);
    let ran = scene.run(&["approve", "r"]).await;
    assert_eq!(ran.code, Some(5), "nobody can be asked: {ran:?}");
    assert_eq!(scene.tools().await, [] as [&str; 0]);
}

/// What was pinned, what waits, and who freed it is found by whoever asks later.
#[tokio::test]
async fn pins_are_recorded_where_a_record_is_kept() {
    let scene = Scene::of_project(&Play::of([tool("greet", "Greets.")])).await;
    scene
        .stage
        .write_settings(&json!({"observe": {"audit": {"sync": "each"}}}));
    let all = async || {
        let ran = scene.run(&["audit", "--json", "--server", "r"]).await;
        let lines = ran.out.lines();
        let records: Vec<serde_json::Value> = lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        records
    };
    let first = |one: &serde_json::Value| one["first"] == true && one["kind"] == "tools";
    let held = |one: &serde_json::Value| one["event"] == "pins" && one["held"][0] == "greet";
    for (description, wanted) in [
        ("Greets.", &first as &dyn Fn(&serde_json::Value) -> bool),
        ("Shouts.", &held),
    ] {
        scene.play("r", &Play::of([tool("greet", description)]));
        let (mut client, _) = scene.client().await;
        // Nobody waits for these records, and the server may be met later than it is asked.
        let mut pins = Vec::new();
        for _ in 0..600 {
            client.request("tools/list", json!({})).await;
            pins = all().await;
            if pins.iter().any(wanted) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert_eq!(
            pins.iter().filter(|one| wanted(one)).count(),
            1,
            "{pins:#?}"
        );
        client.close();
    }
    // Nothing was approved yet: a look is none.
    let is_approval = |one: &serde_json::Value| one["event"] == "pins.approve";
    scene.run(&["approve", "r", "--show"]).await.ok();
    assert!(!all().await.iter().any(is_approval));
    scene.approve("r").await;
    let after = all().await;
    let approval = after.iter().find(|one| is_approval(one));
    let approval = approval.unwrap_or_else(|| panic!("{after:#?}"));
    assert_eq!(approval["what"], json!(["greet"]), "{approval}");
    assert_ne!(approval["digest"], "[redacted]");
    assert!(
        after
            .iter()
            .any(|one| one["event"] == "approve" && one["uid"].is_number()),
        "{after:#?}"
    );
    scene.run(&["audit", "verify"]).await.ok();
}

/// An entry that was approved anew is another server.
#[tokio::test]
async fn another_entry_of_the_name_begins_anew() {
    let scene = Scene::of_project(&Play::of([tool("greet", "Greets.")])).await;
    scene.tools().await;
    let mut entry = scene.entry("r");
    entry["env"] = json!({"MODE": "2"});
    let servers = json!({"mcpServers": {"r": entry}});
    scene
        .stage
        .write(scene.repo().join(".mcp.json"), servers.to_string());
    scene.play("r", &Play::of([tool("other", "Another.")]));
    scene.approve("r").await;
    assert_eq!(scene.tools().await, ["other"]);
}

#[tokio::test]
async fn a_server_that_is_removed_is_forgotten() {
    let scene = Scene::of_user(&Play::of([tool("greet", "Greets.")]));
    scene.tools().await;
    scene.run(&["remove", "r"]).await.ok();
    scene.stage.configure(&json!({"r": scene.entry("r")}));
    scene.play("r", &Play::of([tool("other", "Another.")]));
    let ran = scene.run(&["tools"]).await.ok();
    assert!(!ran.err.contains("approve"), "{ran:?}");
}
