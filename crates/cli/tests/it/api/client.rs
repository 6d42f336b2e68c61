//! The other side: what commands and screens ask a gateway with.

use serde_json::json;
use switchboard::{
    api::{
        Client, ClientError,
        types::{events::Event, servers::Done, state::Document},
    },
    running::Running,
};
use switchboard_testkit::world::{World, echo};

fn running(world: &World, address: &str) -> Running {
    Running {
        address: address.to_owned(),
        pid: 1,
        names: String::new(),
        client_token: None,
        control_token: world.path("home/.local/share/switchboard/control-token"),
        directory: world.home(),
        version: String::new(),
        by_up: false,
    }
}

#[tokio::test]
async fn it_asks_hears_and_is_told_why_not() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let url = gateway.url().await;
    let client = Client::of(&running(&world, url.trim_start_matches("http://"))).unwrap();
    let document: Document = client.get("state").await.unwrap();
    assert_eq!(document.servers.len(), 1);
    let query = format!("topics=state&since={}", document.revision);
    let mut events = client.events(&query).await.unwrap();
    let done: Done = client
        .post("servers/a/reconnect", &json!({}))
        .await
        .unwrap();
    assert_eq!(done.server.state.word, "connected");
    let mut last = document.revision;
    loop {
        let (id, event) = events.next().await.unwrap().expect("the stream goes on");
        assert!(id > last);
        last = id;
        if matches!(&event, Event::Server { server } if server.state.word == "connected") {
            break;
        }
    }
    let no = client.get::<Done>("servers/nobody").await.unwrap_err();
    assert_eq!(no.code(), Some("not-found"), "{no}");
    let nobody = client.with_bearer("wrong-wrong-wrong-wrong");
    let no = nobody.get::<Document>("state").await.unwrap_err();
    assert!(
        matches!(&no, ClientError::Refused(status, _) if status.as_u16() == 401),
        "{no:?}"
    );
    // A gateway that ends ends what was open at it.
    drop(gateway);
    while let Ok(Some(_)) = events.next().await {}
    let no = client.get::<Document>("state").await.unwrap_err();
    assert!(
        matches!(no, ClientError::Broken(_) | ClientError::Silent),
        "{no:?}"
    );
}
