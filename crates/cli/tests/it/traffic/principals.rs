//! Two principals' calls are never mixed: a client's own token sees its own calls, and
//! another's number is as one that is not there.

use http::Method;
use serde_json::{Value, json};
use switchboard_testkit::{
    HttpClient, LEGACY,
    world::{World, echo, servers},
};

#[tokio::test]
async fn a_clients_token_sees_its_own_calls_alone() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let gateway = world.gateway_with(&["--tap"]).await;
    let url = gateway.url().await;
    let mut tokens = Vec::new();
    for name in ["ada", "bob"] {
        world.run(&["token", "create", name]).await.ok();
        tokens.push(format!("Bearer {}", world.token(&format!("tokens/{name}"))));
        let at = HttpClient::new(&format!("{url}/mcp"));
        let mut client = at.header("authorization", tokens.last().expect("a token"));
        client.initialize(LEGACY).await;
        client
            .call("one__echo", json!({"nonce": format!("of {name}")}))
            .await;
    }
    let get = async |token: &str, verb: Method, path: &str| -> (u16, Value) {
        let at = HttpClient::new(&format!("{url}/api/v1/{path}"));
        let mut client = at.header("authorization", token);
        let reply = client.send(verb, &[], "").await;
        let value = serde_json::from_slice(&reply.body).unwrap_or_default();
        (reply.status.as_u16(), value)
    };
    let all = super::calls(&world, "tool:echo").await;
    assert_eq!(all.len(), 2);
    let of = |name: &str| {
        let call = all.iter().find(|call| call["principal"] == name);
        call.expect("one of each")["id"].to_string()
    };
    for (token, own, other) in [(&tokens[0], "ada", "bob"), (&tokens[1], "bob", "ada")] {
        let (status, page) = get(token, Method::GET, "calls").await;
        assert_eq!(status, 200, "{page}");
        let calls = page["calls"].as_array().expect("a list");
        assert!(calls.iter().all(|call| call["principal"] == own), "{page}");
        assert_eq!(page["total"].as_u64(), Some(calls.len() as u64), "{page}");
        let (status, detail) = get(token, Method::GET, &format!("calls/{}", of(own))).await;
        assert_eq!(status, 200, "{detail}");
        let theirs = of(other);
        let (status, said) = get(token, Method::GET, &format!("calls/{theirs}")).await;
        assert_eq!(status, 404, "{said}");
        let (_, missing) = get(token, Method::GET, "calls/999999").await;
        let words = |said: &Value| said["error"].to_string().replace(&theirs, "N");
        assert_eq!(words(&said), words(&missing).replace("999999", "N"));
        // What changes something, or shows secrets, is for others.
        for path in [
            format!("calls/{}/replay", of(own)),
            format!("calls/{}/reveal", of(own)),
        ] {
            let (status, said) = get(token, Method::POST, &path).await;
            assert_eq!(status, 403, "{path}: {said}");
        }
    }
    let (status, _) = get("Bearer nobody", Method::GET, "calls").await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn what_lists_cost_is_told_with_what_nobody_uses() {
    let world = World::with(&servers([("one", echo(&[])), ("two", echo(&[]))]));
    let gateway = world.gateway_with(&["--no-auth"]).await;
    let url = gateway.url().await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client.call("one__echo", json!({"nonce": "hi"})).await;
    let ran = world.run(&["stats", "--bill", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let bill = ran.json();
    assert_eq!(bill["days"], 1, "{bill}");
    let list = &bill["lists"][0];
    assert!(
        list["tokens"].as_u64() > list["unusedTokens"].as_u64(),
        "{bill}"
    );
    // The same number wherever it is said.
    let listed = world.run(&["list"]).await.ok().out;
    let about = listed.split("(about ").skip(1);
    let costs = about.map(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    let sum: Option<u64> = costs.sum();
    assert_eq!(list["tokens"].as_u64(), sum, "{bill} {listed}");
    let unused = list["unused"].as_array().expect("a list");
    let has = |tool: &str| unused.iter().any(|one| one["tool"] == tool);
    assert!(has("mcp__two__echo") && !has("mcp__one__echo"), "{bill}");
    let ran = world.run(&["stats", "--bill"]).await;
    assert!(ran.out.contains("nobody called today"), "{}", ran.out);
    // The command that it names hides them, after a yes.
    let command = list["hide"].as_str().expect("a command");
    assert!(ran.out.contains(command), "{}", ran.out);
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let before = world.read(world.settings());
    let ran = world.run(&words).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("+ permissions.deny: \"mcp__two__echo\""),
        "{ran:?}"
    );
    assert_eq!(world.read(world.settings()), before, "nobody said yes");
    let ran = world.run(&[&words[..], &["--yes"]].concat()).await.ok();
    assert!(ran.out.contains("tokens less"), "{ran:?}");
    let listed = client.request("tools/list", json!({})).await.to_string();
    assert!(
        listed.contains("one__echo") && !listed.contains("two__echo"),
        "{listed}"
    );
    let ran = world.run(&["stats", "--bill", "--hide", "nobody"]).await;
    assert!(ran.err.contains("nobody of the name"), "{ran:?}");
}
