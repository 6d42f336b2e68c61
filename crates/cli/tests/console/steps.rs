//! A sign-in that does not work out, step by step.

use crate::Desk;
use serde_json::json;
use switchboard_testkit::{
    oauth::Site,
    world::{World, protected, servers},
};

#[tokio::test]
async fn the_step_that_failed_is_shown_with_its_remedy_and_no_secret() {
    let site = Site::with(json!({"fault": "500"})).await;
    let world = World::person_with(&servers([("vault", protected(&site, "/mcp"))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/servers/vault").await;
    page.click("[data-testid=verb-reconnect]").await;
    page.click("[data-testid=tab-sign-in]").await;
    page.says("main", "Nobody has tried to sign in here yet")
        .await;
    page.click("[data-testid=verb-sign-in]").await;
    page.click("dialog a[target=_blank]").await;
    page.click("dialog footer button").await;
    page.says("[data-what=token]", "500").await;
    page.says("[role=alert]", "sign out and in again").await;
    for what in ["resource", "metadata", "registration", "authorize", "token"] {
        page.wait(&format!("[data-testid=sign-step][data-what={what}]"))
            .await;
    }
    page.run(
        "for (const step of document.querySelectorAll('[data-testid=sign-step]')) step.open = true",
    )
    .await;
    page.says("[data-what=token]", "grant_type: authorization_code")
        .await;
    // Whatever the authorization server was told in confidence is not on the page.
    let shown = page.text("main").await;
    for request in site.log().await {
        let form = request["form"].as_object().cloned().unwrap_or_default();
        for name in [
            "code",
            "code_verifier",
            "state",
            "code_challenge",
            "client_secret",
        ] {
            let Some(value) = form.get(name).and_then(|value| value.as_str()) else {
                continue;
            };
            assert!(!shown.contains(value), "{name} is on the page");
        }
    }
    assert!(shown.contains("code_verifier: [redacted]"), "{shown}");
}

#[tokio::test]
async fn where_nobody_can_register_it_says_what_to_do() {
    let site = Site::with(json!({"dcr": false})).await;
    let world = World::person_with(&servers([("vault", protected(&site, "/mcp"))]));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/servers/vault").await;
    page.click("[data-testid=verb-reconnect]").await;
    page.click("[data-testid=verb-sign-in]").await;
    // The page goes by itself to where one sees why.
    page.says("[role=alert]", "make a client there by hand")
        .await;
    page.wait("[data-testid=sign-step][data-what=metadata]")
        .await;
}
