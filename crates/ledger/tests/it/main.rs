//! What every ledger does, tried on both.

#![allow(clippy::unwrap_used, reason = "tests: a failure is a panic")]

mod alike;
mod file;

use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_ledger::{Clock, Keep, Key, Ledger, Memory, Sqlite, Watch};

const LIFE: Duration = Duration::from_secs(10);
const KEEP: Keep = Keep {
    items: 4,
    life: LIFE,
};

/// One of each, with a clock of its own and what has to live as long as it.
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
    for (ledger, _, _place) in both() {
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
        assert_eq!(ledger.renew(both, LIFE).await.unwrap(), 1);
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
    for (ledger, clock, _place) in both() {
        let all: Vec<Bytes> = (1..=6).map(|n| Bytes::from(n.to_string())).collect();
        assert_eq!(ledger.append("s", all, KEEP).await.unwrap(), 6);
        let read = ledger.read_from("s", 0, 99).await.unwrap();
        let numbers: Vec<u64> = read.iter().map(|item| item.number).collect();
        assert_eq!(numbers, [3, 4, 5, 6], "{ledger:?}");
        let read = ledger.read_from("s", 5, 1).await.unwrap();
        assert_eq!((read.len(), &read[0].value), (1, &value("5")));
        ledger.forget("s").await.unwrap();
        assert_eq!(ledger.read_from("s", 0, 9).await.unwrap(), []);
        ledger.append("s", vec![value("x")], KEEP).await.unwrap();
        clock.pass(LIFE);
        assert_eq!(ledger.read_from("s", 0, 9).await.unwrap(), []);
    }
}

#[tokio::test]
async fn who_watches_hears_of_all_that_comes_and_goes() {
    for (ledger, _, _place) in both() {
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
