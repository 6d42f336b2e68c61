//! Every route with everybody who can ask.

use super::Asker;
use ::http::Method;
use serde_json::json;
use switchboard::api::types::{
    routes::{Edits, ROUTES, Route},
    sessions::Role,
};
use switchboard_testkit::{
    HttpClient, LEGACY,
    world::{World, echo},
};

/// A path that leads to the route.
fn path(of: &str) -> String {
    of.replace("{segment}", "a")
        .replace("{list}", "tools")
        .replace("{server}", "a")
        .replace("{name}", "a")
        .replace("{id}", "7")
}

/// The tokens that there are.
fn names(world: &World) -> Vec<std::ffi::OsString> {
    let folder = world.home().join(".local/share/switchboard/tokens");
    let files = std::fs::read_dir(folder).expect("tokens");
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn everybody_gets_what_the_table_says() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let control = Asker::control(&world, &gateway).await;
    let session = control.session().await;
    let own = Asker::new(&control.url, Some(&world.token("tokens/default")));
    let nobody = Asker::new(&control.url, None);
    let wrong = Asker::new(&control.url, Some("wrong-wrong-wrong-wrong"));
    for route in ROUTES {
        let path = path(route.path);
        for (asker, role) in [
            (&nobody, None),
            (&wrong, None),
            (&own, Some(Role::Own)),
            (&control, Some(Role::Admin)),
            (&session, Some(Role::Admin)),
        ] {
            if (route.verb, route.path) == ("DELETE", "session") {
                continue;
            }
            let verb = Method::from_bytes(route.verb.as_bytes()).unwrap();
            let answer = asker.client(&path).open(verb, &[], "{}").await;
            let status = answer.status.as_u16();
            let said = format!("{} {path} as {role:?}: {status}", route.verb);
            let brings_code = (route.verb, route.path) == ("POST", "session");
            // By these people come in where there is an identity provider: here is none.
            let leads_in = route.path.starts_with("session/") && std::ptr::eq(asker, &nobody);
            match role {
                _ if brings_code => assert_eq!(status, 401, "{said}"),
                _ if leads_in && route.verb == "GET" => assert_eq!(status, 200, "{said}"),
                _ if leads_in => assert_eq!(status, 404, "{said}"),
                None => assert_eq!(status, 401, "{said}"),
                // What is to be run is approved in a session that a code opened.
                Some(Role::Admin) if route.path.ends_with("/approve") => {
                    let has_session = std::ptr::eq(asker, &session);
                    assert_eq!(status != 403, has_session, "{said}");
                }
                Some(role) if role < route.role => assert_eq!(status, 403, "{said}"),
                // A session makes none: it would outlive its own end.
                Some(_) if is_code(route) && std::ptr::eq(asker, &session) => {
                    assert_eq!(status, 403, "{said}");
                }
                Some(_) => assert!(![401, 403, 405].contains(&status), "{said}"),
            }
        }
    }
}

/// What only the control token itself may ask for.
fn is_code(route: &Route) -> bool {
    (route.verb, route.path) == ("POST", "codes")
}

/// Whatever changes what is configured, trusted or let in is refused where nothing may be
/// changed, whoever asks; nothing else is, and nothing is written.
#[tokio::test]
async fn where_nothing_may_be_changed_nothing_is() {
    let world = World::repository();
    world.write_settings(&json!({
        "mcpServers": {"a": echo(&[])},
        "permissions": {"ask": ["mcp__a__count"]},
        "approvals": {"askAt": "inbox"},
    }));
    let args = ["--no-api-edit"];
    let gateway = world.gateway_with(&args).await;
    let control = Asker::control(&world, &gateway).await;
    let session = control.session().await;
    let before = (world.read(world.settings()), names(&world));
    for route in ROUTES {
        for asker in [&control, &session] {
            if (route.verb, route.path) == ("DELETE", "session") {
                continue;
            }
            let verb = Method::from_bytes(route.verb.as_bytes()).unwrap();
            let reply = asker.client(&path(route.path)).open(verb, &[], "{}").await;
            let refused = reply.status.as_u16() == 403;
            let edits = route.edits == Edits::Always;
            let is_theirs = is_code(route) && std::ptr::eq(asker, &session);
            assert_eq!(refused, edits || is_theirs, "{} {}", route.verb, route.path);
        }
    }
    // An answer that lasts is one as well; one that does not is taken.
    let token = world.token("tokens/default");
    let mut client = HttpClient::new(&format!("{}/mcp/a", control.url));
    client = client.header("authorization", &format!("Bearer {token}"));
    client.initialize(LEGACY).await;
    let call = tokio::spawn(async move { client.call("count", json!({})).await });
    let id = loop {
        let waiting = control.get("questions").await;
        if let Some(id) = waiting["questions"][0]["id"].as_str() {
            break id.to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let at = format!("questions/{id}");
    for action in ["allow-always", "deny-always", "approve", "reject"] {
        let answer = json!({ "action": action });
        let refused = session.refused("POST", &at, answer).await;
        assert_eq!(refused, (403, "not-allowed".into()), "{action}");
    }
    control.post(&at, json!({"action": "allow"})).await;
    assert_eq!(call.await.unwrap()["result"]["content"][0]["text"], "1");
    assert_eq!((world.read(world.settings()), names(&world)), before);
}

#[tokio::test]
async fn where_everybody_comes_in_nobody_is_more_than_a_client() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway_with(&["--no-auth"]).await;
    let control = Asker::control(&world, &gateway).await;
    let anybody = Asker::new(&control.url, None);
    assert_eq!(anybody.get("session").await["role"], "own");
    for route in ROUTES.iter().filter(|route| route.role > Role::Own) {
        let (status, _) = anybody.ask(route.verb, &path(route.path), "{}").await;
        assert_eq!(status, 403, "{} {}", route.verb, route.path);
    }
    // Also not with a session: what is to be run is not approved here.
    let session = control.session().await;
    assert_eq!(session.get("session").await["mayApprove"], false);
    let entry = json!({"what": "add", "name": "x", "entry": {"command": "/bin/true"}});
    assert_eq!(
        session.refused("POST", "settings/change", entry).await,
        (403, "not-allowed".into())
    );
}

#[tokio::test]
async fn a_client_hears_and_sees_nothing_that_is_not_its_own() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let control = Asker::control(&world, &gateway).await;
    let made = control.post("tokens", json!({"name": "ada"})).await;
    let ada = Asker::new(&control.url, made["token"].as_str());
    assert_eq!(
        ada.refused("GET", "events?topics=state", json!({})).await,
        (403, "not-allowed".into())
    );
    let mut entry = json!({"what": "add", "name": "x", "entry": {"command": "/bin/true"}});
    entry["confirm"] = control.post("settings/change", entry.clone()).await["digest"].clone();
    let written = control.post("settings/change", entry).await;
    let id = written["question"].as_str().expect("a question").to_owned();
    assert_eq!(ada.get("questions").await["questions"], json!([]));
    for verb in ["GET", "POST"] {
        let path = format!("questions/{id}");
        let asked = ada.refused(verb, &path, json!({"action": "approve"})).await;
        assert_eq!(
            asked,
            (404, "not-found".into()),
            "the same as where there is none"
        );
        let none = ada
            .refused(verb, "questions/0", json!({"action": "approve"}))
            .await;
        assert_eq!(asked, none);
    }
}
