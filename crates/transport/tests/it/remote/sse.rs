use super::ear::{Heard, Peer, reply, target};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use switchboard_transport::{
    Budget, Link, Undelivered,
    http::{HttpOptions, SseLink},
};
use switchboard_wire::Method;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// One request as it came.
#[derive(Clone, Debug)]
struct Seen {
    line: String,
    head: String,
    body: String,
}

async fn read(socket: &mut TcpStream) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some(Seen {
        line: head.lines().next().unwrap().to_owned(),
        head: head.clone(),
        body: String::from_utf8(body).unwrap(),
    })
}

/// A server whose stream begins with `opening`; a POST is answered with
/// `status`, and its reply comes on the stream. Gives its address, what it saw,
/// and a way to write on the stream.
async fn server(
    opening: impl Fn(&str) -> String + Send + Sync + 'static,
    status: &'static str,
) -> (
    String,
    Arc<Mutex<Vec<Seen>>>,
    mpsc::UnboundedSender<Vec<u8>>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::<Mutex<Vec<Seen>>>::default();
    let (write, mut written) = mpsc::unbounded_channel::<Vec<u8>>();
    let (all, url, events) = (seen.clone(), format!("{origin}/a/sse"), write.clone());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let first = read(&mut stream).await.unwrap();
        assert!(first.line.starts_with("get /a/sse "), "{first:?}");
        all.lock().push(first);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(opening(&origin).as_bytes()).await.unwrap();
        tokio::spawn(async move {
            while let Some(bytes) = written.recv().await {
                if bytes.is_empty() || stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (all, events) = (all.clone(), events.clone());
            tokio::spawn(async move {
                while let Some(post) = read(&mut socket).await {
                    if status.starts_with('2') {
                        let event = format!("event: message\ndata: {}\n\n", reply(&post.body));
                        let _ = events.send(event.into_bytes());
                    }
                    all.lock().push(post);
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                    socket.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (url, seen, write)
}

fn peer(url: &str) -> Peer {
    let target = target(url);
    Peer::new(|ear| {
        Link::Sse(SseLink::new(
            target,
            HttpOptions::default(),
            Budget::default(),
            ear,
        ))
    })
}

#[tokio::test]
async fn posts_go_where_the_stream_says() {
    for endpoint in [
        "/messages?sessionId=7",
        "messages?sessionId=7",
        "ORIGIN/messages?sessionId=7",
    ] {
        let named = |origin: &str| {
            let at = endpoint.replace("ORIGIN", origin);
            format!(": hello\n\nevent: endpoint\ndata: {at}\n\n")
        };
        let (url, seen, _) = server(named, "202 Accepted").await;
        let mut peer = peer(&url);
        peer.ping(1).await;
        peer.ping(2).await;
        let posts = seen.lock()[1..].to_vec();
        let path = if endpoint.starts_with('m') {
            "/a/messages"
        } else {
            "/messages"
        };
        for post in &posts {
            assert!(
                post.line.starts_with(&format!("post {path}?sessionid=7 ")),
                "{post:?}"
            );
            assert!(post.head.contains("content-type: application/json"));
        }
        assert_eq!(posts.len(), 2);
    }
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_not_used() {
    let elsewhere = |_: &str| "event: endpoint\ndata: http://127.0.0.2:1/messages\n\n".to_owned();
    let (url, seen, _) = server(elsewhere, "202 Accepted").await;
    let mut peer = peer(&url);
    peer.ask(1, Method::Ping);
    assert!(peer.closed().await.contains("another origin"));
    assert_eq!(seen.lock().len(), 1, "nothing was posted");
}

#[tokio::test]
async fn a_later_endpoint_changes_nothing() {
    let (url, seen, write) =
        server(|_| "event: endpoint\ndata: /one\n\n".into(), "202 Accepted").await;
    let mut peer = peer(&url);
    peer.ping(1).await;
    write
        .send(b"event: endpoint\ndata: /two\n\n".to_vec())
        .unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    peer.ping(2).await;
    assert!(
        seen.lock()[1..]
            .iter()
            .all(|post| post.line.starts_with("post /one "))
    );
}

#[tokio::test]
async fn a_post_that_is_refused() {
    let (url, _, _) = server(|_| "event: endpoint\ndata: /m\n\n".into(), "500 Oops").await;
    let mut failing = peer(&url);
    failing.ask(1, Method::Ping);
    assert!(matches!(
        failing.next().await,
        Heard::Undelivered(1, Undelivered::Status { status: 500, .. })
    ));
    let (url, _, _) = server(|_| "event: endpoint\ndata: /m\n\n".into(), "404 Gone").await;
    let mut expired = peer(&url);
    expired.ask(1, Method::Ping);
    assert!(matches!(
        expired.next().await,
        Heard::Undelivered(1, Undelivered::SessionExpired)
    ));
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end() {
    let (url, _, write) = server(|_| "event: endpoint\ndata: /m\n\n".into(), "202 Accepted").await;
    let mut peer = peer(&url);
    peer.ping(1).await;
    write.send(Vec::new()).unwrap();
    assert!(peer.closed().await.contains("closed the stream"));
}

#[tokio::test]
async fn no_stream_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = read(&mut socket).await;
            let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n";
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let mut peer = peer(&url);
    peer.ask(1, Method::Ping);
    assert!(matches!(
        peer.next().await,
        Heard::Undelivered(1, Undelivered::NeedsAuth { status: 401, .. })
    ));
    peer.closed().await;
}

#[tokio::test]
async fn an_event_without_end_is_cut_off() {
    let (url, _, write) = server(|_| "event: endpoint\ndata: /m\n\n".into(), "202 Accepted").await;
    let target = target(&url);
    let options = HttpOptions {
        message_cap: 64 * 1024,
        ..HttpOptions::default()
    };
    let mut peer =
        Peer::new(|ear| Link::Sse(SseLink::new(target, options, Budget::default(), ear)));
    for _ in 0..40 {
        let _ = write.send([&b"data: "[..], &[b'x'; 4096]].concat());
    }
    assert!(peer.closed().await.contains("larger than 65536 bytes"));
}
