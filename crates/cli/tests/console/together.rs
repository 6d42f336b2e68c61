//! Two people at once, each in a browser of their own.

use crate::Desk;
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::{
    browser::Browser,
    world::{World, echo, servers},
};

/// Writes down in the page when a script becomes true, so that what is measured is the
/// page's time and not that of whoever looks at it.
async fn note_when(page: &Browser, script: &str) {
    page.run(&format!(
        "window.seenAt = null; window.watching = setInterval(() => {{
            if ((() => {{ {script} }})()) {{ window.seenAt = Date.now(); clearInterval(window.watching); }}
        }}, 10)"
    ))
    .await;
}

#[tokio::test]
async fn a_change_of_one_is_seen_by_the_other() {
    let desk = Desk::with(World::with(&servers([("left", echo(&[]))]))).await;
    let (one, other) = (&desk.browser, Browser::start(1280, 900).await);
    other.open(&desk.way_in().await).await;
    other.wait("[data-server=left]").await;
    desk.go("#/servers/left").await;
    one.wait("[data-testid=verb-disable]").await;
    note_when(
        &other,
        "return document.querySelector('[data-server=left]').innerText.includes('disabled')",
    )
    .await;
    one.run("document.addEventListener('click', () => { window.clickedAt = Date.now(); }, true)")
        .await;
    one.click("[data-testid=verb-disable]").await;
    let seen = other.until("return window.seenAt").await;
    let clicked = one.run("return window.clickedAt").await;
    let took = seen.as_u64().zip(clicked.as_u64());
    let (seen, clicked) = took.expect("both were written down");
    println!("seen after {} ms", seen.saturating_sub(clicked));
    // A second is what is promised; the rest is for a machine that is busy otherwise.
    assert!(seen - clicked < 5_000, "seen after {} ms", seen - clicked);
    // The other one switches it on again, and the first sees that.
    other.run("location.hash = '#/servers/left'").await;
    other.click("[data-testid=verb-enable]").await;
    one.wait("[data-testid=verb-disable]").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn answers_that_meet_collide_cleanly() {
    let world = World::new();
    world.write_settings(&json!({
        "mcpServers": {"left": echo(&[])},
        "permissions": {"ask": ["mcp__left__echo"]}
    }));
    let desk = Desk::served_with(world, &["--ask-at", "inbox"]).await;
    let (one, other) = (&desk.browser, Browser::start(1280, 900).await);
    other.open(&desk.way_in().await).await;
    other.wait("#main").await;
    let agent = desk.world.clone();
    let waits = tokio::spawn(async move {
        let mut agent = agent.attached(&[]).await;
        agent.call("left__echo", json!({"nonce": "n"})).await
    });
    for page in [one, &other] {
        page.says("[data-testid=waiting]", "1").await;
        page.click("[data-testid=place-inbox]").await;
        page.click("[data-testid=question]").await;
        page.wait("[data-testid=answer-allow]").await;
    }
    // What the second would have to press goes away by itself: so its page is kept from
    // hearing of it, as one is whose answer is on its way already.
    other
        .run("const send = window.fetch; window.held = []; window.fetch = (address, how) => how?.method === 'POST' ? new Promise((go) => window.held.push(() => go(send(address, how)))) : send(address, how)")
        .await;
    other.click("[data-testid=answer-deny]").await;
    other.until("return window.held.length === 1").await;
    let begun = Instant::now();
    one.click("[data-testid=answer-allow]").await;
    let answer = waits.await.expect("an answer");
    assert!(
        answer.get("result").is_some(),
        "the first one counts: {answer}"
    );
    other.run("window.held.pop()()").await;
    other
        .says("[data-testid=question-page]", "Somebody else has answered")
        .await;
    for page in [one, &other] {
        page.says("[data-testid=answered]", "Allow once").await;
        page.until("return !document.querySelector('[data-testid=waiting]')")
            .await;
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
}
