//! Books of several principals, and of several programs.

use super::*;

/// Sees tools for somebody, as at a start of the server's.
fn see_for(pins: &Pins, whose: &Whose, tools: &[Value]) {
    let held = keeping("srv", Pinning::Hold);
    let (_, book) = pins.books.of("srv", whose);
    let first = book.lock().is_new(Kind::Tools).then(|| {
        let first = pins.books.first("srv");
        first.lock().kept().unwrap().clone()
    });
    let all = groups(tools);
    let begins = first.is_some();
    let change = |kept: &mut Kept| {
        let seen = Seen {
            kind: Kind::Tools,
            groups: &all,
            whole: true,
            settled: false,
            welcome: begins,
        };
        if let (Some(first), Some(principal)) = (&first, whose.principal.as_deref()) {
            kept.principal = Some(principal.to_owned());
            kept.begin_with(first, principal, seen);
        }
        judge(kept, seen, held.manner(kept));
    };
    book.lock().change(change).unwrap();
}

#[test]
fn each_principal_has_a_book_and_one_yes_is_for_all_who_see_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let pins = Pins::open(dir.path());
    let held = keeping("srv", Pinning::Hold);
    let (alice, bob) = (
        Whose::of("alice".into(), true),
        Whose::of("bob".into(), true),
    );
    pin(&pins, "srv", &[named("a", "one")]).unwrap();
    see_for(&pins, &alice, &[named("a", "hers")]);
    see_for(&pins, &bob, &[named("a", "his"), named("b", "more")]);
    assert!(!pins.any_waits(&held).unwrap());
    for whose in [&alice, &bob] {
        see_for(&pins, whose, &[named("a", "evil")]);
    }
    assert_eq!(
        pins.news_for("srv", &held, &Whose::USER).unwrap().waiting,
        []
    );
    // Another program sees the same.
    let other = Pins::open(dir.path());
    assert!(other.any_waits(&held).unwrap());
    let news = other.news("srv", &held).unwrap();
    assert_eq!(news.waiting.len(), 1, "{news:?}");
    let mut whose = news.waiting[0].whose.clone();
    whose.sort();
    assert_eq!(whose, ["alice", "bob"]);
    let evil = &groups(&[named("a", "evil")])[0];
    assert!(pins.objection(&held, &alice, Kind::Tools, evil).is_some());
    other.approve(&held, &news).unwrap();
    assert_eq!(pins.refresh(), ["srv"]);
    assert!(pins.objection(&held, &alice, Kind::Tools, evil).is_none());
    assert!(pins.objection(&held, &bob, Kind::Tools, evil).is_none());
    assert!(
        pins.objection(&held, &Whose::USER, Kind::Tools, evil)
            .is_some()
    );
}

#[test]
fn what_waits_for_the_user_waits_for_whoever_comes_new() {
    let dir = tempfile::tempdir().unwrap();
    let pins = Pins::open(dir.path());
    let held = keeping("srv", Pinning::Hold);
    pin(&pins, "srv", &[named("a", "one")]).unwrap();
    pin(&pins, "srv", &[named("a", "evil")]).unwrap();
    let alice = Whose::of("alice".into(), true);
    see_for(&pins, &alice, &[named("a", "evil"), named("b", "x")]);
    let news = pins.news_for("srv", &held, &alice).unwrap();
    assert_eq!(news.waiting.len(), 1, "{news:?}");
    let evil = &groups(&[named("a", "evil")])[0];
    assert!(pins.objection(&held, &alice, Kind::Tools, evil).is_some());
    let news = pins.news("srv", &held).unwrap();
    assert_eq!(news.waiting.len(), 1, "it is one thing: {news:?}");
    pins.approve(&held, &news).unwrap();
    for whose in [&alice, &Whose::USER] {
        assert!(pins.objection(&held, whose, Kind::Tools, evil).is_none());
    }
    pins.forget("srv").unwrap();
    assert!(!pins.has_pins(&held, &alice) && !pins.has_pins(&held, &Whose::USER));
}

#[test]
fn whoever_was_the_only_one_takes_along_what_was_pinned() {
    let dir = tempfile::tempdir().unwrap();
    let pins = Pins::open(dir.path());
    let held = keeping("srv", Pinning::Hold);
    pin(&pins, "srv", &[named("a", "one")]).unwrap();
    let first = pins.books.first("srv");
    let mark = |kept: &mut Kept| kept.principal = Some("alice".into());
    first.lock().change(mark).unwrap();
    let (alice, bob) = (
        Whose::of("alice".into(), true),
        Whose::of("bob".into(), true),
    );
    for whose in [&alice, &bob] {
        see_for(&pins, whose, &[named("a", "evil")]);
    }
    let evil = &groups(&[named("a", "evil")])[0];
    assert!(pins.objection(&held, &alice, Kind::Tools, evil).is_some());
    assert!(pins.objection(&held, &bob, Kind::Tools, evil).is_none());
}

#[test]
fn books_are_capped_and_the_rest_share_one() {
    let dir = tempfile::tempdir().unwrap();
    let pins = Pins::open(dir.path());
    for n in 0..limits::PIN_BOOKS + 20 {
        let whose = Whose::of(format!("p{n}").into(), true);
        see_for(&pins, &whose, &[named("a", "one")]);
    }
    for pins in [&pins, &Pins::open(dir.path())] {
        // With the user's own.
        assert_eq!(pins.books.all("srv").len(), limits::PIN_BOOKS + 2);
    }
}

#[test]
fn many_writers_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let dir = dir.path();
            scope.spawn(move || {
                let pins = Pins::open(dir);
                for m in 0..5 {
                    let book = pins.books.first("srv");
                    let tool = named(&format!("t{n}-{m}"), "x");
                    let change = |kept: &mut Kept| {
                        see(kept, &[tool], Manner::Tell, true, false);
                    };
                    book.lock().change(change).unwrap();
                }
            });
        }
    });
    let pins = Pins::open(dir.path());
    let book = pins.books.first("srv");
    let count = book
        .lock()
        .kept()
        .unwrap()
        .section(Kind::Tools)
        .unwrap()
        .len();
    assert_eq!(count, 40);
}
