//! Pins that somebody has signed for several machines.

use super::*;

fn signed_of(tools: &[Value]) -> SignedPins {
    let mut kept = Kept::default();
    at_start(&mut kept, tools, Manner::Tell);
    SignedPins::of_kept(&kept).unwrap()
}

#[test]
fn what_was_signed_is_used_and_nothing_else_before_somebody_says_yes() {
    let (one, two) = (named("a", "one"), named("a", "two"));
    let signed = signed_of(std::slice::from_ref(&one));
    // Another machine, which has met the server before, and another one than was signed.
    let mut kept = Kept::default();
    at_start(&mut kept, &[two.clone(), named("b", "b")], Manner::Tell);
    kept.adopt(Some(&signed));
    // Also where the server runs, and is not asked again.
    let waiting: Vec<&String> = kept.waiting[&Kind::Tools].keys().collect();
    assert_eq!(waiting, ["a", "b"]);
    let own = Keeping {
        key: "s".into(),
        pinning: Pinning::Own,
    };
    assert_eq!(own.manner(&kept), Manner::Hold);
    assert!(!held(&kept, &one, Manner::Hold));
    assert!(held(&kept, &two, Manner::Hold));
    assert!(held(&kept, &named("b", "b"), Manner::Hold));
    // Nor what comes while it runs, or after somebody has signed in.
    let listed = [one.clone(), named("c", "c")];
    let found = see(&mut kept, &listed, Manner::Hold, true, true);
    assert_eq!(found.held, ["c"]);
    // Prompts, which nobody has signed, are pinned when they are first seen.
    assert!(kept.section(Kind::Prompts).is_none());
    // Once nobody signs it any more, what is pinned stays.
    kept.adopt(None);
    assert_eq!(own.manner(&kept), Manner::Tell);
    assert!(!held(&kept, &one, Manner::Hold));
}

#[test]
fn they_say_the_same_wherever_they_are_read() {
    let signed = signed_of(&[named("a", "one"), named("b", "two")]);
    let text = serde_json::to_string(&signed).unwrap();
    let read: SignedPins = serde_json::from_str(&text).unwrap();
    assert_eq!((&read, read.digest()), (&signed, signed.digest()));
    assert_eq!(read.count(), 2);
    assert!(read.text().contains("tool a") && read.text().contains("two"));
    let other = signed_of(&[named("a", "one"), named("b", "2")]);
    assert_ne!(other.digest(), signed.digest());
}

#[test]
fn all_books_of_a_server_follow_and_a_local_yes_lasts_until_something_else_is_signed() {
    let dir = tempfile::tempdir().unwrap();
    let pins = Pins::open(dir.path().join("pins"));
    let follow = |tools: &[Value]| {
        let all = [("s".to_owned(), Arc::new(signed_of(tools)))];
        pins.follow(Arc::new(all.into_iter().collect()));
    };
    let keeping = Keeping {
        key: "s".into(),
        pinning: Pinning::Hold,
    };
    let alice = Whose::of("alice".into(), true);
    let is_held = |tool: &Value, whose: &Whose| {
        let group = groups(std::slice::from_ref(tool)).remove(0);
        let why = pins.objection(&keeping, whose, Kind::Tools, &group);
        why.is_some()
    };
    let (one, two) = (named("a", "one"), named("a", "two"));
    follow(std::slice::from_ref(&one));
    for whose in [&Whose::USER, &alice] {
        assert!(!is_held(&one, whose) && is_held(&two, whose), "{whose:?}");
    }
    // Somebody says yes here.
    let (_, book) = pins.books.of("s", &Whose::USER);
    let yes = Version::of(&groups(std::slice::from_ref(&two))[0]);
    let pin = Pin::of(yes);
    let approved = book.lock().change(|kept| {
        kept.pins(Kind::Tools).insert("a".into(), pin);
    });
    approved.unwrap();
    follow(std::slice::from_ref(&one));
    assert!(!is_held(&two, &Whose::USER) && is_held(&two, &alice));
    follow(&[one.clone(), named("b", "b")]);
    assert!(is_held(&two, &Whose::USER) && !is_held(&one, &alice));
    // It is on disk: another program goes by it, and does not follow anybody.
    let other = Pins::open(dir.path().join("pins"));
    let group = groups(std::slice::from_ref(&two)).remove(0);
    let own = Keeping {
        pinning: Pinning::Own,
        ..keeping.clone()
    };
    let why = other.objection(&own, &Whose::USER, Kind::Tools, &group);
    assert!(why.is_some());
}
