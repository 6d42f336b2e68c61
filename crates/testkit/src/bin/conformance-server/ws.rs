//! WebSocket: one message a frame, one connection one client.

use std::net::Ipv4Addr;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use http::HeaderValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use crate::conversation::Conversation;
use crate::rpc::RpcError;
use crate::server::Server;

/// Messages that wait to be written.
const MAX_QUEUED: usize = 256;

/// Serves until the process ends.
pub(crate) async fn serve(server: Arc<Server>, port: u16) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    switchboard_testkit::serve::announce(&listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::spawn(connection(Arc::clone(&server), socket));
    }
}

async fn connection(server: Arc<Server>, socket: TcpStream) {
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
    let (queue, mut queued) = mpsc::channel(MAX_QUEUED);
    let conversation = Conversation::new(server, queue);
    let writer = tokio::spawn(async move {
        while let Some(message) = queued.recv().await {
            let message: serde_json::Value = message;
            if sink.send(Message::text(message.to_string())).await.is_err() {
                return;
            }
        }
    });
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(value) => conversation.take(value).await,
                Err(error) => conversation.refuse(RpcError::parse(error)).await,
            },
            Message::Close(_) => break,
            _ => {}
        }
    }
    conversation.close();
    writer.abort();
}
