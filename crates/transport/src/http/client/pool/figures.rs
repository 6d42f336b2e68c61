//! What a request costs in this pool, and in hyper-util's, side by side: the
//! figures of `docs/design/decisions/0006-http-pool.md`, printed by
//! `cargo xtask bench-pool`. The processor time of the client's own thread is
//! counted, so that neither the server nor another program is in it.

use super::*;
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use rustix::time::{ClockId, clock_gettime};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    thread,
};
use switchboard_wire::Payload;

use crate::{budget::Budget, dial::Via};

const ROUNDS: usize = 5;
const REQUESTS: usize = 20_000;
const BODY: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a small call, as most of them are, of about two hundred bytes in all, with its head"}}}"#;

/// Answers every request on every connection alike.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
        BODY.len(),
        String::from_utf8_lossy(BODY)
    );
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || serve(stream, &answer));
        }
    });
    address
}

/// A request ends where its body does, and that is always the same.
fn serve(mut stream: std::net::TcpStream, answer: &str) {
    let (mut held, mut buffer) = (Vec::new(), [0; 8192]);
    let end = &BODY[BODY.len() - 16..];
    let _ = stream.set_nodelay(true);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        held.extend_from_slice(&buffer[..read]);
        if held.ends_with(end) {
            held.clear();
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn request<B>(url: &http::Uri, body: B) -> http::Request<B> {
    let request = http::Request::post(url.clone())
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    request.body(body).expect("a request")
}

/// Microseconds that this thread has spent on the processor.
fn spent() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1000).unwrap_or_default()
}

async fn ours(url: &http::Uri, at_once: usize) -> u64 {
    let dialer = Dialer::new(url, Via::default(), Duration::from_secs(10));
    let pool = Pool::new(dialer, &HttpOptions::default());
    let budget = &Budget::default();
    let (head, ()) = request(url, ()).into_parts();
    let (pool, head) = (&pool, &head);
    let one = || async {
        let payload = Payload::from(Bytes::from_static(BODY));
        let asked = Request {
            method: head.method.clone(),
            target: http::Uri::from_static("/mcp"),
            headers: &head.headers,
            without: &[],
            besides: &[],
            more: http::HeaderMap::new(),
            payload: &payload,
        };
        let Ok(mut answer) = pool.send(&asked).await else {
            panic!("no answer")
        };
        let body = answer.collect(Vec::new(), 1 << 20, Duration::from_secs(10), budget);
        assert_eq!(body.await.expect("a body").len(), BODY.len());
        answer.finish(pool);
    };
    measured(at_once, one).await
}

async fn theirs(url: &http::Uri, at_once: usize) -> u64 {
    let mut connector = hyper_util::client::legacy::connect::HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let one = || async {
        let sent = client
            .request(request(url, Full::new(Bytes::from_static(BODY))))
            .await;
        let body = sent.expect("an answer").into_body().collect().await;
        assert_eq!(body.expect("a body").to_bytes().len(), BODY.len());
    };
    measured(at_once, one).await
}

/// Nanoseconds a request, `at_once` of them side by side, once all is warm.
async fn measured<F: Future<Output = ()>>(at_once: usize, one: impl Fn() -> F) -> u64 {
    let one = &one;
    let run = |each: usize| {
        join_all((0..at_once).map(move |_| async move {
            for _ in 0..each {
                one().await;
            }
        }))
    };
    run(50.min(REQUESTS / at_once)).await;
    let (each, before) = (REQUESTS / at_once, spent());
    run(each).await;
    (spent() - before) * 1000 / (each * at_once) as u64
}

#[test]
#[ignore = "figures, not a test: cargo xtask bench-pool"]
fn a_request_in_this_pool_and_in_hyper_utils() {
    let url: http::Uri = format!("http://{}/mcp", server())
        .parse()
        .expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    println!("at once  ours (µs)  hyper-util's (µs)  ratio   (medians of {ROUNDS} rounds in turn)");
    for at_once in [1, 16, 256] {
        let mut rounds: Vec<(u64, u64)> = (0..ROUNDS)
            .map(|_| {
                runtime.block_on(async { (ours(&url, at_once).await, theirs(&url, at_once).await) })
            })
            .collect();
        let mut median = |of: fn(&(u64, u64)) -> u64| {
            rounds.sort_by_key(of);
            of(&rounds[ROUNDS / 2]) as f64 / 1000.0
        };
        let (ours, theirs) = (median(|round| round.0), median(|round| round.1));
        println!(
            "{at_once:>7}  {ours:>9.1}  {theirs:>17.1}  {:>5.2}",
            theirs / ours
        );
    }
}
