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

async fn text(listener: &mut Listener) -> String {
    let bytes = listener.next().await.expect("an event");
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[tokio::test]
async fn whoever_comes_back_misses_nothing_that_is_kept() {
    let feed = Arc::new(Feed::default());
    let first = feed.tell(gone("a"), None);
    feed.tell(gone("b"), None);
    let mut listener = feed.listen(wish(&[Topic::State], None), Some(first));
    assert!(text(&mut listener).await.contains("\"b\""));
    feed.tell(gone("c"), None);
    assert!(text(&mut listener).await.contains("\"c\""));
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_said() {
    let feed = Arc::new(Feed::default());
    for _ in 0..=limits::API_EVENTS_KEPT {
        feed.tell(gone("a"), None);
    }
    let mut late = feed.listen(wish(&[Topic::State], None), Some(0));
    assert!(text(&mut late).await.contains("reset"));
    assert!(late.next().await.is_none());
    let mut elsewhere = feed.listen(wish(&[Topic::State], None), Some(u64::MAX));
    assert!(text(&mut elsewhere).await.contains("reset"));
    // Another topic has forgotten nothing.
    assert!(feed.after(&[Topic::Questions], 0).is_ok());
}

#[tokio::test]
async fn whoever_does_not_read_is_told_to_begin_anew_and_costs_no_more() {
    let feed = Arc::new(Feed::default());
    let mut slow = feed.listen(wish(&[Topic::State], None), None);
    for _ in 0..limits::API_EVENTS_KEPT * 3 {
        feed.tell(gone("a"), None);
    }
    assert!(text(&mut slow).await.contains("reset"));
    assert!(slow.next().await.is_none());
}

#[tokio::test]
async fn nobody_hears_what_is_anothers() {
    let feed = Arc::new(Feed::default());
    let question = |title: &str| Event::Question {
        question: Box::new(switchboard_api::questions::Question {
            title: title.to_owned(),
            ..Default::default()
        }),
        waiting: 1,
    };
    let mut ada = feed.listen(wish(&Topic::ALL, Some("ada")), None);
    feed.tell(question("bob's"), Some("bob".into()));
    feed.tell(gone("nobody's"), None);
    feed.tell(question("ada's"), Some("ada".into()));
    assert!(text(&mut ada).await.contains("ada's"));
}

/// However large events are, no more is kept than there is room for; whoever has missed
/// one of them is told, and whoever comes then hears the next.
#[tokio::test]
async fn so_many_bytes_are_kept_and_no_more() {
    let feed = Arc::new(Feed::default());
    let mut slow = feed.listen(wish(&[Topic::State], None), None);
    let large = "x".repeat(limits::API_EVENTS_BYTES / 10);
    for _ in 0..100 {
        feed.tell(gone(&large), None);
        let inner = feed.0.lock();
        let kept = &inner.kept[Topic::State as usize];
        let weights: usize = kept.events.iter().map(|told| told.weight()).sum();
        assert_eq!(weights, kept.bytes);
        assert!(kept.bytes <= limits::API_EVENTS_BYTES, "{}", kept.bytes);
    }
    assert!(text(&mut slow).await.contains("reset"));
    // One that has no room at all is told nobody, and everybody knows.
    let mut quick = feed.listen(wish(&[Topic::State], None), None);
    feed.tell(gone(&"x".repeat(limits::API_EVENTS_BYTES)), None);
    assert!(text(&mut quick).await.contains("reset"));
    let mut next = feed.listen(wish(&[Topic::State], None), None);
    feed.tell(gone("b"), None);
    assert!(text(&mut next).await.contains("\"b\""));
}

/// Whoever sees only what is their own is told how many of their own wait.
#[tokio::test]
async fn what_is_told_its_owner_is_another_thing() {
    let feed = Arc::new(Feed::default());
    let question = |waiting: usize| Event::Question {
        question: Box::default(),
        waiting,
    };
    let mut ada = feed.listen(wish(&[Topic::Questions], Some("ada")), None);
    let mut all = feed.listen(wish(&[Topic::Questions], None), None);
    feed.tell_each(question(7), Some("ada".into()), Some(&question(1)));
    assert!(text(&mut ada).await.contains("\"waiting\":1"));
    assert!(text(&mut all).await.contains("\"waiting\":7"));
}
