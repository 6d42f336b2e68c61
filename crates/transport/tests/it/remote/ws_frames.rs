//! A WebSocket server that breaks the rules, byte by byte.

use super::ear::{Heard, Peer, target};
use std::time::Duration;
use switchboard_transport::{
    Budget, Link,
    ws::{WsLink, WsOptions, accept_key},
};
use switchboard_wire::Method;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const CAP: usize = 64 * 1024;

/// Shakes hands by hand, waits for a message, then sends these bytes, again and
/// again if `endless`. Gives what the client sent back afterwards, unmasked.
async fn strike(bytes: Vec<u8>, endless: bool) -> (String, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        shake(&mut socket).await;
        let mut first = [0u8; 1024];
        let _ = socket.read(&mut first).await.unwrap();
        let (mut read, mut write) = socket.into_split();
        let writing = tokio::spawn(async move {
            loop {
                if write.write_all(&bytes).await.is_err() || !endless {
                    break;
                }
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        });
        let mut back = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(4), read.read_to_end(&mut back)).await;
        writing.abort();
        back
    });
    let options = WsOptions {
        message_cap: CAP,
        ..WsOptions::default()
    };
    let mut peer =
        Peer::new(|ear| Link::Ws(WsLink::new(target(&url), options, Budget::default(), ear)));
    peer.ask(1, Method::Ping);
    let why = peer.closed().await;
    (why, server.await.unwrap())
}

async fn shake(socket: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let key = head
        .lines()
        .find_map(|line| {
            line.to_lowercase()
                .starts_with("sec-websocket-key")
                .then(|| line[18..].trim())
        })
        .unwrap();
    let accept = accept_key(key.as_bytes());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: mcp\r\n\r\n"
    );
    socket.write_all(answer.as_bytes()).await.unwrap();
}

/// The code of the close frame in what a client sent.
fn close_code(back: &[u8]) -> Option<u16> {
    // A masked close frame: 0x88, 0x80 | length, mask, masked code.
    let at = back
        .windows(2)
        .position(|w| w[0] == 0x88 && w[1] & 0x80 != 0)?;
    let (mask, data) = (&back[at + 2..at + 6], &back[at + 6..at + 8]);
    Some(u16::from_be_bytes([data[0] ^ mask[0], data[1] ^ mask[1]]))
}

#[tokio::test]
async fn broken_rules_are_answered_with_1002() {
    for (name, bytes) in [
        ("masked", vec![0x81, 0x81, 1, 2, 3, 4, b'a' ^ 1]),
        ("reserved bits", vec![0xf1, 0x01, b'a']),
        ("reserved opcode", vec![0x83, 0x01, b'a']),
        ("continuation of nothing", vec![0x80, 0x01, b'a']),
        (
            "a long ping",
            [vec![0x89, 126, 0x01, 0x00], vec![0; 256]].concat(),
        ),
        ("a fragmented ping", vec![0x09, 0x00]),
        (
            "a message within a message",
            vec![0x01, 0x01, b'a', 0x81, 0x01, b'b'],
        ),
    ] {
        let (why, back) = strike(bytes, false).await;
        assert_eq!(close_code(&back), Some(1002), "{name}: {why}");
        assert!(
            why.contains("broke the WebSocket protocol"),
            "{name}: {why}"
        );
    }
}

#[tokio::test]
async fn too_much_is_answered_with_1009() {
    let two_gib = [vec![0x81, 127], (1u64 << 31).to_be_bytes().to_vec()].concat();
    let (why, back) = strike(two_gib, false).await;
    assert_eq!(close_code(&back), Some(1009), "{why}");
    // A first fragment, then fragments without end.
    let fragment = [vec![0x00, 126, 0x10, 0x00], vec![b' '; 4096]].concat();
    let first = [vec![0x01, 0x01, b'{'], fragment.repeat(40)].concat();
    let (why, back) = strike(first, true).await;
    assert_eq!(close_code(&back), Some(1009), "{why}");
    assert!(why.contains("larger than"), "{why}");
}

#[tokio::test]
async fn text_that_is_none_is_answered_with_1007() {
    let (why, back) = strike(vec![0x81, 0x02, 0xc3, 0x28], false).await;
    assert_eq!(close_code(&back), Some(1007), "{why}");
}

#[tokio::test]
async fn no_json_is_no_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        shake(&mut socket).await;
        socket.write_all(&[0x81, 0x02, b'n', b'o']).await.unwrap();
        let message = br#"{"jsonrpc":"2.0","method":"m"}"#;
        socket
            .write_all(&[0x81, message.len() as u8])
            .await
            .unwrap();
        socket.write_all(message).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
    });
    let mut peer = Peer::new(|ear| {
        Link::Ws(WsLink::new(
            target(&url),
            WsOptions::default(),
            Budget::default(),
            ear,
        ))
    });
    assert!(matches!(peer.next().await, Heard::Unreadable(_)));
    assert!(peer.message().await.contains("\"m\""));
}
