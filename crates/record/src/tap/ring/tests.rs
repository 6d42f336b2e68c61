use super::*;

/// What all places take, counted anew.
fn counted(ring: &Ring) -> usize {
    let places = ring.chunks.iter().filter_map(OnceLock::get).flatten();
    let kept = places.map(|place| {
        let place = place.lock();
        match place.call {
            0 => 0,
            _ => place.kept.cost(),
        }
    });
    kept.sum()
}

fn payload(bytes: Bytes) -> Payload {
    Payload::from(bytes)
}

#[test]
fn the_oldest_give_way_and_no_more_is_kept_than_may_be() {
    let ring = Ring::of(1024 * 1024);
    let large = Bytes::from(vec![b'x'; 100_000]);
    for call in 1..=50 {
        for edge in [Edge::FromClient, Edge::ToServer] {
            ring.keep(call, edge, &payload(Bytes::from_static(b"{}")));
        }
        ring.keep(call, Edge::FromServer, &payload(large.clone()));
        // What is told is most of what came: it is kept once.
        let mut told = Payload::from(Bytes::from_static(b"{\"id\":7,"));
        told.push(large.slice(10..99_000));
        ring.keep(call, Edge::ToClient, &told);
        assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
    }
    assert!(ring.len() >= 9, "{} calls are kept", ring.len());
    assert!(!ring.has(1) && ring.has(50));
    let dropped = (50 - ring.len()) as u64 * 4;
    assert_eq!(ring.dropped(), dropped);
    let (messages, missing) = ring.of_call(50).unwrap();
    assert_eq!((messages.len(), missing), (4, 0));
    let told = messages[3].text.as_ref().unwrap().to_vec();
    assert_eq!(told.len(), messages[3].length);
    assert!(told.starts_with(b"{\"id\":7,xxx"));
}

#[test]
fn a_place_that_is_used_again_tells_nothing_of_who_had_it() {
    let ring = Ring::of(8 * 1024);
    let told = |call: u64| format!("{{\"call\":{call}}}");
    for call in 1..=500 {
        for edge in [Edge::FromClient, Edge::ToServer, Edge::FromServer] {
            ring.keep(call, edge, &payload(Bytes::from(told(call))));
        }
        assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
        let (messages, missing) = ring.of_call(call).unwrap();
        assert_eq!((messages.len(), missing), (3, 0));
        for one in &messages {
            let text = one.text.as_ref().unwrap().to_vec();
            assert_eq!(text, told(call).as_bytes());
        }
    }
    assert!(ring.len() > 1);
    assert_eq!(ring.bytes(), counted(&ring));
}

#[test]
fn what_is_passed_on_is_kept_once_and_told_as_it_was() {
    let ring = Ring::of(1024 * 1024);
    let rest = format!(
        r#","method":"tools/call","params":{{"x":"{}"}}}}"#,
        "y".repeat(300)
    );
    let mut all = Vec::new();
    for (edge, id) in [
        (Edge::FromClient, "\"a\""),
        (Edge::ToServer, "1"),
        (Edge::FromServer, "1"),
        (Edge::ToClient, "\"a\""),
    ] {
        let mut one = Payload::from(Bytes::from(format!("{{\"id\":{id}")));
        match edge {
            Edge::FromServer => one.push(Bytes::from(rest.replace('y', "z"))),
            Edge::ToClient => {
                one = payload(format!("{{\"id\":{id}{}", rest.replace('y', "z")).into());
            }
            _ => one.push(Bytes::from(rest.clone())),
        }
        all.push(one.clone().into_bytes());
        ring.keep(1, edge, &one);
    }
    let texts = ring.of_call(1).unwrap().0;
    let texts: Vec<Vec<u8>> = texts
        .iter()
        .map(|it| it.text.as_ref().unwrap().to_vec())
        .collect();
    assert_eq!(texts, all);
    let length: usize = all.iter().map(Bytes::len).sum();
    let kept = ring.place(1).lock().kept.small.len();
    assert!(kept < length * 2 / 3, "{kept} of {length} bytes are kept");
    // One that is the same, one that is shorter, none at all.
    for text in ["{\"method\":\"x\",\"params\":{\"a\":12345}}", "5}}", ""] {
        for _ in 0..3 {
            ring.keep(1, Edge::FromServer, &payload(Bytes::from(text)));
            let last = ring.of_call(1).unwrap().0.pop().unwrap();
            assert_eq!(last.text.unwrap().to_vec(), text.as_bytes());
        }
    }
}

#[test]
fn what_is_too_large_or_too_much_is_counted() {
    let ring = Ring::of(1024 * 1024);
    let one = payload(Bytes::from_static(b"{}"));
    ring.keep(1, Edge::FromClient, &one);
    let huge = Bytes::from(vec![b'x'; 900_000]);
    ring.keep(1, Edge::FromServer, &payload(huge));
    let (messages, missing) = ring.of_call(1).unwrap();
    assert_eq!((messages.len(), missing), (2, 1));
    assert!(messages[1].text.is_none());
    assert_eq!(messages[1].length, 900_000);
    for _ in 0..limits::TAP_MESSAGES {
        ring.keep(1, Edge::FromServer, &one);
    }
    assert_eq!(ring.of_call(1).unwrap().1, 3);
    // A message of a call that began before anybody looked.
    ring.keep(2, Edge::ToServer, &one);
    assert!(!ring.has(2));
    ring.clear();
    assert_eq!((ring.len(), ring.bytes()), (0, 0));
}

#[test]
fn a_place_is_the_next_ones_when_there_are_as_many_as_may_be() {
    let ring = Ring::default();
    let one = payload(Bytes::from_static(b"{}"));
    let most = limits::TAP_CALLS as u64;
    for call in 1..=most + 5 {
        ring.keep(call, Edge::FromClient, &one);
        ring.keep(call, Edge::ToClient, &one);
    }
    assert_eq!(ring.len(), limits::TAP_CALLS);
    assert!(!ring.has(5) && ring.has(6) && ring.has(most + 5));
    assert_eq!(ring.dropped(), 10);
    // One that began before, and is late.
    ring.keep(5, Edge::FromClient, &one);
    ring.keep(5, Edge::ToServer, &one);
    assert!(!ring.has(5) && ring.has(most + 5));
    assert_eq!(ring.bytes(), counted(&ring));
    ring.clear();
    assert_eq!((ring.len(), ring.bytes()), (0, 0));
}

/// One that goes on and on while others come and go gives way as well, in the end.
#[test]
fn one_that_was_passed_by_gives_way() {
    let ring = Ring::of(256 * 1024);
    let large = |byte| payload(Bytes::from(vec![byte; 40_000]));
    ring.keep(1, Edge::FromClient, &large(b'a'));
    for call in 2..60 {
        ring.keep(call, Edge::FromClient, &large(b'b'));
        // Its next message makes the others give way, and not itself.
        ring.keep(1, Edge::FromServer, &payload(Bytes::from_static(b"{}")));
        assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
    }
    assert_eq!(ring.bytes(), counted(&ring));
    let mut most = 0;
    for call in 60..70 {
        ring.keep(call, Edge::FromClient, &large(b'c'));
        most = most.max(ring.len());
        assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
    }
    assert!(most > 2, "{most}");
}

/// Many at once: what is counted is what is there, and no more than may be.
#[test]
fn many_at_once_are_counted_as_one_after_the_other() {
    let ring = Ring::of(512 * 1024);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let ring = &ring;
            scope.spawn(move || {
                for round in 0..2_000 {
                    let call = 1 + round * 4 + thread;
                    let size = 50 + (call as usize * 37) % 9_000;
                    let message = payload(Bytes::from(vec![b'x'; size]));
                    for edge in [Edge::FromClient, Edge::ToServer, Edge::FromServer] {
                        ring.keep(call, edge, &message);
                    }
                }
            });
        }
    });
    assert_eq!(ring.bytes(), counted(&ring));
    assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
    let places = ring.chunks.iter().filter_map(OnceLock::get).flatten();
    let there = places.filter(|place| place.lock().call != 0).count();
    assert_eq!(ring.len(), there);
}
