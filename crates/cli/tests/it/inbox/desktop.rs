//! The desktop is told that something waits, in one line and without arguments.

use super::{LONG, Stage, settings};
use serde_json::json;
use switchboard_testkit::world::{World, until};

#[tokio::test]
async fn it_is_told_without_arguments() {
    let world = World::repository().variable("DISPLAY", ":7");
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/told.part\"\nmv \"$HOME/told.part\" \"$HOME/told\"\n";
    world.program("notify-send", script);
    world.write_settings(&settings(&json!({"askAt": "inbox"}), &[]));
    let stage = Stage::serve(world).await;
    let mut client = stage.legacy(&json!({})).await;
    let called = tokio::spawn(async move {
        client
            .call("count", json!({"canary": "in-the-arguments"}))
            .await
    });
    let file = stage.world.path("home/told");
    let told = until(LONG, || std::fs::read_to_string(&file).ok()).await;
    let told = told.expect("the desktop is told");
    assert!(told.contains("mcp__e__count"), "{told}");
    assert!(!told.contains("in-the-arguments"), "{told}");
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "allow"})).await;
    called.await.unwrap();
}
