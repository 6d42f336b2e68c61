//! The state as a document, and the state that somebody has who read it once and
//! listened from then on, are the same.

use super::Asker;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use switchboard_testkit::{
    EventStream,
    world::{World, echo},
};

/// What somebody knows who listens.
struct Known {
    servers: BTreeMap<(String, String), Value>,
    clients: Value,
    revision: u64,
}

impl Known {
    fn of(document: &Value) -> Self {
        let servers = document["servers"].as_array().unwrap().iter();
        Self {
            servers: servers
                .map(|server| (key(server), server.clone()))
                .collect(),
            clients: document["clients"].clone(),
            revision: document["revision"].as_u64().unwrap(),
        }
    }

    fn hear(&mut self, id: u64, event: &Value) {
        assert!(id > self.revision, "{id} after {}", self.revision);
        self.revision = id;
        match event["kind"].as_str().unwrap() {
            "server" => {
                self.servers
                    .insert(key(&event["server"]), event["server"].clone());
            }
            "server-gone" => {
                let file = event["file"].as_str().unwrap_or_default().to_owned();
                self.servers
                    .remove(&(event["name"].as_str().unwrap().to_owned(), file));
            }
            "clients" => self.clients = event["clients"].clone(),
            "listed" | "settings" | "tap" => {}
            other => panic!("{other}"),
        }
    }
}

fn key(server: &Value) -> (String, String) {
    let text = |field: &str| server[field].as_str().unwrap_or_default().to_owned();
    (text("name"), text("file"))
}

/// Without what is measured, which is never the same twice.
fn steady(mut server: Value) -> Value {
    for field in ["memory", "cpu"] {
        server[field] = Value::Null;
    }
    server
}

async fn catch_up(known: &mut Known, events: &mut EventStream, until: u64) {
    while known.revision < until {
        let event = events.next().await.expect("the stream goes on");
        let Some(id) = event.id.as_deref().and_then(|id| id.parse().ok()) else {
            continue;
        };
        let data = event.data.expect("data");
        known.hear(id, &serde_json::from_slice(&data).unwrap());
    }
}

#[tokio::test]
async fn the_document_and_the_stream_agree_after_many_changes() {
    let world = World::with(&json!({"a": echo(&[]), "b": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let document = asker.get("state").await;
    let mut known = Known::of(&document);
    let mut events = asker
        .events(&format!("topics=state&since={}", known.revision))
        .await;
    for round in 0..8 {
        let name = ["a", "b"][round % 2];
        asker
            .post(&format!("servers/{name}/reconnect"), json!({}))
            .await;
        if round == 2 {
            // A server dies.
            let detail = asker.get("servers/a").await;
            let pid = detail["processes"][0]["pid"].as_u64().expect("a process");
            switchboard_testkit::world::kill(&pid.to_string());
        }
        if round == 3 {
            world.configure(&json!({"a": echo(&[]), "b": echo(&[]), "c": echo(&[])}));
        }
        if round == 5 {
            world.configure(
                &json!({"a": echo(&[]), "b": echo(&[]), "d": {"command": "/nowhere/at/all"}}),
            );
        }
        if round == 6 {
            asker.post("servers/b/disable", json!({})).await;
            asker.post("servers/b/enable", json!({})).await;
        }
    }
    // What follows by itself has followed: a server that died is started again, files are read.
    let mut last = Value::Null;
    for _ in 0..100 {
        last = asker.get("state").await;
        let names: Vec<&str> = last["servers"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        if names.contains(&"d") && !names.contains(&"c") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    catch_up(&mut known, &mut events, last["revision"].as_u64().unwrap()).await;
    let now = Known::of(&last);
    let flat = |known: &Known| -> BTreeMap<(String, String), Value> {
        known
            .servers
            .iter()
            .map(|(key, server)| (key.clone(), steady(server.clone())))
            .collect()
    };
    assert!(now.servers.keys().any(|(name, _)| name == "d"), "{last}");
    assert_eq!(flat(&known), flat(&now));
    assert_eq!(known.clients, now.clients);
    // Whoever was away for a while goes on where they were; who was away too long is told.
    let mut again = asker
        .events(&format!("topics=state&since={}", document["revision"]))
        .await;
    let mut same = Known::of(&document);
    catch_up(&mut same, &mut again, now.revision).await;
    assert_eq!(flat(&same), flat(&now));
    let mut lost = asker.events("topics=state&since=99999999").await;
    let event = lost.message().await.expect("an event");
    assert_eq!(event["kind"], "reset");
    assert!(lost.next().await.is_none(), "and it ends");
}
