//! Calls as lines for curl: what is printed is run, and answered.

use super::ids;
use serde_json::json;
use switchboard_testkit::{
    HttpClient, LEGACY,
    world::{World, echo, servers},
};

/// Runs what is printed for curl, as somebody would who has a token.
async fn run(world: &World, lines: &str) -> String {
    let mut command = tokio::process::Command::from(world.any("sh", &["-ec", lines]));
    let command = command.env("SWITCHBOARD_TOKEN", world.token("tokens/default"));
    let ran = command.output().await.expect("there is a shell");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{lines}\n{said}\n{told}");
    said
}

/// At the address of all servers as one and at that of one alone, in both eras.
#[tokio::test]
async fn what_is_copied_for_curl_is_answered() {
    let world = World::with(&servers([("e", echo(&[]))]));
    let gateway = world.gateway_with(&["--tap"]).await;
    let url = gateway.url().await;
    let token = format!("Bearer {}", world.token("tokens/default"));
    for (path, name) in [("/mcp", "e__echo"), ("/mcp/e", "echo")] {
        for modern in [false, true] {
            let nonce = format!("it's {name} {modern}");
            let mut client =
                HttpClient::new(&format!("{url}{path}")).header("authorization", &token);
            let params = json!({"name": name, "arguments": {"nonce": nonce}});
            if modern {
                client.modern("tools/call", params).await;
            } else {
                client.initialize(LEGACY).await;
                client.request("tools/call", params).await;
            }
            let id = ids(&world, "tool:echo").await.pop().unwrap();
            let words = ["traffic", "copy", &id, "--as", "curl"];
            let lines = world.run(&words).await.ok().out;
            assert!(lines.contains("SWITCHBOARD_TOKEN"), "{lines}");
            let said = run(&world, &lines).await;
            assert!(said.contains(&nonce), "{lines}\n{said}");
            assert!(said.contains("\"result\""), "{lines}\n{said}");
        }
    }
}
