//! Breakpoints: set on the page, told on every page, and what they hold changed.

use super::{World, data::question, full};
use serde_json::{Value, json};
use switchboard_api::questions::Kind;

#[tokio::test]
async fn a_breakpoint_is_set_and_told_everywhere_until_it_is_removed() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/traffic?filter=tool%3Adeploy").await;
    page.click("[data-testid=break]").await;
    page.click("[data-testid=break-set]").await;
    page.says("[data-testid=break-bar]", "tool:deploy").await;
    let told = world.gateway.last_to("breakpoints").expect("told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told, json!({"filter": "tool:deploy", "at": "call"}));
    for view in ["#/servers", "#/inbox", "#/audit"] {
        world.go(view).await;
        page.says("[data-testid=break-bar]", "tool:deploy").await;
    }
    page.click("[data-testid=break-clear]").await;
    page.until("return !document.querySelector('[data-testid=break-bar]')")
        .await;
    world.is_quiet().await;
}

#[tokio::test]
async fn what_is_held_is_changed_and_sent() {
    let mut state = full();
    let mut held = question("held", Kind::Held, &["release", "edit", "refuse"]);
    held.point = Some("call".into());
    held.about = Some(json!({"nonce": "first", "password": "[redacted]"}));
    state.questions.push(held);
    let world = World::with(state).await;
    let page = &world.browser;
    world.go("#/inbox/held").await;
    page.says("[data-testid=held]", "first").await;
    let changed = r#"{"nonce": "second", "password": "[redacted]"}"#;
    page.fill("[data-testid=held]", changed).await;
    page.click("[data-testid=answer-edit]").await;
    page.wait("[data-testid=answered]").await;
    let told = world.gateway.last_to("questions/held").expect("told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let content = json!({"nonce": "second", "password": "[redacted]"});
    assert_eq!(told, json!({"action": "edit", "content": content}));
    world.is_quiet().await;
}
