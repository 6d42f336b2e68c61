//! Whose a notice is that names no request, while calls are in flight.

use crate::{
    observe::{admitted, host_of},
    scripted::Scripted,
};
use bytes::Bytes;
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use switchboard_host::{
    Client, ClientSink, Event, Exchange, Host, Input, Notice,
    observe::{Begin, Edge, Follow, Observer, Passing},
};
use switchboard_wire::{Method, Revision};

/// Hears what belongs to no call.
#[derive(Default)]
struct Ear {
    heard: AtomicUsize,
    is_shut: AtomicBool,
}

impl ClientSink for Ear {
    fn notice(&self, _: &Arc<str>, notice: Notice) {
        if notice.method == Method::LogMessage {
            self.heard.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn is_heard(&self) -> bool {
        !self.is_shut.load(Ordering::SeqCst)
    }

    fn ask(&self, input: Input) {
        input.refuse_unsupported();
    }
}

/// Sees under which calls log messages of servers are shown.
#[derive(Default)]
struct Seen(Mutex<Vec<Option<u64>>>);

impl Observer for Seen {
    fn begin(&self, _: &Begin<'_>) -> Option<Box<dyn Follow>> {
        None
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, message: &Passing<'_>) {
        let text = message.pieces.concat();
        let is_log = String::from_utf8_lossy(&text).contains("notifications/message");
        if is_log && message.edge == Edge::FromServer {
            self.0.lock().expect("nobody panics").push(message.call);
        }
    }
}

struct Scene {
    host: Arc<Host>,
    client: Arc<Client>,
    ear: Arc<Ear>,
    seen: Arc<Seen>,
}

impl Scene {
    fn new(make: impl FnOnce(Client) -> Client) -> Self {
        let host = host_of(&Scripted::new("s"));
        let (ear, seen) = (Arc::<Ear>::default(), Arc::<Seen>::default());
        host.observe(seen.clone());
        let (revision, none) = (Revision::NEWEST_LEGACY, Bytes::from_static(b"{}"));
        let client = Client::new("ada".into(), revision, none, ear.clone());
        Self {
            host,
            client: Arc::new(make(client)),
            ear,
            seen,
        }
    }

    async fn begin(&self, tool: &str) -> Exchange {
        let call = admitted(&self.host, &self.client, tool, &json!({}));
        self.host.call(call).await.expect("it leaves")
    }

    /// How many log messages a call is told until it is over.
    async fn told(&self, mut call: Exchange) -> usize {
        let mut told = 0;
        loop {
            match call.next().await {
                Event::Outcome(_) => return told,
                Event::Input(input) => input.refuse_unsupported(),
                Event::Notice(notice) => told += usize::from(notice.method == Method::LogMessage),
            }
        }
    }

    /// The same of one that logs while another is in flight, which is told nothing.
    async fn told_beside_another(&self) -> usize {
        let neighbour = self.begin("meet").await;
        let logs = self.begin("log").await;
        let told = self.told(logs).await;
        let ends = self.begin("meet").await;
        assert_eq!(self.told(ends).await + self.told(neighbour).await, 0);
        told
    }

    fn outside(&self) -> usize {
        self.ear.heard.load(Ordering::SeqCst)
    }

    fn shown(&self) -> Vec<bool> {
        let seen = std::mem::take(&mut *self.seen.0.lock().expect("nobody panics"));
        seen.iter().map(Option::is_some).collect()
    }
}

#[tokio::test]
async fn a_notice_is_a_calls_where_no_other_is_in_flight() {
    let scene = Scene::new(|client| client);
    let alone = scene.begin("log").await;
    assert_eq!(scene.told(alone).await, 1);
    assert_eq!((scene.outside(), scene.shown()), (0, vec![true]));

    // While another call is in flight it may as well be that one's.
    assert_eq!(scene.told_beside_another().await, 0);
    assert_eq!((scene.outside(), scene.shown()), (1, vec![false]));
}

/// As one over HTTP that has no stream open for what belongs to no request: it would be lost.
#[tokio::test]
async fn who_does_not_listen_just_now_is_told_with_the_latest() {
    let scene = Scene::new(|client| client);
    scene.ear.is_shut.store(true, Ordering::SeqCst);
    assert_eq!(scene.told_beside_another().await, 1);
    assert_eq!((scene.outside(), scene.shown()), (0, vec![false]));
}

/// Its latest call is where a client that hears nothing else is told it; but nothing shows
/// that it is that call's.
#[tokio::test]
async fn who_hears_only_answers_is_told_with_the_latest() {
    let scene = Scene::new(Client::passing);
    assert_eq!(scene.told_beside_another().await, 1);
    assert_eq!((scene.outside(), scene.shown()), (0, vec![false]));
}
