//! Lists over many servers: what was found to be in order is not looked at again, and
//! whatever moves is seen all the same.

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use switchboard_host::{
    Client, Host, NoSink, ServerSpec, Target,
    catalog::{List, Merged, MergedItem, list_counts},
    permission::{Pinned, Rules},
    pins::{Keeping, Pinning},
};
use switchboard_transport::{
    Budget,
    in_process::{End, Sender},
};
use switchboard_wire::{Revision, name::Style};

const SERVERS: usize = 30;
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose tools can be changed while it runs, and which can be cut off.
#[derive(Clone, Default)]
struct Changing {
    tools: Arc<Mutex<Vec<String>>>,
    senders: Arc<Mutex<Vec<Sender>>>,
}

impl Changing {
    fn spec(&self, name: String) -> ServerSpec {
        let server = self.clone();
        let target = Target::Linked(Arc::new(move |end| {
            server.clone().serve(end);
            Ok(())
        }));
        ServerSpec::new(name, target)
    }

    fn serve(self, end: End) {
        let End {
            sender,
            mut receiver,
        } = end;
        self.senders.lock().push(sender.clone());
        tokio::spawn(async move {
            while let Some(bytes) = receiver.next().await {
                let message: Value = serde_json::from_slice(&bytes).expect("JSON");
                let Some(id) = message.get("id") else {
                    continue;
                };
                let result = match message["method"].as_str() {
                    Some("initialize") => json!({
                        "protocolVersion": message["params"]["protocolVersion"],
                        "capabilities": {"tools": {"listChanged": true}},
                        "serverInfo": {"name": "changing", "version": "1"},
                    }),
                    _ => {
                        let tools = self.tools.lock().clone();
                        let tools = tools
                            .iter()
                            .map(|name| json!({"name": name, "inputSchema": {}}));
                        json!({ "tools": tools.collect::<Vec<Value>>() })
                    }
                };
                say(
                    &sender,
                    &json!({"jsonrpc": "2.0", "id": id, "result": result}),
                );
            }
        });
    }

    fn now_has(&self, tools: &[&str]) {
        *self.tools.lock() = tools.iter().map(ToString::to_string).collect();
        let senders = self.senders.lock().clone();
        for sender in senders {
            let method = "notifications/tools/list_changed";
            say(&sender, &json!({"jsonrpc": "2.0", "method": method}));
        }
    }
}

fn say(sender: &Sender, message: &Value) {
    let _ = sender.send(Bytes::from(message.to_string()).into());
}

fn names(merged: &Merged) -> Vec<String> {
    merged.iter().map(|item| item.outward.clone()).collect()
}

fn client(revision: Revision) -> Arc<Client> {
    let none = Bytes::from_static(b"{}");
    Arc::new(Client::new("p".into(), revision, none, Arc::new(NoSink)))
}

fn many() -> (Vec<Changing>, Arc<Host>) {
    let servers: Vec<Changing> = (0..SERVERS).map(|_| Changing::default()).collect();
    for server in &servers {
        server.now_has(&["b", "a"]);
    }
    let specs = servers.iter().enumerate();
    let specs = specs.map(|(n, server)| server.spec(format!("s{n:02}")));
    let rules = Rules::everything_allowed();
    let host = Host::new(specs.collect(), rules, Style::Short, Budget::default());
    (servers, host)
}

/// Lists until it is so.
async fn until(
    host: &Host,
    client: &Arc<Client>,
    is_so: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    let waiting = async {
        loop {
            let now = names(&*host.merged(client, List::Tools).await);
            if is_so(&now) {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    waited.expect("it comes to be so")
}

#[tokio::test]
async fn a_change_is_listed_and_the_rest_stays_where_it_was() {
    let (servers, host) = many();
    let client = client(Revision::NEWEST_LEGACY);
    let all = until(&host, &client, |all| all.len() == 2 * SERVERS).await;
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(all, sorted, "in order of server and name");

    let before = host.merged(&client, List::Tools).await;
    let again = host.merged(&client, List::Tools).await;
    assert!(Arc::ptr_eq(&before, &again), "nothing has changed");

    let (page, cursor) = before.page(None, 21);
    assert_eq!(
        page.last().map(|item| item.outward.as_str()),
        Some("s10__a")
    );
    servers[10].now_has(&["b", "c"]);
    let changed = until(&host, &client, |all| all.contains(&"s10__c".to_owned())).await;
    let mut expected = all.clone();
    expected.splice(20..22, ["s10__b".to_owned(), "s10__c".to_owned()]);
    assert_eq!(changed, expected);
    let merged = host.known(&client, List::Tools);
    let (page, _) = merged.page(cursor.as_ref(), 2);
    let page: Vec<&str> = page.iter().map(|item| item.outward.as_str()).collect();
    assert_eq!(page, ["s10__b", "s10__c"], "the cursor's item has gone");
    assert_eq!(names(&before), all, "whoever has the old list keeps it");

    // Every other server's is what it was, and found by its name.
    assert!(merged.find("s10__a").is_none());
    for name in &changed {
        assert!(merged.find(name).is_some_and(|item| item.outward == *name));
    }
    host.close().await;
}

#[tokio::test]
async fn lists_that_are_known_count_as_such_whether_looked_at_or_not() {
    let (_, host) = many();
    let client = client(Revision::NEWEST_LEGACY);
    until(&host, &client, |all| all.len() == 2 * SERVERS).await;
    host.merged(&client, List::Tools).await;
    let (known, _) = list_counts();
    host.merged(&client, List::Tools).await;
    // Other tests count in the same process.
    assert!(list_counts().0 >= known + SERVERS as u64);
    host.close().await;
}

#[tokio::test]
async fn a_server_that_was_made_anew_is_met_again() {
    let (servers, host) = many();
    let client = client(Revision::NEWEST_LEGACY);
    until(&host, &client, |all| all.len() == 2 * SERVERS).await;
    // Nobody is told: only that the connection is another says that its list may be.
    *servers[3].tools.lock() = vec!["z".to_owned()];
    let made = servers[3].senders.lock().len();
    host.server("s03")
        .expect("it is configured")
        .reconnect()
        .await;
    let now = until(&host, &client, |all| all.contains(&"s03__z".to_owned())).await;
    assert_eq!(now.len(), 2 * SERVERS - 1);
    assert!(servers[3].senders.lock().len() > made);
    host.close().await;
}

#[tokio::test]
async fn what_is_pinned_of_one_server_makes_nothing_of_another_anew() {
    let (servers, host) = many();
    let folder = tempfile::tempdir().expect("a folder");
    let keeping = |n: usize| {
        let name = format!("s{n:02}");
        let pinning = Pinning::Tell;
        (name.clone(), Keeping { key: name, pinning })
    };
    let pinned = Pinned {
        pins: host.guard().pins_in(folder.path()),
        servers: (0..SERVERS).map(keeping).collect(),
        user: vec!["p".into()],
    };
    host.guard().set_pins(pinned, host.servers().iter());
    let client = client(Revision::NEWEST_LEGACY);
    until(&host, &client, |all| all.len() == 2 * SERVERS).await;
    let before = host.merged(&client, List::Tools).await;
    let version = host.guard().version();
    // A tool that was not there is pinned, and told.
    servers[10].now_has(&["a", "b", "c"]);
    until(&host, &client, |all| all.len() == 2 * SERVERS + 1).await;
    assert_ne!(host.guard().version(), version);
    let now = host.merged(&client, List::Tools).await;
    let others = |merged: &Merged| -> Vec<*const MergedItem> {
        let others = merged.iter().filter(|item| &**item.server.name() != "s10");
        others.map(std::ptr::from_ref).collect()
    };
    assert_eq!(others(&now), others(&before), "they are where they were");
    servers[10].now_has(&["a", "b"]);
    until(&host, &client, |all| all.len() == 2 * SERVERS).await;
    host.close().await;
}
