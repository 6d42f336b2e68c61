//! What each view shows and does.

use crate::{World, data, full};
use serde_json::{Value, json};
use switchboard_api::events::Event;
use switchboard_testkit::browser::key;

#[tokio::test]
async fn somebody_comes_in_by_a_code_and_goes_out() {
    let world = World::new().await;
    let (page, gateway) = (&world.browser, &world.gateway);
    page.says("[data-testid=server]", "one").await;
    let address = page.run("return location.href").await;
    assert!(!address.to_string().contains(crate::CODE), "{address}");
    assert_eq!(page.run("return document.cookie").await, json!(""));
    let asked = gateway.state().asked.join("\n");
    assert!(
        !asked.contains("the-bearer"),
        "a token in an address: {asked}"
    );
    // A second tab with the same code is not let in.
    page.click("[data-testid=sign-out]").await;
    page.says("main", "signed out").await;
    assert_eq!(page.run("return sessionStorage.length").await, json!(0));
    assert_eq!(gateway.state().told.last().expect("told").0, "DELETE");
    page.type_into("[data-testid=code]", crate::CODE).await;
    page.click("[data-testid=enter]").await;
    page.says("[role=alert]", "not good any more").await;
}

#[tokio::test]
async fn what_changes_is_seen_at_once() {
    let world = World::new().await;
    let page = &world.browser;
    page.says("[data-server=two]", "failed").await;
    page.says("[data-testid=waiting]", "6").await;
    page.until("return document.title.startsWith('(6)')").await;
    let server = Box::new(data::server("two", "connected"));
    world.gateway.tell(&Event::Server { server });
    page.says("[data-server=two]", "connected").await;
    let server = Box::new(data::server("three", "asleep"));
    world.gateway.tell(&Event::Server { server });
    page.says("[data-server=three]", "asleep").await;
    world.gateway.tell(&Event::ServerGone {
        name: "three".into(),
        file: None,
    });
    page.until("return !document.querySelector('[data-server=three]')")
        .await;
    world.is_quiet().await;
}

#[tokio::test]
async fn ten_thousand_calls_are_few_rows_that_never_jump() {
    let mut state = full();
    state.calls = (1..=10_000)
        .rev()
        .map(|id| data::call(id, "one", "echo"))
        .collect();
    let world = World::with(state).await;
    let page = &world.browser;
    world.go("#/traffic").await;
    page.wait("[data-testid=call]").await;
    let end = "const list = document.querySelector('.scroll'); list.scrollTop = list.scrollHeight; return list.scrollHeight > 330000";
    page.until(end).await;
    assert!(page.count("[data-testid=call]").await < 50);
    // Somebody reads in the middle: what is new waits. Rows are 34 high, the newest on top;
    // the one that is read is drawn where it belongs a moment after the list has moved.
    page.run("document.querySelector('.scroll').scrollTop = 5000")
        .await;
    page.until(
        "return !!document.querySelector('#call-9850') && !document.querySelector('#call-1')",
    )
    .await;
    page.says("[data-testid=pause]", "Go on").await;
    let seen = "const list = document.querySelector('.scroll'); const row = document.querySelector('#call-9850');
        return [list.scrollTop, row.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientTop, row.innerText]";
    let before = page.run(seen).await;
    assert_eq!(before[0], json!(5000), "{before}");
    assert_eq!(before[1], json!(150 * 34 - 5000), "{before}");
    for id in 10_001..10_021 {
        let call = Box::new(data::call(id, "one", "echo"));
        world.gateway.tell(&Event::Call { call });
    }
    page.says("[data-testid=fresh]", "20 new calls").await;
    assert_eq!(page.run(seen).await, before);
    page.click("[data-testid=fresh]").await;
    page.wait("#call-10020").await;
    // On top it goes on by itself.
    let call = Box::new(data::call(10_021, "one", "echo"));
    world.gateway.tell(&Event::Call { call });
    page.wait("#call-10021").await;
    world.is_quiet().await;
}

/// The list holds as many as it holds, however many have come.
#[tokio::test]
async fn a_hundred_thousand_calls_take_no_more_room_than_ten_thousand() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/traffic").await;
    page.wait("[data-testid=call]").await;
    let mut next = 41;
    let mut held = Vec::new();
    for until in [10_100, 100_000] {
        while next <= until {
            let call = Box::new(data::call(next, "one", "echo"));
            world.gateway.tell(&Event::Call { call });
            next += 1;
            if next % 500 == 0 {
                // No faster than they are taken, as a gateway would not be either.
                page.wait(&format!("#call-{}", next - 1)).await;
            }
        }
        page.wait(&format!("#call-{until}")).await;
        assert!(page.count("[data-testid=call]").await < 50);
        held.push(page.heap().await);
    }
    println!("{held:?} bytes at 10,000 and at 100,000 calls");
    let (few, many) = (held[0] as f64, held[1] as f64);
    assert!(many < few * 1.1, "{held:?}");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_filter_is_the_gateways_own_and_its_fault_is_told() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/traffic").await;
    page.wait("[data-testid=call]").await;
    page.press("/").await;
    page.type_into("[data-testid=filter]", "server:two").await;
    page.says("[data-testid=matching]", "20 of 40 calls").await;
    let address = page.run("return location.hash").await;
    assert_eq!(address, json!("#/traffic?filter=server%3Atwo"));
    let follows = || {
        world
            .gateway
            .state()
            .asked
            .iter()
            .any(|path| path.starts_with("events?") && path.contains("server%3Atwo"))
    };
    assert!(follows(), "the stream is filtered too");
    page.fill("[data-testid=filter]", "bad:").await;
    page.says("[role=alert]", "bad is no field").await;
}

#[tokio::test]
async fn a_call_shows_both_sides_and_is_made_again_edited() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/traffic").await;
    page.click("#call-40").await;
    page.wait("[data-testid=call-page]").await;
    assert_eq!(page.count("[data-testid=message]").await, 4);
    // Just what we changed is marked, with the row that allows it.
    assert_eq!(page.text("mark").await, "\"echo\"");
    assert_eq!(page.count("mark").await, 1);
    page.says("[data-testid=edit]", "tool names").await;
    page.click("[data-testid=replay]").await;
    page.fill(
        "[data-testid=replay-arguments]",
        "{\"path\": \"/tmp/b\", \"limit\": 3.10}",
    )
    .await;
    page.click("[data-testid=replay-run]").await;
    page.says("[data-testid=differences]", "another answer")
        .await;
    page.says("[data-testid=differences]", "the first answer")
        .await;
    let sent = world.gateway.last_to("calls/40/replay").expect("a replay");
    assert!(
        sent.contains("\"arguments\":{\"path\": \"/tmp/b\", \"limit\": 3.10}"),
        "{sent}"
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn rules_for_many_tools_show_the_difference_first() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/tools").await;
    page.click("[data-testid=tool] input[type=checkbox]").await;
    page.click("[data-testid=rule-deny]").await;
    page.says("[data-testid=patch]", "deny").await;
    let first: Value =
        serde_json::from_str(&world.gateway.last_to("tools/rules").expect("asked")).expect("JSON");
    assert_eq!(first["confirm"], Value::Null);
    page.click("[data-testid=write]").await;
    page.says(".toasts", "Written to").await;
    let second: Value =
        serde_json::from_str(&world.gateway.last_to("tools/rules").expect("written"))
            .expect("JSON");
    assert_eq!(second["confirm"], "the-digest");
    assert_eq!(second["tools"], first["tools"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn every_kind_of_question_is_answered() {
    let world = World::new().await;
    let page = &world.browser;
    let answers = [
        ("q1", "allow", json!({"action": "allow"})),
        ("q3", "accept", json!({"action": "accept"})),
        ("q5", "approve", json!({"action": "approve"})),
        ("q6", "reject", json!({"action": "reject"})),
    ];
    for (id, action, sent) in answers {
        world.go(&format!("#/inbox/{id}")).await;
        page.click(&format!("[data-testid=answer-{action}]")).await;
        page.wait("[data-testid=answered]").await;
        let told = world
            .gateway
            .last_to(&format!("questions/{id}"))
            .expect("told");
        assert_eq!(serde_json::from_str::<Value>(&told).expect("JSON"), sent);
    }
    world.go("#/inbox/q2").await;
    page.type_into("[data-path='/who'] textarea", "Ada").await;
    page.click("[data-testid=answer-accept]").await;
    page.wait("[data-testid=answered]").await;
    let told = world.gateway.last_to("questions/q2").expect("told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told, json!({"action": "accept", "content": {"who": "Ada"}}));
    world.go("#/inbox/q4").await;
    page.type_into("[data-kind=sampling] textarea", "Forty-two.")
        .await;
    page.click("[data-testid=answer-accept]").await;
    page.wait("[data-testid=answered]").await;
    let told = world.gateway.last_to("questions/q4").expect("told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["content"]["content"]["text"], "Forty-two.");
    world.is_quiet().await;
}

#[tokio::test]
async fn whoever_answers_second_is_told() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/inbox/q1").await;
    page.wait("[data-testid=answer-allow]").await;
    world.gateway.state().questions[0].status = "answered".into();
    // At once: a page that looks again by itself has nothing to click any more.
    page.click_now("[data-testid=answer-allow]").await;
    page.says("[data-testid=question-page]", "Somebody else has answered")
        .await;
}

#[tokio::test]
async fn a_snippet_is_explained_and_shown_before_it_is_written() {
    let world = World::new().await;
    let page = &world.browser;
    world.go("#/setup/add").await;
    page.type_into("[data-testid=snippet]", "npx -y some-server")
        .await;
    page.says("[data-testid=explained]", "would run npx -y some-server")
        .await;
    page.click("[data-testid=show-difference]").await;
    page.wait("[data-testid=patch]").await;
    page.click("[data-testid=write]").await;
    page.says("[data-testid=proposed]", "Written to").await;
    let sent: Value =
        serde_json::from_str(&world.gateway.last_to("settings/change").expect("sent"))
            .expect("JSON");
    assert_eq!(sent["confirm"], "the-digest");
    world.go("#/setup/tokens").await;
    page.type_into("[data-testid=token-name]", "laptop2").await;
    page.click("[data-testid=make-token]").await;
    page.says("[data-testid=token-secret]", "the-secret-of-the-token")
        .await;
    world.is_quiet().await;
}

#[tokio::test]
async fn keys_lead_everywhere() {
    let world = World::new().await;
    let page = &world.browser;
    page.wait("[data-testid=server]").await;
    page.press(&format!("{}k", key::CONTROL)).await;
    page.type_into("[data-testid=palette] input", "echo").await;
    page.says("[data-testid=palette] [aria-selected=true]", "echo")
        .await;
    page.press(key::ENTER).await;
    page.wait("[data-testid=tool-page]").await;
    page.run("document.activeElement.blur()").await;
    page.press("?").await;
    page.says("dialog", "go to Traffic").await;
    page.press(key::ESCAPE).await;
    page.until("return !document.querySelector('dialog')").await;
    page.press("gc").await;
    page.wait("main[data-view=traffic]").await;
    page.press("j").await;
    page.press("j").await;
    page.wait("#call-39[aria-selected=true]").await;
    page.press(key::ENTER).await;
    page.wait("[data-testid=call-page]").await;
    page.press(key::ESCAPE).await;
    page.wait("main[data-view=traffic]").await;
    world.is_quiet().await;
}

/// Every view, by its address.
pub(crate) const VIEWS: [&str; 22] = [
    "#/servers",
    "#/servers/one",
    "#/servers/one/tools",
    "#/servers/one/resources/file:%2F%2F%2Fa.txt",
    "#/servers/one/prompts/review",
    "#/servers/one/stderr",
    "#/servers/one/handshake",
    "#/servers/one/explain",
    "#/servers/one/sign-in",
    "#/servers/one/tools/echo",
    "#/tools",
    "#/traffic",
    "#/traffic/40?replay=1",
    "#/inbox/q2",
    "#/inbox/q5",
    "#/insight",
    "#/insight/bill",
    "#/setup/add",
    "#/setup/import",
    "#/setup/files",
    "#/setup/clients",
    "#/audit",
];

#[tokio::test]
async fn nothing_keeps_anybody_from_using_it() {
    let axe = std::env::var("SWITCHBOARD_TEST_AXE").expect("SWITCHBOARD_TEST_AXE: run `cargo xtask test`, or set what `cargo xtask setup` prints as axe-core");
    let axe = std::fs::read_to_string(axe).expect("axe-core");
    let world = World::new().await;
    let page = &world.browser;
    page.run(&axe).await;
    // A theme is colours and nothing else: what is about them is looked at in both.
    for (theme, rules) in [
        ("light", ""),
        ("dark", "runOnly: ['color-contrast', 'link-in-text-block'],"),
    ] {
        page.run(&format!(
            "document.documentElement.dataset.theme = {theme:?}"
        ))
        .await;
        for view in VIEWS {
            world.go(view).await;
            page.until("return !document.querySelector('.skeleton') && !!document.querySelector('main h1')").await;
            let script = format!(
                "const found = await axe.run(document, {{ {rules} resultTypes: ['violations'] }});
                return found.violations.filter((one) => one.impact === 'serious' || one.impact === 'critical').map((one) => `${{one.id}}: ${{one.nodes[0].html}}`)"
            );
            let found = page.run(&script).await;
            assert_eq!(found, json!([]), "{view} in {theme}");
        }
    }
    world.is_quiet().await;
}

#[tokio::test]
async fn nothing_is_wider_than_a_telephone() {
    let world = World::new().await;
    let page = &world.browser;
    for width in [500, 360] {
        page.view(width, 800).await;
        for view in VIEWS {
            world.go(view).await;
            page.until(
                "return !document.querySelector('.skeleton') && !!document.querySelector('main')",
            )
            .await;
            let wide = page.run("const main = document.querySelector('main'); return main.scrollWidth - main.clientWidth").await;
            assert!(
                wide.as_i64().is_some_and(|wide| wide <= 1),
                "{view} at {width}: {wide} too wide"
            );
        }
    }
}

/// On a telephone the places are at the bottom: what sticks there stands above them, and
/// nothing of the record has to be pulled into view.
#[tokio::test]
async fn what_sticks_to_the_bottom_of_a_telephone_is_whole() {
    let world = World::new().await;
    let page = &world.browser;
    page.view(360, 480).await;
    world.go("#/inbox/q1").await;
    page.wait(".answers").await;
    let under = "const bottom = (css) => document.querySelector(css).getBoundingClientRect();
        const tall = document.createElement('div');
        tall.style.height = '900px';
        document.querySelector('.answers').before(tall);
        return bottom('.answers').bottom - bottom('.places').top";
    let under = page.run(under).await;
    assert!(
        under.as_f64().is_some_and(|under| under <= 0.5),
        "{under} below the edge"
    );
    world.go("#/audit").await;
    page.wait("[data-testid=record]").await;
    let hidden = "const table = document.querySelector('.records');
        return table.scrollWidth - table.clientWidth";
    assert_eq!(page.run(hidden).await, json!(0));
}
