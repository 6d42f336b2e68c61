//! A server that wants the page to do its bidding.

use crate::{World, data, full};
use serde_json::json;

/// What would run, if anything ran.
const SCRIPTS: [&str; 5] = [
    "<img src=x onerror=\"window.hacked=1\">",
    "<script>window.hacked=1</script>",
    "javascript:window.hacked=1",
    "\u{202e}gnp.exe\u{2066}",
    "\"><svg onload=window.hacked=1>",
];

#[tokio::test]
async fn nothing_that_a_server_says_runs() {
    let mut state = full();
    let all = SCRIPTS.join(" ");
    let mut server = data::server("evil", "failed");
    server.name.clone_from(&all);
    server.target.clone_from(&all);
    server.state.reason = Some(all.clone());
    server.state.hint = Some(all.clone());
    state.servers.push(server);
    let mut tool = data::tool(
        "one",
        "evil",
        json!({"type": "object", "title": all, "properties": {(SCRIPTS[0]): {"type": "string", "title": all, "description": all, "default": all, "enum": [all]}}}),
    );
    tool.description = Some(all.clone());
    tool.title = Some(all.clone());
    state.tools.push(tool);
    state
        .tools
        .push(data::tool("one", &all, json!({"type": "object"})));
    let mut call = data::call(99, "one", &all);
    call.client = Some(all.clone());
    call.error = Some(all.clone());
    state.calls.insert(0, call);
    state.questions[2].url = Some("javascript:window.hacked=1".into());
    state.questions[2].title.clone_from(&all);
    state.questions[2].text = Some(all.clone());
    let world = World::with(state).await;
    let page = &world.browser;
    for view in [
        "#/servers",
        "#/servers/evil",
        "#/tools",
        "#/servers/one/tools/evil",
        "#/traffic",
        "#/traffic/99",
        "#/inbox/q3",
        "#/setup/files",
        "#/insight",
        "#/insight/bill",
    ] {
        world.go(view).await;
        page.until(
            "return !document.querySelector('.skeleton') && !!document.querySelector('main h1')",
        )
        .await;
        // What is folded is looked at as well.
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            .await;
        page.says("main", "onerror").await;
        let found = page.run("return [window.hacked ?? null, document.querySelectorAll('#app script, img[src=x], svg[onload], [onerror]').length, [...document.querySelectorAll('a')].filter((link) => !/^(https?:|#|http)/.test(link.getAttribute('href') ?? '#')).length]").await;
        assert_eq!(found, json!([null, 0, 0]), "{view}");
        // What turns text around is shown as what it is.
        let text = page.text("main").await;
        assert!(
            !text.contains('\u{202e}') && !text.contains('\u{2066}'),
            "{view}"
        );
    }
    world.go("#/inbox/q3").await;
    page.says("main", "not followed").await;
    world.is_quiet().await;
}

#[tokio::test]
async fn a_result_of_ten_megabytes_freezes_nothing() {
    let mut state = full();
    let huge = "x".repeat(10_000_000);
    state.tools[0].description = Some(huge.clone());
    state.servers[0].state.reason = Some(huge.clone());
    state.calls[0].error = Some(huge);
    let world = World::with(state).await;
    let page = &world.browser;
    for view in [
        "#/servers",
        "#/tools",
        "#/servers/one/tools/echo",
        "#/traffic",
        "#/traffic/40",
    ] {
        world.go(view).await;
        page.until(
            "return !document.querySelector('.skeleton') && !!document.querySelector('main h1')",
        )
        .await;
        let length = page
            .run("return document.querySelector('main').textContent.length")
            .await;
        assert!(
            length.as_u64().is_some_and(|length| length < 400_000),
            "{view}: {length}"
        );
    }
    world.is_quiet().await;
}

#[tokio::test]
async fn another_page_gets_nothing() {
    let world = World::new().await;
    let page = &world.browser;
    // It can neither be framed, nor be reached by a page that opened it.
    let script = "const frame = document.createElement('iframe'); frame.src = '/'; document.body.append(frame);
        await new Promise((done) => setTimeout(done, 500)); try { return frame.contentDocument?.getElementById('app') ? 'framed' : 'empty'; } catch { return 'empty'; }";
    assert_eq!(page.run(script).await, json!("empty"));
}
