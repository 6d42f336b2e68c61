use super::*;

/// What all of it takes, counted anew.
fn counted(ring: &Ring) -> usize {
    let kept = ring.kept.lock();
    let there = kept.places.iter().filter(|place| place.call != 0);
    let each = there.map(|place| PER_CALL + place.large.as_ref().map_or(0, |it| it.bytes()));
    each.sum::<usize>() + kept.log.bytes()
}

fn payload(bytes: Bytes) -> [Bytes; 1] {
    [bytes]
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
        let told = [
            Bytes::from_static(b"{\"id\":7,"),
            large.slice(10..99_000),
            Bytes::from_static(b"}"),
        ];
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
    assert!(told.starts_with(b"{\"id\":7,xxx") && told.ends_with(b"xxx}"));
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
        let begin = format!("{{\"id\":{id}");
        let one: Vec<Bytes> = match edge {
            Edge::FromServer => vec![begin.into(), rest.replace('y', "z").into()],
            Edge::ToClient => vec![(begin + &rest.replace('y', "z")).into()],
            _ => vec![begin.into(), rest.clone().into()],
        };
        all.push(Bytes::from(one.concat()));
        ring.keep(1, edge, &one);
    }
    let texts = ring.of_call(1).unwrap().0;
    let texts: Vec<Vec<u8>> = texts
        .iter()
        .map(|it| it.text.as_ref().unwrap().to_vec())
        .collect();
    assert_eq!(texts, all);
    let length: usize = all.iter().map(Bytes::len).sum();
    let kept = ring.kept.lock().log.head() as usize - 4 * HEAD;
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
    let kept = ring.kept.lock();
    let there = kept.places.iter().filter(|place| place.call != 0);
    let there = there.count();
    assert_eq!(kept.calls, there);
    assert!(kept.order.len() >= there);
}

/// Many small pieces that are large together, and large ones among small ones.
#[test]
fn a_message_is_told_as_it_was_however_it_was_cut() {
    let ring = Ring::of(1024 * 1024);
    let piece = |length: usize, byte: u8| Bytes::from(vec![byte; length]);
    let ways: [&[usize]; 5] = [
        &[],
        &[10, 20, 30],
        &[4_000; 20],
        &[10, 50_000, 20, 4_096, 5],
        &[4_095, 4_096],
    ];
    let mut all = Vec::new();
    for (lengths, call) in ways.into_iter().zip(1..) {
        let pieces: Vec<Bytes> = lengths
            .iter()
            .zip(b'a'..)
            .map(|(it, byte)| piece(*it, byte))
            .collect();
        for edge in [Edge::FromClient, Edge::ToServer] {
            ring.keep(call, edge, &pieces);
        }
        all.push((call, pieces.concat()));
    }
    for (call, text) in all {
        let (messages, missing) = ring.of_call(call).unwrap();
        assert_eq!((messages.len(), missing), (2, 0), "{call}");
        for one in messages {
            assert_eq!(one.text.unwrap().to_vec(), text, "{call}");
            assert_eq!(one.length, text.len());
        }
    }
    assert_eq!(ring.bytes(), counted(&ring));
}

/// One that lasts long gives way with the oldest, and others are not kept from coming.
#[test]
fn what_lasts_long_does_not_hold_the_log() {
    let ring = Ring::of(64 * 1024);
    let one = payload(Bytes::from(vec![b'x'; 500]));
    ring.keep(1, Edge::FromClient, &one);
    for call in 2..2_000 {
        ring.keep(call, Edge::FromClient, &one);
        ring.keep(1, Edge::FromServer, &one);
        assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
        assert!(ring.has(call));
    }
    assert!(!ring.has(1));
    assert!(ring.len() > 50, "{}", ring.len());
}

/// A server decides how many links its result has, each of which is rewritten: however many
/// there are, few parts are kept, and the message is told as it was.
#[test]
fn a_message_of_many_pieces_is_kept_as_few() {
    let ring = Ring::of(limits::TAP_BYTES);
    let large = Bytes::from(vec![b'x'; 300_000]);
    let link = |at: usize| Bytes::from(format!("{{\"uri\":\"x:{at}\"}},"));
    let mut pieces: Vec<Bytes> = (0..50_000).map(link).collect();
    pieces.insert(25_000, large.clone());
    pieces.push(large.clone());
    ring.keep(1, Edge::FromClient, &payload(Bytes::from_static(b"{}")));
    ring.keep(1, Edge::FromServer, &payload(large));
    ring.keep(1, Edge::ToClient, &pieces);
    let (messages, missing) = ring.of_call(1).unwrap();
    assert_eq!((messages.len(), missing), (3, 0));
    assert!(messages[2].text.as_ref().unwrap().to_vec() == pieces.concat());
    assert_eq!(counted(&ring), ring.bytes());
    let most = 2 * pieces.concat().len() + 64 * 1024;
    assert!(ring.bytes() < most, "{} bytes of {most}", ring.bytes());
    let length = pieces.iter().map(Bytes::len).sum();
    let few = large::few(&pieces, length).unwrap();
    assert_eq!(few.len(), 4);
}

/// Its client's next message is no beginning: it would be taken for the request.
#[test]
fn what_gave_way_does_not_begin_again_in_the_middle() {
    let ring = Ring::of(64 * 1024);
    ring.keep(1, Edge::FromClient, &payload(Bytes::from_static(b"asked")));
    let mut call = 1;
    while ring.has(1) {
        call += 1;
        ring.keep(
            call,
            Edge::FromClient,
            &payload(Bytes::from(vec![b'x'; 2000])),
        );
    }
    let dropped = ring.dropped();
    assert!(!ring.keep(
        1,
        Edge::FromClient,
        &payload(Bytes::from_static(b"answered"))
    ));
    assert!(!ring.has(1));
    assert_eq!(ring.dropped(), dropped + 1);
    assert!(ring.keep(
        call + 1,
        Edge::FromClient,
        &payload(Bytes::from_static(b"asked"))
    ));
}

/// It is dropped when it comes, and not once more with its call.
#[test]
fn what_has_no_text_is_counted_once() {
    let ring = Ring::of(1024 * 1024);
    ring.keep(1, Edge::FromClient, &payload(Bytes::from_static(b"{}")));
    let huge = Bytes::from(vec![b'x'; 900_000]);
    ring.keep(1, Edge::FromServer, &payload(huge));
    assert_eq!(ring.dropped(), 1);
    let mut call = 1;
    while ring.has(1) {
        call += 1;
        let one = payload(Bytes::from(vec![b'x'; 2000]));
        ring.keep(call, Edge::FromClient, &one);
    }
    let gone = call - ring.len() as u64;
    assert_eq!(ring.dropped(), gone + 1);
}

/// It is copied a few at a time, and told as if it were at once.
#[test]
fn a_call_of_many_messages_is_read_whole() {
    let ring = Ring::of(4 * 1024 * 1024);
    let mut all = Vec::new();
    for number in 0..300_usize {
        // Those that are as long as the one before end as it does; every tenth is large.
        let size = if number % 10 == 0 { 5_000 } else { 900 };
        let text = format!("{number}:{}", "x".repeat(size + number / 3));
        let edge = if number == 0 {
            Edge::FromClient
        } else {
            Edge::FromServer
        };
        ring.keep(1, edge, &payload(Bytes::from(text.clone())));
        all.push(text);
    }
    let (messages, missing) = ring.of_call(1).unwrap();
    assert_eq!(missing, 0);
    let texts = messages
        .iter()
        .map(|one| one.text.as_ref().unwrap().to_vec());
    let texts: Vec<Vec<u8>> = texts.collect();
    assert!(texts.iter().eq(all.iter().map(String::as_bytes)));
    let weight: usize = all.iter().map(String::len).sum();
    assert_eq!(ring.weight(1), weight);
    assert_eq!(ring.weight(2), 0);
}

/// Whoever reads while calls come and go, and while all is forgotten, reads one call or none.
#[test]
fn what_gives_way_while_it_is_read_is_not_there() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let ring = Ring::of(256 * 1024);
    let (newest, rounds) = (AtomicU64::new(0), 2_000);
    let told = |call: u64| call.to_string().repeat(600);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for call in 1..=rounds {
                let one = payload(Bytes::from(told(call)));
                ring.keep(call, Edge::FromClient, &one);
                newest.store(call, Ordering::Release);
                for _ in 0..20 {
                    ring.keep(call, Edge::FromServer, &one);
                }
                if call % 97 == 0 {
                    ring.clear();
                    // The same call may go on in what is new then.
                    ring.keep(call, Edge::FromClient, &one);
                }
            }
        });
        let mut last = 0;
        while last < rounds {
            last = newest.load(Ordering::Acquire);
            for call in [last, last.saturating_sub(3)] {
                let (messages, _) = ring.of_call(call).unwrap_or_default();
                for one in messages {
                    let text = one.text.map(|text| text.to_vec());
                    assert!(text.is_none_or(|text| text == told(call).as_bytes()));
                }
            }
        }
    });
}
