//! What only a ledger does that machines share: lifetimes by its own clock, writers on
//! several machines, servers that die.

use super::{joined, key, shared, value};
use bytes::Bytes;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_ledger::{Joining, Keep, Ledger, LedgerError, Nats, Store, limits};
use switchboard_testkit::nats;

const SOON: Duration = Duration::from_secs(30);

/// Waits until this is so.
async fn until<F: Future<Output = bool>>(what: &str, mut is: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is().await {
        assert!(begun.elapsed() < SOON, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_is_not_renewed_ends_by_itself() {
    let (ledger, _server) = shared().await;
    let (short, long) = (Duration::from_millis(700), Duration::from_secs(3600));
    let kept = ledger.create(&key("kept"), value("k"), Some(short)).await;
    let kept = kept.unwrap().unwrap();
    let renewed = ledger.renew(vec![(key("kept"), kept)], long).await;
    let renewed = renewed.unwrap()[0].expect("it lives");
    ledger
        .create(&key("left"), value("l"), Some(short))
        .await
        .unwrap();
    let keep = Keep {
        items: 9,
        life: short,
    };
    ledger.append("s", vec![value("x")], keep).await.unwrap();
    until("an entry ends", async || {
        ledger.read(&key("left")).await.unwrap().is_none()
    })
    .await;
    until("a stream ends", async || {
        ledger.read_from("s", 0, 9).await.unwrap().is_empty()
    })
    .await;
    let found = ledger.read(&key("kept")).await.unwrap().unwrap();
    assert_eq!((found.revision, found.value), (renewed, value("k")));
    let again = ledger.create(&key("left"), value("new"), None).await;
    assert!(again.unwrap().is_some(), "what is over is in nobody's way");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_who_change_an_entry_one_wins() {
    let server = nats::Nats::one().await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(joined(&server).await);
    }
    for round in 0..8 {
        let name = format!("a{round}");
        let start = all[0].create(&key(&name), value("0"), None).await.unwrap();
        let tries: Vec<_> = all
            .iter()
            .map(|ledger| ledger.compare_and_set(&key(&name), start.unwrap(), value("n"), None))
            .map(tokio::spawn)
            .collect();
        let mut won = 0;
        for one in tries {
            won += usize::from(one.await.unwrap().unwrap().is_some());
        }
        assert_eq!(won, 1);
    }
}

/// What was asked for first is written first, whoever is waited for first.
#[tokio::test]
async fn a_stream_has_the_order_in_which_it_was_written() {
    let (ledger, _server) = shared().await;
    let keep = Keep {
        items: 1026,
        life: Duration::from_secs(60),
    };
    let numbers = |from: u32| -> Vec<Bytes> {
        (from..from + 10)
            .map(|n| Bytes::from(n.to_string()))
            .collect()
    };
    let appended: Vec<_> = (0..10)
        .map(|n| ledger.append("s", numbers(n * 10), keep))
        .collect();
    for one in appended.into_iter().rev() {
        one.await.unwrap();
    }
    let read = ledger.read_from("s", 0, 999).await.unwrap();
    let read: Vec<Bytes> = read.into_iter().map(|item| item.value).collect();
    let wanted: Vec<Bytes> = (0..100).map(|n| Bytes::from(n.to_string())).collect();
    assert_eq!(read, wanted);
}

#[tokio::test]
async fn a_value_that_no_message_can_hold_is_refused() {
    let (ledger, _server) = shared().await;
    let large = Bytes::from(vec![0; limits::NATS_VALUE + 1]);
    let made = ledger.create(&key("a"), large.clone(), None).await;
    assert_eq!(made, Err(LedgerError::TooLarge));
    let fits = large.slice(1..);
    assert!(
        ledger
            .create(&key("a"), fits, None)
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn who_cannot_be_reached_is_said_or_waited_for() {
    let mut server = nats::Nats::one().await;
    let store = Store {
        servers: server.servers(),
        ..Store::default()
    };
    server.kill(0).await;
    let refused = Nats::join(&store, Joining::Now).await;
    assert!(matches!(refused, Err(LedgerError::Storage(_))));
    let later = Nats::join(&store, Joining::Later).await.unwrap();
    let read = later.read(&key("a")).await;
    assert!(matches!(read, Err(LedgerError::Storage(_))), "{read:?}");
    assert!(!later.is_connected());
    server.restart(0).await;
    until("it joins later", async || {
        later.read(&key("a")).await.is_ok()
    })
    .await;
}

/// Nothing that was acknowledged is lost when servers are killed one after the other.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_survives_the_death_of_any_one_server() {
    let mut servers = nats::Nats::three().await;
    let ledger = joined(&servers).await;
    let mut known = Vec::new();
    let writing = |ledger: Arc<dyn Ledger>, round: usize| async move {
        let mut made = Vec::new();
        for n in 0..40 {
            let name = format!("{round}-{n}");
            let value = Bytes::from(name.clone());
            let created = ledger.create(&key(&name), value.clone(), None).await;
            if let Ok(Some(revision)) = created {
                made.push((name, revision, value));
            }
        }
        made
    };
    for victim in 0..servers.len() {
        let written = tokio::spawn(writing(ledger.clone(), victim));
        servers.kill(victim).await;
        known.extend(written.await.unwrap());
        servers.restart(victim).await;
        until("somebody leads again", async || {
            ledger.read(&key("none")).await.is_ok()
        })
        .await;
    }
    assert!(known.len() >= 40, "{}", known.len());
    for (name, revision, value) in known {
        let found = ledger.read(&key(&name)).await.unwrap();
        let found = found.unwrap_or_else(|| panic!("{name} is lost"));
        assert_eq!((found.revision, found.value), (revision, value));
    }
}
