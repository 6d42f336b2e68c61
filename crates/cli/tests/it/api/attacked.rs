//! Whoever means no good: the right error, nothing leaked, and no more than so much.

use super::Asker;
use ::http::Method;
use serde_json::json;
use switchboard::api::types::{reference, routes::ROUTES};
use switchboard_testkit::world::{World, echo, peak_mib};

#[tokio::test]
async fn bodies_that_are_too_large_or_say_what_is_not_known() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    for route in ROUTES
        .iter()
        .filter(|route| route.takes.is_some_and(|takes| takes != "Nothing"))
    {
        let path = route.path.replace("{segment}", "a");
        let path = path.replace("{server}", "a").replace("{id}", "1");
        let (status, said) = asker.ask("POST", &path, r#"{"surprise":1}"#).await;
        // What is built elsewhere may not be there yet.
        if said["code"] == "unavailable" || route.path.contains("{id}") {
            continue;
        }
        assert_eq!(
            (status, &said["field"]),
            (400, &json!("/surprise")),
            "{path}: {said}"
        );
        let (status, said) = asker.ask("POST", &path, "[1").await;
        assert_eq!(
            (status, &said["code"]),
            (400, &json!("invalid")),
            "{path}: {said}"
        );
    }
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(1 << 20));
    let (status, said) = asker.ask("POST", "settings/read", &large).await;
    assert_eq!(
        (status, &said["code"]),
        (413, &json!("too-large")),
        "{said}"
    );
    // Nobody in particular may send no more than a code.
    let stranger = Asker::new(&asker.url, None);
    let (status, _) = stranger.ask("POST", "session", &large).await;
    assert_eq!(status, 413);
    let (status, _) = stranger.ask("POST", "settings/read", &large).await;
    assert_eq!(status, 401, "and is not even read elsewhere");
}

/// Whoever is refused is told so in one form, whatever they show and wherever.
#[tokio::test]
async fn every_refusal_has_the_same_form() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let control = Asker::control(&world, &gateway).await;
    let own = Asker::new(&control.url, Some(&world.token("tokens/default")));
    let nobody = Asker::new(&control.url, None);
    let wrong = Asker::new(&control.url, Some("wrong-wrong-wrong-wrong"));
    for (asker, status) in [(&nobody, 401), (&wrong, 401), (&own, 403)] {
        for (verb, path) in [("GET", "state"), ("POST", "tap"), ("DELETE", "breakpoints")] {
            let (is, said) = asker.ask(verb, path, "{}").await;
            assert_eq!(
                (is, &said["code"]),
                (status, &json!("not-allowed")),
                "{said}"
            );
            assert!(said["error"].is_string(), "{said}");
        }
    }
}

/// What is no value of the kind, is nested without end, or is no text at all.
#[tokio::test]
async fn bodies_of_the_wrong_kind_are_refused_and_nothing_breaks() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let openapi = reference::openapi();
    let mut bodies: Vec<Vec<u8>> = [
        "null",
        "1",
        "\"x\"",
        "[]",
        "[{}]",
        "{\"a\":",
        "{}{}",
        "\u{feff}{}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    bodies.push("[".repeat(100_000).into_bytes());
    bodies.push(format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000)).into_bytes());
    bodies.push(b"{\"text\":\"\xff\xfe\"}".to_vec());
    bodies.push(vec![0; 1000]);
    let wrong = [
        json!(7),
        json!(-1e300),
        json!("x"),
        json!([[1]]),
        json!({"deep": {}}),
        json!(true),
    ];
    for route in ROUTES.iter().filter(|route| route.verb == "POST") {
        let path = route.path.replace("{segment}", "a");
        let path = path.replace("{server}", "a").replace("{id}", "1");
        let schema = &openapi["paths"][format!("/{}", route.path)]["post"]["requestBody"];
        let named = schema["content"]["application/json"]["schema"]["$ref"].as_str();
        let named = named.and_then(|at| openapi.pointer(at.trim_start_matches('#')));
        let fields = named.and_then(|schema| schema["properties"].as_object());
        let mut all = bodies.clone();
        for field in fields.into_iter().flat_map(|fields| fields.keys()) {
            all.extend(
                wrong
                    .iter()
                    .map(|value| json!({ field: value }).to_string().into_bytes()),
            );
        }
        for body in all {
            let said = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            let reply = asker.client(&path).send(Method::POST, &[], body).await;
            let status = reply.status.as_u16();
            assert!(status < 500, "POST {path} with {said}: {status}");
            let text = String::from_utf8_lossy(&reply.body);
            assert!(
                text.len() < 20_000 && !text.contains("panicked"),
                "{path}: {text}"
            );
        }
    }
    let state = asker.get("state").await;
    assert_eq!(state["gateway"]["panics"], 0, "{state}");
    let (status, _) = asker.ask("POST", "log", r#"{"filter":"loud"}"#).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn thousands_who_listen_are_too_many_and_cost_no_more_than_so_much() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let own = Asker::new(&asker.url, Some(&world.token("tokens/default")));
    let (mut open, mut refused) = (Vec::new(), 0);
    for _ in 0..1500 {
        let stream = own.events("topics=calls").await;
        match stream.status.as_u16() {
            200 => open.push(stream),
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    // Half of what is not kept for operators: another one comes in as well.
    assert_eq!(open.len(), 112);
    assert_eq!(refused, 1500 - 112);
    let mut stream = asker.events("topics=state").await;
    assert_eq!(stream.status.as_u16(), 200);
    asker.post("servers/a/reconnect", json!({})).await;
    assert!(stream.message().await.is_some());
    drop(open);
    // Their places are free again.
    for _ in 0..200 {
        if own.events("topics=calls").await.status.as_u16() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("nobody can listen any more; peak {} MiB", peak_mib(0));
}

#[tokio::test]
async fn pages_of_other_origins_and_forms_change_nothing() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway_with(&["--no-auth"]).await;
    let control = Asker::control(&world, &gateway).await;
    let anybody = Asker::new(&control.url, None);
    let mut page = anybody
        .client("session")
        .header("origin", "https://evil.example");
    assert_eq!(page.post("{\"code\":\"x\"}").await.status.as_u16(), 403);
    let mut form = anybody
        .client("session")
        .header("content-type", "text/plain");
    assert_eq!(form.post("{\"code\":\"x\"}").await.status.as_u16(), 415);
    for path in [
        "../../../etc/passwd",
        "servers/..%2F..%2Fetc",
        "servers/a%00",
        "nothing",
    ] {
        let (status, _) = control.ask("GET", path, "").await;
        assert!(status == 404 || status == 400, "{path}: {status}");
    }
}

/// A path of any number of steps is refused before anything is made of it; the gateway lives.
#[tokio::test]
async fn an_argument_is_set_at_no_endless_path() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let call =
        json!({"server": "a", "name": "echo", "arguments": {"nonce": "x"}, "confirmed": true});
    let made = asker.post("calls", call).await;
    let path = format!("calls/{}/replay", made["id"]);
    for steps in [65, 1024, 50_000] {
        let set = json!([{"path": "/a".repeat(steps), "value": 1}]);
        let body = json!({"set": set, "confirmed": true}).to_string();
        let (status, said) = asker.ask("POST", &path, &body).await;
        assert_eq!((status, &said["field"]), (400, &json!("/set")), "{said}");
    }
    let set = json!([{"path": "/a".repeat(64), "value": 1}]);
    let replayed = asker
        .post(&path, json!({"set": set, "confirmed": true}))
        .await;
    assert!(replayed["runs"][0]["error"].is_null(), "{replayed}");
    // Whoever came in by a code gets no other one.
    let session = asker.session().await;
    assert_eq!(session.refused("POST", "codes", json!({})).await.0, 403);
}
