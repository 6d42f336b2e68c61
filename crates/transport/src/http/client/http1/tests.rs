use super::*;
use http::{HeaderValue, Method};
use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufWriter, DuplexStream, duplex};

/// Larger than a test ever writes at once.
const PIPE: usize = 1 << 20;

fn payload(text: &str) -> Payload {
    Payload::from(text.to_owned())
}

fn request<'a>(headers: &'a HeaderMap, payload: &'a Payload) -> Request<'a> {
    Request {
        method: Method::POST,
        target: "/mcp?a=b".parse().expect("a path"),
        headers,
        without: &[],
        besides: &[],
        more: HeaderMap::new(),
        payload,
    }
}

/// What one answer comes to, whose bytes come in pieces of this size.
async fn answered(answer: &[u8], each: usize) -> Result<(u16, Vec<u8>, bool), Fault> {
    let (near, far) = duplex(PIPE);
    let answer = answer.to_vec();
    let peer = tokio::spawn(async move { say(far, &answer, each).await });
    let mut line = Connection::new(near);
    let (headers, nothing) = (HeaderMap::new(), Payload::default());
    let asked = async {
        let (status, _) = line.ask(&request(&headers, &nothing)).await?;
        let mut body = Vec::new();
        while line.collect_into(&mut body).await? {}
        Ok((status.as_u16(), body, line.is_complete()))
    };
    let answered = asked.await;
    peer.abort();
    answered
}

/// Says this in pieces, and hangs up.
async fn say(mut stream: DuplexStream, answer: &[u8], each: usize) {
    let mut asked = [0; 4096];
    let _ = stream.read(&mut asked).await;
    for piece in answer.chunks(each) {
        if stream.write_all(piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn answers_end_where_they_say_they_do() {
    let cases: [(&str, u16, &str, bool); 12] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            200,
            "abc",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 3, 3\r\n\r\nabc",
            200,
            "abc",
            true,
        ),
        (
            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
            202,
            "",
            true,
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
        (
            "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na",
            200,
            "a",
            false,
        ),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
            200,
            "a",
            false,
        ),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na",
            200,
            "a",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\n\r\nuntil it ends",
            200,
            "until it ends",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
            200,
            "abc0123456789",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nEtag: b\r\n\r\n",
            200,
            "a",
            true,
        ),
        // Both ways to know the end: the pieces count, and nothing follows on it.
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            200,
            "a",
            false,
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\na",
            404,
            "a",
            true,
        ),
    ];
    for (answer, status, body, keeps) in cases {
        for each in [1, 2, 7, answer.len()] {
            let got = answered(answer.as_bytes(), each).await;
            let (got_status, got_body, got_keeps) = got.expect(answer);
            assert_eq!(
                (got_status, &*String::from_utf8_lossy(&got_body), got_keeps),
                (status, body, keeps),
                "{answer:?} in pieces of {each}"
            );
        }
    }
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_no_answer() {
    let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(PIPE / 4));
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}\r\n",
        "x: y\r\n".repeat(limits::HTTP_HEADERS + 1)
    );
    let chatty = "HTTP/1.1 100 Continue\r\n\r\n".repeat(limits::HTTP_INFORMATIONAL + 1);
    let chunked =
        |body: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}");
    let endless = chunked(&"1".repeat(limits::HTTP_LINE + 10));
    let cases = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nabc".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabc".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            .to_owned(),
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".to_owned(),
        "HTTP/2 200\r\n\r\n".to_owned(),
        "220 mail.example ESMTP\r\n".to_owned(),
        String::new(),
        "HTTP/1.1 200 OK\r\nContent-Le".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc".to_owned(),
        chunked("3\r\nabcd\r\n0\r\n\r\n"),
        chunked("-1\r\na\r\n0\r\n\r\n"),
        chunked("0x1\r\na\r\n0\r\n\r\n"),
        chunked(" 1\r\na\r\n0\r\n\r\n"),
        chunked("1\na\n0\n\n"),
        chunked("fffffffffffffffff\r\na"),
        chunked("3\r\nabc\r\n"),
        large,
        many,
        chatty,
        endless,
    ];
    for answer in cases {
        for each in [1, 4096, PIPE] {
            let shown: String = answer.chars().take(80).collect();
            let got = answered(answer.as_bytes(), each).await;
            assert!(got.is_err(), "{shown:?} in pieces of {each}: {got:?}");
        }
    }
}

/// What is wrong is said as it is.
#[tokio::test]
async fn a_length_that_is_no_number_is_called_that() {
    for (length, said) in [
        ("-1", "no number"),
        ("3\r\nContent-Length: 4", "says twice"),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabc");
        let fault = answered(answer.as_bytes(), 100).await.unwrap_err();
        assert!(fault.to_string().contains(said), "{length}: {fault}");
    }
}

#[tokio::test]
async fn what_nobody_asked_for_ends_a_connection() {
    let (near, mut far) = duplex(PIPE);
    let mut line = Connection::new(near);
    let (headers, nothing) = (HeaderMap::new(), Payload::default());
    assert!(line.is_ready());
    far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        .await
        .expect("said");
    line.ask(&request(&headers, &nothing))
        .await
        .expect("an answer");
    assert!(!line.is_ready(), "its body was not read");
    assert_eq!(
        line.chunk().await.expect("a piece").as_deref(),
        Some(&b"a"[..])
    );
    assert_eq!(line.chunk().await.expect("the end"), None);
    assert!(line.is_complete() && line.is_ready());
    far.write_all(b"HTTP/1.1 408 Late\r\n\r\n")
        .await
        .expect("said");
    assert!(!line.is_ready());

    let (near, mut far) = duplex(PIPE);
    let mut line = Connection::new(near);
    far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")
        .await
        .expect("said");
    line.ask(&request(&headers, &nothing))
        .await
        .expect("an answer");
    while line.chunk().await.expect("a piece").is_some() {}
    assert!(!line.is_complete(), "more came than was said");

    let (near, far) = duplex(PIPE);
    let mut line = Connection::new(near);
    drop(far);
    assert!(!line.is_ready(), "the peer has gone");
    assert!(line.ask(&request(&headers, &nothing)).await.is_err());
    assert!(!line.has_written());
}

#[tokio::test]
async fn a_request_is_written_as_it_was_meant() {
    for size in [2, limits::COPY_BELOW * 3] {
        let (near, mut far) = duplex(1000);
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("example"));
        headers.insert("accept", HeaderValue::from_static("a"));
        let mut body = payload("[");
        body.push("x".repeat(size - 2));
        body.push("]");
        let mut asked = request(&headers, &body);
        asked.more.insert("accept", HeaderValue::from_static("b"));
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            while !all.ends_with(b"]") {
                assert!(far.read_buf(&mut all).await.expect("more") > 0);
            }
            far.write_all(b"HTTP/1.1 204 No\r\n\r\n")
                .await
                .expect("said");
            (all, far)
        });
        let mut line = Connection::new(near);
        line.ask(&asked).await.expect("an answer");
        assert!(line.has_written() && line.is_complete());
        let (all, _far) = reading.await.expect("all of it");
        let expected = format!(
            "POST /mcp?a=b HTTP/1.1\r\nhost: example\r\naccept: b\r\ncontent-length: {size}\r\n\r\n[{}]",
            "x".repeat(size - 2)
        );
        assert!(
            all == expected.as_bytes(),
            "{}",
            String::from_utf8_lossy(&all[..100])
        );
    }
}

#[tokio::test]
async fn an_answer_may_come_before_all_of_the_request_was_read() {
    let (near, far) = duplex(1000);
    is_answered_early(near, far).await;
    // As where what is written is encrypted, and leaves when it is flushed.
    let (near, far) = duplex(1000);
    is_answered_early(BufWriter::with_capacity(2 * PIPE, near), far).await;
}

async fn is_answered_early<S: AsyncRead + AsyncWrite + Unpin>(near: S, mut far: DuplexStream) {
    let headers = HeaderMap::new();
    let body = payload(&"x".repeat(PIPE));
    let peer = tokio::spawn(async move {
        let mut some = [0; 500];
        far.read_exact(&mut some).await.expect("some of it");
        let said =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 Too Large\r\nContent-Length: 1\r\n\r\na";
        far.write_all(said).await.expect("said");
        far
    });
    let mut line = Connection::new(near);
    let (status, _) = line
        .ask(&request(&headers, &body))
        .await
        .expect("an answer");
    assert_eq!(status, 413);
    assert_eq!(
        line.chunk().await.expect("its body").as_deref(),
        Some(&b"a"[..])
    );
    assert_eq!(line.chunk().await.expect("its end"), None);
    assert!(!line.is_complete(), "the rest of the request never left");
    drop(peer);
}

/// The body in pieces of these lengths.
fn chunked(body: &[u8], lengths: &[usize]) -> Vec<u8> {
    let mut out = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let mut rest = body;
    for length in lengths {
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        if !piece.is_empty() {
            out.extend(format!("{:x}\r\n", piece.len()).bytes());
            out.extend(piece);
            out.extend(b"\r\n");
        }
        rest = after;
    }
    if !rest.is_empty() {
        out.extend(format!("{:X}\r\n", rest.len()).bytes());
        out.extend(rest);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn however_a_body_is_divided_it_is_the_same(
        body in proptest::collection::vec(any::<u8>(), 0..20_000),
        lengths in proptest::collection::vec(1usize..9000, 0..8),
        each in 1usize..9000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut plain = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        plain.extend(&body);
        for answer in [plain, chunked(&body, &lengths)] {
            let got = runtime.block_on(answered(&answer, each)).expect("an answer");
            prop_assert_eq!(got, (200, body.clone(), true));
        }
    }
}
