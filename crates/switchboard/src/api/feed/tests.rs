use super::*;

fn gone(name: &str) -> Event {
    Event::ServerGone {
        name: name.to_owned(),
        file: None,
    }
}

fn wish(topics: &[Topic], only: Option<&str>) -> Wish {
    Wish {
        topics: topics.to_vec(),
        only: only.map(Into::into),
        wanted: None,
    }
}

async fn text(listener: &Listener) -> String {
    let bytes = listener.next().await.expect("an event");
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[tokio::test]
async fn whoever_comes_back_misses_nothing_that_is_kept() {
    let feed = Feed::default();
    let first = feed.tell(gone("a"), None);
    feed.tell(gone("b"), None);
    let listener = feed.listen(wish(&[Topic::State], None), Some(first));
    assert!(text(&listener).await.contains("\"b\""));
    feed.tell(gone("c"), None);
    assert!(text(&listener).await.contains("\"c\""));
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_said() {
    let feed = Feed::default();
    for _ in 0..=limits::API_EVENTS_KEPT {
        feed.tell(gone("a"), None);
    }
    let late = feed.listen(wish(&[Topic::State], None), Some(0));
    assert!(text(&late).await.contains("reset"));
    assert!(late.next().await.is_none());
    let elsewhere = feed.listen(wish(&[Topic::State], None), Some(u64::MAX));
    assert!(text(&elsewhere).await.contains("reset"));
    // Another topic has forgotten nothing.
    let other = feed.listen(wish(&[Topic::Questions], None), Some(0));
    assert!(!other.waiting.lock().is_behind);
}

#[tokio::test]
async fn whoever_does_not_read_is_told_to_begin_anew_and_costs_no_more() {
    let feed = Feed::default();
    let slow = feed.listen(wish(&[Topic::State], None), None);
    for _ in 0..limits::API_EVENTS_WAITING * 3 {
        feed.tell(gone("a"), None);
    }
    assert!(slow.waiting.lock().events.is_empty());
    assert!(text(&slow).await.contains("reset"));
    assert!(slow.next().await.is_none());
}

#[tokio::test]
async fn nobody_hears_what_is_anothers() {
    let feed = Feed::default();
    let question = |title: &str| Event::Question {
        question: Box::new(switchboard_api::questions::Question {
            title: title.to_owned(),
            ..Default::default()
        }),
        waiting: 1,
    };
    let ada = feed.listen(wish(&Topic::ALL, Some("ada")), None);
    feed.tell(question("bob's"), Some("bob".into()));
    feed.tell(gone("nobody's"), None);
    feed.tell(question("ada's"), Some("ada".into()));
    assert!(text(&ada).await.contains("ada's"));
}
