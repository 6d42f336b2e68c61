//! WebSocket: one connection is one client.

use std::net::Ipv4Addr;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use http::HeaderValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use crate::channel::Client;
use crate::world::World;

/// Serves until the process ends.
pub async fn serve(world: Arc<World>, port: u16) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    switchboard_testkit::serve::announce(&listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        let _ = socket.set_nodelay(true);
        tokio::spawn(connection(Arc::clone(&world), socket));
    }
}

#[expect(
    clippy::result_large_err,
    reason = "the shape of the callback is the library's"
)]
async fn connection(world: Arc<World>, socket: TcpStream) {
    let greet = |request: &Request, mut response: Response| {
        if request.headers().contains_key("sec-websocket-protocol") {
            let mcp = HeaderValue::from_static("mcp");
            response.headers_mut().insert("sec-websocket-protocol", mcp);
        }
        Ok(response)
    };
    let Ok(stream) = accept_hdr_async(socket, greet).await else {
        return;
    };
    let (mut sink, mut stream) = stream.split();
    let (out, mut waiting) = mpsc::unbounded_channel::<bytes::Bytes>();
    let client = Client::new(&world, out);
    let writer = tokio::spawn(async move {
        while let Some(bytes) = waiting.recv().await {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if sink.send(Message::text(text)).await.is_err() {
                return;
            }
        }
    });
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Text(text) => client.take(text.as_bytes()),
            Message::Close(_) => break,
            _ => {}
        }
    }
    writer.abort();
}
