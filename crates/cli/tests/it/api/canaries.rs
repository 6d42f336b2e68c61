//! Secrets in entries: none of them is in any answer.

use super::Asker;
use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo};

/// Twenty secrets of different forms, and settings that hold them all.
fn planted() -> (Vec<String>, Value) {
    let canary = |n: usize| format!("sk-canary{n:02}-{}", "Qz7xW3vB9kLmN2pR5tY8".repeat(2));
    let all: Vec<String> = (0..20).map(canary).collect();
    let mut server = echo(&[]);
    server["env"] = json!({
        "API_KEY": all[0], "GITHUB_TOKEN": all[1], "PASSWORD": all[2], "DB_SECRET": all[3],
        "AWS_SECRET_ACCESS_KEY": all[4], "NPM_AUTH": all[5],
    });
    let args = server["args"].as_array_mut().expect("arguments");
    args.extend([
        json!("--api-key"),
        json!(all[6]),
        json!(format!("--token={}", all[7])),
    ]);
    let settings = json!({
        "mcpServers": {
            "a": server,
            "far": {
                "type": "http",
                "url": format!("http://user:{}@127.0.0.1:1/mcp?api_key={}&x=1", all[8], all[9]),
                "headers": { "Authorization": format!("Bearer {}", all[10]), "X-Api-Key": all[11] },
            },
            "off": {
                "command": "/bin/false", "args": ["--password", all[12]], "disabled": true,
                "env": { "TOKEN": all[13] },
            },
            "odd": { "type": "http", "url": format!("http://127.0.0.1:1/?token={}", all[14]),
                "oauth": { "clientSecret": all[15] } },
            "faulty": { "command": "/bin/false", "env": { "SECRET_KEY": all[16] }, "timeout": 0 },
        },
    });
    (all, settings)
}

#[tokio::test]
async fn none_is_in_any_answer() {
    let (mut all, settings) = planted();
    let world = World::new();
    world.write_settings(&settings);
    let gateway = world.gateway_with(&["--audit"]).await;
    let asker = Asker::control(&world, &gateway).await;
    let session = asker.session().await;
    let mut heard = String::new();
    let mut events = asker.events("topics=state,questions").await;
    let proposal = json!({"what": "add", "name": "new", "entry": {
        "command": "/bin/true", "args": ["--token", all[17]], "env": {"API_TOKEN": all[18]}}});
    let mut confirmed = proposal.clone();
    let seen = asker.post("settings/change", proposal).await;
    confirmed["confirm"] = seen["digest"].clone();
    let kept = asker.post("settings/change", confirmed).await;
    heard.push_str(&format!("{seen}{kept}"));
    let id = kept["question"].as_str().expect("a question").to_owned();
    let mut paths: Vec<String> = [
        "state",
        "settings",
        "tools",
        "questions",
        "audit",
        "tokens",
        "session",
    ]
    .map(str::to_owned)
    .into();
    for server in ["a", "far", "off", "odd", "faulty"] {
        paths.push(format!("servers/{server}"));
        paths.push(format!("servers/{server}/stderr"));
        paths.push(format!("servers/{server}/tools"));
        paths.push(format!("explain/{server}"));
        paths.push(format!("pins/{server}"));
    }
    paths.push(format!("questions/{id}"));
    for server in ["a", "far", "odd"] {
        let (_, said) = asker
            .ask("POST", &format!("servers/{server}/reconnect"), "{}")
            .await;
        heard.push_str(&said.to_string());
    }
    for path in &paths {
        for who in [&asker, &session] {
            heard.push_str(&who.ask("GET", path, "").await.1.to_string());
        }
    }
    // What is pasted is not said back either, but as the entry that would be written.
    let pasted = json!({"text": format!("claude mcp add x -e K_TOKEN={} -- /bin/true", all[19])});
    let read = asker.post("settings/read", pasted).await;
    heard.push_str(&read["servers"][0]["explained"].to_string());
    while let Some(event) = events
        .next_within(std::time::Duration::from_millis(500))
        .await
    {
        heard.push_str(&String::from_utf8_lossy(&event.raw));
    }
    assert!(
        heard.contains("\"far\"") && heard.contains("faulty"),
        "it was asked"
    );
    all.retain(|canary| heard.contains(canary.as_str()));
    assert!(all.is_empty(), "{all:?}");
}
