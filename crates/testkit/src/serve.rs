//! The HTTP/1.1 side that the well-behaved peers share: a listener on the
//! loopback address and a response body that can be cheap or a stream.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::DropGuard;

/// Serves `handler` on 127.0.0.1 until the process ends, and says
/// `listening on http://127.0.0.1:PORT/mcp` on stderr (port 0 picks one).
///
/// # Errors
/// When the port cannot be bound.
pub async fn serve<H, F>(port: u16, handler: H) -> std::io::Result<()>
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<ReplyBody>> + Send + 'static,
{
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    announce(&listener.local_addr()?);
    serve_on(listener, handler).await
}

/// Serves `handler` to whoever connects, for ever.
pub async fn serve_on<H, F>(listener: TcpListener, handler: H) -> !
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<ReplyBody>> + Send + 'static,
{
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: wait for some to return.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let handler = handler.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let reply = handler(request);
                async move { Ok::<_, Infallible>(reply.await) }
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .keep_alive(true)
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

/// Prints the line that tests wait for.
#[expect(
    clippy::print_stderr,
    reason = "this line is the interface of the test peers"
)]
pub fn announce(address: &SocketAddr) {
    eprintln!("listening on http://{address}/mcp");
}

/// A response body: one or two blocks of bytes, or an SSE stream of messages.
#[derive(Debug)]
pub enum ReplyBody {
    /// Blocks that are sent one after the other; the second may be shared.
    Blocks(Option<Bytes>, Option<Bytes>),
    /// Each received message becomes one SSE event. The guard cancels the
    /// request when the client goes away.
    Events(UnboundedReceiver<Bytes>, Option<DropGuard>),
    /// The same, after some bytes that are sent as they are.
    Opening(Option<Bytes>, UnboundedReceiver<Bytes>, DropGuard),
}

impl ReplyBody {
    /// No bytes at all.
    pub fn empty() -> Self {
        Self::Blocks(None, None)
    }

    /// One block.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Blocks(Some(bytes.into()), None)
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Blocks(head, tail) => Poll::Ready(
                head.take()
                    .or_else(|| tail.take())
                    .map(|b| Ok(Frame::data(b))),
            ),
            Self::Events(receiver, _) => receiver
                .poll_recv(context)
                .map(|message| message.map(|m| Ok(Frame::data(sse_event(&m))))),
            Self::Opening(first, receiver, _) => match first.take() {
                Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
                None => receiver
                    .poll_recv(context)
                    .map(|message| message.map(|m| Ok(Frame::data(sse_event(&m))))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Blocks(None, None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Blocks(head, tail) => {
                let length = |b: &Option<Bytes>| b.as_ref().map_or(0, |b| b.len() as u64);
                SizeHint::with_exact(length(head) + length(tail))
            }
            Self::Events(..) | Self::Opening(..) => SizeHint::default(),
        }
    }
}

/// One message as an SSE event; an empty one as a comment. A message with line
/// ends between its tokens takes one `data:` line for each line.
fn sse_event(message: &[u8]) -> Bytes {
    if message.is_empty() {
        return Bytes::from_static(b": open\n\n");
    }
    let mut event = Vec::with_capacity(message.len() + 24);
    event.extend_from_slice(b"event: message\n");
    // Byte by byte takes long without optimisation, and most messages are one line.
    if message.contains(&b'\n') || message.contains(&b'\r') {
        for line in message.split(|b| *b == b'\n') {
            event.extend_from_slice(b"data: ");
            event.extend(line.iter().filter(|b| **b != b'\r'));
            event.push(b'\n');
        }
    } else {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(message);
        event.push(b'\n');
    }
    event.push(b'\n');
    Bytes::from(event)
}

/// A JSON response.
pub fn json(status: StatusCode, body: ReplyBody) -> Response<ReplyBody> {
    with_type(status, body, "application/json")
}

/// An SSE response.
pub fn events(body: ReplyBody) -> Response<ReplyBody> {
    let mut response = with_type(StatusCode::OK, body, "text/event-stream");
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A response without a body.
pub fn status(status: StatusCode) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = status;
    response
}

fn with_type(status: StatusCode, body: ReplyBody, kind: &'static str) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
