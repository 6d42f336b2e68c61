use super::*;

/// A log of somebody's who is one of two.
fn log() -> (Share, Arc<EventLog>) {
    let share = switchboard_transport::Budget::default().share_of(&"alice".into(), true);
    let log = EventLog::new(1, share.clone());
    (share, log)
}

fn numbers(log: &EventLog) -> Vec<u64> {
    let state = log.state.lock();
    let bytes: usize = state.events.iter().map(|event| event.payload.len()).sum();
    assert_eq!(state.bytes, bytes, "the count is right");
    state.events.iter().map(|event| event.number).collect()
}

/// What a reader has goes before what it has not, and an answer that somebody
/// waits for stays.
#[tokio::test]
async fn a_log_gives_way_in_order() {
    use futures_util::StreamExt;
    let (share, log) = log();
    let mut reader = log.read(None, false);
    for weight in [Weight::Notice, Weight::Question, Weight::Notice] {
        log.send(Payload::from("x".repeat(100)), weight);
    }
    assert!(share.used() >= 300, "small ones count");
    reader.next().await.unwrap().unwrap();
    assert!(log.give_way(Pass::Read));
    assert_eq!(numbers(&log), [1, 2, 3]);
    assert!(log.give_way(Pass::Sent));
    assert_eq!(numbers(&log), [2, 3]);
    assert!(log.give_way(Pass::Left));
    assert_eq!(numbers(&log), [2, 3]);
    log.send(Payload::from("x".repeat(100)), Weight::Reply);
    log.finish();
    assert!(log.give_way(Pass::Behind));
    assert_eq!(numbers(&log), [2, 4]);
    while reader.next().await.is_some() {}
    assert!(!log.give_way(Pass::Read));
    assert_eq!((numbers(&log), share.used()), (vec![], 0));
}

/// Nobody came back for it.
#[tokio::test]
async fn what_has_ended_without_a_reader_gives_way() {
    let (_, log) = log();
    log.send(Payload::from("x".repeat(100)), Weight::Reply);
    log.finish();
    assert!(log.give_way(Pass::Left), "its reader is on the way");
    drop(log.read(None, false));
    assert!(!log.give_way(Pass::Left));
}

const SHORT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn a_log_is_deserted_once_its_reader_is_gone_for_long() {
    let (_, log) = log();
    let (first, second) = (log.read(None, false), log.read(None, false));
    // Whoever read before was sent away, and is not missed.
    drop(first);
    let waited = tokio::time::timeout(3 * SHORT, log.deserted(SHORT)).await;
    assert!(waited.is_err(), "somebody reads");
    drop(second);
    log.deserted(SHORT).await;
    let _back = log.read(None, false);
    let waited = tokio::time::timeout(3 * SHORT, log.deserted(SHORT)).await;
    assert!(waited.is_err(), "somebody reads again");
}

/// What could not be kept goes with the ids, and comes back with them.
#[tokio::test]
async fn ids_say_what_is_owed_where_nobody_else_can() {
    use futures_util::StreamExt;
    let seen = |stream, number, owed: &[&str]| Seen {
        stream,
        number,
        owed: owed.iter().map(|&id| id.to_owned()).collect(),
    };
    let first = async |owed: &[String]| {
        let (_, log) = log();
        if !owed.is_empty() {
            log.owes(owed);
        }
        log.send(Payload::from("{}".to_owned()), Weight::Notice);
        let event = log.read(None, false).next().await.unwrap().unwrap();
        let text = String::from_utf8(event.to_vec()).unwrap();
        let id = text.lines().find_map(|line| line.strip_prefix("id: "));
        id.unwrap().to_owned()
    };
    assert_eq!(first(&[]).await, "1_1");
    let owed = ["7".to_owned(), "\"a_ü\"".to_owned()];
    let id = first(&owed).await;
    assert!(id.is_ascii() && !id.contains(' '), "{id}");
    assert_eq!(parse_event_id(&id), Some(seen(1, 1, &["7", "\"a_ü\""])));
    assert_eq!(first(&["x".repeat(limits::OWED_BYTES)]).await, "1_1");
    assert_eq!(parse_event_id("3_4"), Some(seen(3, 4, &[])));
    assert_eq!(parse_event_id("3_4_!"), Some(seen(3, 4, &[])));
    for none in ["", "_", "3", "a_b", "3_", "-1_2"] {
        assert_eq!(parse_event_id(none), None, "{none}");
    }
}

/// Whoever was sent away hears that, and then nothing more in the place of the newest.
#[tokio::test]
async fn the_newest_reader_is_woken_whoever_read_before() {
    use futures_util::StreamExt;
    let (_, log) = log();
    let mut first = log.read(None, false);
    let before = tokio::spawn(async move { first.next().await.is_none() });
    tokio::task::yield_now().await;
    let mut second = log.read(None, false);
    let after = tokio::spawn(async move { second.next().await.is_some() });
    assert!(before.await.unwrap());
    log.send(Payload::from("{}".to_owned()), Weight::Notice);
    let limit = Duration::from_secs(30);
    assert!(tokio::time::timeout(limit, after).await.unwrap().unwrap());
}

/// The same where the second waits already when the first is woken.
#[tokio::test]
async fn a_reader_that_was_sent_away_takes_nobodys_place() {
    use futures_util::{FutureExt, StreamExt};
    let (_, log) = log();
    let (mut first, mut second) = (log.read(None, false), log.read(None, false));
    let wakes = Arc::new(Wakes::default());
    let waker = wakes.clone().into();
    let mut context = Context::from_waker(&waker);
    assert!(second.next().poll_unpin(&mut context).is_pending());
    assert!(first.next().await.is_none());
    log.send(Payload::from("{}".to_owned()), Weight::Notice);
    assert_eq!(wakes.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// Counts how often it is woken.
#[derive(Default)]
struct Wakes(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}
