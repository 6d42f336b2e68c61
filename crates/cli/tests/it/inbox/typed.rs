//! Commands beside a running gateway where rules want a person to be asked: the gateway is
//! used all the same, and asks whoever typed the command.

use super::{LONG, Stage};
use crate::support::tty::Tty;
use http::Method;
use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo};

/// What the gateway has seen of calls of this tool.
async fn calls(stage: &Stage, tool: &str) -> Vec<Value> {
    let path = format!("calls?filter=tool:{tool}");
    let (status, said) = stage.api(Method::GET, &path, &Value::Null).await;
    assert_eq!(status, 200, "{said}");
    said["calls"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_typed_a_call_is_asked_by_the_gateway_once() {
    let stage = Stage::new(&json!({}), &["--era", "legacy"]).await;
    let mut tty = Tty::start(&stage.world, &["call", "e__count"]);
    tty.sees("a rule of the gateway asks: Allow the tool mcp__e__count of server");
    tty.sees("[y/N]");
    tty.types("y\r");
    assert_eq!(tty.ended(), Some(0), "{}", tty.text());
    assert_eq!(tty.text().matches("Allow the tool").count(), 1);
    let seen = calls(&stage, "count").await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["client"], "switchboard", "{seen:?}");

    let mut tty = Tty::start(&stage.world, &["call", "e__count"]);
    tty.sees("[y/N]");
    tty.types("n\r");
    assert_eq!(tty.ended(), Some(5), "{}", tty.text());
    assert!(tty.text().contains("the answer was no"), "{}", tty.text());
    assert_eq!(stage.counted().await, "1");
}

/// Without a terminal it is refused as before, or waits for a person where one is to be asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_refused_or_waits_in_the_inbox() {
    let stage = Stage::new(&json!({}), &[]).await;
    let ran = stage.world.run(&["call", "e__count"]).await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.err.contains("nobody can be asked here"), "{ran:?}");
    assert_eq!(stage.counted().await, "0");

    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let calling = stage.world.run(&["call", "e__count"]);
    let answering = async {
        let question = stage.question("permission").await;
        stage.answer(&question, &json!({"action": "allow"})).await
    };
    let (ran, (status, said)) = tokio::join!(calling, answering);
    assert_eq!(status, 200, "{said}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(stage.counted().await, "1");
}

/// A gateway that goes by other rules does not know whom to ask: it is asked here.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_only_this_folder_has_is_asked_about_here() {
    let stage = Stage::new(&json!({}), &[]).await;
    let rules = json!({"permissions": {"ask": ["mcp__e__pid"]}});
    let folder = stage.world.home().join("other");
    stage
        .world
        .write(folder.join(".claude/settings.json"), rules.to_string());
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    let launch = stage.world.launch(&["call", "e__pid"]).cwd(&folder);
    let (status, _, told) = launch.spawn().output(LONG).await;
    assert_eq!(status.code(), Some(5), "{told}");
    assert!(told.contains("nobody can be asked here"), "{told}");
}

/// What only a gateway has is there whatever rules say of other servers.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_with_a_gateway_is_there_beside_rules_that_ask() {
    let world = World::repository();
    world.write_settings(&json!({
        "mcpServers": {"e": echo(&[])},
        "permissions": {"ask": ["mcp__e__count"]},
    }));
    let gateway = world.launch(&["up", "--plain", "--port", "0"]).spawn();
    gateway.url().await;
    let listed = world.run(&["list"]).await.ok();
    assert!(listed.out.contains("system"), "{listed:?}");
    world.run(&["call", "system__health"]).await.ok();
    // They come from no file, and say so.
    let shown = world.run(&["get", "system"]).await.ok().out;
    assert!(
        shown.contains("comes with the gateway that runs"),
        "{shown}"
    );
    assert!(
        !shown.contains("null") && !shown.contains(":1\n"),
        "{shown}"
    );
    let told = world.run(&["explain", "system"]).await.ok().out;
    assert!(
        told.contains("it comes with the gateway that runs"),
        "{told}"
    );
    let found = world.run(&["doctor"]).await.out;
    assert!(found.contains("system"), "{found}");
    drop(gateway);
}
