//! The list of calls: always there, filtered by one language, followed as it grows; and
//! what is kept of messages, and when.

use super::{calls, ids, shown};
use serde_json::{Value, json};
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY, StdioClient,
    world::{World, echo, servers},
};

async fn client(url: &str) -> HttpClient {
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client
}

#[tokio::test]
async fn calls_are_listed_always_and_their_messages_kept_while_somebody_looks() {
    let world = World::with(&servers([("one", echo(&[])), ("two", echo(&[]))]));
    let gateway = world.gateway_with(&["--no-auth"]).await;
    let mut client = client(&gateway.url().await).await;
    client.call("one__echo", json!({"nonce": "before"})).await;
    let before = calls(&world, "tool:echo").await;
    assert_eq!(before.len(), 1);
    let (call, id) = (&before[0], before[0]["id"].to_string());
    assert_eq!(call["kept"], false, "{call}");
    assert_eq!(call["server"], "one", "{call}");
    assert_eq!(call["outcome"], "ok", "{call}");
    assert_eq!(call["clientEra"], "legacy", "{call}");
    assert!(call["took"].as_u64() >= call["atServer"].as_u64(), "{call}");
    assert!(call["client"].is_string(), "{call}");
    let ran = world.run(&["traffic", "show", &id]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.err.contains("--tap"), "{}", ran.err);

    // That was a look: from now on they are kept.
    client.call("two__echo", json!({"nonce": "needle"})).await;
    let after = ids(&world, "server:two kept").await;
    assert_eq!(after.len(), 1);
    let detail = shown(&world, &after[0]).await;
    assert_eq!(
        detail["messages"].as_array().map(Vec::len),
        Some(4),
        "{detail}"
    );
    assert_eq!(ids(&world, "\"needle\"").await, after);
    assert_eq!(ids(&world, "tool:echo -server:two").await, [id]);
    let none: [&str; 0] = [];
    assert_eq!(ids(&world, "server:two error").await, none);
}

#[tokio::test]
async fn what_is_wrong_with_a_filter_is_told_with_its_place() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let ran = world.run(&["traffic"]).await;
    assert_eq!(ran.code, Some(4), "{}", ran.out);
    assert!(ran.err.contains("switchboard up"), "{}", ran.err);
    let _gateway = world.gateway_with(&["--no-auth"]).await;
    let ran = world.run(&["traffic", "--filter", "ok sever:git"]).await;
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("at 4: `sever:git`"), "{}", ran.err);
    let ran = world.run(&["traffic", "show", "4711"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
}

/// The first call that a command tells of which follows while these are made. It may not
/// listen yet, so they are made until one is told.
async fn told_of(world: &World, args: &[&str], client: &mut HttpClient, nonces: &[&str]) -> Value {
    let mut following = world.async_command(args);
    following
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true);
    let mut following = following.spawn().expect("it starts");
    let out = following.stdout.take().expect("its stdout");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(out));
    let told = tokio::time::timeout(DEADLINE, async {
        loop {
            for nonce in nonces {
                client.call("one__echo", json!({"nonce": nonce})).await;
            }
            let pause = std::time::Duration::from_millis(300);
            if let Ok(line) = tokio::time::timeout(pause, lines.next_line()).await {
                return line.expect("a line").expect("a line");
            }
        }
    });
    serde_json::from_str(&told.await.expect("a call")).expect("JSON")
}

#[tokio::test]
async fn calls_are_followed_as_they_come() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let gateway = world.gateway_with(&["--no-auth"]).await;
    let mut client = client(&gateway.url().await).await;
    let args = ["traffic", "--json", "--filter", "tool:echo"];
    let told = told_of(&world, &args, &mut client, &["hi"]).await;
    assert_eq!(told["name"], "echo", "{told}");
}

/// What stands in messages is looked for when somebody asks for calls; events are not
/// searched, and a filter has few such texts.
#[tokio::test]
async fn texts_are_looked_for_in_calls_and_not_in_events() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let gateway = world.gateway_with(&["--tap"]).await;
    let url = gateway.url().await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    let own = format!("Bearer {}", world.token("tokens/default"));
    client = client.header("authorization", &own);
    client.initialize(LEGACY).await;
    client.call("one__echo", json!({"nonce": "needle"})).await;
    client.call("one__echo", json!({"nonce": "hay"})).await;
    let get = async |path: &str| {
        let at = HttpClient::new(&format!("{url}/api/v1/{path}"));
        let mut client = at.header("authorization", &own);
        let reply = client.send(http::Method::GET, &[], "").await;
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        (reply.status.as_u16(), said)
    };
    let (status, found) = get("calls?filter=%22needle%22").await;
    assert_eq!((status, &found["matching"]), (200, &json!(1)), "{found}");
    let id = found["calls"][0]["id"].as_u64().expect("a number");
    for (only, matching) in [(id, 1), (id + 1, 0)] {
        let (_, found) = get(&format!("calls?filter=%22needle%22&only={only}")).await;
        assert_eq!(found["matching"], matching, "{found}");
    }
    let (status, said) = get("events?topics=calls&filter=%22needle%22").await;
    assert_eq!((status, &said["field"]), (400, &json!("/filter")), "{said}");
    let many = "%22a%22+".repeat(5);
    let (status, said) = get(&format!("calls?filter={many}")).await;
    assert_eq!(status, 400, "{said}");
    // A few at once have their turns, or are told why not; nobody else waits for them.
    let all = (0..12).map(|_| get("calls?filter=%22needle%22"));
    for (status, said) in futures_util::future::join_all(all).await {
        match status {
            200 => assert_eq!(said["matching"], 1, "{said}"),
            _ => assert_eq!((status, &said["code"]), (429, &json!("too-many")), "{said}"),
        }
    }
}

/// A word that is everywhere is found on as many calls as are asked for: it is not looked for
/// in all, and one goes on where the page ended.
#[tokio::test]
async fn a_word_that_is_everywhere_is_looked_for_a_page_at_a_time() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let gateway = world.gateway_with(&["--no-auth", "--tap"]).await;
    let url = gateway.url().await;
    let mut client = client(&url).await;
    for _ in 0..30 {
        client
            .call("one__echo", json!({"nonce": "everywhere"}))
            .await;
    }
    let token = format!("Bearer {}", world.token("control-token"));
    let get = async |path: String| -> Value {
        let at = HttpClient::new(&format!("{url}/api/v1/{path}"));
        let mut client = at.header("authorization", &token);
        let reply = client.send(http::Method::GET, &[], "").await;
        serde_json::from_slice(&reply.body).expect("JSON")
    };
    let (mut found, mut before) = (Vec::new(), String::new());
    loop {
        let page = get(format!("calls?filter=%22everywhere%22&limit=7{before}")).await;
        assert!(page["matching"].as_u64().unwrap() <= 8, "{page}");
        let calls = page["calls"].as_array().unwrap();
        found.extend(calls.iter().map(|call| call["id"].as_u64().unwrap()));
        assert_eq!(page["more"], page["partial"], "{page}");
        match page["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(found.len(), 30);
    assert!(found.is_sorted_by(|one, next| one > next), "{found:?}");
    // What is only in secrets is looked through so far, and no further at one time.
    let pad = "x".repeat(200_000);
    for _ in 0..40 {
        let arguments = json!({"nonce": "n", "password": "hidden everywhere", "pad": pad});
        client.call("one__echo", arguments).await;
    }
    let looked = "calls?filter=%22hidden%20everywhere%22".to_owned();
    let page = get(looked.clone()).await;
    assert_eq!(
        (&page["matching"], &page["partial"]),
        (&json!(0), &json!(true)),
        "{page}"
    );
    let next = page["next"].as_u64().expect("it goes on");
    let rest = get(format!("{looked}&before={next}")).await;
    assert_eq!(
        (&rest["matching"], &rest["partial"]),
        (&json!(0), &json!(false)),
        "{rest}"
    );
}

/// A text in quotes is followed, too.
#[tokio::test]
async fn a_text_is_followed_as_well() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let gateway = world.gateway_with(&["--no-auth", "--tap"]).await;
    let mut client = client(&gateway.url().await).await;
    let args = ["traffic", "--json", "-n", "0", "--filter", "\"needle\""];
    let told = told_of(&world, &args, &mut client, &["hay", "needle"]).await;
    let detail = shown(&world, &told["id"].to_string()).await;
    assert!(detail.to_string().contains("needle"), "{detail}");
}

#[tokio::test]
async fn the_ring_never_holds_more_than_it_may() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let gateway = world.gateway_with(&["--no-auth", "--tap"]).await;
    let url = gateway.url().await;
    let mut client = client(&url).await;
    let large = "x".repeat(1024 * 1024);
    let token = format!("Bearer {}", world.token("control-token"));
    let at = HttpClient::new(&format!("{url}/api/v1/tap"));
    let mut control = at.header("authorization", &token);
    let mut dropped = 0;
    for _ in 0..40 {
        client.call("one__echo", json!({"nonce": large})).await;
        let state = control.send(http::Method::GET, &[], "").await;
        let state: Value = serde_json::from_slice(&state.body).expect("JSON");
        assert!(
            state["bytes"].as_u64() <= state["capacity"].as_u64(),
            "{state}"
        );
        assert_eq!(state["by"], "option", "{state}");
        dropped = state["dropped"].as_u64().expect("a number");
    }
    assert!(dropped > 0, "what gave way is counted");
    let ids = ids(&world, "tool:echo kept").await;
    assert!(!ids.is_empty() && ids.len() < 40, "{} are kept", ids.len());
    let last = shown(&world, ids.last().expect("one")).await;
    let texts = last["messages"].as_array().expect("a list");
    assert_eq!(texts.len(), 4);
    assert!(texts.iter().all(|one| {
        one["text"]
            .as_str()
            .is_some_and(|text| text.len() > 1024 * 1024)
    }));
}

#[tokio::test]
async fn a_stdio_client_behind_the_gateway_is_seen_as_well() {
    let world = World::with(&servers([("one", echo(&[]))]));
    let _gateway = world.gateway_with(&["--tap"]).await;
    let mut client: StdioClient = world.attached(&[]).await;
    client.call("one__echo", json!({"nonce": "hi"})).await;
    let ids = ids(&world, "tool:echo ok").await;
    assert_eq!(ids.len(), 1);
    let detail = shown(&world, &ids[0]).await;
    assert_eq!(
        detail["messages"].as_array().map(Vec::len),
        Some(4),
        "{detail}"
    );
}

/// While a person thinks, neither we nor the server work: it is a part of its own.
#[tokio::test]
async fn what_a_person_takes_to_answer_is_counted_apart() {
    const THOUGHT: std::time::Duration = std::time::Duration::from_millis(1200);
    let world = World::with(&servers([("one", echo(&[]))]));
    let _gateway = world.gateway_with(&["--no-auth"]).await;
    let mut client = world.attached(&[]).await;
    client.on_request(|_, _| {
        #[expect(clippy::disallowed_methods, reason = "a person who thinks")]
        std::thread::sleep(THOUGHT);
        json!({"result": {"action": "accept", "content": {"answer": "42"}}})
    });
    let answer = client
        .call("one__elicit", json!({"message": "well?"}))
        .await;
    assert!(answer.to_string().contains("42"), "{answer}");
    let calls = calls(&world, "tool:elicit").await;
    let part = |name: &str| calls[0][name].as_u64().unwrap_or_default();
    let (took, theirs, waited) = (part("took"), part("atServer"), part("waited"));
    assert!(u128::from(waited) >= THOUGHT.as_micros(), "{calls:?}");
    assert!(theirs + waited <= took, "{calls:?}");
    let id = calls[0]["id"].to_string();
    let ran = world.run(&["traffic", "show", &id]).await;
    assert!(ran.out.contains("waited for a person: "), "{}", ran.out);
}
