//! `doctor` finds what is wrong, and says what to do.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use switchboard_testkit::world::{self, World, echo, servers};

fn find<'a>(findings: &'a Value, area: &str, what: &str) -> &'a Value {
    let all = findings.as_array().unwrap();
    let found = all.iter().find(|finding| {
        finding["area"] == area && finding["what"].as_str().unwrap().contains(what)
    });
    found.unwrap_or_else(|| panic!("nothing about {what}: {findings:#}"))
}

#[tokio::test]
async fn a_healthy_home_is_well() {
    let stage = World::with(&servers([("good", echo(&[]))]));
    let _gateway = stage.gateway().await;
    let findings = stage.run(&["doctor", "--json"]).await.json();
    // Others use this machine, too, and what they left behind is not our affair.
    let ills: Vec<&Value> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["level"] != "ok" && finding["area"] != "processes")
        .collect();
    assert!(ills.is_empty(), "{ills:?}");
    assert_eq!(find(&findings, "servers", "good")["level"], "ok");
    assert_eq!(
        find(&findings, "versions", "gateway http://")["found"],
        "runs and answers"
    );
    assert_eq!(
        find(&findings, "configuration", "settings.json")["level"],
        "ok"
    );
    assert_eq!(find(&findings, "sign-ins", "control-token")["level"], "ok");
}

#[tokio::test]
async fn every_ill_has_its_advice() {
    let stage = World::with(&servers([
        ("absent", json!({"command": "/nonexistent/program"})),
        ("typo", json!({"command": "x", "args": "y"})),
        ("unset", json!({"command": "${NOT_SET_ANYWHERE}"})),
    ]));
    let project = stage.home().join("project");
    stage.write(project.join(".git/HEAD"), "");
    stage.write(
        project.join(".mcp.json"),
        json!({"mcpServers": {"theirs": {"command": "x"}}}).to_string(),
    );
    stage.write(stage.home().join(".claude.json"), "{ broken");
    let token = stage.home().join(".local/share/switchboard/tokens/default");
    stage.write(&token, "0123456789abcdef0123456789abcdef");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = world::run(stage.launch(&["doctor", "--json"]).cwd(&project)).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let findings = ran.json();
    for (area, what, level, words) in [
        ("servers", "absent", "problem", "/nonexistent/program"),
        ("configuration", "server typo", "problem", "args"),
        ("servers", "unset", "problem", "NOT_SET_ANYWHERE"),
        (
            "configuration",
            "server theirs",
            "warning",
            "waits for your approval",
        ),
        ("configuration", ".claude.json", "problem", "does not count"),
        ("sign-ins", "tokens/default", "problem", "open to others"),
    ] {
        let finding = find(&findings, area, what);
        assert_eq!(finding["level"], level, "{finding}");
        assert!(
            finding["found"].as_str().unwrap().contains(words),
            "{finding}"
        );
    }
    assert_eq!(
        find(&findings, "configuration", "server theirs")["advice"],
        "switchboard approve theirs"
    );
    let ran = world::run(stage.launch(&["doctor", "--no-connect"]).cwd(&project)).await;
    assert!(
        ran.out.contains("problems: ") && ran.out.contains("do: switchboard approve theirs"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn a_rule_about_a_server_that_is_not_there_is_told_with_the_closest() {
    let stage = World::new();
    stage.write_settings(&json!({
        "mcpServers": servers([("github", echo(&[]))]),
        "permissions": {"deny": ["mcp__githbu__*", "mcp__github__x"]},
    }));
    let args = ["doctor", "--json", "--no-connect"];
    let findings = stage.run(&args).await.json();
    let finding = find(&findings, "configuration", "settings.json:");
    assert_eq!(finding["level"], "warning", "{finding}");
    let found = finding["found"].as_str().unwrap();
    assert!(
        found.contains("mcp__githbu__*") && found.contains("no server \"githbu\""),
        "{finding}"
    );
    assert_eq!(finding["advice"], "did you mean github?");
    let up = stage.launch(&["up", "--port", "0"]).spawn();
    up.wait_for_line("no server \"githbu\" is configured; did you mean github?")
        .await;
}

#[tokio::test]
async fn a_token_file_that_is_gone_says_what_to_do() {
    let stage = World::with(&servers([("good", echo(&[]))]));
    let gateway = stage.gateway().await;
    let token = stage.home().join(".local/share/switchboard/control-token");
    std::fs::remove_file(&token).unwrap();
    let ran = stage.run(&["traffic"]).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("control-token is gone") && ran.err.contains("start it again"),
        "{ran:?}"
    );
    drop(gateway);
}
