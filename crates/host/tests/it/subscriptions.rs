//! Subscriptions of clients that share a server, interleaved, against a model:
//! the server is subscribed to exactly what somebody wants, and each update
//! reaches exactly those who want it – whatever came at the same time, whoever
//! left, and however often the server died in between.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use switchboard_host::{
    Admitted, Client, ClientSink, Event, Host, Input, Notice, Outcome, Scope, Server, ServerSpec,
    Target, observe::Trace, permission::Rules,
};
use switchboard_transport::{
    Budget,
    in_process::{End, Sender},
};
use switchboard_wire::{Id, Message, Method, Params, Revision, json as raw, name::Style};
use tokio::sync::watch;

const CLIENTS: usize = 3;
const URIS: [&str; 4] = ["r://a", "r://b", "r://c", "r://never"];
/// The server refuses this one.
const REFUSED: &str = "r://never";

/// What one client does in one wave. All of a wave happens at once.
#[derive(Clone, Copy, Debug)]
enum Act {
    Nothing,
    Subscribe(usize),
    Unsubscribe(usize),
    /// Goes, and comes back as somebody else.
    Leave,
}

fn act() -> impl Strategy<Value = Act> {
    let uri = 0..URIS.len();
    prop_oneof![
        1 => Just(Act::Nothing),
        4 => uri.clone().prop_map(Act::Subscribe),
        3 => uri.prop_map(Act::Unsubscribe),
        1 => Just(Act::Leave),
    ]
}

/// A wave, and whether the server dies after it.
fn wave() -> impl Strategy<Value = ([Act; CLIENTS], bool)> {
    ([act(), act(), act()], prop::bool::weighted(0.15))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server: what it is subscribed to, and its present connection.
#[derive(Clone, Default)]
struct Upstream {
    subscribed: Arc<Mutex<BTreeSet<String>>>,
    sender: Arc<Mutex<Option<Sender>>>,
    kill: Arc<watch::Sender<u64>>,
    died: Arc<Mutex<usize>>,
    faults: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    fn serve(self, end: End) {
        let End {
            sender,
            mut receiver,
        } = end;
        lock(&self.subscribed).clear();
        *lock(&self.sender) = Some(sender.clone());
        let mut killed = self.kill.subscribe();
        killed.mark_unchanged();
        tokio::spawn(async move {
            loop {
                let bytes = tokio::select! {
                    bytes = receiver.next() => bytes,
                    _ = killed.changed() => None,
                };
                let Some(bytes) = bytes else {
                    *lock(&self.sender) = None;
                    *lock(&self.died) += 1;
                    return;
                };
                let message: Value = serde_json::from_slice(&bytes).expect("JSON");
                if message.get("id").is_none() {
                    continue;
                }
                let answer = self.answer(&message);
                let sender = sender.clone();
                // Answers take a while, so that much is under way at once.
                tokio::spawn(async move {
                    tokio::task::yield_now().await;
                    let _ = sender.send(Bytes::from(answer.to_string()).into());
                });
            }
        });
    }

    fn answer(&self, message: &Value) -> Value {
        let uri = message["params"]["uri"].as_str().unwrap_or_default();
        let mut answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                answer["result"] = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"resources": {"subscribe": true}},
                    "serverInfo": {"name": "u", "version": "1"},
                });
            }
            "resources/subscribe" if uri == REFUSED => {
                answer = json!({"jsonrpc": "2.0", "id": message["id"],
                    "error": {"code": -32002, "message": "no such resource"}});
            }
            "resources/subscribe" => {
                let is_new = lock(&self.subscribed).insert(uri.to_owned());
                self.expect(is_new, "subscribed twice", uri);
            }
            "resources/unsubscribe" => {
                let was_there = lock(&self.subscribed).remove(uri);
                self.expect(was_there, "unsubscribed for nothing", uri);
            }
            "resources/read" => answer["result"] = json!({"contents": []}),
            _ => {}
        }
        answer
    }

    fn expect(&self, right: bool, fault: &str, uri: &str) {
        if !right {
            lock(&self.faults).push(format!("{fault}: {uri}"));
        }
    }

    /// Tells of a change of every resource that it is subscribed to.
    fn touch_all(&self) {
        let Some(sender) = lock(&self.sender).clone() else {
            return;
        };
        for uri in lock(&self.subscribed).iter() {
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
            let _ = sender.send(Bytes::from(notice.to_string()).into());
        }
    }
}

/// What a client heard of.
#[derive(Default)]
struct Ear(Mutex<BTreeSet<String>>);

impl ClientSink for Ear {
    fn notice(&self, _: &Arc<str>, notice: Notice) {
        if notice.method == Method::ResourceUpdated {
            let body = notice.message.body();
            let uri = raw::field(body, "uri").ok().flatten();
            let uri = uri.and_then(|span| raw::text(span.of(body)));
            lock(&self.0).insert(uri.expect("a uri").into_owned());
        }
    }

    fn ask(&self, input: Input) {
        input.refuse_unsupported();
    }
}

fn newcomer() -> (Arc<Client>, Arc<Ear>) {
    let ear = Arc::new(Ear::default());
    let none = Bytes::from_static(b"{}");
    let client = Client::new("p".into(), Revision::NEWEST_LEGACY, none, ear.clone());
    (Arc::new(client), ear)
}

/// Waits until something holds; says what was seen last where it never does.
async fn until<T: PartialEq + std::fmt::Debug>(
    wanted: &T,
    see: impl Fn() -> T,
) -> Result<(), String> {
    for _ in 0..2000 {
        if see() == *wanted {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(format!("{:?} instead of {wanted:?}", see()))
}

async fn run(waves: Vec<([Act; CLIENTS], bool)>) -> Result<(), String> {
    let upstream = Upstream::default();
    let serve = upstream.clone();
    let target = Target::Linked(Arc::new(move |end| {
        serve.clone().serve(end);
        Ok(())
    }));
    let host = Host::new(
        vec![ServerSpec::new("u", target)],
        Rules::everything_allowed(),
        Style::Short,
        Budget::default(),
    );
    let server = host.server("u").expect("it is configured");
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| newcomer()).collect();
    let mut model: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (acts, dies) in waves {
        let mut acting = tokio::task::JoinSet::new();
        for (at, act) in acts.into_iter().enumerate() {
            let (client, server, host) = (clients[at].0.clone(), server.clone(), host.clone());
            match act {
                Act::Nothing => {}
                Act::Subscribe(uri) => {
                    if URIS[uri] != REFUSED {
                        model.entry(at).or_default().insert(URIS[uri].to_owned());
                    }
                    acting.spawn(async move {
                        let connection = server.connection(&client).await.expect("a connection");
                        let done = connection.subscribe(&client, URIS[uri]).await;
                        assert_eq!(done.is_ok(), URIS[uri] != REFUSED, "{done:?}");
                    });
                }
                Act::Unsubscribe(uri) => {
                    model.entry(at).or_default().remove(URIS[uri]);
                    acting.spawn(async move {
                        let connection = server.connection(&client).await.expect("a connection");
                        let done = connection.unsubscribe(&client, URIS[uri]).await;
                        assert!(done.is_ok(), "{done:?}");
                    });
                }
                Act::Leave => {
                    model.remove(&at);
                    clients[at] = newcomer();
                    acting.spawn(async move { host.detach(&client) });
                }
            }
        }
        while let Some(done) = acting.join_next().await {
            done.map_err(|fault| fault.to_string())?;
        }
        if dies && lock(&upstream.sender).is_some() {
            // In the very moment in which somebody goes, too.
            let before = *lock(&upstream.died);
            let connection = server.connection(&clients[1].0).await;
            let connection = connection.map_err(|fault| fault.to_string())?;
            // It was of some use to a client, so that this is no crash loop.
            read(&host, &server, &clients[1].0).await?;
            upstream.kill.send_modify(|count| *count += 1);
            host.detach(&clients[0].0);
            model.remove(&0);
            clients[0] = newcomer();
            until(&(before + 1), || *lock(&upstream.died)).await?;
            connection.ended().await;
        }
        let wanted: BTreeSet<String> = model.values().flatten().cloned().collect();
        if !wanted.is_empty() {
            // Reconnecting is over when a connection is given out.
            let _ = server.connection(&clients[1].0).await;
        }
        until(&wanted, || match lock(&upstream.sender).is_some() {
            true => lock(&upstream.subscribed).clone(),
            false => BTreeSet::new(),
        })
        .await
        .map_err(|seen| format!("subscribed to {seen}"))?;
        for (_, ear) in &clients {
            lock(&ear.0).clear();
        }
        upstream.touch_all();
        for (at, (_, ear)) in clients.iter().enumerate() {
            let own = model.get(&at).cloned().unwrap_or_default();
            until(&own, || lock(&ear.0).clone())
                .await
                .map_err(|seen| format!("client {at} heard of {seen}"))?;
        }
        let faults = std::mem::take(&mut *lock(&upstream.faults));
        if !faults.is_empty() {
            return Err(faults.join(", "));
        }
    }
    host.close().await;
    Ok(())
}

/// Reads a resource for a client.
async fn read(host: &Host, server: &Arc<Server>, client: &Arc<Client>) -> Result<(), String> {
    let message = Message::request(&Id::number(1), Method::ResourcesRead, r#"{"uri":"r://a"}"#);
    let admitted = Admitted {
        client: client.clone(),
        scope: Scope::One(server.clone()),
        params: Params::of(&message).map_err(|fault| fault.message)?,
        message,
        headers: None,
        trace: Trace::default(),
        passes_on: false,
    };
    let exchange = host.call(admitted).await;
    let mut exchange = exchange.map_err(|fault| fault.to_string())?;
    loop {
        match exchange.next().await {
            Event::Outcome(Outcome::Reply(_)) => return Ok(()),
            Event::Outcome(Outcome::Failed(fault)) => return Err(fault.to_string()),
            Event::Outcome(Outcome::Begun(_)) => return Err("begun".into()),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_interleaved_each_hears_of_its_own(waves in prop::collection::vec(wave(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let done = runtime.block_on(run(waves));
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
