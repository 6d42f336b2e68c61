use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use std::time::Duration;
use switchboard_wire::Payload;

const CAP: usize = 1 << 20;

fn decode(chunks: &[&[u8]]) -> Vec<Event> {
    let mut decoder = Decoder::new(CAP);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        while let Some(event) = decoder.next().unwrap() {
            events.push(event);
        }
    }
    events
}

fn data(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .map(|event| std::str::from_utf8(&event.data).unwrap())
        .collect()
}

#[test]
fn all_line_ends_and_several_data_lines() {
    let events = decode(&[b"data: a\n\ndata:b\r\n\r\ndata: c\rdata: d\r\rdata\n\n"]);
    assert_eq!(data(&events), ["a", "b", "c\nd", ""]);
}

#[test]
fn byte_order_mark_only_at_the_start() {
    let events = decode(&[
        b"\xef\xbb",
        b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n",
    ]);
    assert_eq!(data(&events), ["a", "c"]);
}

#[test]
fn ids_are_remembered_and_one_with_nul_is_ignored() {
    let events = decode(&[b"id: 1\ndata: a\n\ndata: b\n\nid: x\0y\ndata: c\n\nid\ndata: d\n\n"]);
    let ids: Vec<_> = events.iter().map(|event| event.id.as_deref()).collect();
    assert_eq!(ids, [Some("1"), Some("1"), Some("1"), None]);
}

#[test]
fn an_id_alone_is_remembered_without_an_event() {
    let mut decoder = Decoder::new(CAP);
    decoder.feed(Bytes::from_static(b"id: 7\nretry: 250\n\n"));
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.last_id().map(|id| &**id), Some("7"));
    assert_eq!(decoder.retry(), Some(Duration::from_millis(250)));
}

#[test]
fn retry_is_digits_only_and_never_overflows() {
    let mut decoder = Decoder::new(CAP);
    decoder.feed(Bytes::from_static(
        b"retry: 5\nretry: -1\nretry: 1e3\nretry:\n\n",
    ));
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.retry(), Some(Duration::from_millis(5)));
    decoder.feed(Bytes::from_static(b"retry: 99999999999999999999999999\n"));
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.retry(), Some(Duration::from_millis(u64::MAX)));
}

#[test]
fn an_unfinished_event_is_not_one() {
    assert!(decode(&[b"data: a\n"]).is_empty());
    assert!(decode(&[b"event: x\nid: 2\n\n"]).is_empty());
}

#[test]
fn the_cap_holds_for_one_line_and_for_many() {
    for line in [
        &b"data: 0123456789"[..],
        b"data: 0\n",
        b"unknown-field-without-end",
    ] {
        let mut decoder = Decoder::new(1000);
        let fault = (0..2000).find_map(|_| {
            decoder.feed(Bytes::copy_from_slice(line));
            decoder.next().err()
        });
        assert_eq!(
            fault,
            Some(TooLarge(1000)),
            "{}",
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
fn comments_take_no_memory() {
    let mut decoder = Decoder::new(64);
    for _ in 0..10_000 {
        decoder.feed(Bytes::from_static(b": "));
        assert_eq!(decoder.next(), Ok(None));
        decoder.feed(Bytes::from(vec![b'x'; 1000]));
        assert_eq!(decoder.next(), Ok(None));
        decoder.feed(Bytes::from_static(b"\n:\n"));
        assert_eq!(decoder.next(), Ok(None));
    }
    assert_eq!(decoder.held(), 0);
    assert_eq!(decoder.comments(), 20_000);
}

#[test]
fn one_chunk_is_shared_not_copied() {
    let chunk = Bytes::from_static(b"event: message\ndata: {\"jsonrpc\":\"2.0\"}\n\n");
    let mut decoder = Decoder::new(CAP);
    decoder.feed(chunk.clone());
    let event = decoder.next().unwrap().unwrap();
    assert_eq!(event.name.as_deref(), Some("message"));
    assert!(chunk.as_ptr_range().contains(&event.data.as_ptr()));
}

#[test]
fn what_we_encode_reads_back() {
    for size in [0, 10, 20_000] {
        let text = format!("{{\r\n\"a\":\"{}\"\n}}", "x".repeat(size));
        let encoded =
            encode_event(Some("9"), Some("message"), Payload::from(text.clone())).into_bytes();
        let events = decode(&[&encoded]);
        assert_eq!(data(&events), [text.replace(['\r', '\n'], " ")]);
        assert_eq!(events[0].id.as_deref(), Some("9"));
        assert_eq!(events[0].name.as_deref(), Some("message"));
    }
    let primed = encode_priming("4", Some(Duration::from_secs(2))).into_bytes();
    assert_eq!(&primed[..], b"id: 4\nretry: 2000\ndata: \n\n");
    assert!(decode(&[&encode_comment().into_bytes()]).is_empty());
}

#[test]
fn an_id_cannot_add_lines() {
    let encoded = encode_event(
        Some("1\ndata: forged\n\n"),
        None,
        Payload::from("{}".to_owned()),
    )
    .into_bytes();
    assert_eq!(data(&decode(&[&encoded])), ["{}"]);
}

/// Text in which every byte that means something to the decoder is frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    const TOKENS: &[&[u8]] = &[
        b"data: ",
        b"data",
        b"id: ",
        b"event:",
        b"retry: 12",
        b":",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"\0",
        b"some text",
    ];
    let token = prop::sample::select(TOKENS);
    prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(bytes in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let whole = decode(&[&bytes]);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&bytes[from..cut]);
            from = cut;
        }
        chunks.push(&bytes[from..]);
        prop_assert_eq!(&decode(&chunks), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&decode(&single), &whole);
    }
}
