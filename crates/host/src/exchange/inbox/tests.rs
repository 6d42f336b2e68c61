use super::*;
use switchboard_wire::Message;

fn notice(method: Method, number: usize, bytes: usize) -> Notice {
    let params = format!("{{\"n\":{number},\"pad\":\"{}\"}}", "x".repeat(bytes));
    let message = Message::notification(method, &params);
    Notice {
        method,
        payload: message.payload(),
        message,
    }
}

/// The numbers of what waits.
fn waiting(inbox: &Inbox) -> Vec<usize> {
    let state = inbox.state.lock();
    let held: usize = state.queue.iter().map(size).sum();
    assert_eq!(state.bytes, held, "the count is right");
    let events = state.queue.iter().map(|event| match event {
        Event::Notice(notice) => {
            let body = notice.message.body();
            let span = switchboard_wire::json::field(body, "n").unwrap().unwrap();
            let text = std::str::from_utf8(span.of(body)).unwrap();
            text.parse().unwrap()
        }
        other => panic!("{other:?}"),
    });
    events.collect()
}

#[test]
fn what_waits_is_capped_in_bytes_and_the_newest_stays() {
    let inbox = Inbox::new();
    for number in 0..100 {
        inbox.notice(notice(Method::LogMessage, number, 200_000));
    }
    let left = waiting(&inbox);
    assert_eq!(left.last(), Some(&99));
    assert!(left.len() <= limits::EXCHANGE_BYTES / 200_000);
    assert!(inbox.state.lock().bytes <= limits::EXCHANGE_BYTES);
}

#[test]
fn a_large_notice_gives_way_while_anything_waits() {
    let inbox = Inbox::new();
    inbox.notice(notice(Method::LogMessage, 1, 10));
    inbox.notice(notice(Method::LogMessage, 2, limits::LARGE_NOTICE + 1));
    assert_eq!(waiting(&inbox), [1]);
    let inbox = Inbox::new();
    inbox.notice(notice(Method::LogMessage, 1, 8 * 1024 * 1024));
    inbox.notice(notice(Method::LogMessage, 2, 8 * 1024 * 1024));
    assert_eq!(
        waiting(&inbox),
        [1],
        "alone it may be as large as a message"
    );
}

#[test]
fn of_progress_the_newest_stays_once_somebody_is_behind() {
    let inbox = Inbox::new();
    for number in 0..limits::BURST_EVENTS {
        inbox.notice(notice(Method::Progress, number, 10));
    }
    assert_eq!(
        waiting(&inbox).len(),
        limits::BURST_EVENTS,
        "a burst is kept"
    );
    inbox.notice(notice(Method::LogMessage, 100, 10));
    inbox.notice(notice(Method::Progress, 200, 10));
    assert_eq!(waiting(&inbox), [100, 200]);
    let inbox = Inbox::new();
    for number in 0..5 {
        inbox.notice(notice(Method::Progress, number, 8 * 1024 * 1024));
    }
    assert_eq!(waiting(&inbox), [4], "large ones never add up");
}

#[test]
fn many_small_ones_are_capped_in_number() {
    let inbox = Inbox::new();
    for number in 0..10_000 {
        inbox.notice(notice(Method::LogMessage, number, 1));
    }
    let left = waiting(&inbox);
    assert_eq!(left.len(), limits::EXCHANGE_EVENTS);
    assert_eq!(left.last(), Some(&9_999));
}
