//! What decoders promise, whatever they are fed.

use bytes::Bytes;
use std::cell::RefCell;
use switchboard_testkit::DEADLINE;
use switchboard_transport::{
    Budget,
    http::sse::{Decoder, Event, TooLarge},
    ws::{self, WsEnd, WsOptions},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Small, so that inputs of a few kilobytes meet it.
const CAP: usize = 512;

/// An event stream in any chunks gives the same events, and never holds more
/// than the cap.
pub(crate) fn sse(data: &[u8]) {
    let whole = events(&[data]);
    // The first byte decides where the cuts are.
    let step = usize::from(data.first().copied().unwrap_or(0)) % 7 + 1;
    let pieces: Vec<&[u8]> = data.chunks(step).collect();
    let cut = events(&pieces);
    match (&whole, &cut) {
        (Ok(whole), Ok(cut)) => assert_eq!(whole, cut),
        // A line that ends within a chunk is never held, so only the cut one may meet the cap.
        (Ok(_) | Err(_), Err(_)) => {}
        (Err(fault), Ok(_)) => panic!("{fault} in one chunk and not in many"),
    }
}

fn events(chunks: &[&[u8]]) -> Result<Vec<Event>, TooLarge> {
    let mut decoder = Decoder::new(CAP);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        while let Some(event) = decoder.next()? {
            assert!(
                event.data.len() <= CAP,
                "an event of {} bytes",
                event.data.len()
            );
            events.push(event);
        }
        assert!(decoder.held() <= CAP, "{} bytes are held", decoder.held());
    }
    Ok(events)
}

/// A client's side of a WebSocket, byte for byte: no message is larger than the
/// cap, whoever breaks the rules is told with the right code, and it ends.
pub(crate) fn ws(data: &[u8]) {
    thread_local! {
        static RUNTIME: RefCell<tokio::runtime::Runtime> = RefCell::new(
            tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime"),
        );
    }
    RUNTIME.with_borrow_mut(|runtime| {
        runtime.block_on(async {
            tokio::time::timeout(DEADLINE, exchange(data))
                .await
                .expect("it ends");
        });
    });
}

async fn exchange(data: &[u8]) {
    let (ours, mut theirs) = tokio::io::duplex(data.len() + 64);
    let options = WsOptions {
        message_cap: CAP,
        ..WsOptions::default()
    };
    let share = Budget::default().share_of(&"peer".into(), false);
    let (writer, mut reader) = ws::serve(ours, &options, &share).await;
    theirs.write_all(data).await.expect("there is room");
    let (mut read, write) = tokio::io::split(theirs);
    // What we answer is read all the time, as a client would.
    let answers = tokio::spawn(async move {
        let mut answers = Vec::new();
        let _ = read.read_to_end(&mut answers).await;
        answers
    });
    let mut write = write;
    let _ = write.shutdown().await;
    let end = loop {
        match reader.next().await {
            Ok(message) => assert!(message.len() <= CAP, "a message of {} bytes", message.len()),
            Err(end) => break end,
        }
    };
    writer.closed().await;
    drop((reader, writer, write));
    let answers = answers.await.expect("no panic");
    let wanted = match end {
        WsEnd::TooLarge(_) => &[1009][..],
        WsEnd::Protocol(_) => &[1002, 1007],
        WsEnd::Closed(_) | WsEnd::Broken(_) | WsEnd::Full(_) => return,
    };
    // After the peer's own goodbye nothing more is said.
    if let Some(code) = close_code(&answers) {
        assert!(
            wanted.contains(&code) || code == 1000,
            "{end:?} answered with {code}"
        );
    }
}

/// The code of the first close frame among our frames, which are all short.
fn close_code(mut answers: &[u8]) -> Option<u16> {
    while let [first, length, rest @ ..] = answers {
        let length = usize::from(length & 0x7f);
        let body = rest.get(..length)?;
        if first & 0x0f == 8 {
            return Some(u16::from_be_bytes([*body.first()?, *body.get(1)?]));
        }
        answers = &rest[length..];
    }
    None
}
