//! Who may have a session, and when it has ended.

use super::*;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::HashSet;
use switchboard_ledger::{Clock, Faulty, Memory, Others};
use switchboard_wire::{Id, Method};

/// What one process knows of the others.
#[derive(Default)]
struct Known {
    /// Those that it has heard of.
    heard: Mutex<HashSet<&'static str>>,
    /// Those that live.
    live: Mutex<HashSet<&'static str>>,
}

impl Others for Known {
    fn is_alive(&self, id: &str) -> bool {
        self.heard.lock().contains(id)
    }

    fn lives_now<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { Ok(self.live.lock().contains(id)) })
    }
}

fn keeping(ledger: &Arc<Memory>, id: &str, known: &Arc<Known>) -> Keeping {
    Keeping::new(ledger.clone(), Lives::among(id, known.clone()))
}

async fn begun(keeping: &Keeping, id: &str) -> Arc<Hold> {
    let hello = Message::request(&Id::number(0), Method::Initialize, "{}");
    keeping.begin(id, &"ada".into(), "", &hello).await.unwrap()
}

#[tokio::test]
async fn a_session_of_somebody_who_came_a_moment_ago_is_not_taken_over() {
    let ledger = Arc::new(Memory::new(Clock::by_hand()));
    let known = Arc::new(Known::default());
    let (one, two) = (
        keeping(&ledger, "one", &known),
        keeping(&ledger, "two", &known),
    );
    let held = begun(&one, "s").await;
    known.live.lock().insert("one");
    let taken = two.take("s", &"ada".into(), "").await;
    assert!(matches!(taken, Taken::Elsewhere(owner) if owner == "one"));
    assert!(held.wants(Some(4), Vec::new()).await, "it is its own still");
    known.live.lock().clear();
    let taken = two.take("s", &"ada".into(), "").await;
    assert!(matches!(taken, Taken::Ours(record, _) if record.level == Some(4)));
    assert!(!held.wants(Some(5), Vec::new()).await, "it is another's");
}

#[tokio::test]
async fn a_session_that_was_changed_meanwhile_ends_and_another_s_is_its_to_end() {
    let ledger = Arc::new(Memory::new(Clock::by_hand()));
    let known = Arc::new(Known::default());
    let (one, two) = (
        keeping(&ledger, "one", &known),
        keeping(&ledger, "two", &known),
    );
    // Brought back by itself since.
    let _first = begun(&one, "s").await;
    assert!(matches!(
        one.take("s", &"ada".into(), "").await,
        Taken::Ours(..)
    ));
    assert_eq!(one.end("s", "ada").await, Ok(Ended::Everywhere));
    assert!(matches!(
        one.take("s", &"ada".into(), "").await,
        Taken::Unknown
    ));
    assert_eq!(one.end("s", "ada").await, Ok(Ended::Everywhere));
    // Taken over by another since, which lives.
    let _second = begun(&one, "t").await;
    assert!(matches!(
        two.take("t", &"ada".into(), "").await,
        Taken::Ours(..)
    ));
    known.live.lock().insert("two");
    let elsewhere = Ended::Elsewhere("two".into());
    assert_eq!(one.end("t", "ada").await, Ok(elsewhere));
    assert_eq!(two.end("t", "ada").await, Ok(Ended::Everywhere));
    assert!(matches!(
        one.take("t", &"ada".into(), "").await,
        Taken::Unknown
    ));
}

#[tokio::test]
async fn what_a_newer_version_wrote_is_left_alone() {
    let ledger = Arc::new(Memory::new(Clock::by_hand()));
    let ours = keeping(&ledger, "one", &Arc::default());
    let secret = Secret::of("s");
    let text = format!(r#"{{"version":{},"owner":"new","path":7}}"#, VERSION + 1);
    let (key, sealed) = (secret.key("ada"), secret.close(text.as_bytes()));
    let made = ledger.create(&key, sealed, None).await.unwrap();
    let taken = ours.take("s", &"ada".into(), "").await;
    assert!(matches!(taken, Taken::Elsewhere(owner) if owner == "new"));
    let there = ledger.read(&key).await.unwrap().unwrap();
    assert_eq!(Some(there.revision), made);
}

fn unsteady() -> (Arc<Faulty>, Keeping) {
    let memory = Arc::new(Memory::new(Clock::by_hand()));
    let ledger = Arc::new(Faulty::new(memory));
    let lives = Lives::among("one", Arc::<Known>::default());
    (ledger.clone(), Keeping::new(ledger, lives))
}

/// Whoever keeps it may only be looking for a leader.
#[tokio::test(start_paused = true)]
async fn what_could_not_be_written_of_a_stream_is_written_again() {
    let (ledger, keeping) = unsteady();
    let hold = begun(&keeping, "s").await;
    assert!(hold.opens(1, vec!["7".into()]).await);
    ledger.is_away(true);
    assert!(
        !hold.opens(2, vec!["8".into()]).await,
        "its ids say it then"
    );
    hold.event(1, 1, "first".into());
    hold.written().await;
    hold.event(1, 2, "second".into());
    tokio::time::sleep(limits::EVENTS_AGAIN * 2).await;
    ledger.is_away(false);
    tokio::time::sleep(limits::EVENTS_AGAIN * 2).await;
    let stored = hold.stored(1).await.unwrap().unwrap();
    assert_eq!(stored.opened.unwrap().owed, ["7"]);
    let events = [(1, "first".to_owned()), (2, "second".to_owned())];
    assert_eq!(stored.events, events);
    // Not for ever.
    ledger.is_away(true);
    hold.event(1, 3, "third".into());
    let tries = u32::try_from(limits::EVENTS_TRIES).unwrap();
    tokio::time::sleep(limits::EVENTS_AGAIN * tries / 2).await;
    assert_ne!(keeping.0.behind.waits(), 0, "it is still tried");
    tokio::time::sleep(limits::EVENTS_AGAIN * tries).await;
    assert_eq!(keeping.0.behind.waits(), 0, "its bytes count no more");
}

/// Who reads must not take that for a stream of which nothing is kept.
#[tokio::test]
async fn what_cannot_be_read_of_a_stream_is_not_taken_for_nothing() {
    let (ledger, keeping) = unsteady();
    let hold = begun(&keeping, "s").await;
    assert!(hold.opens(1, vec!["7".into()]).await);
    hold.last(1, 1, "answer".into());
    hold.written().await;
    ledger.is_away(true);
    assert!(hold.stored(1).await.is_err());
    ledger.is_away(false);
    assert!(hold.stored(1).await.unwrap().unwrap().is_whole);
    assert!(hold.stored(2).await.unwrap().is_none());
}
