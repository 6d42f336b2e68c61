//! Who may have a session, and when it has ended.

use super::*;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::HashSet;
use switchboard_ledger::{Clock, Memory, Others};
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
