//! Nothing that looks like a secret, or is known to be one, is shown without a second act,
//! which is put on record.

use super::ids;
use serde_json::{Value, json};
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY,
    world::{World, echo, servers},
};

/// Twenty of them, in all the places and shapes in which secrets are met.
fn canaries() -> Vec<(String, Value)> {
    let long = |n: usize| format!("a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R{n}");
    let mut all = Vec::new();
    for (n, key) in [
        "password",
        "apiKey",
        "client_secret",
        "access_token",
        "passphrase",
    ]
    .into_iter()
    .enumerate()
    {
        let secret = format!("canary word {n} of mine");
        all.push((secret.clone(), json!({ key: secret })));
    }
    for (n, prefix) in ["ghp_", "sk-", "xoxb-", "glpat-", "AKIA"]
        .into_iter()
        .enumerate()
    {
        let secret = match prefix {
            "AKIA" => format!("AKIAIOSFODNN7EXAMPL{n}"),
            prefix => format!("{prefix}{}", long(n)),
        };
        all.push((
            secret.clone(),
            json!({ "text": format!("it is {secret} so") }),
        ));
    }
    for n in 0..4 {
        let secret = format!("ghp_{}", long(20 + n));
        let nested = [
            json!({ "list": ["plain", secret] }),
            json!({ "deep": { "deeper": [{ "note": secret }] } }),
            json!({ "json": json!({ "token": secret }).to_string() }),
            json!({ "address": format!("https://me:{secret}@example.test/") }),
        ];
        all.push((secret, nested[n].clone()));
    }
    for n in 0..3 {
        let secret = format!("canary{}", long(30 + n));
        let header = [
            json!({ "header": format!("Authorization: Bearer {secret}") }),
            json!({ "line": format!("curl -H 'X-Api-Key: {secret}' https://example.test") }),
            json!({ "env": format!("API_KEY={secret}") }),
        ];
        all.push((secret, header[n].clone()));
    }
    all
}

#[tokio::test]
async fn no_canary_is_shown_without_a_second_act() {
    // Three that only their entry tells: plain words under telling names.
    let known = ["plumbago-saltire", "verdigris-ocelot", "quixotic-narwhal"];
    let mut entry = echo(&[]);
    entry["env"] = json!({
        "SERVICE_TOKEN": known[0], "DB_PASSWORD": known[1], "API_SECRET": known[2],
    });
    let world = World::with(&servers([("s", entry)]));
    let gateway = world.gateway_with(&["--no-auth", "--tap", "--audit"]).await;
    let url = gateway.url().await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    let mut canaries = canaries();
    for word in known {
        canaries.push((
            word.to_owned(),
            json!({ "text": format!("the word is {word}") }),
        ));
    }
    assert_eq!(canaries.len(), 20);
    for (_, arguments) in &canaries {
        let text = arguments.to_string();
        // As an argument, and in the text of the result, which repeats it.
        client
            .call("s__echo", json!({"nonce": text, "also": arguments}))
            .await;
    }
    let ids = ids(&world, "tool:echo").await;
    assert_eq!(ids.len(), canaries.len());
    for (id, (secret, _)) in ids.iter().zip(&canaries) {
        for args in [
            &["traffic", "show", id][..],
            &["traffic", "show", id, "--json"],
            &["traffic", "copy", id],
            &["traffic", "copy", id, "--as", "curl"],
            &["traffic", "copy", id, "--as", "json"],
            &["traffic", "--no-follow", "--json", "-n", "100"],
        ] {
            let ran = world.run(args).await;
            assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
            let said = format!("{}{}", ran.out, ran.err);
            assert!(
                !said.contains(secret.as_str()),
                "{args:?} shows {secret}: {said}"
            );
            // Whoever runs what was copied knows that it is not whole.
            let is_copy = args[1] == "copy" && ran.out.contains("[redacted]");
            assert_eq!(
                is_copy,
                ran.err.contains("--reveal shows them"),
                "{args:?}: {said}"
            );
        }
        // Nobody finds out what it is by looking for it.
        let found = super::calls(&world, &json!(secret).to_string()).await;
        assert_eq!(found.len(), 0, "{secret} is found");
    }
    let (id, secret) = (&ids[0], &canaries[0].0);
    let ran = world
        .run(&["traffic", "show", id, "--json", "--reveal"])
        .await;
    assert!(ran.out.contains(secret.as_str()), "{}", ran.out);
    // Records are on disk a second later at most.
    let deadline = std::time::Instant::now() + DEADLINE;
    loop {
        let ran = world.run(&["audit", "--json"]).await;
        if ran.out.contains("\"reveal\"") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{}", ran.out);
    }
}
