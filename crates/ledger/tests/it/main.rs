//! What every ledger does, tried on each.

#![allow(clippy::unwrap_used, reason = "tests: a failure is a panic")]

mod alike;
mod file;
mod shared;
mod tied;

use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_ledger::{Clock, Joining, Keep, Key, Ledger, Memory, Nats, Sqlite, Store, Watch};
use switchboard_testkit::nats;

const LIFE: Duration = Duration::from_secs(10);
const KEEP: Keep = Keep {
    items: 4,
    life: LIFE,
};

/// A ledger in a server of its own, and the server.
async fn shared() -> (Arc<dyn Ledger>, nats::Nats) {
    let server = nats::Nats::one().await;
    (joined(&server).await, server)
}

async fn joined(server: &nats::Nats) -> Arc<dyn Ledger> {
    let store = Store {
        servers: server.servers(),
        ..Store::default()
    };
    Arc::new(Nats::join(&store, Joining::Now).await.unwrap())
}

/// One of each, and what has to live as long as they do.
async fn each() -> (Vec<Arc<dyn Ledger>>, (Vec<tempfile::TempDir>, nats::Nats)) {
    let (mut ledgers, mut places) = (Vec::new(), Vec::new());
    for (ledger, _, place) in both() {
        ledgers.push(ledger);
        places.push(place);
    }
    let (ledger, server) = shared().await;
    ledgers.push(ledger);
    (ledgers, (places, server))
}

/// Those whose time can be let pass, with a clock of its own and what has to live as long
/// as it.
fn both() -> Vec<(Arc<dyn Ledger>, Clock, tempfile::TempDir)> {
    let folder = || tempfile::tempdir().unwrap();
    let (clock, place) = (Clock::by_hand(), folder());
    let memory: Arc<dyn Ledger> = Arc::new(Memory::new(clock.clone()));
    let mut all = vec![(memory, clock, place)];
    let (clock, place) = (Clock::by_hand(), folder());
    let file = Sqlite::open(&place.path().join("ledger.sqlite3"), clock.clone()).unwrap();
    all.push((Arc::new(file), clock, place));
    all
}

fn key(name: &str) -> Key {
    Key::new("space", name)
}

fn value(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[tokio::test]
async fn an_entry_is_made_once_and_changed_by_who_knows_it() {
    let (all, _places) = each().await;
    for ledger in all {
        let first = ledger.create(&key("a"), value("one"), None).await.unwrap();
        let first = first.expect("it is new");
        let again = ledger.create(&key("a"), value("two"), None).await.unwrap();
        assert_eq!(again, None, "{ledger:?}");
        let set = ledger.compare_and_set(&key("a"), first, value("two"), None);
        let second = set.await.unwrap().expect("nobody was between");
        assert!(second > first);
        let stale = ledger.compare_and_set(&key("a"), first, value("three"), None);
        assert_eq!(stale.await.unwrap(), None, "{ledger:?}");
        let found = ledger.read(&key("a")).await.unwrap().unwrap();
        assert_eq!((found.revision, found.value), (second, value("two")));
        assert!(!ledger.remove(&key("a"), Some(first)).await.unwrap());
        assert!(ledger.remove(&key("a"), Some(second)).await.unwrap());
        assert_eq!(ledger.read(&key("a")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn an_entry_ends_with_its_time_unless_it_is_renewed() {
    for (ledger, clock, _place) in both() {
        let life = Some(LIFE);
        let kept = ledger.create(&key("kept"), value("k"), life).await.unwrap();
        ledger.create(&key("left"), value("l"), life).await.unwrap();
        clock.pass(LIFE / 2);
        let both = vec![(key("kept"), kept.unwrap()), (key("never"), 7)];
        assert_eq!(ledger.renew(both, LIFE).await.unwrap(), [kept, None]);
        clock.pass(LIFE * 3 / 4);
        assert!(ledger.read(&key("kept")).await.unwrap().is_some());
        assert_eq!(ledger.read(&key("left")).await.unwrap(), None);
        let again = ledger.create(&key("left"), value("new"), life).await;
        assert!(again.unwrap().is_some(), "what is over is in nobody's way");
        clock.pass(LIFE * 2);
        assert!(!ledger.sweep().await.unwrap());
        assert_eq!(ledger.count("space").await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_stream_keeps_its_newest_and_is_read_from_a_number_on() {
    let (all, _places) = each().await;
    for ledger in all {
        let values: Vec<Bytes> = (1..=6).map(|n| Bytes::from(n.to_string())).collect();
        let last = ledger.append("s", values.clone(), KEEP).await.unwrap();
        let read = ledger.read_from("s", 0, 99).await.unwrap();
        let kept: Vec<&Bytes> = read.iter().map(|item| &item.value).collect();
        assert_eq!(kept, values[2..].iter().collect::<Vec<_>>(), "{ledger:?}");
        assert!(read.windows(2).all(|two| two[0].number < two[1].number));
        assert_eq!(read[3].number, last, "{ledger:?}");
        let read = ledger.read_from("s", read[2].number, 1).await.unwrap();
        assert_eq!((read.len(), &read[0].value), (1, &value("5")));
        assert_eq!(ledger.read_from("s", last + 1, 9).await.unwrap(), []);
        ledger.forget("s").await.unwrap();
        assert_eq!(ledger.read_from("s", 0, 9).await.unwrap(), []);
    }
    for (ledger, clock, _place) in both() {
        ledger.append("s", vec![value("x")], KEEP).await.unwrap();
        clock.pass(LIFE);
        assert_eq!(ledger.read_from("s", 0, 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_space_is_listed_in_its_order_and_counted() {
    let (all, _places) = each().await;
    for ledger in all {
        for name in ["b", "a.b", "c c", "a"] {
            let made = ledger.create(&key(name), Bytes::from(name), None).await;
            made.unwrap().unwrap();
        }
        let elsewhere = Key::new("spac", "e");
        ledger.create(&elsewhere, value("2"), None).await.unwrap();
        let names = |listed: Vec<(String, u64)>| -> Vec<String> {
            listed.into_iter().map(|(name, _)| name).collect()
        };
        let listed = names(ledger.list("space", "", 3).await.unwrap());
        assert_eq!(listed, ["a", "a.b", "b"], "{ledger:?}");
        let listed = names(ledger.list("space", "a.b", 9).await.unwrap());
        assert_eq!(listed, ["b", "c c"], "{ledger:?}");
        for (name, entry) in ledger.entries("space", 9).await.unwrap() {
            assert_eq!(entry.value, Bytes::from(name.clone()));
            assert_eq!(ledger.read(&key(&name)).await.unwrap(), Some(entry));
        }
        assert_eq!(ledger.count("space").await.unwrap(), 4);
        ledger.remove(&key("b"), None).await.unwrap();
        assert_eq!(ledger.count("space").await.unwrap(), 3, "{ledger:?}");
        assert_eq!(ledger.count("empty").await.unwrap(), 0);
    }
}

#[tokio::test]
async fn who_watches_hears_of_all_that_comes_and_goes() {
    let (all, _places) = each().await;
    for ledger in all {
        let mut watch = Watch::new(ledger.clone(), "space");
        let made = ledger.create(&key("a"), value("1"), None).await.unwrap();
        let heard = watch.next().await.unwrap();
        assert_eq!((heard.name.as_str(), heard.revision), ("a", made));
        ledger.remove(&key("a"), None).await.unwrap();
        let heard = watch.next().await.unwrap();
        assert_eq!((heard.name.as_str(), heard.revision), ("a", None));
        let elsewhere = Key::new("another", "b");
        ledger.create(&elsewhere, value("2"), None).await.unwrap();
        ledger.create(&key("c"), value("3"), None).await.unwrap();
        assert_eq!(watch.next().await.unwrap().name, "c");
    }
}
