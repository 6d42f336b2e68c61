//! The whole story, as somebody lives it who has never used this: from the first start to
//! the record of an answer, in one browser.

use crate::from_disk;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::{
    browser::Browser,
    oauth::Site,
    world::{World, config, echo, until},
};

/// `up --open`, up to the address that a browser is given.
async fn opened(world: &World) -> String {
    let file = world.path("home/opened");
    let found = until(Duration::from_secs(60), || {
        let text = std::fs::read_to_string(&file).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    });
    found.await.expect("a browser is opened")
}

#[tokio::test]
async fn from_the_first_start_to_the_record_of_an_answer() {
    let site = Site::start().await;
    let world = from_disk(World::person());
    world.program("xdg-open", "#!/bin/sh\necho \"$1\" >> ROOT/home/opened\n");
    let _gateway = world
        .launch(&["up", "--port", "0", "--open", "--audit", "--no-builtins"])
        .spawn();
    let page = Browser::start(1280, 900).await;
    page.open(&opened(&world).await).await;

    // Nothing is there, and the page says what to do.
    page.says("main", "No servers yet").await;
    page.click("[data-testid=add-server]").await;
    let protected = json!({"type": "http", "url": site.url("/mcp").as_str()});
    let snippet = config(&json!({"notes": echo(&[]), "vault": protected}));
    page.type_into("[data-testid=snippet]", &snippet).await;

    // An address is written; a command waits for a yes, and runs only after it.
    page.click("[data-proposed=vault] [data-testid=show-difference]")
        .await;
    page.says("[data-proposed=vault] [data-testid=patch]", "/mcp")
        .await;
    page.click("[data-proposed=vault] [data-testid=write]")
        .await;
    page.says("[data-proposed=vault]", "Written to").await;
    page.says("[data-proposed=notes] [data-testid=explained]", "--stdio")
        .await;
    page.click("[data-proposed=notes] [data-testid=show-difference]")
        .await;
    page.click("[data-proposed=notes] [data-testid=write]")
        .await;
    page.click("[data-testid=to-approval]").await;
    page.says("[data-kind=proposal]", "--stdio").await;
    page.click("[data-testid=answer-approve]").await;
    page.says("[data-testid=answered]", "Approve").await;

    // The other one wants a sign-in, which ends in another tab; this one follows.
    page.click("[data-testid=place-servers]").await;
    page.click("[data-server=vault]").await;
    page.click("[data-testid=verb-sign-in]").await;
    page.click("dialog a[target=_blank]").await;
    page.until("return !document.querySelector('dialog')").await;
    page.says("[data-testid=server-page]", "signed in").await;
    page.says("[data-testid=server-page]", "connected").await;

    // A tool by its form; what is missing is said where it is missing.
    page.click("[data-testid=place-servers]").await;
    page.click("[data-server=notes]").await;
    page.click("[data-testid=tab-tools]").await;
    page.click("[data-testid=listed-tool] a[href='#/servers/notes/tools/echo']")
        .await;
    page.says("[data-path='/nonce'] .wrong", "missing").await;
    page.type_into("[data-path='/nonce'] textarea", "first words")
        .await;
    page.until("return !document.querySelector('.wrong')").await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "first words").await;

    // Both sides of it, and once more with other words.
    page.click("[data-testid=both-sides]").await;
    for edge in ["from-client", "to-server", "from-server", "to-client"] {
        page.says(&format!("[data-testid=message][data-edge={edge}]"), "first")
            .await;
    }
    page.click("[data-testid=replay]").await;
    let other = "{\"nonce\": \"other words\"}";
    page.fill("[data-testid=replay-arguments]", other).await;
    if page.count("[data-testid=replay-sure]").await > 0 {
        page.click("[data-testid=replay-sure]").await;
    }
    page.click("[data-testid=replay-run]").await;
    page.says("[data-testid=differences]", "first words").await;
    page.says("[data-testid=differences]", "other words").await;

    // A rule asks about the tool from now on: the difference first, then it is written.
    page.click("[data-testid=place-tools]").await;
    page.click("[data-tool=notes__echo] input[type=checkbox]")
        .await;
    page.click("[data-testid=rule-ask]").await;
    page.says("[data-testid=patch]", "ask").await;
    page.click("[data-testid=write]").await;
    page.says("[data-tool=notes__echo]", "ask").await;

    // An agent that nobody can be asked at waits for whoever looks at the inbox.
    let agent = world.clone();
    let waits = tokio::spawn(async move {
        let mut agent = agent.attached(&[]).await;
        agent
            .call("notes__echo", json!({"nonce": "of an agent"}))
            .await
    });
    page.says("[data-testid=waiting]", "1").await;
    page.click("[data-testid=place-inbox]").await;
    page.click("[data-testid=question]").await;
    page.says("[data-kind=permission]", "of an agent").await;
    page.click("[data-testid=answer-allow]").await;
    let answer = waits.await.expect("an answer");
    assert!(answer.to_string().contains("of an agent"), "{answer}");
    page.says("[data-testid=answered]", "Allow once").await;
    page.until("return !document.querySelector('[data-testid=waiting]')")
        .await;

    // It is all on record: what was approved, signed in to, called and answered.
    page.click("[data-testid=place-audit]").await;
    for words in ["approve", "login", "answer", "notes", "vault", "echo"] {
        page.says("[data-testid=record]", words).await;
    }
    let complaints = page.complaints().await;
    assert!(complaints.is_empty(), "{complaints:#?}");
}
