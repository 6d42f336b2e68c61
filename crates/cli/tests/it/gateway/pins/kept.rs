//! The file in which pins are kept.

use super::{Play, Scene, tool};
use switchboard_testkit::world::run;

use serde_json::{Value, json};
use std::fs;

/// As an earlier version wrote it: tools alone, and in another order.
#[tokio::test]
async fn what_an_earlier_version_pinned_still_counts() {
    let scene = Scene::of_user(&Play::of([tool("greet", "Greets.")]));
    scene.tools().await;
    let file = scene.file();
    let text = "{\n  \"description\": \"Greets.\",\n  \"inputSchema\": {\n    \"type\": \"object\"\n  }\n}";
    let earlier = json!({"server": "r", "tools": {"greet": {
        "hash": "0f", "approved": 1_700_000_000, "definition": text,
    }}});
    fs::write(&file, earlier.to_string()).unwrap();
    assert_eq!(scene.tools().await, ["greet"]);
    // What was approved by a pin is held, although it is the user's own.
    scene.play("r", &Play::of([tool("greet", "Shouts.")]));
    assert_eq!(scene.tools().await, [] as [&str; 0]);
    let kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert!(
        kept["tools"]["greet"]["definition"]
            .as_str()
            .unwrap()
            .contains("Greets."),
        "{kept}"
    );
    scene.approve("r").await;
    assert_eq!(scene.tools().await, ["greet"]);
}

#[tokio::test]
async fn a_damaged_file_is_named_and_left_as_it_is() {
    let scene = Scene::of_user(&Play::of([tool("greet", "Greets.")]));
    scene.tools().await;
    let file = scene.file();
    for damaged in ["", "{", "{}", "[]"] {
        fs::write(&file, damaged).unwrap();
        for command in [
            &["list"][..],
            &["tools"],
            &["doctor"],
            &["call", "greet"],
            &["approve", "r"],
        ] {
            let ran = scene.run(command).await;
            let said = format!("{}{}", ran.out, ran.err);
            assert!(
                said.contains(file.to_str().unwrap()),
                "{command:?} {damaged:?}: {ran:?}"
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), damaged, "{command:?}");
        }
        // Nothing of the user's own would wait: it is used.
        scene.run(&["call", "greet"]).await.ok();
    }
}

#[tokio::test]
async fn a_home_that_cannot_be_written_is_no_obstacle() {
    let scene = Scene::of_user(&Play::of([tool("greet", "Greets.")]));
    let data = scene.stage.home().join(".local/share/switchboard");
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    // No folder can be made where a file is, not even by root.
    fs::write(&data, "").unwrap();
    let launch = scene.launch(&["tools"]);
    let ran = run(launch).await.ok();
    assert!(ran.out.contains("mcp__r__greet"), "{ran:?}");
    let ran = scene.run(&["call", "greet"]).await.ok();
    assert_eq!(ran.out, "done\n");
}

/// A large list is kept within bounds, and compared all the same.
#[tokio::test]
async fn a_large_list_is_kept_within_bounds() {
    let text = "word ".repeat(10_000);
    let tools: Vec<Value> = (0..90).map(|n| tool(&format!("t{n}"), &text)).collect();
    let scene = Scene::of_project(&Play::of(tools.clone())).await;
    assert_eq!(scene.tools().await.len(), 90);
    let size = fs::metadata(scene.file()).unwrap().len();
    assert!(size < 8 * 1024 * 1024, "{size}");
    let mut changed = tools;
    changed[89]["description"] = json!(format!("{text}!"));
    scene.play("r", &Play::of(changed));
    assert_eq!(scene.tools().await.len(), 89);
    scene.approve("r").await;
    assert_eq!(scene.tools().await.len(), 90);
}
