//! A load balancer that does what is worst for sessions: each request goes to any of
//! several places, whatever connection it came on.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

type Passed = Response<Either<Incoming, Empty<Bytes>>>;

/// Serves whoever connects, for ever. The same `seed` chooses the same places.
pub async fn spray(listener: TcpListener, places: Vec<SocketAddr>, seed: u64) -> ! {
    let (places, dice) = (Arc::new(places), Arc::new(AtomicU64::new(seed)));
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: wait for some to return.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let (places, dice) = (places.clone(), dice.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let first = thrown(&dice);
                let places = places.clone();
                async move { Ok::<_, Infallible>(pass(request, &places, first).await) }
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

/// A number that looks random (Vigna's splitmix64).
fn thrown(dice: &AtomicU64) -> usize {
    let step = 0x9e37_79b9_7f4a_7c15_u64;
    let mut z = dice.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) >> 33).unwrap_or_default()
}

/// Passes a request on: to this place, or the next one where nobody listens there. What
/// was sent is sent nowhere else.
async fn pass(mut request: Request<Incoming>, places: &[SocketAddr], first: usize) -> Passed {
    for turn in 0..places.len() {
        let place = places[(first + turn) % places.len()];
        let Ok(stream) = TcpStream::connect(place).await else {
            continue;
        };
        if let Ok(host) = HeaderValue::try_from(place.to_string()) {
            request.headers_mut().insert(header::HOST, host);
        }
        let passed = ask(stream, request).await;
        return passed.unwrap_or_else(|_| nobody());
    }
    nobody()
}

async fn ask(stream: TcpStream, request: Request<Incoming>) -> io::Result<Passed> {
    stream.set_nodelay(true)?;
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(io::Error::other)?;
    tokio::spawn(async move { connection.await.ok() });
    let answer = sender.send_request(request).await;
    Ok(answer.map_err(io::Error::other)?.map(Either::Left))
}

fn nobody() -> Passed {
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_chosen() {
        let dice = AtomicU64::new(7);
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[thrown(&dice) % 3] += 1;
        }
        assert!(counts.iter().all(|count| *count > 800), "{counts:?}");
    }
}
