//! When something is drawn: at most ten times in a second, and never for nothing.

use crate::samples::{Bench, servers};
use std::time::{Duration, Instant};
use switchboard_api::events::Event;
use switchboard_screen::{Key, Message, Painter, limits};

#[test]
fn nothing_is_drawn_when_nothing_changes() {
    let mut bench = Bench::new(80, 24);
    let (mut painter, mut now) = (Painter::default(), Instant::now());
    painter.touch();
    let first = painter.frame(&bench.model, now).unwrap();
    assert!(first.anew && !first.cells.is_empty());
    assert_eq!(painter.wait(now), None);
    // What is as it was is no frame, however often it is told.
    for _ in 0..100 {
        now += Duration::from_secs(1);
        for server in servers() {
            let server = Box::new(server);
            bench.event(Event::Server { server });
        }
        bench.happens(Message::Resized(80, 24));
        painter.touch();
        assert!(painter.frame(&bench.model, now).is_none());
    }
    assert_eq!(painter.frames(), 1);
    // What is different is.
    bench.key(Key::Down);
    painter.touch();
    let next = painter.frame(&bench.model, now).unwrap();
    assert!(!next.anew && next.cells.len() < 80 * 24 / 2);
}

#[test]
fn at_most_ten_frames_in_a_second() {
    let mut bench = Bench::new(80, 24);
    let (mut painter, start) = (Painter::default(), Instant::now());
    // Keys every millisecond, for two seconds.
    for millisecond in 0..2_000 {
        let now = start + Duration::from_millis(millisecond);
        bench.key(if millisecond % 2 == 0 {
            Key::Down
        } else {
            Key::Char(':')
        });
        bench.key(Key::Esc);
        painter.touch();
        if painter.wait(now) == Some(Duration::ZERO) {
            painter.frame(&bench.model, now);
        }
    }
    assert!(painter.frames() <= 21, "{}", painter.frames());
    assert!(painter.frames() > 1);
    assert_eq!(limits::FRAME, Duration::from_millis(100));
}

#[test]
fn another_size_is_drawn_anew() {
    let mut bench = Bench::new(80, 24);
    let (mut painter, mut now) = (Painter::default(), Instant::now());
    painter.touch();
    painter.frame(&bench.model, now).unwrap();
    for size in [(40, 12), (120, 40), (1, 1), (0, 0), (80, 24)] {
        now += Duration::from_secs(1);
        bench.happens(Message::Resized(size.0, size.1));
        painter.touch();
        assert!(painter.frame(&bench.model, now).unwrap().anew, "{size:?}");
    }
    now += Duration::from_secs(1);
    painter.forget();
    assert!(painter.frame(&bench.model, now).unwrap().anew);
}
